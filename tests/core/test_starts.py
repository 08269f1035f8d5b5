import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from fisherem.core.data.problem import prepare
from fisherem.core.engine.loop import Fit, Stop, StopKind
from fisherem.core.engine.multistart import is_better
from fisherem.core.starts.partitions import STARTS, distinct_rows
from fisherem.solvers.ward import ward_labels


@pytest.fixture
def problem(wine):
    return prepare(wine[0], ridge=1e-3)


@pytest.mark.parametrize("name", STARTS)
def test_starts_fill_every_group(problem, name):
    starts = STARTS[name](problem, 4, 5, np.random.RandomState(0))
    assert len(starts) == {"kmeans": 5, "random": 5, "ward": 1, "shrunk-kmeans": 1}.get(name, len(starts)) >= 1
    for labels in starts:
        assert labels.shape == (178,)
        assert set(labels) == {0, 1, 2, 3}


def test_kmeans_starts_are_different_and_the_best_comes_first(iris):
    X, _ = iris
    starts = STARTS["kmeans"](prepare(X, ridge=1e-3), 3, 6, np.random.RandomState(0))

    def inertia(labels):
        return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in range(3))

    assert inertia(starts[0]) == pytest.approx(139.82, abs=0.3)  # the best that k-means knows on this table
    for i, labels in enumerate(starts):
        assert all(adjusted_rand_score(labels, other) < 0.95 for other in starts[:i])


@pytest.mark.parametrize("K", [2, 3, 7])
def test_ward_is_scipys(wine, K):
    X = wine[0]
    expected = fcluster(linkage(X, "ward"), K, "maxclust")
    assert adjusted_rand_score(expected, ward_labels(X, np.ones(len(X)), K)) == 1


def test_weighted_ward_is_ward_of_repeated_rows():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 3)), rng.integers(1, 4, size=40)
    repeated = np.repeat(X, w, axis=0)
    expected = fcluster(linkage(repeated, "ward"), 4, "maxclust")
    assert adjusted_rand_score(expected, np.repeat(ward_labels(X, w, 4), w)) == 1


def test_distinct_rows_do_not_depend_on_order_or_repetition():
    rng = np.random.default_rng(0)
    X, w = rng.integers(3, size=(50, 2)).astype(float), rng.integers(0, 3, size=50)
    chosen, weights, index = distinct_rows(X, w.astype(float))
    repeated = rng.permutation(np.repeat(X, w, axis=0))
    again = distinct_rows(repeated, None)
    np.testing.assert_array_equal(X[chosen], repeated[again[0]])
    np.testing.assert_array_equal(weights, again[1])
    np.testing.assert_array_equal(X[chosen][index[w > 0]], X[w > 0])
    assert (index[w == 0] == -1).sum() <= (w == 0).sum()


@pytest.mark.parametrize("name", ["kmeans", "ward"])
def test_large_data_start_from_a_sample(treat_as_large, name):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=6000)
    Y = rng.normal(size=(6000, 5)) + 8 * rng.normal(size=(3, 5))[truth] + 100
    treat_as_large(1000, 500)
    for data in (Y, Y.astype(np.float32)):
        problem = prepare(data, ridge=1e-3)
        rule = STARTS[name](problem, 3, 1, np.random.RandomState(0))[0]
        labels = problem.rows.gather(problem.start_states(rule, 3), "labels")
        assert adjusted_rand_score(truth, labels) > 0.95


@pytest.mark.parametrize("unit", [0.0, 59 * 81 * np.log(2)])
def test_likelihoods_that_differ_by_rounding_are_ties_in_any_unit(unit):
    """27 x 3 values from two starts that end at the same groups; another unit adds a constant."""

    def fit(value):
        return Fit(None, [], value - unit, 0.0, [], Stop(StopKind.CONVERGED))

    one, other = fit(-156.15006642580317), fit(-156.1500664240291)
    assert not is_better(one, other)
    assert not is_better(other, one)
    assert is_better(fit(-156.1500), one)
    assert is_better(one, None)
