"""A table in a file, with the budget of memory that it may be read in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rows.finite import check_finite
from ..rows.on_disk import FileRows
from .streamed_files import open_source

__all__ = ["DEFAULT_MEMORY", "FileTable", "as_file_table", "parse_memory"]

DEFAULT_MEMORY = "1GB"
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_memory(memory: Any) -> int:
    """Bytes of a budget like "1GB", "500 MB", "2GiB" or a number of bytes."""
    size: float = np.nan
    if isinstance(memory, str):
        text = memory.strip().upper()
        number = text.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        try:
            size = float(number) * _UNITS[text[len(number) :].strip() or "B"]
        except (ValueError, KeyError):
            size = np.nan
    elif isinstance(memory, (int, float, np.integer)) and not isinstance(memory, bool):
        size = float(memory)
    if not 0 < size < np.inf:
        raise ValueError(f"memory must be a budget like '1GB' or '500MB', or a number of bytes; got {memory!r}")
    return int(size)


def as_file_table(X: Any, memory: Any) -> FileTable | None:
    """The table behind a path, a memory map or a Zarr array; None for everything else."""
    source = open_source(X)
    return None if source is None else FileTable(source, parse_memory(memory))


class FileTable:
    """shape, dtype, names of the columns or None, and the engine for a source."""

    def __init__(self, source, memory: int):
        self.source, self.memory = source, memory
        self.shape, self.dtype, self.names = source.shape, source.dtype, source.names

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, weights, n_jobs) -> FileRows:
        return FileRows(self.source, weights, memory=self.memory, n_jobs=n_jobs, names=self.names)

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        return self.source.take(index)

    def whole(self) -> np.ndarray | None:
        """All rows, if they fit half of the budget: what is read once need not be read in every pass."""
        n, p = self.shape
        if 2 * n * p * self.dtype.itemsize > self.memory:
            return None
        array = np.ascontiguousarray(self.source.read(0, n))
        check_finite(array, self.names)
        return array
