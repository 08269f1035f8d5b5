import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import enet_path, lars_path, lasso_path

from fisherem.solvers.l1_budget import DenseGram, LowRankGram, ScaledGram, kkt_violation, solve


def problem(seed, n=60, p=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    return X, X @ rng.normal(size=p) + rng.normal(size=n)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 0.99))
def test_meets_its_optimality_conditions_and_its_budget(seed, share):
    X, y = problem(seed)
    gram, g = DenseGram(X.T @ X), X.T @ y
    budget = share * np.abs(np.linalg.solve(gram.matrix, g)).sum()
    solution = solve(gram, g, budget)
    assert kkt_violation(gram, g, solution.coefficients, solution.multiplier) < 1e-10
    assert solution.gap < 1e-10
    np.testing.assert_allclose(np.abs(solution.coefficients).sum(), budget)
    assert all(np.diff(solution.history) <= 0)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 0.95])
def test_agrees_with_scikit_learns_paths(share):
    X, y = problem(3)
    n = len(X)
    gram, g = DenseGram(X.T @ X / n), X.T @ y / n
    solution = solve(gram, g, share * np.abs(np.linalg.solve(gram.matrix, g)).sum())
    # the same multiplier in coordinate descent ...
    other = lasso_path(X, y, alphas=[solution.multiplier], tol=1e-11, max_iter=1_000_000)[1][:, 0]
    np.testing.assert_allclose(solution.coefficients, other, atol=1e-4)
    # ... and the same point of the LARS path
    alphas, _, coefs = lars_path(X, y, method="lasso")
    at = [np.interp(-solution.multiplier, -alphas, c) for c in coefs]
    np.testing.assert_allclose(solution.coefficients, at, atol=1e-8)


def test_without_a_binding_budget_it_is_least_squares():
    X, y = problem(4)
    gram, g = DenseGram(X.T @ X), X.T @ y
    full = np.linalg.solve(gram.matrix, g)
    solution = solve(gram, g, 2 * np.abs(full).sum())
    np.testing.assert_allclose(solution.coefficients, full)
    assert solution.multiplier == 0


def test_warm_start_gives_the_same_solution_in_fewer_steps():
    X, y = problem(5, n=300, p=60)
    gram, g = DenseGram(X.T @ X), X.T @ y
    budget = 0.4 * np.abs(np.linalg.solve(gram.matrix, g)).sum()
    cold = solve(gram, g, budget)
    near = g + 0.001 * np.abs(g).mean() * np.random.default_rng(0).normal(size=len(g))
    warm = solve(gram, near, budget, warm=cold.coefficients)
    again = solve(gram, near, budget)
    np.testing.assert_allclose(warm.coefficients, again.coefficients, atol=1e-10)
    assert warm.n_steps < again.n_steps


def test_a_misleading_warm_start_does_no_harm():
    X, y = problem(6)
    gram, g = DenseGram(X.T @ X), X.T @ y
    budget = 0.2 * np.abs(np.linalg.solve(gram.matrix, g)).sum()
    wrong = -np.sign(solve(gram, g, budget).coefficients) + (np.arange(len(g)) == 7)
    np.testing.assert_allclose(
        solve(gram, g, budget, warm=wrong).coefficients, solve(gram, g, budget).coefficients, atol=1e-10
    )


@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_low_rank_gram_is_the_elastic_net_for_n_below_p(share):
    rng = np.random.default_rng(8)
    n, p, ridge = 15, 80, 0.05
    X = rng.normal(size=(n, p))
    y = X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=n)
    _, s, vt = np.linalg.svd(X, full_matrices=False)
    low, dense = LowRankGram(vt.T, s**2 / n, ridge), DenseGram(X.T @ X / n + ridge * np.eye(p))
    g = X.T @ y / n
    budget = share * np.abs(np.linalg.solve(dense.matrix, g)).sum()
    solution = solve(low, g, budget)
    np.testing.assert_allclose(solution.coefficients, solve(dense, g, budget).coefficients, atol=1e-8)
    assert solution.gap < 1e-8
    alpha = solution.multiplier + ridge
    other = enet_path(X, y, l1_ratio=solution.multiplier / alpha, alphas=[alpha], tol=1e-10, max_iter=1_000_000)[1][
        :, 0
    ]
    np.testing.assert_allclose(solution.coefficients, other, atol=1e-5)


def test_gram_matrices_agree_with_the_matrix_written_out():
    rng = np.random.default_rng(1)
    V, e, ridge, scale = (
        np.linalg.qr(rng.normal(size=(12, 4)))[0],
        np.array([3.0, 2, 1, 0.5]),
        0.1,
        rng.random(12) + 0.5,
    )
    written = V * e @ V.T + ridge * np.eye(12)
    for gram, matrix in (
        (DenseGram(written), written),
        (LowRankGram(V, e, ridge), written),
        (ScaledGram(LowRankGram(V, e, ridge), scale), written / scale[:, None] / scale),
    ):
        np.testing.assert_allclose(gram.diagonal(), np.diag(matrix))
        for active in (np.array([1, 5]), np.arange(0, 12, 2)):  # fewer and more variables than the rank
            values = rng.normal(size=(len(active), 2))
            np.testing.assert_allclose(gram.times(active, values), matrix[:, active] @ values)
            np.testing.assert_allclose(
                gram.solve(active, values), np.linalg.solve(matrix[np.ix_(active, active)], values), rtol=1e-8
            )


def test_nothing_to_spend_selects_nothing():
    gram = DenseGram(np.eye(3))
    assert not solve(gram, np.ones(3), 0.0).coefficients.any()
    assert not solve(gram, np.zeros(3), 1.0).coefficients.any()


@pytest.mark.parametrize(
    ("g", "budget", "expected", "multiplier"),  # with G = I the solution is g soft-thresholded at the multiplier
    [
        ([3.0, 2.0, 1.0], 0.5, [0.5, 0.0, 0.0], 2.5),  # within the first piece
        ([3.0, 2.0, 1.0], 1.0, [1.0, 0.0, 0.0], 2.0),  # at the budget as the second variable joins
        ([3.0, 2.0, 1.0], 3.0, [2.0, 1.0, 0.0], 1.0),
        ([3.0, 2.0, 1.0], 6.0, [3.0, 2.0, 1.0], 0.0),  # at the budget as lambda reaches 0
        ([3.0, 2.0, 1.0], 9.0, [3.0, 2.0, 1.0], 0.0),  # the budget does not bind
    ],
)
def test_events_that_coincide_on_the_path(g, budget, expected, multiplier):
    solution = solve(DenseGram(np.eye(3)), np.array(g), budget)
    np.testing.assert_allclose(solution.coefficients, expected, atol=1e-12)
    assert solution.multiplier == pytest.approx(multiplier)
    assert solution.gap < 1e-12


def test_a_variable_that_leaves_as_the_budget_is_reached():
    """A budget at the breakpoint of the lasso path where a coefficient returns to 0."""
    for seed in range(20):
        X, y = problem(seed)
        _, _, path = lars_path(X, y, method="lasso")
        left = np.flatnonzero((path[:, 1:] == 0).sum(axis=0) > (path[:, :-1] == 0).sum(axis=0)) + 1
        for i in left:
            solution = solve(DenseGram(X.T @ X), X.T @ y, np.abs(path[:, i]).sum())
            np.testing.assert_allclose(solution.coefficients, path[:, i], atol=1e-8)
            assert solution.gap < 1e-9
        if len(left):
            return
    raise AssertionError("no path on which a variable leaves")


def test_variables_that_tie_from_the_start_share_the_budget():
    solution = solve(DenseGram(np.eye(3)), np.ones(3), 1.5)
    np.testing.assert_allclose(solution.coefficients, [0.5, 0.5, 0.5])
    assert solution.multiplier == pytest.approx(0.5)
    assert solution.gap < 1e-12


@settings(max_examples=200, deadline=None)
@example(seed=933, share=0.25)  # an active variable stays at 0 for two pieces, then takes the wrong sign
@given(st.integers(0, 10_000), st.sampled_from([0.25, 0.5, 0.75, 0.9]))
def test_exact_ties_of_small_whole_numbers(seed, share):
    """With entries of -1, 0 and 1 most correlations tie, at the start and along the path."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 7))
    A = rng.integers(-1, 2, size=(p + 2, p)).astype(float)
    matrix, g = A.T @ A + np.eye(p), rng.integers(-2, 3, size=p).astype(float)
    budget = share * np.abs(np.linalg.solve(matrix, g)).sum()
    solution = solve(DenseGram(matrix), g, budget)
    assert kkt_violation(DenseGram(matrix), g, solution.coefficients, solution.multiplier) < 1e-9
    np.testing.assert_allclose(np.abs(solution.coefficients).sum(), budget, atol=1e-12)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_a_penalty_is_scikit_learns_alpha(share, warm):
    X, y = problem(11)
    n = len(X)
    gram, g = DenseGram(X.T @ X / n), X.T @ y / n
    penalty = share * np.abs(g).max()
    start = solve(gram, g, penalty=1.1 * penalty).coefficients if warm else None
    solution = solve(gram, g, penalty=penalty, warm=start)
    other = lasso_path(X, y, alphas=[penalty], tol=1e-12, max_iter=1_000_000)[1][:, 0]
    np.testing.assert_allclose(solution.coefficients, other, atol=1e-6)
    assert solution.multiplier == penalty
    assert solution.gap < 1e-10


def test_a_penalty_above_every_correlation_selects_nothing():
    assert not solve(DenseGram(np.eye(3)), np.array([1.0, -2.0, 0.5]), penalty=2.0).coefficients.any()
