"""Streamed tables: a `Source` of n x p numbers that is read a range of rows at a time, and views of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from .errors import TableError

__all__ = ["SomeColumns", "Source", "Transformed", "check_shape", "float_type"]

# `column` reads blocks of rows with about this many values (8 MB as doubles).
_COLUMN_ELEMENTS = 2**20


class Source(ABC):
    """n x p numbers in a file.

    shape (n, p) · dtype of the rows that are read, float32 or float64 · names of the columns or None · path, for
    messages · reading is most efficient in steps of `row_step` rows, which take `step_bytes` bytes · wants_buffer,
    whether `read` uses its buffer
    """

    shape: tuple[int, int]
    dtype: np.dtype
    names: list[str] | None = None
    path: Any = None
    row_step = 1
    step_bytes = 0
    wants_buffer = False
    # non-numeric columns and what they hold: `column` can read them, `read` cannot
    text_columns: Mapping[str, str] = MappingProxyType({})
    yes_no_columns: frozenset[str] = frozenset()  # booleans, which are read as 0 and 1

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes while it is read."""
        return self.shape[1] * self.dtype.itemsize

    @abstractmethod
    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop (stop - start x p), stored in `buffer` (bytes) if possible."""

    @abstractmethod
    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers (ascending)."""

    def check_unchanged(self) -> None:  # noqa: B027 (not every source can change)
        """Raise a FileChangedError if the file was written to since it was opened."""

    def select(self, columns: Sequence[int]) -> Source:
        """The same rows with these columns only, in this order."""
        return SomeColumns(self, columns)

    def column(self, j: int) -> np.ndarray:
        """Column j of every row (n,), read in blocks."""
        n, p = self.shape
        step = max(self.row_step, _COLUMN_ELEMENTS // max(p, 1), 1)
        parts = [np.array(self.read(i, min(i + step, n))[:, j]) for i in range(0, n, step)]
        return np.concatenate(parts) if parts else np.empty(0, self.dtype)


class _View(Source):
    """The rows of another source, changed as they are read: `_change` converts a block of rows."""

    def __init__(self, source: Source):
        self.source, self.path, self.row_step = source, source.path, source.row_step

    @abstractmethod
    def _change(self, rows: np.ndarray) -> np.ndarray:
        """Convert a block of rows of the source."""

    def check_unchanged(self) -> None:
        """Raise a FileChangedError if the source has changed."""
        self.source.check_unchanged()

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop of the source, converted."""
        return self._change(self.source.read(start, stop))

    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers, converted."""
        return self._change(self.source.take(index))


class SomeColumns(_View):
    """Some columns of a source. All columns are read; these are kept."""

    def __init__(self, source: Source, columns: Sequence[int]):
        super().__init__(source)
        self.columns, self.dtype = np.asarray(columns, int), source.dtype
        self.shape = (source.shape[0], len(self.columns))
        self.names = None if source.names is None else [source.names[j] for j in self.columns]
        self.step_bytes = source.step_bytes  # all columns are held in memory while they are read

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes while it is read: those of all columns."""
        return self.source.row_bytes

    def _change(self, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(rows[:, self.columns])


class Transformed(_View):
    """The rows of a source as a fitted scikit-learn transformer returns them (row by row), in float64.

    Used to standardise a table that is larger than memory: blocks are scaled as they are read.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, source: Source, transformer, names: list[str] | None):
        super().__init__(source)
        self.transformer, self._names = transformer, names  # the names that the transformer expects
        p = self._change(np.zeros((1, source.shape[1]))).shape[1]
        self.shape = (source.shape[0], p)
        self.names = names if p == source.shape[1] else None
        # queued blocks hold transformed rows; only one step of the original rows is held at a time
        self.step_bytes = max(source.step_bytes, self.row_step * p * self.dtype.itemsize)

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes while it is read: as stored in the file, and transformed."""
        return self.source.row_bytes + self.shape[1] * self.dtype.itemsize

    def _change(self, rows: np.ndarray) -> np.ndarray:
        table = rows.astype(np.float64, copy=False)
        found = self.transformer.transform(table if self._names is None else pd.DataFrame(table, columns=self._names))
        return np.ascontiguousarray(found, dtype=np.float64)


def float_type(dtype: np.dtype, what: str) -> np.dtype:
    """The dtype that rows are read as: float32 is kept, other numbers become float64, as for arrays in memory."""
    if dtype.kind not in "biuf":
        raise TableError(f"{what} must hold numbers; its data type is {dtype}")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


def check_shape(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    """(n, p), or an error if the array is not two-dimensional."""
    if len(shape) != 2:
        raise TableError(f"{what} must be a table of rows x columns; got shape {shape}")
    return int(shape[0]), int(shape[1])
