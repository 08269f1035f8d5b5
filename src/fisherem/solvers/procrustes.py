"""The nearest orthonormal matrix (Proposition 2), and the check for lost rank that must come before it."""

from __future__ import annotations

import numpy as np

from . import small

__all__ = ["independent_columns", "nearest_orthonormal"]

# An axis whose direction is explained by the earlier axes up to this share of its length is dropped: what is left
# would be an arbitrary direction that Procrustes blows up to unit length.
RANK_TOLERANCE = 1e-3


def independent_columns(B: np.ndarray, tolerance: float = RANK_TOLERANCE) -> np.ndarray:
    """Indices of the columns of B (p x d) that add a direction to the columns before them; all d at full rank."""
    kept: list[int] = []
    basis = np.zeros((len(B), 0))
    for j in range(B.shape[1]):
        length = np.linalg.norm(B[:, j])
        if length == 0:
            continue
        column = B[:, j] / length
        for _ in range(2):  # twice is enough: the second pass removes the rounding of the first
            column = column - basis @ (basis.T @ column)
        rest = np.linalg.norm(column)
        if rest > tolerance:
            kept.append(j)
            basis = np.column_stack([basis, column / rest])
    return np.array(kept, int)


def nearest_orthonormal(B: np.ndarray) -> np.ndarray:
    """argmin |B - U|_F over U (p x d) subject to U'U = I: U = uv' of the SVD of B (p x d, full rank)."""
    filled = B.any(axis=1)
    if filled.all():
        u, _, vt = small.svd(B)
        return u @ vt
    rows = np.flatnonzero(filled)  # zero rows stay zero; the SVD need not see them
    u, _, vt = small.svd(B[rows])
    U = np.zeros_like(B)
    U[rows] = u @ vt
    return U
