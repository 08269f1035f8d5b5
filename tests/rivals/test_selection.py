"""Clustvarsel and Selvarclust: known roles, the criterion of every step, paths, candidates that cannot be fitted."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from fisherem import Clustvarsel, Selvarclust, datasets
from fisherem.rivals.base import standardised
from fisherem.rivals.lasso_ranking import lasso_ranking, penalised_mixture
from tests.naive import accuracy

from .test_mixtures import naive_bic

FEW = ("EEI", "EEE")


@pytest.mark.parametrize(
    "estimator",
    [
        Clustvarsel(4, models=("EEI", "EEE")),
        Selvarclust(4, models=("EEE",)),
        Selvarclust(4, models=("EEI", "EEE"), ranking="lasso"),
    ],
    ids=["clustvarsel", "selvarclust", "selvarclust-lasso"],
)
def test_known_roles_are_found_on_ten_seeds(estimator):
    exact = 0
    for seed in range(10):
        X, _, roles = datasets.simulate_roles(400, random_state=seed)
        model = estimator.fit(X)
        exact += np.array_equal(model.support_, roles == "S")
        if isinstance(model, Selvarclust) and np.array_equal(model.support_, roles == "S"):
            assert (model.roles_ != roles).sum() <= 2
            assert model.regressors_[roles != "S"].sum() == 0
    assert exact >= 8


@pytest.fixture(scope="module")
def table():
    return datasets.simulate_roles(400, random_state=3)


@pytest.mark.parametrize("direction", ["forward", "backward", "headlong"])
def test_every_direction_finds_the_variables_and_says_how(table, direction):
    X, y, roles = table
    model = Clustvarsel(4, direction=direction, models=FEW).fit(X)
    np.testing.assert_array_equal(model.support_, roles == "S")
    assert accuracy(y, model.labels_) > 0.95
    path = model.path_
    assert list(path.columns[:5]) == ["step", "variable", "action", "bic_difference", "accepted"]
    chosen = set(range(12)) if direction == "backward" else set()
    for row in path[path["accepted"]].itertuples():
        (chosen.add if row.action == "add" else chosen.remove)(row.variable)
        assert row.n_selected == len(chosen)
    assert chosen == {0, 1, 2}


def test_the_difference_of_a_step_is_the_naive_one(table):
    """BIC_clust(S + j) - BIC_clust(S) - BIC_reg(j | S) from scipy's densities of the mixtures and least squares."""
    X, _, _ = table
    model = Clustvarsel(4, models=("EEI",)).fit(X)
    steps = model.path_[model.path_["accepted"]]
    last = steps.iloc[-1]
    assert last["n_selected"] == 3
    j = last["variable"]
    before = [v for v in (0, 1, 2) if v != j]

    def mixture_bic(columns, labels):
        """EM by hand from the final partition."""
        Z, T = X[:, columns], np.eye(4)[labels]
        for _ in range(60):
            weights = T.mean(axis=0)
            means = T.T @ Z / T.sum(axis=0)[:, None]
            variances = sum((T[:, k, None] * (Z - means[k]) ** 2).sum(axis=0) for k in range(4)) / len(Z)
            joint = np.column_stack(
                [w * multivariate_normal.pdf(Z, m, np.diag(variances)) for w, m in zip(weights, means, strict=True)]
            )
            T = joint / joint.sum(axis=1, keepdims=True)
        d = len(columns)
        return np.log(joint.sum(axis=1)).sum() - 0.5 * (3 + 4 * d + d) * np.log(len(Z))

    regression = max(naive_bic(X, j, R) for R in ((), before[:1], before[1:], before))
    expected = mixture_bic([0, 1, 2], model.labels_) - mixture_bic(before, model.labels_) - regression
    assert last["bic_difference"] == pytest.approx(expected, abs=0.5)  # the tolerance of EM, 1e-5 of the likelihood
    assert model.bic_ == pytest.approx(mixture_bic([0, 1, 2], model.labels_), abs=0.2)


def test_the_number_of_groups_can_be_chosen(table):
    X, _, _ = table
    model = Clustvarsel(range(3, 6), models=("EEI",)).fit(X[:, [0, 1, 2, 3, 7]])
    assert model.n_clusters_ == 4
    with pytest.raises(ValueError, match="n_clusters must be a whole number at least 2"):
        Clustvarsel([1, 2]).fit(X)
    with pytest.raises(ValueError, match="several to choose from; got an empty sequence"):
        Clustvarsel([]).fit(X)


def test_the_criterion_is_the_sum_of_its_three_parts(table):
    X, _, roles = table
    model = Selvarclust(4, models=FEW).fit(X)
    np.testing.assert_array_equal(model.roles_, roles)
    np.testing.assert_array_equal(np.flatnonzero(model.regressors_), [0, 1])
    U, R, W = X[:, 3:7], X[:, :2], X[:, 7:]
    design = np.column_stack([np.ones(400), R])
    residuals = U - design @ np.linalg.lstsq(design, U, rcond=None)[0]
    assert model.regression_shape_ == "LI"  # residuals of one variance
    spherical = norm.logpdf(residuals, scale=np.sqrt((residuals**2).mean())).sum() - 0.5 * (4 * 3 + 1) * np.log(400)
    assert model.independent_shape_ == "LB"  # variables of several variances
    diagonal = norm.logpdf(W, W.mean(axis=0), W.std(axis=0)).sum() - 0.5 * 10 * np.log(400)
    assert model.criterion_ == pytest.approx(model.bic_ + spherical + diagonal, rel=1e-9)


def test_posteriors_are_those_of_scipys_normal_density(table):
    X, _, _ = table
    model = Selvarclust(4, models=FEW, ranking="lasso").fit(X)
    Z = X[:, model.support_]
    joint = np.column_stack(
        [
            w * multivariate_normal.pdf(Z, m, C)
            for w, m, C in zip(model.weights_, model.means_, model.covariances_, strict=True)
        ]
    )
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-8)
    assert np.mean(model.predict(X) == model.labels_) > 0.99


def test_singular_candidates_are_skipped_with_a_reason(table):
    X, _, _ = table
    binary = (X[:, :1] > 0).astype(float)  # two values cannot make four groups
    copy = X[:, :1]  # singular beside its original
    model = Clustvarsel(4, models=("VVV",)).fit(np.column_stack([X[:, :3], copy, binary]))
    skipped = model.path_[model.path_["reason"] != ""]
    assert set(skipped["variable"]) >= {4}
    assert skipped["reason"].str.startswith("skipped: ").all()
    assert not skipped["accepted"].any()
    assert any("distinct rows" in r for r in skipped["reason"])
    assert any("singular covariance" in r for r in skipped["reason"])
    assert not model.support_[4]
    assert model.support_.sum() == 3


def test_more_clusters_than_any_variables_support():
    X = np.repeat(np.array([[0.0, 1], [1, 0], [1, 1]]), 20, axis=0)
    with pytest.raises(ValueError, match="only 3 distinct rows"):
        Clustvarsel(4).fit(X)
    with pytest.raises(ValueError, match=r"no mixture fits all 2 variables .*lower n_clusters"):
        Clustvarsel(3).fit(X)


def test_unknown_names(table):
    X, _, _ = table
    for parameters, name in (({"direction": "up"}, "direction"), ({"models": "XXX"}, "models")):
        with pytest.raises(ValueError, match=f"{name} must be"):
            Clustvarsel(4, **parameters).fit(X)
    for parameters, name in (({"ranking": "up"}, "ranking"), ({"regression_shapes": ["LX"]}, "regression_shapes")):
        with pytest.raises(ValueError, match=f"{name} must be"):
            Selvarclust(4, **parameters).fit(X)


def test_the_penalised_mixture_climbs_and_ranks_the_clustering_variables_first(table):
    X, y, _ = table
    Z = standardised(X)
    for penalty in (0.0, 20.0, 60.0):
        means, _, history = penalised_mixture(Z, np.eye(4)[y].T, penalty)
        assert np.diff(history).min(initial=0) > -1e-6 * abs(history[-1])
    assert (means[:, 7:] == 0).all()  # the independent variables are out at the largest of these penalties
    order, survival = lasso_ranking(Z, y, 4)
    assert set(order[:3]) == {0, 1, 2}
    assert (np.diff(survival[order]) <= 0).all()


def test_figures_of_the_r_original():
    """Iris, raw: 0.967 and 4 variables there."""
    X, y = datasets.load("iris")
    for model in (Clustvarsel(3, models=("VEV", "VVV")), Selvarclust(3, ranking="lasso", models=("VEV", "VVV"))):
        model.fit(X)
        assert accuracy(y, model.labels_) == pytest.approx(0.967, abs=0.03)
        assert model.support_.sum() >= 2


def test_columns_in_very_different_units_are_standardised_alike():
    X = np.random.default_rng(0).normal(size=(20, 4))
    X[:, 3] = 2.0
    plain, far = standardised(X), standardised(X * np.ldexp(1.0, [700, 0, -700, 0]))
    np.testing.assert_array_equal(far, plain)  # squares of the first and third would overflow and underflow
    np.testing.assert_allclose(plain[:, :3], (X - X.mean(axis=0))[:, :3] / X.std(axis=0)[:3], rtol=1e-14)
    assert (plain[:, 3] == 0).all()
