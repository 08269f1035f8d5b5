"""A table in a file, with the memory budget for reading it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..rows.blocks import check_finite
from ..rows.on_disk import FileRows
from .errors import TableError
from .sources import Source, Transformed

__all__ = ["FileTable"]

# A single pass outside a fit holds one block at a time: an eighth of the budget leaves room for what is computed from
# it, and blocks larger than 16 MB are not faster.
_BLOCK_SHARE, _MOST_BLOCK_BYTES = 8, 2**24


class FileTable:
    """n x p numbers of a source, read within a budget of `memory` bytes: shape, dtype, names or None, and the engine.

    `names` override those of the source. Estimators accept a FileTable wherever they accept an array.
    """

    def __init__(self, source: Source, memory: int, names: list[str] | None = None, *, missing: bool = False):
        self.source, self.memory, self.missing = source, memory, missing  # missing: NaN is allowed when read whole
        self.shape, self.dtype = source.shape, source.dtype
        if source.row_step > 1 and source.step_bytes > memory:
            raise TableError(
                f"{source.path or 'the table'}: rows are stored in groups of {source.row_step:,}, each of which takes "
                f"{source.step_bytes / 1e6:,.3g} MB and is read whole, which exceeds the memory budget "
                f"({memory / 1e6:,.3g} MB): increase memory (--memory), or write the file with smaller groups"
            )
        self.names = source.names if names is None else names
        self._whole: np.ndarray | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def fits(self) -> bool:
        """Whether all rows fit in half of the budget, so that they are read only once."""
        n, p = self.shape
        return 2 * n * p * self.dtype.itemsize <= self.memory

    def rows(self, weights, n_jobs) -> FileRows:
        """The engine: rows in blocks, with weights (n,) or None."""
        return FileRows(self.source, weights, memory=self.memory, n_jobs=n_jobs, names=self.names)

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers (ascending)."""
        return self.source.take(index)

    def whole(self) -> np.ndarray | None:
        """All rows (n x p), checked to be finite, or None if they do not fit in the budget; cached."""
        if self._whole is None and self.fits:
            rows = np.ascontiguousarray(self.source.read(0, len(self)))
            check_finite(rows, self.names, missing=self.missing)
            self.source.check_unchanged()
            self._whole = rows
        return self._whole

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the first row, rows) in blocks of at most an eighth of the budget, checked to be finite."""
        n = len(self)
        step = max(1, min(self.memory // _BLOCK_SHARE, _MOST_BLOCK_BYTES) // max(1, self.source.row_bytes))
        if step > self.source.row_step > 1:
            step -= step % self.source.row_step  # whole chunks, so that none is read twice
        for start in range(0, n, step):
            rows = self.source.read(start, min(start + step, n))
            check_finite(rows, self.names, first=start)
            yield start, rows
        self.source.check_unchanged()

    def select(self, columns: Sequence[int]) -> FileTable:
        """The same rows with these columns only, in this order."""
        names = None if self.names is None else [self.names[j] for j in columns]
        return FileTable(self.source.select(columns), self.memory, names, missing=self.missing)

    def to_numpy(self) -> FileTable:
        """The same rows without names, for models that were fitted to arrays (cf. `DataFrame.to_numpy`)."""
        nameless = FileTable(self.source, self.memory, missing=self.missing)
        nameless.names = None
        return nameless

    def transformed(self, transformer) -> FileTable:
        """The rows after a fitted scikit-learn transformer; each block is transformed when it is read."""
        return FileTable(Transformed(self.source, transformer, self.names), self.memory)
