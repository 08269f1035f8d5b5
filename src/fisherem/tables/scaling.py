"""The columns of a table divided by scales: arrays at once, files and dask tables a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dask_table import DaskTable
from .file_table import FileTable

__all__ = ["in_unit", "rescaled"]


def rescaled(table: Any, scales: np.ndarray | None) -> Any:
    """A checked table (n x p) with column j divided by scales[j]; None leaves it as it is."""
    if scales is None:
        return table
    if isinstance(table, FileTable):
        return table.transformed(_Divided(scales))
    if isinstance(table, DaskTable):
        divided = DaskTable(table.array / scales)
        divided.names = table.names
        return divided
    if isinstance(table, np.ndarray):
        return _quotient(table, scales.astype(table.dtype))
    return _DividedRows(table, scales)


def _quotient(rows: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """rows / scales; what is too far away for a number becomes infinite without a warning, and prediction knows it."""
    with np.errstate(over="ignore"):
        return rows / scales


def in_unit(table: Any, unit: float) -> Any:
    """A checked table (n x p) divided by one number, a power of two where nothing is to be rounded."""
    return rescaled(table, np.full(table.shape[1], unit))


class _Divided:
    """Divides the columns of rows, as a transformer of a file's blocks."""

    def __init__(self, scales: np.ndarray):
        self.scales = scales

    def transform(self, X):
        """X / scales."""
        return _quotient(np.asarray(X), self.scales)


class _DividedRows:
    """Rows that are made when they are read (an image on disk, cleaned), divided then."""

    def __init__(self, rows: Any, scales: np.ndarray):
        self.source, self.scales = rows, scales.astype(rows.dtype)
        self.shape, self.dtype = rows.shape, rows.dtype

    def __getitem__(self, index):
        return _quotient(np.asarray(self.source[index]), self.scales)
