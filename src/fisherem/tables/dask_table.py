"""Dask arrays and data frames as tables: columns in one chunk, blocks of a useful size, lengths known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._utils.extras import need_extra
from ..rows.blocks import check_finite
from .kinds import kind_of
from .masked import unmasked

if TYPE_CHECKING:  # the engine is imported when there is a dask table to read
    from ..rows.on_dask import DaskRows

__all__ = ["DaskTable"]

# Smaller chunks are merged: the overhead of a task is about a millisecond, the time for this many values.
LEAST_ELEMENTS = 2**18


class DaskTable:
    """n x p numbers in a dask collection. Nothing is computed before `load`, which `shape` and `rows` call.

    names of a data frame's columns or None · array, the dask array · dtype that blocks are converted to
    """

    def __init__(self, X):
        need_extra("dask.array", "a dask table", "dask")
        self.names: list[str] | None = None
        if hasattr(X, "to_dask_array"):
            if getattr(X, "ndim", 2) != 2:
                raise ValueError("expected a table of rows x columns; got a dask series: use a data frame")
            self.names = list(X.columns)
            X = X.to_dask_array()
        if X.ndim != 2:
            raise ValueError(f"expected a table of rows x columns; got a dask array with {X.ndim} dimensions")
        if X.dtype.kind not in "biufO":
            raise ValueError(f"a dask table must hold numbers; it holds {kind_of(X.dtype)} ({X.dtype})")
        if math.isnan(X.shape[1]):
            raise ValueError("the number of columns of the dask array is not known: call compute_chunk_sizes() first")
        self.array = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        self.p = int(X.shape[1])
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        self._loaded = False

    def load(self) -> DaskTable:
        """Persist the blocks (on the workers, if there are any) and compute their numbers of rows."""
        if self._loaded:
            return self
        from ..rows.on_dask import executor

        self.executor = executor(self.array)
        array = self.array.map_blocks(_as_rows, self.dtype, dtype=self.dtype, meta=np.empty((0, 0), self.dtype))
        if any(math.isnan(size) for size in array.chunks[0]):
            array = self.executor.hold_array(array)
            array.compute_chunk_sizes()
        sizes = _merge([int(size) for size in array.chunks[0]], self.p)
        if not sizes:
            raise ValueError("the dask table has no rows")
        if sizes != list(array.chunks[0]):
            array = array.rechunk((tuple(sizes), (self.p,)))
        held = self.executor.hold(list(array.to_delayed().ravel()))
        self.blocks, self.bundles = self.executor.place(held, sizes)
        ends = np.cumsum(sizes).tolist()
        self.slices = [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
        self._n = ends[-1]
        self._loaded = True
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p); loads the table."""
        return self.load()._n, self.p

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, weights, n_jobs) -> DaskRows:
        """The engine, with weights (n,) or None. Dask schedules the work, so `n_jobs` is ignored."""
        from ..rows.on_dask import DaskRows

        return DaskRows(self.load(), weights)

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers (ascending)."""
        return self.rows(None, None).take(index)

    def map(self, function: Callable, width: int | None, dtype):
        """function(rows as an array) of every chunk, as a lazy dask array (n,) or (n, width)."""
        chunks = (self.array.chunks[0],) if width is None else (self.array.chunks[0], (width,))
        meta, drop = np.empty((0,) if width is None else (0, 0), dtype), 1 if width is None else None
        arguments = (function, self.names, self.dtype, width, dtype)
        return self.array.map_blocks(_apply, *arguments, dtype=dtype, meta=meta, chunks=chunks, drop_axis=drop)


def _as_rows(part, dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(unmasked(part) if np.ma.isMaskedArray(part) else part, dtype)


def _merge(lengths: list[int], p: int) -> list[int]:
    """Lengths of the blocks after merging consecutive chunks: at least LEAST_ELEMENTS values each, none empty."""
    sizes: list[int] = []
    for length in lengths:
        if not sizes or sizes[-1] * p >= LEAST_ELEMENTS:
            sizes.append(0)
        sizes[-1] += length
    if len(sizes) > 1 and sizes[-1] * p < LEAST_ELEMENTS:
        last = sizes.pop()
        sizes[-1] += last
    return [size for size in sizes if size]


def _apply(part, function, names, dtype, width, out_dtype, block_info=None) -> np.ndarray:
    rows = _as_rows(part, dtype)
    if not len(rows):
        return np.empty((0,) if width is None else (0, width), out_dtype)
    number = block_info[0]["chunk-location"][0] if block_info else 0
    check_finite(rows, names, where=f" of block {number}")
    return function(rows).astype(out_dtype, copy=False)
