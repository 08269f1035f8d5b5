"""k-means runs side by side: the draws, the iterations and the partitions of scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine

from fisherem.solvers.kmeans_runs import best_kmeans, greedy_plus_plus, kmeans_runs, lloyd


def table(name):
    X = (load_wine() if name == "wine" else load_iris()).data
    return (X - X.mean(axis=0)) / X.std(axis=0)


def plus_plus(Z, K, draws, w):
    """Greedy k-means++ for one run, written out: the best of 2 + log K rows by what is left of the inertia."""
    trials = 2 + int(np.log(K))
    chosen = [int(np.searchsorted(np.cumsum(w / w.sum()), draws[0], side="right"))]
    numbers = iter(draws[1:])
    while len(chosen) < K:
        nearest = np.min([((Z - Z[c]) ** 2).sum(axis=1) for c in chosen], axis=0)
        mass = np.cumsum(w * nearest)
        rows = [int(np.searchsorted(mass, next(numbers) * mass[-1])) for _ in range(trials)]
        left = [(w * np.minimum(nearest, ((Z - Z[r]) ** 2).sum(axis=1))).sum() for r in rows]
        chosen.append(rows[int(np.argmin(left))])
    return Z[chosen]


@pytest.mark.parametrize("weighted", [False, True])
def test_centres_are_drawn_as_written_out(weighted):
    Z, rng = table("wine"), np.random.default_rng(0)
    w = rng.integers(1, 4, size=len(Z)).astype(float) if weighted else np.ones(len(Z))
    draws = rng.random((6, 1 + 4 * 3))
    found = greedy_plus_plus(Z, 5, draws, w if weighted else None)
    for own, numbers in zip(found, draws, strict=True):
        np.testing.assert_array_equal(own, plus_plus(Z, 5, numbers, w))


@pytest.mark.parametrize("name", ["wine", "iris"])
@pytest.mark.parametrize("weighted", [False, True])
def test_iterations_are_those_of_scikit_learn(name, weighted):
    """From the same centres; a tolerance that ends some runs before their rows stand still."""
    Z, rng = table(name), np.random.default_rng(1)
    weights = rng.random(len(Z)) + 0.5 if weighted else None
    starts = np.stack([Z[rng.choice(len(Z), 4, replace=False)] for _ in range(8)])
    starts += 0.01 * rng.normal(size=starts.shape)  # no row is as near to one centre as to another
    tol = 1e-3
    labels, centres, values = lloyd(Z, starts, 300, weights=weights, tol=tol * Z.var(axis=0).mean())
    w = np.ones(len(Z)) if weights is None else weights
    for start, own, means, value in zip(starts, labels, centres, values, strict=True):
        theirs = KMeans(4, init=start, n_init=1, tol=tol).fit(Z, sample_weight=weights)
        np.testing.assert_array_equal(own, theirs.labels_)
        np.testing.assert_allclose(means, theirs.cluster_centers_, atol=1e-9)
        assert w @ (Z**2).sum(axis=1) - value == pytest.approx(theirs.inertia_)


def test_a_run_does_not_depend_on_those_beside_it():
    Z = np.random.default_rng(0).normal(size=(20_000, 2)) + 4 * np.eye(3, 2)[np.arange(20_000) % 3]
    together = kmeans_runs(Z, 3, [5, 6, 7])  # enough rows for several pieces
    for run, seed in zip(together, [5, 6, 7], strict=True):
        (alone,) = kmeans_runs(Z, 3, [seed])
        np.testing.assert_array_equal(run.labels, alone.labels)
        assert run.inertia == pytest.approx(alone.inertia)
        np.testing.assert_array_equal(run.predict(Z), run.labels)


def test_the_best_run_has_the_least_inertia():
    Z = table("iris")
    best = best_kmeans(Z, 4, 5, seed=3)
    member = best.labels == np.arange(4)[:, None]
    within = sum(((Z[own] - Z[own].mean(axis=0)) ** 2).sum() for own in member)
    assert best.inertia == pytest.approx(within)
    assert best.inertia <= min(best_kmeans(Z, 4, n, seed=3).inertia for n in (1, 2, 3, 4)) + 1e-9


def test_a_centre_without_rows_goes_to_the_farthest_row():
    Z = np.array([[0.0], [0.1], [0.2], [5.0]])
    labels, centres, _ = lloyd(Z, np.array([[[0.1], [90.0]]]), 10)
    assert labels[0].tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(centres[0], [[0.1], [5.0]])


def test_more_groups_than_different_rows():
    runs = kmeans_runs(np.array([[1.0], [1.0], [2.0]]), 3, [0, 1])
    assert all(run.inertia == pytest.approx(0) for run in runs)
