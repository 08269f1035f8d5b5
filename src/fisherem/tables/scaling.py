"""Scale or transform the columns of a table: arrays at once, files and dask tables a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rows.blocks import check_finite
from .dask_table import DaskTable
from .errors import TableError
from .file_table import FileTable
from .sparse_table import SparseTable

__all__ = ["adjusted", "bent", "in_unit", "rescaled"]


def rescaled(table: Any, scales: np.ndarray | None) -> Any:
    """A checked table (n x p) with column j divided by scales[j]; None returns it unchanged."""
    if scales is None:
        return table
    return table.divided(scales) if isinstance(table, SparseTable) else bent(table, _Divided(scales))


def bent(table: Any, transformer: Any) -> Any:
    """A checked table (n x p) after `transformer.transform`, which must treat every row independently."""
    if isinstance(table, FileTable):
        return table.transformed(transformer)
    if isinstance(table, DaskTable):
        array = table.array.map_blocks(transformer.transform, dtype=table.dtype, meta=np.empty((0, 0), table.dtype))
        changed = DaskTable(array)
        changed.names = table.names
        return changed
    return transformer.transform(table) if isinstance(table, np.ndarray) else _ChangedRows(table, transformer)


def in_unit(table: Any, unit: float) -> Any:
    """A checked table (n x p) divided by one number; a power of two avoids rounding."""
    return rescaled(table, np.full(table.shape[1], unit))


def adjusted(table: Any, Z: np.ndarray, effects: np.ndarray) -> Any:
    """A checked table (n x p) less Z @ effects (n x q, q x p); rows that are no array are computed when read."""
    if isinstance(table, np.ndarray):
        return (table - Z @ effects).astype(table.dtype, copy=False)
    if isinstance(table, DaskTable):
        raise TypeError("covariates need rows in memory or in a file: call compute() on the dask table first")
    return _AdjustedRows(table, Z, effects)


class _AdjustedRows:
    """Rows of a sparse matrix or a file less the effects of covariates, as dense rows where they are indexed."""

    def __init__(self, source: Any, Z: np.ndarray, effects: np.ndarray):
        self.source, self.Z, self.effects = source, Z, effects
        self.shape, self.dtype = source.shape, source.dtype
        self.memory, self.names = getattr(source, "memory", None), getattr(source, "names", None)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index) -> np.ndarray:
        numbers = np.arange(*index.indices(self.shape[0])) if isinstance(index, slice) else np.asarray(index)
        take = getattr(self.source, "rows_at", None)
        rows = np.asarray(self.source[numbers] if take is None else take(numbers))
        if not isinstance(self.source, SparseTable) and not np.isfinite(rows).all():  # those have been checked
            for number, row in zip(numbers.tolist(), rows, strict=True):
                check_finite(row[None], self.names, first=number)
        return (rows - self.Z[numbers] @ self.effects).astype(self.dtype, copy=False)

    rows_at = __getitem__

    def whole(self) -> np.ndarray:
        """All rows as a dense array; an error if they take more than the memory budget."""
        needed = self.shape[0] * self.shape[1] * self.dtype.itemsize
        if self.memory is not None and needed > self.memory:
            raise TableError(
                f"rows less the effects of covariates are dense: {needed / 1e9:.2g} GB, more than the memory budget "
                f"({self.memory / 1e9:.2g} GB): increase memory, or give fewer rows"
            )
        return self[:]


class _Divided:
    """Divides columns by `scales`, keeping the floating-point precision of the rows."""

    def __init__(self, scales: np.ndarray):
        self.scales = scales

    def transform(self, X):
        """X / scales; overflow gives infinity without a warning, which prediction handles."""
        X = np.asarray(X)
        with np.errstate(over="ignore"):
            return X / self.scales.astype(X.dtype if X.dtype.kind == "f" else float)


class _ChangedRows:
    """Rows that are computed when they are indexed (such as a cleaned image on disk), transformed at that point."""

    def __init__(self, rows: Any, transformer: Any):
        self.source, self.transformer = rows, transformer
        self.shape, self.dtype = rows.shape, rows.dtype

    def __getitem__(self, index):
        return self.transformer.transform(np.asarray(self.source[index]))
