"""The steps of mixtures of factor models against naive transcriptions and against scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis

from fisherem.core.data.problem import prepare
from fisherem.core.engine.loop import Settings, run
from fisherem.core.factors.axes import group_moments, leading
from fisherem.core.factors.common_axes import LatentFactors
from fisherem.core.factors.common_axes_family import LatentFactorFamily
from fisherem.core.factors.density import regressions
from fisherem.core.factors.family import FactorFamily
from fisherem.core.factors.moments import AroundMeans, group_products
from fisherem.core.factors.steps import Bounds, Factors, em_step, exact_step, newton_steps
from fisherem.model.factors import STRUCTURES, resolve_structure
from tests.families import naive_factors

OWN_MEANS = [name for name, structure in STRUCTURES.items() if structure.latent is None]
PGMM = [name for name in STRUCTURES if len(name) == 3]


@pytest.fixture
def moments(groups):
    """(Y, T, shares, means, C_k) of soft groups."""
    Y, T = groups
    n_k = T.sum(axis=0)
    means = T.T @ Y / n_k[:, None]
    covariances = [((Y - m) * t[:, None]).T @ (Y - m) / n for m, t, n in zip(means, T.T, n_k, strict=True)]
    return Y, T, n_k / n_k.sum(), means, np.array(covariances)


def some_factors(structure, covariances, q=2):
    """Loadings and noises that the structure allows, which fit nothing."""
    rng = np.random.default_rng(0)
    K, p, _ = covariances.shape
    L = rng.normal(size=(K, p, q)) * np.sqrt(np.trace(covariances.mean(axis=0)) / p)
    if structure.loadings.common:
        L[:] = L[0]
    if not structure.loadings.free:
        L = np.linalg.qr(L)[0] * 3.0
    noises = rng.uniform(1, 2, size=(K, p)) * np.trace(covariances.mean(axis=0)) / p
    return Factors(L, structure.noise.tie(noises, np.full(K, 1 / K), np.ones(p, bool)))


@pytest.mark.parametrize("name", PGMM)
def test_a_step_of_em_is_that_of_all_rows_expectations(moments, name):
    Y, T, shares, _, C = moments
    structure = STRUCTURES[name]
    present = some_factors(structure, C)
    along = C @ regressions(present.loadings, present.noises).transpose(0, 2, 1)
    bounds = Bounds(np.full(8, 1e-9), np.ones(8, bool))
    found = em_step(structure, present, along, np.einsum("kjj->kj", C), shares, bounds)
    _, loadings, noises = naive_factors.em_step(structure, Y, T, present.loadings, present.noises)
    np.testing.assert_allclose(found.loadings, loadings, rtol=1e-8)
    np.testing.assert_allclose(found.noises, noises, rtol=1e-8)


def cost(C, shares, factors):
    """-2/n of the expected log-likelihood for given posteriors, up to a constant."""
    total = 0.0
    for pi, c, L, psi in zip(shares, C, factors.loadings, factors.noises, strict=True):
        S = L @ L.T + np.diag(psi)
        total += pi * (np.linalg.slogdet(S)[1] + np.trace(np.linalg.solve(S, c)))
    return total


@pytest.mark.parametrize("name", OWN_MEANS)
def test_steps_never_lower_the_likelihood_and_keep_the_structure(moments, name):
    *_, shares, _, C = moments
    structure = STRUCTURES[name]
    bounds = Bounds(np.full(8, 1e-3), np.ones(8, bool))
    present = some_factors(structure, C)
    costs = [cost(C, shares, present)]
    for _ in range(30):
        along = C @ regressions(present.loadings, present.noises).transpose(0, 2, 1)
        present = em_step(structure, present, along, np.einsum("kjj->kj", C), shares, bounds)
        costs.append(cost(C, shares, present))
    assert (np.diff(costs) <= 1e-10).all()
    assert costs[-1] < costs[0] - 0.1
    if structure.loadings.common:
        np.testing.assert_array_equal(present.loadings[0], present.loadings[2])
    if not structure.loadings.free:  # one length per group, orthogonal
        gram = present.loadings.transpose(0, 2, 1) @ present.loadings
        np.testing.assert_allclose(gram, gram[:, :1, :1] * np.eye(2), atol=1e-8)
        assert (np.ptp(gram[:, 0, 0]) < 1e-8) == (structure.loadings.name == "A")
    assert (np.ptp(present.noises, axis=0) == 0).all() == structure.noise.common
    assert (np.ptp(present.noises, axis=1) == 0).all() == structure.noise.spherical


@pytest.mark.parametrize("name", ["AkjBkQk", "AkBkQk"])
def test_eigenvectors_are_where_em_ends(moments, name):
    *_, shares, _, C = moments
    structure = STRUCTURES[name]
    bounds = Bounds(np.full(8, 1e-9), np.ones(8, bool))
    best = exact_step(structure, C, np.full(3, 2), shares, bounds)
    present = best
    for _ in range(5):
        along = C @ regressions(present.loadings, present.noises).transpose(0, 2, 1)
        present = em_step(structure, present, along, np.einsum("kjj->kj", C), shares, bounds)
    np.testing.assert_allclose(cost(C, shares, present), cost(C, shares, best), rtol=1e-12)
    slow = some_factors(structure, C)
    for _ in range(400):
        along = C @ regressions(slow.loadings, slow.noises).transpose(0, 2, 1)
        slow = em_step(structure, slow, along, np.einsum("kjj->kj", C), shares, bounds)
    np.testing.assert_allclose(cost(C, shares, slow), cost(C, shares, best), atol=1e-3)


def test_newton_steps_end_where_scikit_learn_does():
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 8)) + rng.uniform(0.5, 1.5, size=8) * rng.normal(size=(300, 8))
    C = np.cov(Y.T, bias=True)[None]
    diagonal = np.diagonal(C[0])
    found, costs = newton_steps(C, 0.5 * diagonal[None], 2, 1e-6 * diagonal, 20)
    rival = FactorAnalysis(2, tol=1e-8, max_iter=5000).fit(Y)
    likelihood = -0.5 * (costs[0] + 8 * np.log(2 * np.pi))
    np.testing.assert_allclose(likelihood, rival.score(Y), rtol=1e-8)
    np.testing.assert_allclose(found.noises[0], rival.noise_variance_, rtol=1e-3)
    np.testing.assert_allclose(costs, cost(C, np.ones(1), found), rtol=1e-10)


@pytest.mark.parametrize("name", ["MCFA", "MCUFSA"])
def test_a_step_in_the_factor_space(groups, name):
    Y, T = groups
    structure = STRUCTURES[name]
    problem = prepare(Y, ridge=1e-3)
    states = problem.start_states(T, 3)
    _, family = LatentFactorFamily(3, 2, structure, 1e-9).adapt(problem, states)
    step = family.begin(problem)
    before = family.initial
    sums = problem.group_sums(states)
    n_k, means = sums.weights, sums.sums / sums.weights[:, None]
    C = problem.rows.fold(group_products, states, AroundMeans.whole_covariances(means)).along(n_k, means)
    along = C @ before.matrix[:-1].T
    parts = step.step(n_k / n_k.sum(), means - before.overall, along, before.loadings, before.noises)
    loadings, noises, latent_means, roots = parts
    xi, omega, A, D = naive_factors.latent_step(name == "MCUFSA", Y, T, before.loadings, before.noises)
    np.testing.assert_allclose(latent_means, xi, atol=1e-8)
    assert (np.linalg.eigvalsh(omega) > 0).all()  # the transcription does not clip
    np.testing.assert_allclose(roots @ roots.transpose(0, 2, 1), omega, atol=1e-7)
    np.testing.assert_allclose(loadings, A, atol=1e-7)
    np.testing.assert_allclose(noises, D, rtol=1e-7)


@pytest.mark.parametrize("name", [*OWN_MEANS, "MCFA", "MCUFSA"])
def test_densities_and_scores_are_those_of_written_out_covariances(groups, name):
    Y, T = groups
    structure, problem = STRUCTURES[name], prepare(groups[0], ridge=1e-3)
    kind = FactorFamily if structure.latent is None else LatentFactorFamily
    states = problem.start_states(T, 3)
    _, family = kind(3, 2, structure, 1e-4).adapt(problem, states)
    fit = run(problem, states, family, Settings(5, 0.0, "aitken"))
    d = fit.solution.density
    if isinstance(d, LatentFactors):
        S = [d.loadings @ L @ L.T @ d.loadings.T + np.diag(d.noises) for L in d.roots]
        means = fit.solution.means
    else:
        S, means = naive_factors.covariances(d.loadings, d.noises), d.means
    naive = naive_factors.log_joint(Y - problem.centre, d.proportions, means, S)
    total = np.logaddexp.reduce(naive, axis=1)
    np.testing.assert_allclose(fit.log_likelihood, total.sum())
    posteriors = np.exp(naive - total[:, None])
    np.testing.assert_allclose(problem.rows.gather(fit.states, "posteriors").T, posteriors, atol=1e-8)
    rows = problem.rows
    scores = d.scores(rows._block(slice(0, 120)), posteriors.T)
    expected = np.zeros((2, 120))
    for k in range(3):
        L = d.loadings @ d.roots[k] if isinstance(d, LatentFactors) else d.loadings[k]
        u = (Y - problem.centre - means[k]) @ np.linalg.solve(S[k], L)
        u = d.latent_means[k] + u @ d.roots[k].T if isinstance(d, LatentFactors) else u
        expected += posteriors[:, k] * u.T
    np.testing.assert_allclose(scores, expected, atol=1e-8)


def test_random_directions_find_the_leading_axes_of_many_variables():
    """On many variables they come from products with the rows; on few from the covariances themselves."""
    rng = np.random.default_rng(1)
    labels = np.arange(300) % 2
    L = rng.normal(size=(2, 40, 3)) * np.array([4.0, 3.0, 2.0])
    Y = np.einsum("nq,npq->np", rng.normal(size=(300, 3)), L[labels]) + rng.normal(size=(300, 40))
    problem = prepare(Y, ridge=1e-3)
    states = problem.start_states(labels, 2)
    unit = np.linspace(1, 2, 40)
    for pooled in (False, True):
        moments = group_moments(problem, states)
        exact = leading(problem, states, moments, 3, unit, pooled=pooled)
        found = leading(problem, states, replace(moments, covariances=None), 3, unit, pooled=pooled)
        np.testing.assert_allclose(found.values, exact.values, rtol=1e-3)
        np.testing.assert_allclose(found.totals, exact.totals)
        turned = np.abs(np.einsum("kpa,kpb->kab", found.vectors, exact.vectors))
        np.testing.assert_allclose(turned, np.broadcast_to(np.eye(3), turned.shape), atol=0.03)


def test_names_of_structures():
    assert resolve_structure("MFA") is resolve_structure("pgmm-uuu") is STRUCTURES["UUU"]
    assert resolve_structure("Mixt-PPCA") is resolve_structure("akjbkqk") is STRUCTURES["AkjBkQk"]
    assert resolve_structure("mcfa") is STRUCTURES["MCFA"]
    with pytest.raises(ValueError, match="unknown structure 'full'; choose one of MFA, PPCA, CCC"):
        resolve_structure("full")
