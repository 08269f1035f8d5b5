import numpy as np
import pytest

from fisherem.core.data.problem import prepare
from fisherem.core.dlm.f_step.regression import Stopping
from fisherem.core.dlm.f_step.sparse import sparse_regression, sparse_svd, sparse_two_step
from fisherem.core.dlm.f_step.step import DISCRIMINANTS, SPARSE_STEPS, Between, FStep, discriminant_vectors, svd
from fisherem.solvers.l1_budget import kkt_violation
from fisherem.solvers.penalized_svd import l1_unit_vector
from tests.naive import principal_angle, scatters

from .test_dense import between_of

HALF = np.array([0.4, 0.4])


def naive_budget_lasso(gram, g, budget, n_steps=20_000):
    """Projected gradient with the exact projection onto the l1 ball: slow, and another method altogether."""

    def project(b):
        if np.abs(b).sum() <= budget:
            return b
        size = np.sort(np.abs(b))[::-1]
        excess = (np.cumsum(size) - budget) / np.arange(1, len(b) + 1)
        return np.sign(b) * np.maximum(np.abs(b) - excess[np.flatnonzero(size > excess)[-1]], 0)

    b, step = np.zeros(len(g)), 1 / np.linalg.norm(gram, 2)
    momentum, t = b, 1.0
    for _ in range(n_steps):
        following = project(momentum - step * (gram @ momentum - g))
        t, last = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
        momentum = following + (last - 1) / t * (following - b)
        b = following
    return b


def test_two_step_is_the_lasso_of_the_projected_data(groups):
    Y, T = groups
    ours = between_of(Y, T)
    result = sparse_two_step(ours, 2, HALF, svd)
    U, centred = svd(ours, 2), Y - Y.mean(axis=0)
    for j in range(2):
        target = centred @ U[:, j]  # Algorithm 1, steps 2 and 3, with the data themselves
        expected = naive_budget_lasso(centred.T @ centred, centred.T @ target, 0.4 * np.abs(U[:, j]).sum())
        np.testing.assert_allclose(result.loadings[:, j], expected, atol=1e-6)
    assert result.gap < 1e-9


def test_regression_alternates_the_papers_problem_with_its_own_matrices(groups):
    """Algorithm 2 with Cholesky factors of S_W and p x p matrices, as the paper writes it, against the K x K form."""
    _, S_B, S_W = scatters(*groups)
    ours = between_of(*groups)
    result = sparse_regression(ours, 2, HALF, None, stopping=Stopping(1e-4, 0.0, 200))
    usual = sparse_regression(ours, 2, HALF, None)
    assert usual.history[-1] == pytest.approx(result.history[-1], rel=1e-3)  # the usual stop loses next to nothing
    assert result.moved <= 1e-4 < usual.moved  # it stopped because the objective no longer fell
    H = ours.H
    R = np.linalg.cholesky(S_W).T
    vectors, ratio, _ = discriminant_vectors(ours, 2)
    B = vectors * np.sqrt(ratio / (1 - ratio))

    def polar(M):
        u, _, vt = np.linalg.svd(M, full_matrices=False)
        return u @ vt

    A = polar(np.linalg.solve(R.T, S_B @ B))
    full = np.linalg.solve(S_B + S_W, S_B @ np.linalg.solve(R, A))  # eq. for B-hat with rho = 1
    budgets = 0.4 * np.abs(full).sum(axis=0)
    for _ in range(40):
        g = S_B @ np.linalg.solve(R, A)
        B = np.column_stack([naive_budget_lasso(S_B + S_W, g[:, j], budgets[j], 800) for j in range(2)])
        A = polar(np.linalg.solve(R.T, S_B @ B))

    def objective(B):
        A = polar(np.linalg.solve(R.T, S_B @ B))
        F = np.linalg.solve(R.T, H)
        return np.sum((F - A @ (B.T @ H)) ** 2) + np.trace(B.T @ S_W @ B)

    np.testing.assert_allclose(result.history[-1], objective(result.loadings), rtol=1e-6)
    np.testing.assert_allclose(objective(result.loadings), objective(B), rtol=1e-3)
    np.testing.assert_allclose(result.loadings, B, atol=0.01 * np.abs(B).max())
    np.testing.assert_allclose(np.abs(result.loadings).sum(axis=0), budgets, rtol=1e-6)


def test_regression_objective_never_rises(groups):
    history = sparse_regression(between_of(*groups), 2, HALF, None).history
    assert len(history) > 2
    assert all(np.diff(history) <= 1e-10 * history[0])


def test_svd_method_is_the_penalised_svd_of_S_B_with_deflation(groups):
    _, S_B, _ = scatters(*groups)
    result = sparse_svd(between_of(*groups), 2, HALF, None)
    M = S_B.copy()
    for j in range(2):  # Algorithm 3 with the p x p matrix
        u = result.loadings[:, j]
        v = M.T @ u / np.linalg.norm(M.T @ u)
        np.testing.assert_allclose(u, l1_unit_vector(M @ v, max(1, 0.4 * np.sqrt(8))), atol=1e-6)
        M = M - (u @ M @ v) * np.outer(u, v)


@pytest.mark.parametrize("method", SPARSE_STEPS)
@pytest.mark.parametrize("discriminant", DISCRIMINANTS)
def test_a_share_of_one_is_the_dense_step(groups, method, discriminant):
    ours = between_of(*groups)
    dense = FStep(discriminant, 2)(ours)
    full = FStep(discriminant, 2, method, np.ones(2))(ours)
    np.testing.assert_allclose(full.rows, dense.rows)
    assert full.sparse is None


@pytest.mark.parametrize("method", ["two-step", "regression"])
def test_the_limit_of_large_shares_is_the_dense_subspace(groups, method):
    ours = between_of(*groups)
    nearly = FStep("svd", 2, method, np.full(2, 1 - 1e-9))(ours)
    assert principal_angle(nearly.loadings, svd(ours, 2)) < 1e-3


@pytest.mark.parametrize("method", SPARSE_STEPS)
def test_sparser_means_fewer_variables_and_orthonormal_axes(wine, method):
    X, y = wine
    ours = between_of(X, (y[:, None] == np.arange(3)).astype(float))
    selected = []
    for share in (0.9, 0.5, 0.2, 0.05):
        axes = FStep("orthonormal", 2, method, np.full(2, share))(ours)
        np.testing.assert_allclose(axes.loadings.T @ axes.loadings, np.eye(axes.d), atol=1e-10)
        # Procrustes fills rows, never new variables
        np.testing.assert_array_equal(axes.loadings.any(axis=1), axes.sparse.any(axis=1))
        assert axes.n_zeros == (axes.sparse == 0).sum()
        assert axes.gap < 1e-6
        selected.append(axes.n_selected)
    assert selected == sorted(selected, reverse=True)
    assert selected[-1] < 5


@pytest.mark.parametrize("method", SPARSE_STEPS)
def test_one_share_per_axis(wine, method):
    X, y = wine
    ours = between_of(X, (y[:, None] == np.arange(3)).astype(float))
    axes = FStep("svd", 2, method, np.array([0.05, 0.9]))(ours)
    counts = (axes.sparse != 0).sum(axis=0)
    assert counts[0] < 5 < counts[1]
    mixed = FStep("svd", 2, method, np.array([0.05, 1.0]))(ours)
    assert (mixed.sparse[:, 1] != 0).sum() >= 12  # deflation may clear the first axis's variable


def test_axes_that_collapse_onto_one_variable_are_dropped():
    """S_B on one variable only: the second penalised axis finds nothing, and Procrustes must not invent one."""
    problem = prepare(np.random.default_rng(0).normal(size=(300, 5)), ridge=1e-3)
    H = np.zeros((5, 3))
    H[2] = [1, -1, 0.5]
    only = FStep("svd", 2, "svd", np.full(2, 0.01))(Between(H, problem.scatter))
    assert only.d == 1
    assert only.dropped == (1,)
    np.testing.assert_array_equal(only.sparse[:, 0] != 0, np.arange(5) == 2)


@pytest.mark.parametrize("means", ["latent", "full"])
def test_dropped_axes_show_in_the_history(means):
    """Three groups along one variable: both sparse axes want it; the fit goes on with one axis and says so."""
    from fisherem import SparseFisherEM

    labels = np.arange(300) % 3
    Y = np.random.default_rng(0).normal(size=(300, 5))
    Y[:, 2] += 6 * labels
    two = {"discriminant": "orthonormal", "n_axes": 2, "ridge": 1e-3}  # as full means have them
    model = SparseFisherEM(3, scale="none", model="AkB", means=means, **two, sparsity=0.02, init=labels).fit(Y)
    assert model.history_[-1]["dropped_axes"] == (1,)
    assert model.history_[-1]["n_axes"] == 1
    np.testing.assert_array_equal(model.support_, np.arange(5) == 2)
    assert model.transform(Y).shape == (300, 1)
    assert np.isfinite(model.bic_)


@pytest.mark.parametrize("method", ["two-step", "regression"])
def test_scaled_penalty_is_that_of_standardised_predictors(method):
    rng = np.random.default_rng(2)
    labels = np.arange(200) % 3
    scales = np.array([1, 10, 0.1, 1, 5, 1, 1, 2.0])
    Z = rng.normal(size=(200, 8)) + 2 * rng.normal(size=(3, 8))[labels]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    T = (labels[:, None] == np.arange(3)).astype(float)
    # the axes that the lasso approximates are compared in standardised coordinates: b_j sd_j
    vectors = lambda between, d: discriminant_vectors(between, d)[0]  # noqa: E731
    plain = SPARSE_STEPS[method](between_of(Z, T), 2, HALF, vectors)
    scaled = SPARSE_STEPS[method](between_of(Z * scales, T), 2, HALF, vectors, scale_penalty=True)
    np.testing.assert_allclose(scaled.loadings * scales[:, None], plain.loadings, atol=1e-3)


@pytest.mark.parametrize("method", ["two-step", "regression"])
def test_l1_problems_meet_their_conditions_from_outside(groups, method):
    """The gap that a step reports is the one measured here, with S and the target written out."""
    Y, T = groups
    ours = between_of(Y, T, ridge=1e-3)
    warm: dict = {}
    result = SPARSE_STEPS[method](ours, 2, HALF, svd, warm=warm)
    assert result.gap < 1e-6
    if method == "two-step":
        U = svd(ours, 2)
        for j in range(2):
            b, g = result.loadings[:, j], ours.scatter.matrix @ U[:, j]
            multiplier = np.abs(g - ours.scatter.matrix @ b).max()
            assert kkt_violation(ours.scatter.gram, g, b, multiplier) < 1e-6
