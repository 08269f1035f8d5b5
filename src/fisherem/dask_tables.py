"""Dask arrays and data frames as tables: columns in one chunk, blocks of a useful size, lengths known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .engine.dask_rows import DaskRows, executor
from .engine.finite import check_finite
from .extras import need_extra

__all__ = ["DaskTable", "as_dask_table", "is_dask"]

# Chunks of fewer values than this are put together: a task costs about a millisecond, and so do this many values.
LEAST_ELEMENTS = 2**18


def is_dask(X: Any) -> bool:
    """A dask array or data frame (or series of one), without importing dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def as_dask_table(X: Any) -> DaskTable | None:
    """A `DaskTable` of a dask collection; None for everything else."""
    return DaskTable(X) if is_dask(X) else None


class DaskTable:
    """rows x columns under Dask. `shape` and `blocks` are to be had once `load` was called; nothing is computed before.

    names of a data frame's columns or None · array, the dask array · dtype, what blocks are converted to
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
            raise ValueError(f"a dask table must hold numbers; it has data type {X.dtype}")
        if math.isnan(X.shape[1]):
            raise ValueError("the number of columns of the dask array is not known: call compute_chunk_sizes() first")
        self.array = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        self.p = int(X.shape[1])
        self.dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        self._loaded = False

    def load(self) -> DaskTable:
        """Hold the blocks (on the workers, if there are any) and learn how many rows each has."""
        if self._loaded:
            return self
        import dask

        self.executor = executor(self.array)
        as_rows = dask.delayed(_as_rows, pure=True)
        parts = [as_rows(part, self.dtype) for part in self.array.to_delayed().ravel()]
        if _unknown(self.array):
            held = self.executor.hold(parts)
            lengths = self.executor.bring(self.executor.call(len, [(part,) for part in held]))
            groups = _merge(lengths, self.p)
            if groups != [[i] for i in range(len(held))]:
                held = self.executor.later(_joined, [tuple(held[i] for i in g) for g in groups])
        else:
            lengths = list(self.array.chunks[0])
            groups = _merge(lengths, self.p)
            join = dask.delayed(_joined, pure=True)
            held = self.executor.hold([parts[g[0]] if len(g) == 1 else join(*(parts[i] for i in g)) for g in groups])
        ends = np.cumsum([sum(lengths[i] for i in g) for g in groups]).astype(int)
        self.blocks = held
        self.slices = [slice(int(b), int(e)) for b, e in zip([0, *ends[:-1]], ends, strict=True)]
        self._n = int(ends[-1]) if len(ends) else 0
        self._loaded = True
        return self

    @property
    def shape(self) -> tuple[int, int]:
        return self.load()._n, self.p

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, weights, n_jobs) -> DaskRows:
        """The engine. Dask decides how much runs at once, so `n_jobs` is not used."""
        return DaskRows(self.load(), weights)

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        return self.rows(None, None).take(index)

    def map(self, function: Callable, width: int | None, dtype):
        """function(rows as an array) of every chunk, as a lazy dask array (n,) or (n, width)."""
        chunks = (self.array.chunks[0],) if width is None else (self.array.chunks[0], (width,))
        return self.array.map_blocks(
            _apply,
            function,
            self.names,
            self.dtype,
            width,
            dtype,
            dtype=dtype,
            meta=np.empty((0,) if width is None else (0, 0), dtype),
            chunks=chunks,
            drop_axis=1 if width is None else None,
        )


def _unknown(array) -> bool:
    return any(math.isnan(size) for size in array.chunks[0])


def _as_rows(part, dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(part, dtype)


def _joined(*parts: np.ndarray) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _merge(lengths: list[int], p: int) -> list[list[int]]:
    """Numbers of consecutive chunks that make a block of at least LEAST_ELEMENTS values; empty chunks go."""
    groups: list[list[int]] = []
    size = LEAST_ELEMENTS
    for i, length in enumerate(lengths):
        if length == 0:
            continue
        if size * p >= LEAST_ELEMENTS:
            groups.append([])
            size = 0
        groups[-1].append(i)
        size += length
    return groups


def _apply(part, function, names, dtype, width, out_dtype, block_info=None) -> np.ndarray:
    rows = _as_rows(part, dtype)
    if not len(rows):
        return np.empty((0,) if width is None else (0, width), out_dtype)
    number = block_info[0]["chunk-location"][0] if block_info else 0
    check_finite(rows, names, where=f" of block {number}")
    return function(rows)
