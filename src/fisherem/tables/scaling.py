"""Scale or transform the columns of a table: arrays at once, files and dask tables a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dask_table import DaskTable
from .file_table import FileTable
from .sparse_table import SparseTable

__all__ = ["bent", "in_unit", "rescaled"]


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
