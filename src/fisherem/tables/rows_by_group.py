"""The rows of a table and their groups: means, deviations and counts by group, and single rows and columns.

In: rows in memory or in a file that is larger than the memory budget (n x p), and the group of each row (from 0; -1 is
in no group). Out: `Moments` of the columns, and how many rows of each group lie beyond a value.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .checking import check_table
from .kinds import is_dask
from .sparse_table import SparseTable

__all__ = ["Moments", "TableRows", "table_rows"]

# Cells per block when moments are computed: 4 MB of float64.
_BLOCK = 500_000
# The share of the budget that columns of a file may take while their quantiles are computed.
_COLUMN_SHARE = 4


def table_rows(model: Any, X: Any) -> TableRows:
    """The rows X (an array, a frame, a path or a table in a file), checked for a fitted model.

    A file that fits half of the model's memory budget is read once; a larger one is read in blocks.
    """
    return TableRows(model, check_table(model, X, reset=False, elsewhere=not is_dask(X)))


@dataclass(frozen=True)
class Moments:
    """Of the rows that are in a group: `counts` (K) of the groups, `observed` (K x p) their cells that are not missing,
    `mean` and `deviation` (p) of each column, and `means` (K x p) of the groups' rows, NaN for a group without rows."""

    counts: np.ndarray
    observed: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    means: np.ndarray

    @property
    def n_missing(self) -> int:
        """How many cells are missing."""
        return int(self.counts.sum() * self.observed.shape[1] - self.observed.sum())

    @property
    def constant(self) -> np.ndarray:
        """bool p: the columns that are constant up to rounding errors."""
        return self.deviation <= 1e-12 * np.maximum(np.abs(self.mean), 1e-300)

    @property
    def between(self) -> np.ndarray:
        """The share (p) of each column's variance that lies between the groups."""
        away = np.nan_to_num((self.means - self.mean) / np.where(self.constant, np.inf, self.deviation))
        return (self.observed * away**2).sum(axis=0) / np.maximum(self.observed.sum(axis=0), 1)


def _powers_of_two(sizes: np.ndarray) -> np.ndarray:
    """The largest power of two up to each size (p); 1 for 0. Dividing by it rounds nothing."""
    return np.where(sizes > 0, np.ldexp(1.0, np.frexp(sizes)[1] - 1), 1.0)


class TableRows:
    """n x p rows. `given` is what the model takes: an array, a frame with the fit's names, or a table in a file."""

    def __init__(self, model: Any, table: Any):
        names = getattr(model, "feature_names_in_", None)
        self.shape: tuple[int, int] = tuple(table.shape)
        self.names: list[str] | None = getattr(table, "names", None)
        self._table, self._names = table, names
        self._in_memory = isinstance(table, np.ndarray)
        self.given = pd.DataFrame(table, columns=names, copy=False) if self._in_memory and names is not None else table

        self._kept: np.ndarray | None = None

    def among(self, kept: np.ndarray) -> TableRows:
        """Only the rows of these numbers (from 0, ascending); `given` still has all rows."""
        found = copy.copy(self)
        found._kept, found.shape = kept, (len(kept), self.shape[1])
        return found

    def blocks(self) -> Iterator[np.ndarray]:
        """The rows in blocks, in their order."""
        if self._kept is None:
            yield from self._all_blocks()
            return
        start = 0
        for rows in self._all_blocks():
            first, last = np.searchsorted(self._kept, [start, start + len(rows)])
            yield rows[self._kept[first:last] - start]
            start += len(rows)

    def _all_blocks(self) -> Iterator[np.ndarray]:
        if self._in_memory or isinstance(self._table, SparseTable):
            step = max(1, _BLOCK // self.shape[1])
            for start in range(0, self._table.shape[0], step):
                yield self._table[start : start + step]
        else:
            for _, rows in self._table.blocks():
                yield rows

    def at(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these numbers (from 0), as float64."""
        numbers = numbers if self._kept is None else self._kept[numbers]
        if self._in_memory or isinstance(self._table, SparseTable):
            return np.asarray(self._table[numbers], float)
        order = np.argsort(numbers, kind="stable")
        found = np.empty((len(numbers), self.shape[1]))
        found[order] = self._table.rows_at(numbers[order])
        return found

    def framed(self, rows: np.ndarray) -> Any:
        """Rows (m x p) as the model takes them: with the names of its columns."""
        return rows if self._names is None else pd.DataFrame(rows, columns=self._names, copy=False)

    def columns(self, wanted: Sequence[int]) -> Iterator[np.ndarray]:
        """The columns of these numbers (from 0), each of n values; as many at a time as the budget has room for."""
        for column in self._all_columns(wanted):
            yield column if self._kept is None else column[self._kept]

    def _all_columns(self, wanted: Sequence[int]) -> Iterator[np.ndarray]:
        step = len(wanted) if self._in_memory else self._room()
        for start in range(0, len(wanted), max(step, 1)):
            part = list(wanted[start : start + step])
            if self._in_memory:
                yield from (self._table[:, j] for j in part)
            elif isinstance(self._table, SparseTable):
                yield from self._table.matrix[:, part].toarray().T
            else:
                yield from np.concatenate([rows for _, rows in self._table.select(part).blocks()]).T

    def _room(self) -> int:
        column = self._table.shape[0] * self._table.dtype.itemsize
        return max(1, self._table.memory // (_COLUMN_SHARE * column))

    def moments(self, group: np.ndarray, K: int) -> Moments:
        """Means and deviations of the columns, overall and by `group` (n, from 0), over the cells that are there.

        Uses two passes, because the one-pass formula suffers from cancellation.
        """
        plain = np.ones(self.shape[1])
        sums, observed, largest = self._sums(group, K, plain)
        units = _powers_of_two(largest)  # in which squares neither overflow nor vanish
        if not np.isfinite(sums.sum(axis=0)).all():
            plain, sums = units, self._sums(group, K, units)[0]
        seen, counts = np.maximum(observed.sum(axis=0), 1), np.bincount(group[group >= 0], minlength=K)
        mean = sums.sum(axis=0) / seen * plain
        means = np.divide(sums, observed, out=np.full(sums.shape, np.nan), where=observed > 0) * plain
        square, start, all_inside = np.zeros(len(mean)), 0, (group >= 0).all()
        for rows in self.blocks():
            inside = rows if all_inside else rows[group[start : start + len(rows)] >= 0]
            square += np.nan_to_num((np.asarray(inside, float) / units - mean / units) ** 2).sum(axis=0)
            start += len(rows)
        return Moments(counts, observed, mean, np.sqrt(square / seen) * units, means)

    def _sums(self, group: np.ndarray, K: int, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(sums of the groups' cells in these units, how many there are, the largest absolute value of a column)."""
        p, start = self.shape[1], 0
        sums, observed, largest = np.zeros((K, p)), np.zeros((K, p)), np.zeros(p)
        for rows in self.blocks():
            member = (group[start : start + len(rows)] == np.arange(K)[:, None]).astype(float)
            gaps = np.isnan(rows)
            values = np.where(gaps, 0.0, rows) / units
            with np.errstate(over="ignore", invalid="ignore"):
                sums += member @ values
            observed += member @ ~gaps if gaps.any() else member.sum(axis=1)[:, None]
            largest = np.maximum(largest, np.abs(values).max(axis=0, initial=0.0))
            start += len(rows)
        return sums, observed, largest

    def beyond(self, group: np.ndarray, limits: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """out[k, j] = the number of rows of group k with signs[k, j] (value - limits[k, j]) > 0 in column j.

        `group` (n, from 0), `limits` and `signs` K x p; missing cells do not count.
        """
        found, start = np.zeros(limits.shape, int), 0
        for rows in self.blocks():
            here = group[start : start + len(rows)]
            for k in range(len(limits)):
                away = np.asarray(rows[here == k], float) - limits[k]
                found[k] += (signs[k] * away > 0).sum(axis=0)
            start += len(rows)
        return found
