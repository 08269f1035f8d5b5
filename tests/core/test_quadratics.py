"""Moments and densities of all groups by one product: those of loops over rows, also where digits would be lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fisherem.core.dlm.m_step import log_densities, second_moments


def drawn(m, K, d, seed, apart=1.0, spread=1.0):
    rng = np.random.default_rng(seed)
    means = apart * rng.normal(size=(K, d))
    x = means[rng.integers(K, size=m)].T + spread * rng.normal(size=(d, m))
    weighted = rng.dirichlet(np.ones(K), size=m).T * rng.uniform(0.5, 2, size=m)
    roots = spread * (np.eye(d) + 0.3 * rng.normal(size=(K, d, d)))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * spread**2 * np.eye(d)
    return x, weighted, means, covariances


def naive_moments(x, weighted, means):
    K, d = means.shape
    out = np.zeros((K, d, d))
    for k in range(K):
        for i in range(x.shape[1]):
            r = x[:, i] - means[k]
            out[k] += weighted[k, i] * np.outer(r, r)
    return out


def naive_densities(x, covariances, means, constants):
    out = np.empty((len(means), x.shape[1]))
    for k, (S, mu) in enumerate(zip(covariances, means, strict=True)):
        r = x - mu[:, None]
        out[k] = constants[k] - 0.5 * np.einsum("dm,dm->m", r, np.linalg.solve(S, r))
    return out


def whitened(covariances):
    return np.linalg.inv(np.linalg.cholesky(covariances))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 900), st.integers(1, 6), st.integers(1, 5), st.integers(0, 10_000))
def test_both_are_those_of_loops(m, K, d, seed):
    x, weighted, means, covariances = drawn(m, K, d, seed)
    np.testing.assert_allclose(second_moments(x, weighted, means), naive_moments(x, weighted, means), atol=1e-9 * m)
    constants = np.arange(K, dtype=float)
    expected = naive_densities(x, covariances, means, constants)
    np.testing.assert_allclose(
        log_densities(x, whitened(covariances), means, constants), expected, atol=1e-7, rtol=1e-9
    )


@pytest.mark.parametrize("m", [30, 2000])
def test_no_axes(m):
    means, weighted = np.zeros((3, 0)), np.full((3, m), 1 / 3)
    assert second_moments(np.zeros((0, m)), weighted, means).shape == (3, 0, 0)
    found = log_densities(np.zeros((0, m)), np.zeros((3, 0, 0)), means, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found, np.tile([[1.0], [2.0], [3.0]], m))


@pytest.mark.parametrize("apart", [1e2, 1e5, 1e7])
def test_groups_that_are_small_beside_their_distance_keep_their_digits(apart):
    """Features about the overall mean would lose all digits of groups that lie 1e7 of their spreads apart."""
    x, _, means, covariances = drawn(3000, 3, 2, 0, apart=apart)
    member = (((x.T[:, None] - means) ** 2).sum(axis=2).argmin(axis=1) == np.arange(3)[:, None]).astype(float)
    found, expected = second_moments(x, member, means), naive_moments(x, member, means)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5 * np.abs(expected).max())
    own = log_densities(x, whitened(covariances), means, np.zeros(3))
    np.testing.assert_allclose(
        (own * member).sum(axis=0), (naive_densities(x, covariances, means, np.zeros(3)) * member).sum(axis=0),
        rtol=1e-6, atol=1e-6,
    )  # fmt: skip


def test_pieces_and_powers_of_two_change_nothing():
    x, weighted, means, covariances = drawn(40_000, 4, 3, 1)  # more than one piece
    L, constants = whitened(covariances), np.zeros(4)
    moments, densities = second_moments(x, weighted, means), log_densities(x, L, means, constants)
    np.testing.assert_array_equal(second_moments(8 * x, weighted, 8 * means), 64 * moments)
    np.testing.assert_array_equal(log_densities(8 * x, L / 8, 8 * means, constants), densities)
    parts = [slice(i, i + 997) for i in range(0, 40_000, 997)]
    sums = sum(second_moments(x[:, part], weighted[:, part], means) for part in parts)
    np.testing.assert_allclose(sums, moments, rtol=1e-10, atol=1e-9)
    each = [log_densities(x[:, part], L, means, constants) for part in parts]
    np.testing.assert_allclose(np.concatenate(each, axis=1), densities, rtol=1e-10, atol=1e-9)
