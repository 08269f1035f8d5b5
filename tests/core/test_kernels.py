"""The engine against loops: statistics, M-step, E-step, invariances."""

import numpy as np
import pytest

from fisherem.core.data.kernels import column_moments, expect, group_sums, measure
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.family import DLMFamily
from fisherem.core.dlm.m_step import m_step
from fisherem.core.dlm.projection import FullMeans
from fisherem.core.engine.loop import Settings, run
from fisherem.experiments.paper import TABLE_1
from fisherem.model.dlm import MODELS
from fisherem.rows.base import ArrayRows, n_threads
from tests.naive import mixture_log_densities, weighted_groups

SETTINGS = Settings(20, 1e-6, "aitken")
FAMILY = DLMFamily(3, 2, MODELS["DkBk"], "orthonormal", 1e-4)


def one_iteration(Y, T, model="DkBk", **keywords):
    problem = prepare(Y, ridge=1e-3, **keywords)
    states = problem.start_states(T, T.shape[1])
    sums = problem.group_sums(states)
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(Y.shape[1], 2)))[0]
    projection = FullMeans.of(U, sums.sums / sums.weights[:, None])
    moments = problem.rows.fold(measure, states, projection)
    parameters = m_step(sums.weights, projection.latent_means, moments, MODELS[model], Y.shape[1], 1e-12)
    expectation = problem.rows.fold(expect, states, parameters)
    return problem, states, U, sums, parameters, expectation


def test_sums_are_those_of_loops(groups):
    Y, T = groups
    problem, _, _, sums, _, _ = one_iteration(Y, T)
    n_k, means, _ = weighted_groups(Y, T)
    np.testing.assert_allclose(sums.weights, n_k)
    np.testing.assert_allclose(sums.sums / sums.weights[:, None] + problem.centre, means)


@pytest.mark.parametrize("name", TABLE_1)
def test_m_step_maximises_Q_and_is_the_papers(groups, name):
    """Eqs (8)-(12) tied as the model says; and no nearby parameters of the same model give a larger Q (eq. 8)."""
    Y, T = groups
    p, d = Y.shape[1], 2
    _, _, U, _, parameters, _ = one_iteration(Y, T, name)
    n_k, _, covariances = weighted_groups(Y, T)
    shares = n_k / len(Y)
    latent = np.array([U.T @ C @ U for C in covariances])
    noise = np.array([(np.trace(C) - np.trace(L)) / (p - d) for C, L in zip(covariances, latent, strict=True)])
    model = MODELS[name]
    np.testing.assert_allclose(parameters.proportions, shares)
    np.testing.assert_allclose(
        parameters.covariances, model.covariance.constrain(latent, shares), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(parameters.noises, model.noise.constrain(noise, shares))

    def Q(covs, noises):
        return -0.5 * sum(
            n * (np.trace(np.linalg.solve(S, L)) + np.linalg.slogdet(S)[1] + (p - d) * (np.log(b) + e / b))
            for n, S, L, b, e in zip(n_k, covs, latent, noises, noise, strict=True)
        )

    best = Q(parameters.covariances, parameters.noises)
    rng = np.random.default_rng(1)
    for _ in range(30):
        near = [R @ S @ R.T for R, S in zip(np.eye(d) + 0.05 * rng.normal(size=(3, d, d)), latent, strict=True)]
        covs = model.covariance.constrain(np.array(near), shares)
        noises = model.noise.constrain(noise * np.exp(0.05 * rng.normal(size=3)), shares)
        assert Q(covs, noises) <= best + 1e-9


@pytest.mark.parametrize("name", MODELS)
def test_e_step_is_that_of_full_covariances(groups, name):
    Y, T = groups
    problem, states, U, sums, parameters, expectation = one_iteration(Y, T, name)
    means = sums.sums / sums.weights[:, None] + problem.centre
    naive = mixture_log_densities(Y, parameters.proportions, means, U, parameters.covariances, parameters.noises)
    density = np.logaddexp.reduce(naive, axis=1)
    posteriors = np.exp(naive - density[:, None])
    np.testing.assert_allclose(problem.rows.gather(states, "posteriors").T, posteriors, atol=1e-10)
    np.testing.assert_allclose(problem.rows.gather(states, "log_density"), density)
    np.testing.assert_allclose(expectation.log_likelihood, density.sum())
    terms = np.where(posteriors > 0, posteriors * np.log(np.maximum(posteriors, 1e-300)), 0)
    np.testing.assert_allclose(expectation.entropy, -terms.sum(), rtol=1e-8)
    np.testing.assert_allclose(expectation.sums, posteriors.T @ (Y - problem.centre), atol=1e-8)


@pytest.mark.parametrize("block_rows", [1, 7, 60, 120, 1000])
def test_any_block_size_gives_the_same_statistics(groups, block_rows):
    Y, T = groups
    reference = one_iteration(Y, T)
    other = one_iteration(Y, T, block_rows=block_rows, n_jobs=3)
    np.testing.assert_allclose(other[3].sums, reference[3].sums, atol=1e-10)
    np.testing.assert_allclose(other[4].covariances, reference[4].covariances)
    np.testing.assert_allclose(other[5].log_likelihood, reference[5].log_likelihood)
    np.testing.assert_allclose(other[0].scatter.matrix, reference[0].scatter.matrix)


def test_block_boundaries_do_not_depend_on_the_number_of_threads():
    Y = np.zeros((50_000, 3))
    assert ArrayRows(Y, n_jobs=1).slices == ArrayRows(Y, n_jobs=7).slices
    assert sum(s.stop - s.start for s in ArrayRows(Y).slices) == 50_000
    assert n_threads(1) == 1
    assert n_threads(-1) == n_threads(None)
    assert n_threads(-100) == 1


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=20_000)
    Y = rng.normal(size=(20_000, 12)) + 2 * rng.normal(size=(3, 12))[labels]

    def fit(n_jobs):
        problem = prepare(Y, ridge=1e-3, n_jobs=n_jobs)
        return run(problem, problem.start_states(labels, 3), FAMILY, SETTINGS)

    one, two = fit(1), fit(2)
    assert one.log_likelihood == two.log_likelihood
    np.testing.assert_array_equal(one.solution.axes.rows, two.solution.axes.rows)


def test_statistics_merge(groups):
    """Two parts added are the whole."""
    Y, T = groups
    whole, parts = ArrayRows(Y), [ArrayRows(Y[:50]), ArrayRows(Y[50:])]
    total = whole.fold(column_moments, whole.states(), True)
    merged = sum_of(r.fold(column_moments, r.states(), True) for r in parts)
    np.testing.assert_allclose(merged.cross, total.cross)
    assert merged.weight == total.weight
    states = whole.states()
    states[0].posteriors = T.T
    sums = [r.states() for r in parts]
    sums[0][0].posteriors, sums[1][0].posteriors = T.T[:, :50], T.T[:, 50:]
    merged = sum_of(r.fold(group_sums, s) for r, s in zip(parts, sums, strict=True))
    np.testing.assert_allclose(merged.sums, whole.fold(group_sums, states).sums)


def sum_of(items):
    first, *others = items
    for other in others:
        first = first + other
    return first


@pytest.mark.parametrize(("offset", "scale"), [(1e6, 1.0), (0.0, 1e-6), (-1e6, 1e3)])
def test_offset_and_scale_change_nothing(groups, offset, scale):
    """The trap of traces as differences of squares: Kelvin, raw counts, metres for centimetres."""
    Y, T = groups
    Y = Y - 10

    def fit(data):
        problem = prepare(data, ridge=1e-3)
        fit = run(problem, problem.start_states(T, 3), FAMILY, SETTINGS)
        return fit, problem.rows.gather(fit.states, "posteriors")

    plain, posteriors = fit(Y)
    moved, others = fit(scale * Y + offset)
    np.testing.assert_allclose(others, posteriors, atol=1e-4)
    jacobian = Y.size * np.log(scale)
    np.testing.assert_allclose(moved.log_likelihood + jacobian, plain.log_likelihood, rtol=1e-6)
    assert np.abs(np.abs(moved.solution.axes.rows) - np.abs(plain.solution.axes.rows)).max() < 1e-5


def test_wide_data_in_their_row_space_are_the_same_problem():
    """n <= p: rotated coordinates against the p x p formulas."""
    rng = np.random.default_rng(3)
    labels = np.arange(24) % 3
    Y = rng.normal(size=(24, 30)) + 2 * rng.normal(size=(3, 30))[labels] + 50
    problem = prepare(Y, ridge=0.1)
    assert problem.rows.Y.shape == (24, 23)
    S = np.cov(Y.T, bias=True)
    ridge = 0.1 * np.trace(S) / 30
    right = problem.scatter.to_variables(rng.normal(size=(23, 2)))
    ours = problem.scatter.to_variables(problem.scatter.solve(problem.scatter.to_rows(right)))
    np.testing.assert_allclose(ours, np.linalg.solve(S + ridge * np.eye(30), right), atol=1e-10)
    fit = run(problem, problem.start_states(labels, 3), FAMILY, SETTINGS)
    U = problem.scatter.to_variables(fit.solution.axes.rows)
    means = problem.scatter.to_variables(fit.solution.means.T).T + problem.centre
    p = fit.solution.density
    naive = mixture_log_densities(Y, p.proportions, means, U, p.covariances, p.noises)
    np.testing.assert_allclose(fit.log_likelihood, np.logaddexp.reduce(naive, axis=1).sum())


def test_float32_rows_are_not_copied_to_float64(groups):
    Y = groups[0].astype(np.float32)
    problem = prepare(Y, ridge=1e-3)
    assert problem.rows.Y is Y
    assert problem.scatter.matrix.dtype == np.float64


@pytest.mark.parametrize(("n", "share"), [(500, 1e-3), (100, 0.22**4), (40, 0.55**4), (22, 1.0), (15, 1.0)])
def test_the_ridge_grows_where_rows_are_few(n, share):
    Y = np.random.default_rng(0).normal(size=(n, 20)) * np.linspace(1, 3, 20)
    auto, given = prepare(Y, ridge="auto"), prepare(Y, ridge=0.2)
    assert auto.scatter.ridge == pytest.approx(share * auto.scatter.mean_variance)
    assert given.scatter.ridge == pytest.approx(0.2 * given.scatter.mean_variance)


def test_repeated_rows_and_weights_have_the_same_ridge():
    Y = np.random.default_rng(1).normal(size=(25, 20))
    twice, weighted = prepare(np.vstack([Y, Y]), ridge="auto"), prepare(Y, np.full(25, 2.0), ridge="auto")
    assert twice.scatter.ridge == pytest.approx(weighted.scatter.ridge)
    assert twice.scatter.ridge < prepare(Y, ridge="auto").scatter.ridge
