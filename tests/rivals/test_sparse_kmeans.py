"""Sparse k-means against scikit-learn's k-means, the optimality conditions of its weights, and known variables."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from fisherem import SparseKMeans, datasets
from fisherem.solvers.sparse_kmeans import bound_grid, dense_start, optimal_weights
from tests.naive import accuracy


def between_by_loops(X, labels):
    """Total less within-cluster sum of squares of every column."""
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    return total - sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum(axis=0) for k in np.unique(labels))


def test_equal_weights_are_k_means(wine):
    X, _ = wine
    ours = dense_start(X, 3, 20, np.random.RandomState(0))
    theirs = KMeans(3, n_init=20, random_state=0).fit(X)
    assert adjusted_rand_score(ours.labels, theirs.labels_) == 1
    np.testing.assert_allclose((X**2).sum() - ours.value, theirs.inertia_)


def test_without_a_bound_and_with_columns_that_weigh_the_same_it_is_k_means():
    rng = np.random.default_rng(0)
    column = rng.normal(size=200) + 4 * rng.integers(3, size=200)
    X = np.column_stack([column, -column, column + 7, column])
    model = SparseKMeans(3, bound=2.0, random_state=0).fit(X)  # sqrt(4)
    theirs = KMeans(3, n_init=10, random_state=0).fit(X)
    np.testing.assert_allclose(model.feature_weights_, 0.5)
    assert adjusted_rand_score(model.labels_, theirs.labels_) == 1
    np.testing.assert_allclose(sorted(model.cluster_centers_[:, 0]), sorted(theirs.cluster_centers_[:, 0]), atol=1e-6)


@pytest.mark.parametrize("bound", [1.0, 1.3, 2.0, 3.0, np.sqrt(13)])
def test_the_objective_never_decreases_and_the_labels_are_the_nearest_centres(wine, bound):
    X, _ = wine
    model = SparseKMeans(3, bound=bound, random_state=1).fit(X)
    values = [record["objective"] for record in model.history_]
    assert np.diff(values).min(initial=0) >= -1e-9 * values[-1]
    np.testing.assert_allclose(values[-1], model.feature_weights_ @ between_by_loops(X, model.labels_))
    distance = (((X[:, None] - model.cluster_centers_) ** 2) * model.feature_weights_).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, distance.argmin(axis=1))
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("bound", [1.0, 1.3, 2.0, 3.0, np.sqrt(13)])
def test_weights_satisfy_the_optimality_conditions(wine, bound):
    """a_j = delta + mu w_j where w_j > 0, a_j <= delta where w_j = 0, delta >= 0 only if the l1 bound is tight."""
    X, _ = wine
    model = SparseKMeans(3, bound=bound, random_state=1, tol=0, max_iter=100).fit(X)
    w, a = model.feature_weights_, between_by_loops(X, model.labels_)
    assert (w >= 0).all()
    assert np.linalg.norm(w) == pytest.approx(1)
    assert w.sum() <= bound * (1 + 1e-9)
    kept = w > 0
    design = np.column_stack([np.ones(kept.sum()), w[kept]])
    (delta, mu), *_ = np.linalg.lstsq(design, a[kept], rcond=None)
    if kept.sum() > 1:
        np.testing.assert_allclose(design @ [delta, mu], a[kept], rtol=1e-6)
        assert mu > 0
        assert delta > -1e-6 * a.max()
        assert (a[~kept] <= delta + 1e-6 * a.max()).all()
        assert abs(delta) < 1e-6 * a.max() or w.sum() == pytest.approx(bound)
    else:
        assert a[kept][0] == a.max()


def test_weights_against_a_general_solver():
    rng = np.random.default_rng(3)
    a = rng.gamma(1.0, size=8)
    for bound in (1.2, 1.7, 2.4):
        constraints = [
            {"type": "ineq", "fun": lambda w: 1 - w @ w},
            {"type": "ineq", "fun": lambda w, s=bound: s - w.sum()},
        ]
        theirs = minimize(lambda w: -w @ a, np.full(8, 0.1), bounds=[(0, 1)] * 8, constraints=constraints)
        assert optimal_weights(a, bound) @ a == pytest.approx(-theirs.fun, rel=1e-5)


def test_true_variables_weigh_most_on_ten_of_ten_seeds():
    for seed in range(10):
        X, y, roles = datasets.simulate_roles(400, random_state=seed)
        model = SparseKMeans(4, random_state=seed, n_permutations=5).fit(StandardScaler().fit_transform(X))
        assert set(np.argsort(-model.feature_weights_)[:3]) == set(np.flatnonzero(roles == "S"))
        assert accuracy(y, model.labels_) > 0.9


def test_the_gap_curve_and_the_choice(wine):
    X, y = wine
    model = SparseKMeans(3, random_state=0).fit(X)
    gaps = model.gap_
    assert list(gaps.columns) == ["bound", "objective", "gap", "standard_error", "n_selected", "reason"]
    np.testing.assert_allclose(gaps["bound"], bound_grid(13))
    np.testing.assert_allclose([gaps["bound"].iloc[0], gaps["bound"].iloc[-1]], [1.2, 0.9 * np.sqrt(13)])
    assert (np.diff(gaps["objective"]) >= 0).all()  # what a bound allows, a larger one allows too
    assert model.bound_ == gaps["bound"][gaps["gap"].idxmax()]
    assert gaps["gap"].min() > 0  # wines have groups, permuted wines do not
    # the figures of the R original on these data: 0.949 and all 13 variables
    assert accuracy(y, model.labels_) == pytest.approx(0.949, abs=0.03)
    assert model.support_.sum() >= 11


def test_data_without_groups_have_no_gap():
    X = np.random.default_rng(0).normal(size=(200, 10))
    gaps = SparseKMeans(3, random_state=0).fit(X).gap_
    assert gaps["gap"].abs().max() < 0.1


def test_the_same_for_any_number_of_jobs(wine):
    one, two = (SparseKMeans(3, random_state=3, n_permutations=4, n_jobs=j).fit(wine[0]) for j in (1, 2))
    np.testing.assert_array_equal(one.feature_weights_, two.feature_weights_)
    np.testing.assert_array_equal(one.gap_["gap"], two.gap_["gap"])


@pytest.mark.parametrize("bound", [0.99, 0, -1, 3.7, np.inf, np.nan, None, True, [2.0]])
def test_bounds_outside_their_range(wine, bound):
    with pytest.raises(ValueError, match=r"bound must be 'permutation' or a number between 1 .* sqrt\(p\)=3\.606"):
        SparseKMeans(3, bound=bound).fit(wine[0])


def test_unknown_choice_of_the_bound(wine):
    with pytest.raises(ValueError, match="bound must be one of 'permutation'; got 'gap'"):
        SparseKMeans(3, bound="gap").fit(wine[0])


def test_more_clusters_than_the_kept_variables_support():
    rng = np.random.default_rng(0)
    X = np.column_stack([10.0 * rng.integers(2, size=60), rng.normal(size=(60, 3))])
    with pytest.raises(ValueError, match=r"bound=1: the 1 variables kept separate only 2 of n_clusters=4 groups"):
        SparseKMeans(4, bound=1.0, random_state=0).fit(X)
    model = SparseKMeans(4, random_state=0, n_permutations=3).fit(X)  # the choice passes over such bounds
    assert len(np.unique(model.labels_)) == 4
