"""Rows of a sparse matrix (CSR): products use the stored values and are corrected for the centre.

The correction cancels digits where the stored values of a column are close to its centre, such as a column of
timestamps. Such columns have few zeros, and are kept as a dense array from which the centre is subtracted first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .base import ArrayRows
from .blocks import Block, buffer, tile_rows

__all__ = ["SparseRows"]

# Stored values within this share of the centre lose at least 4 of 16 digits by the correction of their squares.
_NEAR = 0.01
# Columns with fewer stored values than this share have a centre far from them, so that no digits are lost in a fit. For
# rows that are predicted, whose centre is that of other rows, more than half of the values must be very close to it.
_LEAST_STORED, _VERY_NEAR = 0.25, 1e-4


def _cancelling(Y: Any, centre: np.ndarray) -> np.ndarray:
    """The columns of a CSR matrix whose stored values are close to the centre (p) and not to 0."""
    n, p = Y.shape
    at = centre[Y.indices]
    off, size = np.abs(Y.data - at), np.abs(at)
    stored = np.bincount(Y.indices, minlength=p)
    near = np.bincount(Y.indices[(off <= _NEAR * size) & (size > 0)], minlength=p)
    very = np.bincount(Y.indices[(off <= _VERY_NEAR * size) & (size > 0)], minlength=p)
    return np.flatnonzero(((near > 0) & (stored >= _LEAST_STORED * n)) | (very * 2 > np.maximum(stored, 1)))


class SparseBlock(Block):
    """m consecutive sparse rows y less a centre c, and their products.

    y - c is never formed: products with the stored values are corrected for the centre. The centre of sparse rows is
    close to their zeros, so there is little cancellation; columns with much of it belong in a `MixedBlock`.
    """

    def __init__(self, rows: Any, centre: np.ndarray):
        self._rows, self._centre = rows, centre
        self._m, self._tile_rows = rows.shape[0], tile_rows(*rows.shape)

    @property
    def stored(self) -> tuple[Any, np.ndarray]:
        """The rows as stored (CSR) and the centre."""
        return self._rows, self._centre

    def tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Iterate over dense tiles, for kernels that need the values."""
        p = self._rows.shape[1]
        for i in range(0, self._m, self._tile_rows):
            j = min(i + self._tile_rows, self._m)
            yield slice(i, j), np.subtract(self._rows[i:j].toarray(), self._centre, out=buffer(j - i, p))

    def times(self, A: np.ndarray) -> np.ndarray:
        """out[a, i] = sum_j A[a, j] (y[i, j] - c[j])"""
        return np.ascontiguousarray((self._rows @ A.T).T) - (A @ self._centre)[:, None]

    def sums(self, W: np.ndarray) -> np.ndarray:
        """out[k, j] = sum_i W[k, i] (y[i, j] - c[j])"""
        return (self._rows.T @ W.T).T - np.outer(W.sum(axis=1), self._centre)

    def squared_norms(self) -> np.ndarray:
        """out[i] = |y[i] - c|^2"""
        y, c = self._rows, self._centre
        own = np.asarray(y.multiply(y).sum(axis=1), float).ravel()
        return np.maximum(own - 2 * (y @ c) + c @ c, 0)

    def cross(self, weights: np.ndarray | None) -> np.ndarray:
        """out[j, l] = sum_i weights[i] (y[i, j] - c[j]) (y[i, l] - c[l])"""
        w, y, c = np.ones(self._m) if weights is None else weights, self._rows, self._centre
        weighted = y.multiply(w[:, None]).tocsr()
        sums = np.asarray(weighted.sum(axis=0), float).ravel()
        return (
            (y.T @ weighted).toarray().astype(float) - np.outer(sums, c) - np.outer(c, sums) + w.sum() * np.outer(c, c)
        )


class MixedBlock(Block):
    """m consecutive rows less a centre, with most columns sparse and some dense.

    thin, a `SparseBlock` of the columns `at_thin` · thick (m x q), the columns `at_thick`, already centred
    """

    def __init__(self, thin: SparseBlock, thick: np.ndarray, at_thin: np.ndarray, at_thick: np.ndarray):
        self._thin, self._thick, self._at_thin, self._at_thick = thin, thick, at_thin, at_thick
        self._p = len(at_thin) + len(at_thick)
        self._m, self._tile_rows = len(thick), tile_rows(len(thick), self._p)

    def tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Iterate over dense tiles, for kernels that need the values."""
        rows, centre = self._thin.stored
        for i in range(0, self._m, self._tile_rows):
            j = min(i + self._tile_rows, self._m)
            tile = buffer(j - i, self._p)
            tile[:, self._at_thin] = rows[i:j].toarray() - centre
            tile[:, self._at_thick] = self._thick[i:j]
            yield slice(i, j), tile

    def times(self, A: np.ndarray) -> np.ndarray:
        """out[a, i] = sum_j A[a, j] (y[i, j] - c[j])"""
        return self._thin.times(A[:, self._at_thin]) + A[:, self._at_thick] @ self._thick.T

    def sums(self, W: np.ndarray) -> np.ndarray:
        """out[k, j] = sum_i W[k, i] (y[i, j] - c[j])"""
        out = np.empty((len(W), self._p))
        out[:, self._at_thin], out[:, self._at_thick] = self._thin.sums(W), W @ self._thick
        return out

    def squared_norms(self) -> np.ndarray:
        """out[i] = |y[i] - c|^2"""
        return self._thin.squared_norms() + np.einsum("ij,ij->i", self._thick, self._thick)

    def cross(self, weights: np.ndarray | None) -> np.ndarray:
        """out[j, l] = sum_i weights[i] (y[i, j] - c[j]) (y[i, l] - c[l])"""
        thin, thick = self._at_thin, self._at_thick
        weighted = self._thick if weights is None else self._thick * weights[:, None]
        out = np.empty((self._p, self._p))
        out[np.ix_(thin, thin)] = self._thin.cross(weights)
        out[np.ix_(thick, thick)] = self._thick.T @ weighted
        out[np.ix_(thick, thin)] = self._thin.sums(np.ascontiguousarray(weighted.T))
        out[np.ix_(thin, thick)] = out[np.ix_(thick, thin)].T
        return out


class SparseRows(ArrayRows):
    """An n x p CSR matrix: `ArrayRows` with products of the stored values."""

    portable = True

    def __init__(self, Y, weights=None, *, n_jobs=None, block_rows=None):
        super().__init__(Y, weights, n_jobs=n_jobs, block_rows=block_rows)
        self._parts = [Y[span] for span in self.slices]
        self._thick: list[np.ndarray] | None = None  # the columns `_at_thick` of each part, centred

    def recentre(self, centre: np.ndarray) -> None:
        """Subtract this point (p) from the rows from now on."""
        super().recentre(centre)
        self._at_thick = _cancelling(self.Y, centre)
        others = np.ones(self.p, bool)
        others[self._at_thick] = False
        self._at_thin = np.flatnonzero(others)
        thick = len(self._at_thick) > 0
        self._parts = [self.Y[span] for span in self.slices]
        self._thick = (
            [part[:, self._at_thick].toarray() - centre[self._at_thick] for part in self._parts] if thick else None
        )
        if thick:
            self._parts = [part[:, self._at_thin] for part in self._parts]

    def _block(self, span: slice) -> Block:
        i = self.slices.index(span)
        if self._thick is None:
            return SparseBlock(self._parts[i], self.centre)
        thin = SparseBlock(self._parts[i], self.centre[self._at_thin])
        return MixedBlock(thin, self._thick[i], self._at_thin, self._at_thick)

    def take(self, index: np.ndarray) -> np.ndarray:
        """Some rows, dense."""
        return self.Y[index].toarray()

    def everything(self) -> np.ndarray:
        """All rows, dense, for small data."""
        return self.Y.toarray()
