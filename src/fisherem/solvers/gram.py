"""Gram matrices G of the l1 problems: p x p and positive definite, but not always written out.

Each answers the questions of an active-set solver, with `active` the m indices of the variables in the set:

    times(active, values)   out[j] = sum_{l in active} g[j, l] values[l]      values (m) or (m x c) -> (p) or (p x c)
    solve(active, right)    G[active, active]^-1 right                        right (m) or (m x c) -> the same shape
    diagonal()              out[j] = g[j, j]                                  (p)
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotrs

__all__ = ["DenseGram", "LowRankGram", "ScaledGram"]


_NOT_DEFINITE = "the Gram matrix of the active variables is not positive definite: raise ridge"
# A few per axis; each is as large as the block it factors.
_KEPT_FACTORS = 16


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Positive definite systems by LAPACK itself: the convenient wrappers cost more than a small solve."""
    _, solution, info = dposv(matrix, right)
    if info:
        raise np.linalg.LinAlgError(_NOT_DEFINITE)
    return solution


class DenseGram:
    """G written out (p x p). Factors of the last blocks are kept: alternations come back to the same active sets."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix
        self.p = len(matrix)
        self._factors: OrderedDict[bytes, np.ndarray] = OrderedDict()

    def __getstate__(self):
        return {"matrix": self.matrix, "p": self.p, "_factors": OrderedDict()}

    def times(self, active: np.ndarray, values: np.ndarray) -> np.ndarray:
        """out[j] = sum_{l in active} g[j, l] values[l]."""
        return self.matrix[active].T @ values  # rows, as G is symmetric: contiguous to gather

    def solve(self, active: np.ndarray, right: np.ndarray) -> np.ndarray:
        """G[active, active]^-1 right."""
        key = active.tobytes()
        factor = self._factors.get(key)
        if factor is None:
            factor, info = dpotrf(self.matrix[active[:, None], active], lower=1)
            if info:
                raise np.linalg.LinAlgError(_NOT_DEFINITE)
            self._factors[key] = factor
            if len(self._factors) > _KEPT_FACTORS:
                self._factors.popitem(last=False)
        return dpotrs(factor, right, lower=1)[0]

    def diagonal(self) -> np.ndarray:
        """out[j] = g[j, j]."""
        return self.matrix.diagonal()


class LowRankGram:
    """G = V diag(e) V' + ridge I with V of p x r: for n << p, where G itself would not fit."""

    def __init__(self, V: np.ndarray, e: np.ndarray, ridge: float):
        there = e > 0  # rows of weight 0 span directions without variance
        self.V, self.e, self.ridge = (V, e, ridge) if there.all() else (V[:, there], e[there], ridge)
        self.p = len(V)

    def times(self, active, values):
        """out[j] = sum_{l in active} g[j, l] values[l], in O(p r)."""
        out = self.V @ ((self.e * (self.V[active].T @ values).T).T)
        out[active] += self.ridge * values
        return out

    def solve(self, active, right):
        """G[active, active]^-1 right, by a system of the size of the set or of the rank, whichever is smaller."""
        Va = self.V[active]
        if len(active) <= len(self.e):
            block = (Va * self.e) @ Va.T
            block[np.diag_indices_from(block)] += self.ridge
            return _solve(block, right)
        # Woodbury: more variables than rank, so the system has the size of the rank
        core = Va.T @ Va
        core[np.diag_indices_from(core)] += self.ridge / self.e
        inner = _solve(core, Va.T @ right)
        return (right - Va @ inner) / self.ridge

    def diagonal(self):
        """out[j] = g[j, j]."""
        return np.einsum("jr,r,jr->j", self.V, self.e, self.V) + self.ridge


class ScaledGram:
    """D^-1 G D^-1 with D = diag(scale): the Gram matrix of predictors divided by their scales (p)."""

    def __init__(self, gram, scale: np.ndarray):
        self.gram, self.scale = gram, scale
        self.p = gram.p

    def _divide(self, array, scale):
        return (array.T / scale).T

    def times(self, active, values):
        """out[j] = sum_{l in active} g[j, l] / (scale[j] scale[l]) values[l]."""
        return self._divide(self.gram.times(active, self._divide(values, self.scale[active])), self.scale)

    def solve(self, active, right):
        """(D^-1 G D^-1)[active, active]^-1 right."""
        scale = self.scale[active]
        return (self.gram.solve(active, (right.T * scale).T).T * scale).T

    def diagonal(self):
        """out[j] = g[j, j] / scale[j]^2."""
        return self.gram.diagonal() / self.scale**2
