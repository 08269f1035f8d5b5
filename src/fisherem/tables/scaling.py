"""The columns of a table divided by scales or bent: arrays at once, files and dask tables a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dask_table import DaskTable
from .file_table import FileTable
from .sparse_table import SparseTable

__all__ = ["bent", "in_unit", "rescaled"]


def rescaled(table: Any, scales: np.ndarray | None) -> Any:
    """A checked table (n x p) with column j divided by scales[j]; None leaves it as it is."""
    if scales is None:
        return table
    return _changed(table, _Divided(scales))


def bent(table: Any, powers: Any) -> Any:
    """A checked table (n x p) with its columns bent by `Powers`, or by anything that transforms rows as they come."""
    return _changed(table, powers)


def _changed(table: Any, transformer: Any) -> Any:
    if isinstance(table, SparseTable) and isinstance(transformer, _Divided):
        return table.divided(transformer.scales)
    if isinstance(table, FileTable):
        return table.transformed(transformer)
    if isinstance(table, DaskTable):
        array = table.array.map_blocks(transformer.transform, dtype=table.dtype, meta=np.empty((0, 0), table.dtype))
        changed = DaskTable(array)
        changed.names = table.names
        return changed
    return transformer.transform(table) if isinstance(table, np.ndarray) else _ChangedRows(table, transformer)


def in_unit(table: Any, unit: float) -> Any:
    """A checked table (n x p) divided by one number, a power of two where nothing is to be rounded."""
    return rescaled(table, np.full(table.shape[1], unit))


class _Divided:
    """Divides the columns of rows, in the precision in which they came."""

    def __init__(self, scales: np.ndarray):
        self.scales = scales

    def transform(self, X):
        """X / scales; what is too far away for a number becomes infinite without a warning: prediction knows it."""
        X = np.asarray(X)
        with np.errstate(over="ignore"):
            return X / self.scales.astype(X.dtype if X.dtype.kind == "f" else float)


class _ChangedRows:
    """Rows that are made when they are read (an image on disk, cleaned), changed then."""

    def __init__(self, rows: Any, transformer: Any):
        self.source, self.transformer = rows, transformer
        self.shape, self.dtype = rows.shape, rows.dtype

    def __getitem__(self, index):
        return self.transformer.transform(np.asarray(self.source[index]))
