"""Columns of few values: the variance that rounding implies, and which columns a Gaussian density can describe.

The variance of a yes/no column is 0 in a group with one of its values, and the Gaussian likelihood is unbounded. Two
remedies: the spacing of the values is added to the variances, in all rows and within the groups; and the judge of
partitions leaves out columns in which one value is frequent.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ..core.data.problem import Problem
from ..core.starts.partitions import distinct_rows
from ..rows.base import Rows
from .thresholds import THRESHOLDS

__all__ = ["Columns", "columns_of", "spacing_floors", "spiked", "without_units"]

# Rows from which the distinct values of a column are determined.
_ROWS = 1000
# Cells that are sorted at once (8 MB).
_CELLS = 2**20
# Up to this many cells equal rows are looked for.
_DISTINCT_CELLS = 10**8


@dataclass(frozen=True)
class Columns:
    """Properties of p columns that follow from their distinct values."""

    floors: np.ndarray  # p: what the spacing of the values adds to the variance, as a share of it; 0 for many values
    spiked: np.ndarray  # bool p: one value is frequent


_KNOWN: WeakKeyDictionary[Rows, Columns] = WeakKeyDictionary()


def columns_of(problem: Problem) -> Columns:
    """Of the rows as given, looked at once. Rows that are not in memory are not asked: they have many values."""
    given = problem.given
    if given not in _KNOWN:
        p = given.p
        floors, frequent = np.zeros(p), np.zeros(p, bool)
        if given.portable:
            rows = _looked_at(given)
            some = rows[np.unique(np.linspace(0, len(rows) - 1, _ROWS).astype(int))]
            values, step = given.take(some), max(1, _CELLS // len(some))
            for first in range(0, p, step):
                part = slice(first, min(first + step, p))
                ordered = np.sort(np.asarray(values[:, part], float), axis=0)
                floors[part], frequent[part] = _floors(ordered, ordered.var(axis=0)), _frequent(ordered)
        _KNOWN[given] = Columns(np.where(floors > THRESHOLDS.few_valued, floors, 0.0), frequent)
    return _KNOWN[given]


def _looked_at(given: Rows) -> np.ndarray:
    """The rows (numbers) that a sample is taken from: equal ones count once, so that weights and repetitions mean the
    same; of large data all rows with a weight, as finding equal ones takes as long as a pass."""
    if given.n * given.p <= _DISTINCT_CELLS:
        return np.sort(distinct_rows(given, given.weights)[0])
    return np.arange(given.n) if given.weights is None else np.flatnonzero(given.weights)


def spacing_floors(values: np.ndarray) -> np.ndarray:
    """The variance that rounding to the values of a column implies, as a share of the column's variance (p).

    It is the squared spacing of neighbouring values over 12: 1/3 for a yes/no column, 0 where most rows have a value of
    their own. A variance within a group cannot be known to be smaller.
    """
    values = without_units(values)
    return _floors(np.sort(values, axis=0), values.var(axis=0))


def without_units(values: np.ndarray) -> np.ndarray:
    """The columns divided by powers of two, so that no square overflows or vanishes."""
    return np.ldexp(values, -np.frexp(np.abs(values).max(axis=0, initial=0.0))[1])


def spiked(values: np.ndarray) -> np.ndarray:
    """bool p: columns in which one value has more than `THRESHOLDS.spike` of the rows (n x p)."""
    return _frequent(np.sort(values, axis=0))


def _floors(ordered: np.ndarray, variances: np.ndarray) -> np.ndarray:
    gaps = np.diff(ordered, axis=0)
    distinct = np.count_nonzero(gaps > 0, axis=0)
    floors = np.zeros(ordered.shape[1])
    for j in np.flatnonzero((distinct > 0) & (distinct < len(ordered) / 2) & (variances > 0)):
        floors[j] = min(np.median(gaps[gaps[:, j] > 0, j]) ** 2 / 12 / variances[j], 1 / 3)
    return floors


def _frequent(ordered: np.ndarray) -> np.ndarray:
    """A value with more than k rows stands k places apart from itself in the ordered column."""
    k = max(1, int(THRESHOLDS.spike * len(ordered)))
    return (
        np.asarray((ordered[k:] == ordered[:-k]).any(axis=0)) if k < len(ordered) else np.zeros(ordered.shape[1], bool)
    )
