"""Decompositions of small matrices by LAPACK itself: NumPy's wrappers take two to four times as long at these sizes.

A fit to a small table makes a few of them in every iteration, and they are a good part of what it costs. Every function
does what its namesake in `numpy.linalg` does, for one matrix of doubles.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgeqrf, dgesdd, dgesv, dorgqr, dpotrf, dpotri, dsyevd

__all__ = ["eigh", "inverse_and_log_det", "qr", "solve", "svd"]


def _checked(info: int, what: str) -> None:
    if info:
        raise np.linalg.LinAlgError(f"{what} failed")


def eigh(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, smallest first, and eigenvectors of a symmetric matrix (its lower triangle is read)."""
    values, vectors, info = dsyevd(M, lower=1)
    _checked(info, "an eigendecomposition")
    return values, vectors


def svd(B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The thin decomposition (u, singular values, v')."""
    if not B.size:  # which LAPACK would refuse
        return np.linalg.svd(B, full_matrices=False)
    u, singular, vt, info = dgesdd(B, full_matrices=0)
    _checked(info, "a singular value decomposition")
    return u, singular, vt


def qr(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q (p x m) and R (m x k) of a matrix A (p x k), with m the smaller of p and k."""
    m = min(A.shape)
    packed, scales, _, info = dgeqrf(A)
    _checked(info, "a QR decomposition")
    R = np.triu(packed[:m])
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
