"""Fits to rows with gaps: monotone, in the limit the complete fit, the same in any order, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.core.engine.loop import run
from fisherem.core.missing.completion import Observed, complete_first
from fisherem.core.missing.iteration import exact
from fisherem.estimators.fitting import specification
from fisherem.tables.scaling import in_unit
from tests.deciding import decided
from tests.naive import accuracy

from . import naive


def with_gaps(X, share=0.2, seed=0):
    X = np.array(X, float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.fixture(scope="module")
def gappy(wine):
    return with_gaps(wine[0])


@pytest.fixture(scope="module")
def fitted(gappy):
    return SparseFisherEM(3, scale="none", random_state=0).fit(gappy)


def test_columns_far_away_keep_their_digits():
    """Of fewer rows than columns the centre is known more precisely than a double that is far away can say."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 8)) + 3 * (np.arange(6) % 2)[:, None]
    X[:, [1, 4, 6]] += 1e12
    X[0, 0] = X[2, 4] = X[5, 7] = np.nan
    model = FisherEM(2, scale="none", random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X).sum(), model.log_likelihood_, rtol=1e-10)


def test_columns_that_determine_each_other_keep_their_digits():
    """Four factors and an axis leave no noise: before, rounding moved the row with a gap between the groups."""
    rng = np.random.default_rng(65302)
    X = rng.normal(size=(24, 5)) + 6 * (np.arange(24) % 2)[:, None] * rng.normal(size=5)
    X[:, -1] = X[:, 0] - X[:, 1]
    X[20, 3] = np.nan
    found = []
    for exponent in (0, 126):
        Z = np.ldexp(X, exponent)
        model = FisherEM(2, init="random", n_init=1, random_state=0).fit(Z)
        np.testing.assert_allclose(model.score_samples(Z).sum(), model.log_likelihood_, rtol=1e-6)
        found.append(model.log_likelihood_ + 119 * exponent * np.log(2))
    assert model.noise_factors_ == 4
    assert found[1] == pytest.approx(found[0], rel=1e-9)


@pytest.mark.parametrize("model", ["AkB", "DkB", "AB"])
@pytest.mark.parametrize("noise_factors", [0, 3])
@pytest.mark.parametrize("wide", [False, True])
def test_the_likelihood_never_falls_while_the_axes_are_held(gappy, model, noise_factors, wide):
    X = gappy if not wide else np.hstack([gappy, with_gaps(np.random.default_rng(1).normal(size=(178, 200)))])
    X = X[::4] if wide else X
    estimator = FisherEM(3, scale="none", model=model, noise_factors=noise_factors, random_state=0, max_iter=60, tol=0)
    spec = specification(estimator, *X.shape)
    spec = replace(spec, family=replace(spec.family, n_factors=noise_factors))
    problem = exact(complete_first(X, None, rescale=in_unit, ridge="auto", n_jobs=1))
    states = problem.start_states(np.arange(len(X)) % 3, 3)
    there, family = spec.family.adapt(problem, states)
    first = run(there, states, family, replace(spec.settings, max_iter=2))
    held, states = replace(family, frozen=first.solution.axes), problem.states_of(first, "posteriors")
    fit = run(problem.in_metric(first.solution.metric, states), states, held, spec.settings)
    values = np.array([record["log_likelihood"] for record in fit.history])[1:]
    least = 1e-9 * np.abs(values).max() if not wide else 1e-4 * np.abs(values).max()  # means stay in the row space
    assert len(values) > 5
    assert (np.diff(values) >= -least).all()


@pytest.mark.parametrize("estimator", [FisherEM, SparseFisherEM])
def test_a_single_gap_changes_next_to_nothing(wine, estimator):
    X = wine[0]
    parameters = {"model": "AkB", "noise_factors": 0, "random_state": 0}
    parameters |= {"sparsity": 0.5} if estimator is SparseFisherEM else {}
    whole = estimator(3, **parameters).fit(X)
    one = X.copy()
    one[11, 3] = np.nan
    found = estimator(3, **parameters).fit(one)
    assert accuracy(whole.labels_, found.labels_) > 0.98
    overlap = np.linalg.svd(whole.loadings_.T @ found.loadings_, compute_uv=False)
    assert overlap.min() > 0.999
    assert found.log_likelihood_ == pytest.approx(whole.log_likelihood_, rel=2e-3)
    assert found.noise_variances_[0] == pytest.approx(whole.noise_variances_[0], rel=0.01)


def test_likelihood_and_posteriors_are_those_of_sub_matrices(gappy, fitted):
    log_joint, rows, _ = naive.of_model(fitted, gappy)
    T, density = naive.posteriors(log_joint)
    assert fitted.log_likelihood_ == pytest.approx(density.sum(), rel=1e-9)
    assert np.allclose(fitted.score_samples(gappy), density)
    assert np.allclose(fitted.predict_proba(gappy), T.T, atol=1e-9)
    assert (fitted.predict(gappy) == fitted.labels_).all()
    expected = np.einsum("kn,knp->np", T, rows)
    assert np.allclose(fitted.impute(gappy), expected)
    assert np.allclose(fitted.transform(gappy), expected @ fitted.loadings_)


@pytest.mark.parametrize("name", ["bic", "icl", "aic", "gain"])
def test_criteria_are_those_of_the_observed_cells(gappy, fitted, name):
    assert fitted.criterion(name, gappy) == pytest.approx(getattr(fitted, f"{name}_"), rel=1e-9)


def test_the_order_of_the_rows_does_not_matter(gappy, fitted):
    order = np.random.default_rng(3).permutation(len(gappy))
    again = SparseFisherEM(3, scale="none", random_state=0).fit(gappy[order])
    assert again.log_likelihood_ == pytest.approx(fitted.log_likelihood_, rel=1e-6)
    assert (again.support_ == fitted.support_).all()
    assert accuracy(fitted.labels_[order], again.labels_) == 1


def test_rows_count_as_often_as_their_weights_say(gappy):
    parameters = {"model": "AkB", "noise_factors": 2, "random_state": 0}
    w = np.ones(len(gappy))
    w[:20] = 2
    weighted = FisherEM(3, scale="none", **parameters).fit(gappy, sample_weight=w)
    repeated = FisherEM(3, scale="none", **parameters).fit(np.vstack([gappy, gappy[:20]]))
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-6)
    assert (weighted.labels_ == repeated.labels_[: len(gappy)]).all()


def test_scaling_the_columns_changes_no_group(gappy):
    scales = np.geomspace(1e-3, 1e3, gappy.shape[1])
    one = FisherEM(3, scale="standardise", random_state=0).fit(gappy)
    other = FisherEM(3, scale="standardise", random_state=0).fit(gappy * scales + 5)
    assert (one.labels_ == other.labels_).all()
    observed = (~np.isnan(gappy)).sum(axis=0)
    assert other.log_likelihood_ + observed @ np.log(scales) == pytest.approx(one.log_likelihood_, rel=1e-6)
    assert other.score(gappy * scales + 5) * len(gappy) == pytest.approx(other.log_likelihood_, rel=1e-9)


def test_full_means_take_gaps_too(gappy):
    model = FisherEM(3, scale="none", means="full", model="AkB", n_init=1, random_state=0).fit(gappy)
    T, density = naive.posteriors(naive.of_model(model, gappy)[0])
    assert model.log_likelihood_ == pytest.approx(density.sum(), rel=1e-9)
    assert np.allclose(model.predict_proba(gappy), T.T, atol=1e-9)


def test_more_columns_than_rows():
    X, y = datasets.simulate(60, p=100, mu=4.0, random_state=0)
    X = with_gaps(X)
    model = SparseFisherEM(3, scale="none", model="AkB", noise_factors=2, sparsity=0.1, random_state=0).fit(X)
    density = naive.posteriors(naive.of_model(model, X)[0])[1]
    assert model.log_likelihood_ == pytest.approx(density.sum(), rel=1e-6)
    assert accuracy(y, model.labels_) > 0.8


def test_the_right_variables_on_the_simulation():
    X, y = datasets.simulate(600, mu=2.5, random_state=1)
    complete = SparseFisherEM(3, scale="none", random_state=0).fit(X)
    model = SparseFisherEM(3, scale="none", random_state=0).fit(with_gaps(X))
    assert (model.support_ == complete.support_).all()
    assert accuracy(y, model.labels_) > accuracy(y, complete.labels_) - 0.05


def test_columns_without_any_value_are_named_and_rows_get_the_prior(gappy):
    frame = pd.DataFrame(gappy, columns=[f"v{j}" for j in range(gappy.shape[1])])
    frame["v4"] = np.nan
    with pytest.raises(ValueError, match="every value is missing in 'v4'"):
        FisherEM(3, scale="none", random_state=0).fit(frame)
    empty = gappy.copy()
    empty[7] = np.nan
    with pytest.warns(UserWarning, match="1 row has no observed value"):
        model = FisherEM(3, scale="none", random_state=0).fit(empty)
    with pytest.warns(UserWarning, match="no observed value"):
        assert np.allclose(model.predict_proba(empty)[7], model.weights_)
    with pytest.warns(UserWarning, match="no observed value"):
        assert model.score_samples(empty)[7] == pytest.approx(0)


def test_a_constant_column_stays_constant(gappy):
    X = np.column_stack([gappy, np.where(np.arange(len(gappy)) % 3 == 0, np.nan, 5.0)])
    with pytest.warns(UserWarning, match="constant columns"):
        model = SparseFisherEM(3, scale="none", random_state=0).fit(X)
    assert not model.support_[-1]


def test_a_power_transformation_takes_no_gaps(gappy):
    with pytest.raises(ValueError, match="takes no missing values yet"):
        FisherEM(3, scale="none", transformation="power").fit(gappy)


def test_neighbours_complete_rows_as_written_out(gappy):
    """Five nearest by the cells that two rows share; equal rows count once, those of no weight not at all."""
    table = np.asarray(gappy, float)[:40]
    weights = np.r_[np.ones(35), np.zeros(5)]
    twice = np.vstack([table, table[:10]])
    observed = Observed.of(table, weights)
    found = observed.by_neighbours()
    assert not np.isnan(found).any()
    seen = ~np.isnan(table)
    np.testing.assert_array_equal(found[seen], table[seen])
    z = (table - observed.centre) / observed.scales
    for i, j in zip(*np.nonzero(~seen), strict=True):
        both = [seen[i] & seen[k] for k in range(35)]
        far = [
            np.inf if k == i or not seen[k, j] or not both[k].any()
            else ((z[i] - z[k])[both[k]] ** 2).sum() * len(z[i]) / both[k].sum()
            for k in range(35)
        ]  # fmt: skip
        expected = z[np.argsort(far)[:5], j].mean() * observed.scales[j] + observed.centre[j]
        np.testing.assert_allclose(found[i, j], expected, rtol=1e-9)
    again = Observed.of(twice, np.r_[weights, np.ones(10)])
    again = replace(again, centre=observed.centre, scales=observed.scales).by_neighbours()
    np.testing.assert_allclose(again[:40], found, rtol=1e-9)


def test_groups_that_neighbours_show_are_taken_where_they_gain_more():
    """Breast cancer with gaps: what was compared is recorded."""
    X, _ = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[np.random.default_rng(11).random(X.shape) < 0.2] = np.nan
    said = decided(FisherEM(2, random_state=0).fit(X), "missing cells")
    gains = [float(gain) for gain in re.findall(r"[+-][\d.]+", said.alternatives)]
    by_neighbours = said.choice == "groups of rows completed by nearest neighbours"
    assert said.choice.endswith(("nearest neighbours", "the model"))
    assert not by_neighbours or gains[1] > gains[0]
