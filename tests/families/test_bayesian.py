"""The Bayesian Fisher-EM against its formulas written out, and as an estimator."""

from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from fisherem import BayesianFisherEM, FisherEM, datasets, load, save
from fisherem.core.bayes.family import BayesFamily
from fisherem.core.bayes.step import bayes_step
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.f_step.step import SPARSE_STEPS, Axes
from fisherem.core.dlm.projection import LatentMoments
from fisherem.core.engine.loop import Settings, run
from fisherem.estimators.fitting import specification
from fisherem.model.dlm import MODELS
from tests.contract import expected_failures
from tests.families import naive_bayes


def family_of(model, problem, **changes):
    spec = specification(FisherEM(3, model=model, noise_factors=0), problem.rows.n, problem.p)
    family = BayesFamily(**{field.name: getattr(spec.family, field.name) for field in fields(spec.family)})
    return replace(family, **changes)


def held(groups, model, max_iter=25):
    """A run with the axes held: (problem, axes, fit)."""
    Y, T = groups
    problem = prepare(Y, ridge=1e-3)
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 2)))[0]
    family = family_of(model, problem, frozen=Axes(U), least_separation=None)
    fit = run(problem, problem.start_states(T, 3), family, Settings(max_iter, 0.0, "aitken"))
    return problem, U, fit


@pytest.mark.parametrize("model", MODELS)
def test_the_bound_never_falls_while_the_axes_are_held(groups, model):
    problem, U, fit = held(groups, model)
    values = [record["log_likelihood"] for record in fit.history]
    assert len(values) > 5
    assert (np.diff(values) > -1e-7).all()
    assert values[-1] > values[0] + 0.1
    # ... and is what its formula says
    d = fit.solution.density
    Y = groups[0] - problem.centre - problem.mean
    m, nu = d.latent_means - problem.mean @ U, d.prior.mean - problem.mean @ U
    log_rho = naive_bayes.log_rho(Y, d.proportions, U, m, d.spreads, d.covariances, d.noises)
    tau = np.exp(log_rho - np.logaddexp.reduce(log_rho, axis=1)[:, None])
    np.testing.assert_allclose(problem.rows.gather(fit.states, "posteriors").T, tau, atol=1e-8)
    bound = naive_bayes.elbo(Y, tau, d.proportions, U, m, d.spreads, d.covariances, d.noises, nu, d.prior.variance)
    np.testing.assert_allclose(fit.log_likelihood, bound)


def test_sweeps_end_where_the_updates_change_nothing(groups):
    Y, T = groups
    Y = Y - Y.mean(axis=0)
    U = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 2)))[0]
    n_k, X = T.sum(axis=0), Y @ U
    centres = T.T @ X / n_k[:, None]
    scatter = np.array([((X - c) * t[:, None]).T @ (X - c) for c, t in zip(centres, T.T, strict=True)])
    rest = T.T @ ((Y - X @ U.T) ** 2).sum(axis=1)
    found = bayes_step(n_k, centres, LatentMoments(scatter, rest), MODELS["DkBk"], 8, 1e-6, None)
    m, S = naive_bayes.posteriors_of_means(Y, T, U, found.covariances, found.prior.mean, found.prior.variance)
    np.testing.assert_allclose(found.latent_means, m, atol=1e-4)
    np.testing.assert_allclose(found.spreads, S, atol=1e-4)
    np.testing.assert_allclose(found.covariances, naive_bayes.covariances(Y, T, U, m, S), rtol=1e-4)
    nu, lam = naive_bayes.prior(m, S)
    np.testing.assert_allclose(found.prior.mean, nu, atol=1e-3)
    np.testing.assert_allclose(found.prior.variance, lam, rtol=1e-4)
    np.testing.assert_allclose(found.noises, rest / (n_k * 6))


def test_with_many_rows_the_prior_says_nothing():
    X, y = datasets.simulate(6000, mu=1.7, random_state=0)
    options = {"model": "AkB", "random_state": 0, "init": y}  # from other starts the groups have other numbers
    plain = FisherEM(3, noise_factors=0, **options).fit(X)
    bayes = BayesianFisherEM(3, **options).fit(X)
    assert (plain.labels_ == bayes.labels_).mean() > 0.995
    np.testing.assert_allclose(bayes.latent_means_, plain.latent_means_, atol=0.02)
    np.testing.assert_allclose(bayes.covariances_, plain.covariances_, atol=0.02)


def test_few_rows_are_drawn_together():
    """Without groups the means that chance makes are shrunk, and with few rows more than with many."""
    rng = np.random.default_rng(0)
    spreads = []
    for n in (30, 3000):
        X = rng.normal(size=(n, 6))
        labels = np.arange(n) % 3
        problem = prepare(X, ridge=1e-3)
        U = np.eye(6)[:, :2]
        family = family_of("AB", problem, frozen=Axes(U), least_separation=None)
        fit = run(problem, problem.start_states(labels, 3), family, Settings(1, 0.0, "aitken"))
        means = np.array([X[labels == k, :2].mean(axis=0) for k in range(3)])
        posterior = fit.solution.density.latent_means
        spreads.append(np.ptp(posterior, axis=0).sum() / np.ptp(means, axis=0).sum())
    assert spreads[0] < 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # sparse axes lead to the odd cycle
@pytest.mark.parametrize("method", [None, *SPARSE_STEPS])
def test_dense_and_sparse_on_wine(wine, method, tmp_path):
    X, y = wine
    model = BayesianFisherEM(3, model="DkB", method=method, sparsity=0.5, random_state=0).fit(X)
    assert (model.support_.all()) == (method is None)
    assert (model.labels_ == model.predict(X)).all()
    np.testing.assert_allclose(model.score_samples(X).sum(), model.log_likelihood_)
    np.testing.assert_allclose(model.elbo_, model.log_likelihood_ - model.divergence_)
    assert model.divergence_ > 0
    np.testing.assert_allclose(model.bic(X), model.bic_)
    zeros = (model.sparse_loadings_ == 0).sum()
    expected = MODELS["DkB"].n_parameters(3, 13, 2, zeros) - 3 * 2 + 2 + 1  # nu and lambda for the means
    assert model.n_parameters_ == expected
    back = load(save(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    if method is None:
        best = max((model.labels_ == np.array(order)[y]).mean() for order in _orders())
        assert best > 0.95
    else:  # the selected variables make the groups
        other = X.copy()
        other[:, ~model.support_] = np.random.default_rng(0).normal(size=other[:, ~model.support_].shape)
        np.testing.assert_array_equal(model.predict(other), model.labels_)


def _orders():
    from itertools import permutations

    return permutations(range(3))


def test_files_dask_and_weights(wine, tmp_path):
    da = pytest.importorskip("dask.array")
    X, _ = wine
    weights = np.random.default_rng(0).integers(0, 3, size=178)
    model = BayesianFisherEM(3, random_state=0)
    here = clone(model).fit(X)
    np.save(tmp_path / "rows.npy", X)
    for rows in (tmp_path / "rows.npy", da.from_array(X, chunks=(60, -1))):
        np.testing.assert_allclose(clone(model).fit(rows).elbo_, here.elbo_, rtol=1e-9)
    weighted = clone(model).fit(X, sample_weight=weights)
    np.testing.assert_allclose(weighted.elbo_, clone(model).fit(np.repeat(X, weights, axis=0)).elbo_, rtol=1e-9)


def test_what_makes_no_sense_is_said(wine):
    for options, message in (
        ({"model": "auto"}, "unknown model 'auto'"),
        ({"method": "hard"}, "method must be"),
        ({"scale": "auto"}, "scale must be"),
    ):
        with pytest.raises(ValueError, match=message):
            BayesianFisherEM(3, **options).fit(wine[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:constant columns:UserWarning")
@parametrize_with_checks(
    [BayesianFisherEM(random_state=0, n_init=1, init="ward")], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_init", [1, 2, 10])
@pytest.mark.parametrize("method", [None, "svd"])
def test_random_starts(n_init, method):
    X, _ = datasets.load("iris")
    model = BayesianFisherEM(3, init="random", n_init=n_init, method=method, sparsity=0.8, random_state=0).fit(X)
    assert len(model.starts_) >= n_init
    assert np.isfinite(model.elbo_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("table", ["iris", "wine"])
def test_random_starts_find_groups(request, table, seed):
    """The prior must not draw the means of a random partition, which nearly coincide, into one group."""
    X, y = request.getfixturevalue(table)
    model = BayesianFisherEM(3, init="random", random_state=seed).fit(X)
    assert (np.bincount(model.labels_, minlength=3) > 0.2 * len(X)).all()
    assert len(model.starts_) > 10  # the ten starts without a prior, and those that the prior was added to
    assert adjusted_rand_score(y, model.labels_) > 0.7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_groups_that_have_merged_are_a_collapse(iris):
    """Means that begin in one place stay there: the fit says so, although no group has lost its weight."""
    X, _ = iris
    labels = np.random.default_rng(0).integers(3, size=len(X))
    model = BayesianFisherEM(3, init=labels).fit(X)
    sizes = np.bincount(model.labels_, minlength=3)
    assert (sizes == 0).sum() == 2
    assert model.history_[-1]["smallest_group"] > 10
    empty = ", ".join(f"group {k + 1}" for k in np.flatnonzero(sizes == 0))
    assert model.stop_reason_ == f"collapsed ({empty})"
    assert not model.converged_
