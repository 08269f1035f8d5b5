import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from fisherem.solvers.penalized_svd import l1_unit_vector, penalized_svd


def by_bisection(a, bound):
    """Witten et al.: the threshold by a search, as the naive reading has it."""

    def unit(delta):
        soft = np.sign(a) * np.maximum(np.abs(a) - delta, 0)
        return soft / np.linalg.norm(soft)

    if np.abs(unit(0)).sum() <= bound:
        return unit(0)
    top = np.sort(np.abs(a))[-2:].mean()  # only the largest is left beyond the second
    return unit(
        brentq(lambda delta: np.abs(unit(delta)).sum() - bound, 0, max(top, np.abs(a).max() * (1 - 1e-12)), xtol=1e-14)
    )


@settings(max_examples=60, deadline=None)
@example(442, 205, 0.0625)  # the largest values differ little
@given(st.integers(0, 10_000), st.integers(2, 400), st.floats(0.02, 1))
def test_threshold_is_that_of_a_search(seed, p, share):
    a = np.random.default_rng(seed).normal(size=p)
    bound = max(1.01, share * np.sqrt(p))
    u = l1_unit_vector(a, bound)
    np.testing.assert_allclose(u, by_bisection(a, bound), atol=1e-6)
    assert np.abs(u).sum() <= bound * (1 + 1e-10)
    np.testing.assert_allclose(np.linalg.norm(u), 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 300), st.floats(0.02, 1), st.sampled_from([0.0, 1e-9, 0.01, 1.0]))
def test_a_solution_nearby_changes_nothing(seed, p, share, apart):
    """Whether the kept values are the same, a few of them others, or all."""
    rng = np.random.default_rng(seed)
    a, bound = rng.normal(size=p), max(1.01, share * np.sqrt(p))
    before = l1_unit_vector(a + apart * rng.normal(size=p), bound)
    np.testing.assert_allclose(l1_unit_vector(a, bound, before), l1_unit_vector(a, bound), atol=1e-12)


@pytest.mark.parametrize("bound", [1.0, 1.2, 1.9])
def test_ties_and_a_bound_of_one(bound):
    u = l1_unit_vector(np.array([2.0, -2.0, 2.0, 2.0, 0.5]), bound)
    assert np.abs(u).sum() <= bound + 1e-12
    np.testing.assert_allclose(np.linalg.norm(u), 1)
    np.testing.assert_array_equal(l1_unit_vector(np.array([0.1, -3.0, 1.0]), 1.0), [0, -1, 0])
    assert not l1_unit_vector(np.zeros(3), 1.5).any()


def test_objective_never_falls_and_ends_at_a_stationary_point():
    rng = np.random.default_rng(2)
    L, R = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    pair = penalized_svd(L, R, 2.5)
    assert all(np.diff(pair.history) >= -1e-12)
    assert pair.gap < 1e-8
    M = L @ R.T
    np.testing.assert_allclose(pair.u, l1_unit_vector(M @ pair.v, 2.5), atol=1e-7)
    np.testing.assert_allclose(pair.v, M.T @ pair.u / np.linalg.norm(M.T @ pair.u), atol=1e-7)
    np.testing.assert_allclose(pair.value, pair.u @ M @ pair.v)
    assert np.abs(pair.u).sum() <= 2.5 + 1e-10


def test_a_loose_bound_gives_the_singular_vectors():
    H = np.random.default_rng(3).normal(size=(12, 3))
    pair = penalized_svd(H, H, np.sqrt(12))
    u, s, _ = np.linalg.svd(H @ H.T)
    np.testing.assert_allclose(np.abs(pair.u), np.abs(u[:, 0]), atol=1e-7)
    np.testing.assert_allclose(pair.value, s[0])


def test_no_random_direction_does_better():
    rng = np.random.default_rng(4)
    H = rng.normal(size=(10, 3))
    pair = penalized_svd(H, H, 1.8)
    for _ in range(500):
        u = l1_unit_vector(rng.normal(size=10), 1.8)
        assert np.linalg.norm(H @ (H.T @ u)) <= pair.value * 1.02
