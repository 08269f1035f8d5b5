"""Units and offsets: what a fit says of rows does not depend on what they are measured in."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets, explain, load, save
from fisherem.core.data.problem import prepare
from fisherem.tables.scaling import in_unit


@pytest.fixture(scope="module")
def iris():
    return datasets.load("iris")


def test_rows_of_usual_size_are_left_alone(iris):
    X, _ = iris
    problem = prepare(X, ridge="auto", rescale=in_unit)
    assert problem.unit == 1
    assert problem.rows.Y is X
    assert (FisherEM(3, scale="none", random_state=0).fit(X).scales_ == 1).all()


@pytest.mark.parametrize("estimator", [FisherEM, SparseFisherEM])
def test_powers_of_two_change_no_bit(iris, estimator):
    X, _ = iris
    plain = estimator(3, scale="none", random_state=0).fit(X)
    for exponent in (-1000, -7, 30, 1010):
        Z = np.ldexp(X, exponent)
        other = estimator(3, scale="none", random_state=0).fit(Z)
        for name in ("labels_", "loadings_", "support_", "weights_", "n_iter_", "n_parameters_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(plain, name), err_msg=name)
        np.testing.assert_array_equal(other.means_, np.ldexp(plain.means_, exponent))
        # squares that a double cannot hold are in the unit of `scales_`
        inside = np.log2(other.scales_[0])
        for name in ("covariances_", "noise_variances_"):
            found = getattr(other, name) * 4.0 ** (inside - exponent)
            np.testing.assert_array_equal(found, getattr(plain, name), err_msg=name)
        np.testing.assert_array_equal(other.predict_proba(Z), plain.predict_proba(X))
        np.testing.assert_array_equal(other.predict(Z), other.labels_)
        np.testing.assert_allclose(other.bic(Z), other.bic_)
        np.testing.assert_allclose(other.bic_, plain.bic_ - X.size * exponent * np.log(2))


def test_ward_ends_with_values_whose_squares_overflow(iris):
    X, _ = iris
    expected = FisherEM(3, scale="none", init="ward").fit(X).labels_
    np.testing.assert_array_equal(FisherEM(3, scale="none", init="ward").fit(X * 1e220).labels_, expected)


def test_a_search_and_an_explanation_in_other_units(iris):
    X, y = iris
    search = {"n_clusters": [2, 3], "models": ["AB", "DkB"], "n_jobs": 1, "progress": False}
    one = ModelSearch(FisherEM(random_state=0, n_init=1), **search).fit(X)
    other = ModelSearch(FisherEM(random_state=0, n_init=1), **search).fit(np.ldexp(X, 600))
    change = X.size * 600 * np.log(2)
    np.testing.assert_allclose(other.results_["bic"] + change, one.results_["bic"], atol=1e-6)
    np.testing.assert_allclose(other.best_score_, other.best_estimator_.bic_)
    np.testing.assert_allclose(explain(np.ldexp(X, -900), y).value, explain(X, y).value)


def test_a_verdict_depends_on_neither_units_nor_offsets(iris):
    X, _ = iris
    # 1e160 becomes 1e-20 or so at the door: within the reach of squares, and far from 1
    tables = {"as given": X, "1e160": X * 1e160, "offset": X + 1e12}
    found = {}
    for name, Z in tables.items():
        estimator = FisherEM(random_state=0, n_init=1)
        search = ModelSearch(estimator, n_clusters=[2], n_splits=2, n_jobs=1, progress=False).fit(Z)
        assert search.verdict_.n_clusters == 2
        found[name] = search.results_[["score_gain", "valley", "agreement"]].to_numpy(float)
    for name, values in found.items():
        np.testing.assert_allclose(values, found["as given"], rtol=1e-3, err_msg=name)


def test_results_of_a_search_on_standardised_columns_are_of_the_rows_as_given(iris):
    X, _ = iris
    estimator = FisherEM(random_state=0, n_init=1, scale="standardise")
    found = ModelSearch(estimator, n_clusters=[3], models=["AB"], n_jobs=1, progress=False).fit(X)
    best = found.best_estimator_
    row = found.results_.iloc[found.best_index_]
    np.testing.assert_allclose([row["bic"], row["n_parameters"]], [best.bic_, best.n_parameters_])


@pytest.mark.parametrize("far", [1e17, 1e155, 1e200, 1e307])
@pytest.mark.parametrize("scale", ["none", "standardise"])
def test_rows_far_away_belong_somewhere(iris, far, scale):
    X, _ = iris
    model = FisherEM(3, random_state=0, scale=scale).fit(X)
    rows = np.vstack([X[:5], X[::10] * far, -X[::10] * far])
    posteriors = model.predict_proba(rows)
    assert np.isfinite(posteriors).all()
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)
    np.testing.assert_array_equal(posteriors[:5], model.predict_proba(X[:5]))
    np.testing.assert_array_equal(model.predict(rows), posteriors.argmax(axis=1))
    assert not np.isnan(model.score_samples(rows)).any()
    assert not np.isnan([model.bic(rows), model.icl(rows)]).any()


@pytest.mark.parametrize("scale", ["none", "standardise"])
@pytest.mark.parametrize("offset", [1e12, 1e15])
def test_an_offset_costs_no_more_than_the_digits_of_the_rows(iris, offset, scale, tmp_path):
    Z = iris[0] + offset
    model = FisherEM(3, random_state=0, scale=scale).fit(Z)
    again = load(save(model, tmp_path / "m.skops"))
    for one in (model, again):
        np.testing.assert_array_equal(one.predict(Z), model.labels_)
        np.testing.assert_allclose(one.bic(Z), model.bic_, rtol=1e-10)


def test_weights_that_no_sum_can_hold_are_refused(iris):
    X, _ = iris
    for weight in (1e300, 1e-300):
        weights = np.ones(150)
        weights[7] = weight
        with pytest.raises(ValueError, match=r"sample_weight must be 0 or lie between .* row 7 has"):
            FisherEM(3, scale="none").fit(X, sample_weight=weights)
    weights[7] = 0
    Z = X.copy()
    Z[7] = 1e200
    with pytest.raises(ValueError, match="row 7 of X"):
        FisherEM(3, scale="none").fit(Z, sample_weight=weights)


def test_a_group_without_rows_is_named():
    X = np.random.default_rng(0).normal(size=(100, 5))
    X[0] = 1e4
    with pytest.warns(ConvergenceWarning, match="group 1 has no rows"):
        model = FisherEM(3, scale="none", random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_belong_to_the_parameters_when_a_group_was_lost():
    rng = np.random.default_rng(15)  # a group is refilled, and two are lost at once
    X = rng.normal(size=(4, 2)) + 4 * rng.normal(size=(3, 2))[[0, 1, 2, 0]]
    model = FisherEM(3, scale="none", model="DkBk", init="random", n_init=2, random_state=0).fit(X)
    assert model.stop_reason_.startswith("collapsed")
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_few_rows_that_count_among_more_rows_than_variables():
    rng = np.random.default_rng(0)  # found by the attack: two of three rows count, in two variables
    X, weights = rng.normal(size=(3, 2)), np.array([0.0, 1.0, 1.0])
    model = FisherEM(1, scale="none", random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.means_[0], X[1:].mean(axis=0))
