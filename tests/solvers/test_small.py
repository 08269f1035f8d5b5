"""LAPACK's own decompositions against NumPy's."""

import numpy as np
import pytest

from fisherem.solvers import small

SHAPES = [(5, 3), (3, 3), (2, 3), (1, 4), (300, 4), (4, 1)]


def matrix(shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape):
    A = matrix(shape)
    Q, R = small.qr(A)
    np.testing.assert_allclose(Q @ R, A, atol=1e-12)
    np.testing.assert_allclose(Q.T @ Q, np.eye(min(shape)), atol=1e-12)
    np.testing.assert_array_equal(R, np.triu(R))


@pytest.mark.parametrize("shape", [*SHAPES, (5, 0)])
def test_svd(shape):
    B = matrix(shape)
    u, singular, vt = small.svd(B)
    assert u.shape == (shape[0], min(shape))
    np.testing.assert_allclose((u * singular) @ vt, B, atol=1e-12)
    np.testing.assert_allclose(singular, np.linalg.svd(B, compute_uv=False), atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 3, 7])
def test_positive_definite_matrices(k):
    A = matrix((k + 3, k))
    M = A.T @ A
    inverse, log_det = small.inverse_and_log_det(M)
    np.testing.assert_allclose(inverse, np.linalg.inv(M), rtol=1e-9)
    assert log_det == pytest.approx(np.linalg.slogdet(M)[1])
    B = matrix((k, k))
    np.testing.assert_allclose(small.solve(M, B), np.linalg.solve(M, B), rtol=1e-9)
    if k:
        values, vectors = small.eigh(M)
        np.testing.assert_allclose((vectors * values) @ vectors.T, M, atol=1e-10)
        assert (np.diff(values) >= 0).all()


def test_what_cannot_be_done_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="Cholesky"):
        small.inverse_and_log_det(-np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="linear system"):
        small.solve(np.zeros((2, 2)), np.eye(2))


def test_nearest_orthonormal_matrix_is_nearest():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(7, 3))
    U = small.nearest_orthonormal(B)
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-12)
    for _ in range(200):
        V = np.linalg.qr(U + 0.1 * rng.normal(size=U.shape))[0]
        V = V * np.sign((V * U).sum(axis=0))
        assert np.linalg.norm(B - U) <= np.linalg.norm(B - V) + 1e-12


def test_zero_rows_stay_exactly_zero():
    B = np.zeros((9, 2))
    B[[1, 4, 6]] = np.random.default_rng(1).normal(size=(3, 2))
    U = small.nearest_orthonormal(B)
    assert not U[[0, 2, 3, 5, 7, 8]].any()
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-12)


def test_lost_rank_is_seen():
    e = np.eye(4)
    B = np.column_stack([e[0], 3 * e[0], e[0] + e[1], np.zeros(4), e[2]])
    np.testing.assert_array_equal(small.independent_columns(B), [0, 2, 4])
