"""The rows of a page, in memory or in a file that is larger than the model's memory budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..estimators import FisherEM
from ..tables.checking import check_table
from ..tables.dask_table import is_dask

__all__ = ["PageRows", "page_rows"]

# Rows per block when moments are computed: a block of 50 float64 columns stays below 4 MB.
_BLOCK = 10_000
# The share of the budget that columns of a file may take while their quantiles are computed.
_COLUMN_SHARE = 4


def page_rows(model: FisherEM, X: Any) -> PageRows:
    """The rows X (an array, a frame, a path or a table in a file), checked for a fitted model.

    A file that fits half of the model's memory budget is read once; a larger one is read in blocks.
    """
    return PageRows(model, check_table(model, X, reset=False, elsewhere=not is_dask(X)))


class PageRows:
    """n x p rows. `given` is what the model takes: an array, a frame with the fit's names, or a table in a file."""

    def __init__(self, model: FisherEM, table: Any):
        names = getattr(model, "feature_names_in_", None)
        self.shape: tuple[int, int] = tuple(table.shape)
        self.names: list[str] | None = getattr(table, "names", None)
        self._table = table
        self._in_memory = isinstance(table, np.ndarray)
        self.given = pd.DataFrame(table, columns=names, copy=False) if self._in_memory and names is not None else table

    def blocks(self) -> Iterator[np.ndarray]:
        """The rows in blocks, in their order."""
        if self._in_memory:
            for start in range(0, self.shape[0], _BLOCK):
                yield self._table[start : start + _BLOCK]
        else:
            for _, rows in self._table.blocks():
                yield rows

    def columns(self, wanted: Sequence[int]) -> Iterator[np.ndarray]:
        """The columns of these numbers (from 0), each of n values; as many at a time as the budget has room for."""
        step = len(wanted) if self._in_memory else self._room()
        for start in range(0, len(wanted), max(step, 1)):
            part = list(wanted[start : start + step])
            if self._in_memory:
                yield from (self._table[:, j] for j in part)
            else:
                yield from np.concatenate([rows for _, rows in self._table.select(part).blocks()]).T

    def _room(self) -> int:
        column = self.shape[0] * self._table.dtype.itemsize
        return max(1, self._table.memory // (_COLUMN_SHARE * column))

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the columns (p each), in two passes: differences of squares would cancel."""
        n, p = self.shape
        mean = np.zeros(p)
        for rows in self.blocks():
            mean += rows.sum(axis=0, dtype=float)
        mean /= n
        square = np.zeros(p)
        for rows in self.blocks():
            square += ((np.asarray(rows, float) - mean) ** 2).sum(axis=0)
        return mean, np.sqrt(square / n)
