import numpy as np

from fisherem.solvers.procrustes import independent_columns, nearest_orthonormal


def test_nearest_orthonormal_matrix_is_nearest():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(7, 3))
    U = nearest_orthonormal(B)
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-12)
    for _ in range(200):
        V = np.linalg.qr(U + 0.1 * rng.normal(size=U.shape))[0]
        V = V * np.sign((V * U).sum(axis=0))
        assert np.linalg.norm(B - U) <= np.linalg.norm(B - V) + 1e-12


def test_zero_rows_stay_exactly_zero():
    B = np.zeros((9, 2))
    B[[1, 4, 6]] = np.random.default_rng(1).normal(size=(3, 2))
    U = nearest_orthonormal(B)
    assert not U[[0, 2, 3, 5, 7, 8]].any()
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-12)


def test_lost_rank_is_seen():
    e = np.eye(4)
    B = np.column_stack([e[0], 3 * e[0], e[0] + e[1], np.zeros(4), e[2]])
    np.testing.assert_array_equal(independent_columns(B), [0, 2, 4])
