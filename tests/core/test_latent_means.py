"""Means inside the axes: the engine against eq. (4) written out with p x p covariances."""

import dask.array as da
import numpy as np
import pytest

from fisherem import FisherEM
from fisherem.core.data.kernels import expect, measure
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.family import DLMFamily, Means
from fisherem.core.dlm.m_step import LatentParameters, m_step
from fisherem.core.dlm.projection import LatentMeans
from fisherem.core.engine.loop import Settings, run
from fisherem.model.dlm import MODELS
from fisherem.tables.checking import check_table
from tests.naive import (
    latent_fisher_em,
    latent_m_step,
    mixture_log_densities,
    posteriors_of,
    tied,
)

SETTINGS = Settings(20, 1e-6, "aitken")


def family(name="DkB", d=2):
    return DLMFamily(3, d, MODELS[name], "svd", 1e-6, means=Means.LATENT)


def axes_for(p):
    return np.linalg.qr(np.random.default_rng(0).normal(size=(p, 2)))[0]


def one_iteration(Y, T, name="DkBk", weights=None, U=None, **keywords):
    """M-step and E-step along given axes: (problem, states, parameters, sums)."""
    U = axes_for(Y.shape[1]) if U is None else U
    problem = prepare(Y, weights, ridge=1e-3, **keywords)
    states = problem.start_states(T, T.shape[1])
    sums = problem.group_sums(states)
    axes = problem.scatter.to_rows(U)
    placing = LatentMeans.of(axes, sums.sums / sums.weights[:, None] @ axes, problem.mean)
    moments = problem.rows.fold(measure, states, placing)
    p = Y.shape[1]
    parameters = m_step(sums.weights, placing.latent_means, moments, MODELS[name], p, 1e-12, LatentParameters)
    return problem, states, parameters, problem.rows.fold(expect, states, parameters)


def compare_with_paper(Y, T, found, name, weights=None, U=None, rtol=1e-8):
    """All that an iteration gives against the transcription of eq. (4)."""
    U = axes_for(Y.shape[1]) if U is None else U
    problem, states, parameters, sums = found
    shares, means, covariances, noises = latent_m_step(Y, T, U, name, weights)
    scale = np.trace(np.cov(Y.T)) / Y.shape[1]
    np.testing.assert_allclose(parameters.proportions, shares)
    np.testing.assert_allclose(parameters.covariances, covariances, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(parameters.noises, noises, rtol=rtol)
    latent = parameters.latent_means + problem.centre @ U
    if problem.rows is not problem.given:  # coordinates in the row space are about the overall mean
        latent = latent + np.average(Y - problem.centre, axis=0, weights=weights) @ U
    np.testing.assert_allclose(latent, means @ U, rtol=rtol, atol=rtol * np.sqrt(scale))
    posteriors, density, entropy = posteriors_of(mixture_log_densities(Y, shares, means, U, covariances, noises))
    w = np.ones(len(Y)) if weights is None else weights
    np.testing.assert_allclose(problem.rows.gather(states, "posteriors").T, posteriors, atol=10 * rtol)
    np.testing.assert_allclose(problem.rows.gather(states, "log_density"), density, rtol=rtol)
    np.testing.assert_allclose(sums.log_likelihood, w @ density, rtol=rtol)
    np.testing.assert_allclose(sums.entropy, w @ entropy, rtol=10 * rtol)
    np.testing.assert_allclose(sums.weights, w @ posteriors, rtol=10 * rtol)


@pytest.fixture
def weights():
    return np.random.default_rng(2).uniform(0.2, 3, size=120)


@pytest.fixture
def wide():
    """24 rows of 40 variables about 50, with soft posteriors."""
    rng = np.random.default_rng(3)
    labels = np.arange(24) % 3
    Y = rng.normal(size=(24, 40)) + 2 * rng.normal(size=(3, 40))[labels] + 50
    T = rng.dirichlet(np.ones(3), size=24) + 3 * np.eye(3)[labels]
    return Y, T / T.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", MODELS)
def test_an_iteration_is_that_of_full_covariances(groups, name):
    Y, T = groups
    compare_with_paper(Y, T, one_iteration(Y, T, name), name)


@pytest.mark.parametrize("name", ["DkBk", "AkjB"])
def test_weights(groups, weights, name):
    Y, T = groups
    compare_with_paper(Y, T, one_iteration(Y, T, name, weights), name, weights)


@pytest.mark.parametrize("name", MODELS)
def test_wide_rows_in_their_row_space(wide, name):
    """The axes may point out of the row space, as sparse ones do."""
    Y, T = wide
    found = one_iteration(Y, T, name)
    assert found[0].rows.p < len(Y)
    compare_with_paper(Y, T, found, name)


def test_wide_rows_with_weights(wide):
    Y, T = wide
    weights = np.random.default_rng(4).uniform(0.2, 3, size=len(Y))
    compare_with_paper(Y, T, one_iteration(Y, T, "DkB", weights), "DkB", weights)


@pytest.mark.parametrize("block_rows", [1, 7, 60, 1000])
def test_any_block_size(groups, weights, block_rows):
    Y, T = groups
    found = one_iteration(Y, T, "DkBk", weights, block_rows=block_rows, n_jobs=2)
    compare_with_paper(Y, T, found, "DkBk", weights)


@pytest.mark.parametrize("name", ["DkBk", "AB"])
@pytest.mark.parametrize(("offset", "scale"), [(1e6, 1.0), (0.0, 1e-6), (-1e6, 1e3)])
def test_offsets_and_scales(groups, name, offset, scale):
    """Against the transcription on the rows as they were: the density changes by the Jacobian, nothing else does."""
    Y, T = groups
    U = axes_for(8)
    _, states, parameters, sums = found = one_iteration(scale * Y + offset, T, name)
    shares, means, covariances, noises = latent_m_step(Y, T, U, name)
    np.testing.assert_allclose(parameters.covariances / scale**2, covariances, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(parameters.noises / scale**2, noises, rtol=1e-6)
    posteriors, density, _ = posteriors_of(mixture_log_densities(Y, shares, means, U, covariances, noises))
    np.testing.assert_allclose(found[0].rows.gather(states, "posteriors").T, posteriors, atol=1e-6)
    np.testing.assert_allclose(sums.log_likelihood + Y.size * np.log(scale), density.sum(), rtol=1e-7)


@pytest.mark.parametrize("name", ["DkBk", "AkB"])
def test_float32_rows_with_an_offset(groups, name):
    """The centre of float32 rows is a float32 number: the overall mean differs from it, visibly."""
    Y, T = groups
    rows = (Y + 1e5).astype(np.float32)
    found = one_iteration(rows, T, name)
    assert np.abs(found[0].mean).max() > 1e-4
    compare_with_paper(rows.astype(float), T, found, name, rtol=1e-7)


@pytest.mark.parametrize("kind", ["file", "dask"])
@pytest.mark.parametrize("name", ["DkBk", "AB"])
def test_files_and_dask(groups, name, kind, tmp_path):
    Y, T = groups
    if kind == "file":
        np.save(tmp_path / "rows.npy", Y)
        table = check_table(FisherEM(memory="20kB"), tmp_path / "rows.npy", reset=True, elsewhere=True)
    else:
        table = check_table(FisherEM(), da.from_array(Y, chunks=(50, -1)), reset=True, elsewhere=True)
    found = one_iteration(table, T, name, U=axes_for(8))
    compare_with_paper(Y, T, found, name)


@pytest.mark.parametrize("name", MODELS)
def test_no_nearby_parameters_of_the_model_give_a_larger_Q(groups, name):
    """Q of eq. (8) with p x p covariances, at parameters near those of the M-step and tied alike."""
    Y, T = groups
    U = axes_for(8)
    _, _, parameters, _ = one_iteration(Y, T, name)
    shares, means, latent, noises = latent_m_step(Y, T, U, "DkBk")

    def Q(means, covariances, noises):
        return (T * mixture_log_densities(Y, shares, means, U, covariances, noises)).sum()

    best = Q(means, parameters.covariances, parameters.noises)
    rng = np.random.default_rng(1)
    for _ in range(10):
        turned = np.array(
            [R @ S @ R.T for R, S in zip(np.eye(2) + 0.05 * rng.normal(size=(3, 2, 2)), latent, strict=True)]
        )
        near = tied(name, turned, noises * np.exp(0.05 * rng.normal(size=3)), shares)
        assert Q(means, *near) <= best + 1e-9
        moved = means + 0.1 * rng.normal(size=(3, 2)) @ U.T
        assert Q(moved, parameters.covariances, parameters.noises) <= best


@pytest.mark.parametrize("name", ["DkBk", "DkB", "AkB", "AB"])
def test_iterations_are_those_of_the_transcription(groups, name):
    Y, T = groups
    expected, values = latent_fisher_em(Y, T, 2, name, 1e-3, 6)
    problem = prepare(Y, ridge=1e-3)
    fit = run(problem, problem.start_states(T, 3), family(name), Settings(6, 0.0, "aitken"))
    np.testing.assert_allclose([record["log_likelihood"] for record in fit.history], values, rtol=1e-8)
    if values.argmax() == 5:  # without convergence the most likely iterate is returned
        np.testing.assert_allclose(problem.rows.gather(fit.states, "posteriors").T, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["DkBk", "AB"])
def test_iterations_on_wide_rows(wide, name):
    Y, T = wide
    _, values = latent_fisher_em(Y, T, 2, name, 0.1, 4)
    problem = prepare(Y, ridge=0.1)
    fit = run(problem, problem.start_states(T, 3), family(name), Settings(4, 0.0, "aitken"))
    np.testing.assert_allclose([record["log_likelihood"] for record in fit.history], values, rtol=1e-8)


def test_weights_are_repetitions_through_the_loop(groups):
    Y, T = groups
    counts = np.random.default_rng(3).integers(1, 4, size=len(Y))
    fits = []
    for problem, start in [
        (prepare(Y, counts.astype(float), ridge=1e-3), T),
        (prepare(np.repeat(Y, counts, axis=0), ridge=1e-3), np.repeat(T, counts, axis=0)),
    ]:
        fits.append(run(problem, problem.start_states(start, 3), family(), SETTINGS))
    weighted, repeated = fits
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-9)
    assert weighted.entropy == pytest.approx(repeated.entropy, rel=1e-6)
    np.testing.assert_allclose(weighted.solution.density.noises, repeated.solution.density.noises)
