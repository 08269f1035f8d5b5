"""Decompositions of small matrices by LAPACK directly: NumPy's wrappers take two to four times as long at these sizes.

A fit to a small table needs a few of them in every iteration, where they are a large part of the cost. `eigh`, `svd`,
`qr` and `solve` do what their namesakes in `numpy.linalg` do, for one matrix of doubles. `nearest_orthonormal`
implements Proposition 2, and `independent_columns` the check of the rank that it requires.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.linalg.lapack import dgeqrf, dgesdd, dgesv, dorgqr, dpotrf, dpotri, dsyevd

__all__ = ["eigh", "independent_columns", "inverse_and_log_det", "nearest_orthonormal", "qr", "solve", "svd"]

# An axis is dropped if the earlier axes explain it up to this share of its length: the remainder would be an arbitrary
# direction that Procrustes scales to unit length.
RANK_TOLERANCE = 1e-3


def _checked(info: int, what: str) -> None:
    if info:
        raise np.linalg.LinAlgError(f"{what} failed")


@cache
def _upper(m: int, k: int) -> np.ndarray:
    """1 on and above the diagonal (m x k), 0 below it: a product with it takes a fifth of the time of `triu`."""
    return np.triu(np.ones((m, k)))


def eigh(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, smallest first, and eigenvectors of a symmetric matrix (its lower triangle is read)."""
    values, vectors, info = dsyevd(M, lower=1)
    _checked(info, "an eigendecomposition")
    return values, vectors


def svd(B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The thin decomposition (u, singular values, v')."""
    if not B.size:  # LAPACK does not accept empty matrices
        return np.linalg.svd(B, full_matrices=False)
    u, singular, vt, info = dgesdd(B, full_matrices=0)
    _checked(info, "a singular value decomposition")
    return u, singular, vt


def qr(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q (p x m) and R (m x k) of a matrix A (p x k), with m the smaller of p and k."""
    m = min(A.shape)
    packed, scales, _, info = dgeqrf(A)
    _checked(info, "a QR decomposition")
    R = packed[:m] * _upper(m, A.shape[1])
    Q, _, info = dorgqr(packed[:, :m], scales)
    _checked(info, "a QR decomposition")
    return Q, R


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B for a square matrix A."""
    if not len(A):
        return B
    _, _, solved, info = dgesv(A, B)
    _checked(info, "solving a linear system")
    return solved


def inverse_and_log_det(M: np.ndarray) -> tuple[np.ndarray, float]:
    """M^-1 and log|M| of a positive definite matrix."""
    if not len(M):
        return M, 0.0
    factor, info = dpotrf(M, lower=1)
    _checked(info, "a Cholesky decomposition")
    inverse, info = dpotri(factor, lower=1)
    _checked(info, "an inverse")
    inverse = np.tril(inverse)
    inverse += np.tril(inverse, -1).T
    return inverse, 2 * float(np.log(np.diagonal(factor)).sum())


def independent_columns(B: np.ndarray) -> np.ndarray:
    """Indices of the columns of B (p x d) that are linearly independent of the columns before them."""
    kept: list[int] = []
    basis = np.zeros((len(B), 0))
    for j in range(B.shape[1]):
        length = np.linalg.norm(B[:, j])
        if length == 0:
            continue
        column = B[:, j] / length
        for _ in range(2):  # the second pass removes the rounding errors of the first
            column = column - basis @ (basis.T @ column)
        rest = np.linalg.norm(column)
        if rest > RANK_TOLERANCE:
            kept.append(j)
            basis = np.column_stack([basis, column / rest])
    return np.array(kept, int)


def nearest_orthonormal(B: np.ndarray) -> np.ndarray:
    """argmin |B - U|_F over U (p x d) subject to U'U = I: U = uv' of the SVD of B (p x d, full rank)."""
    rows = np.flatnonzero(B.any(axis=1))  # zero rows stay zero and are left out of the SVD
    u, _, vt = svd(B if len(rows) == len(B) else B[rows])
    U = np.zeros_like(B)
    U[rows] = u @ vt
    return U
