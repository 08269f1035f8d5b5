"""What a streamed table is: a `Source` of n x p numbers, read a range of rows at a time, and views of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from .errors import TableError

__all__ = ["Columns", "Source", "Transformed", "check_shape", "float_type"]

# `column` reads blocks of rows with about this many values (8 MB as doubles).
_COLUMN_ELEMENTS = 2**20


class Source(ABC):
    """n x p numbers in a file.

    shape (n, p) · dtype, float32 or float64, of what is read · names of the columns or None · path, for messages ·
    `row_step` rows of `step_bytes` bytes are best read together · wants_buffer, whether `read` uses its buffer
    """

    shape: tuple[int, int]
    dtype: np.dtype
    names: list[str] | None = None
    path: Any = None
    row_step = 1
    step_bytes = 0
    wants_buffer = False
    # columns that hold no numbers, with what they hold: `column` reads them, `read` cannot
    text_columns: Mapping[str, str] = MappingProxyType({})

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes while it is read."""
        return self.shape[1] * self.dtype.itemsize

    @abstractmethod
    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop (stop - start x p), in `buffer` (bytes) where that is possible."""

    @abstractmethod
    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows of these numbers (ascending)."""

    def check_unchanged(self) -> None:  # noqa: B027 (what is in memory does not change)
        """A FileChangedError if the file was written to since it was opened: every pass must see the same rows."""

    def select(self, columns: Sequence[int]) -> Source:
        """The same rows with these columns only, in this order."""
        return Columns(self, columns)

    def column(self, j: int) -> np.ndarray:
        """Column j of every row (n,), read in blocks."""
        n, p = self.shape
        step = max(self.row_step, _COLUMN_ELEMENTS // max(p, 1), 1)
        parts = [np.array(self.read(i, min(i + step, n))[:, j]) for i in range(0, n, step)]
        return np.concatenate(parts) if parts else np.empty(0, self.dtype)


class Columns(Source):
    """Some columns of a source. All are read; these are kept."""

    def __init__(self, source: Source, columns: Sequence[int]):
        self.source, self.columns = source, np.asarray(columns, int)
        self.shape = (source.shape[0], len(self.columns))
        self.dtype, self.path, self.row_step = source.dtype, source.path, source.row_step
        self.names = None if source.names is None else [source.names[j] for j in self.columns]
        self.step_bytes = source.step_bytes  # what has to be held, whatever is kept

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes while it is read: those of all columns."""
        return self.source.row_bytes

    def check_unchanged(self) -> None:
        """As the source says."""
        self.source.check_unchanged()

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop of the chosen columns."""
        return np.ascontiguousarray(self.source.read(start, stop)[:, self.columns])

    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows of these numbers, the chosen columns of them."""
        return np.ascontiguousarray(self.source.take(index)[:, self.columns])


class Transformed(Source):
    """The rows of a source as a fitted scikit-learn transformer gives them (each row by itself), in float64.

    A standardised table that is larger than memory is this: blocks are scaled as they are read.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, source: Source, transformer, names: list[str] | None):
        self.source, self.row_step, self.path = source, source.row_step, source.path
        self._names = names  # those that the transformer expects
        self.transformer = transformer
        p = self._transform(np.zeros((1, source.shape[1]))).shape[1]
        self.shape = (source.shape[0], p)
        self.names = self._names if p == source.shape[1] else None
        # waiting blocks hold transformed rows; of the rows as read, only one step is held at a time
        self.step_bytes = max(source.step_bytes, self.row_step * p * self.dtype.itemsize)

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes while it is read: as it is in the file, and transformed."""
        return self.source.row_bytes + self.shape[1] * self.dtype.itemsize

    def _transform(self, rows: np.ndarray) -> np.ndarray:
        table = rows.astype(np.float64, copy=False)
        found = self.transformer.transform(table if self._names is None else pd.DataFrame(table, columns=self._names))
        return np.ascontiguousarray(found, dtype=np.float64)

    def check_unchanged(self) -> None:
        """As the source says."""
        self.source.check_unchanged()

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop, transformed."""
        return self._transform(self.source.read(start, stop))

    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows of these numbers, transformed."""
        return self._transform(self.source.take(index))


def float_type(dtype: np.dtype, what: str) -> np.dtype:
    """The type that rows are read as: float32 stays, other numbers become float64, as they do in memory."""
    if dtype.kind not in "biuf":
        raise TableError(f"{what} must hold numbers; its data type is {dtype}")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


def check_shape(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    """(n, p); an error for anything but rows x columns."""
    if len(shape) != 2:
        raise TableError(f"{what} must be a table of rows x columns; got shape {shape}")
    return int(shape[0]), int(shape[1])
