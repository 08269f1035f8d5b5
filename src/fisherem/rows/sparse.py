"""Rows of a sparse matrix (CSR), centred implicitly: products are with what is stored, and the centre is taken off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .blocks import Block, buffer, tile_rows
from .in_memory import ArrayRows

__all__ = ["SparseRows"]


class SparseBlock(Block):
    """m consecutive sparse rows y less a centre c, and their products.

    y - c is never formed: sums over what is stored, less the same sums over the centre. The zeros of sparse rows and
    their centre are of one size, so little cancels.
    """

    def __init__(self, rows: Any, centre: np.ndarray):
        self._rows, self._centre = rows, centre
        self._m, self._tile_rows = rows.shape[0], tile_rows(*rows.shape)

    def tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """The rows piece by piece, for kernels that look at values: a few thousand cells at a time are made dense."""
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


class SparseRows(ArrayRows):
    """An n x p CSR matrix: the engine of `ArrayRows` with products of what is stored."""

    portable = True

    def __init__(self, Y, weights=None, *, n_jobs=None, block_rows=None):
        super().__init__(Y, weights, n_jobs=n_jobs, block_rows=block_rows)
        self._parts = [Y[span] for span in self.slices]

    def _block(self, span: slice) -> SparseBlock:
        return SparseBlock(self._parts[self.slices.index(span)], self.centre)

    def take(self, index: np.ndarray) -> np.ndarray:
        """Some rows, dense."""
        return self.Y[index].toarray()

    def everything(self) -> np.ndarray:
        """All rows, dense: asked for where they are few."""
        return self.Y.toarray()
