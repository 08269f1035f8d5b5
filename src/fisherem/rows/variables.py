"""Which variable each column belongs to: a category is a block of indicators, one per level, a number its own column.

The indicators of a block sum to one, so one of them is determined by the others: `free` leaves it out where a matrix of
the columns is inverted. Determinants and distances in the metric of such a matrix do not depend on which one it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["Blocks"]


@dataclass(frozen=True)
class Blocks:
    """The blocks of p columns.

    `variable` (p, ints): the number of the variable of each column, ascending from 0 · `indicators` (p, bool): the
    columns that are indicators of a category.
    """

    variable: np.ndarray
    indicators: np.ndarray

    @classmethod
    def of_widths(cls, widths: Sequence[int]) -> Blocks:
        """Blocks of as many columns; a width of 1 is a number."""
        variable = np.repeat(np.arange(len(widths)), widths)
        return cls(variable, np.asarray(widths, int)[variable] > 1)

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return int(self.variable[-1]) + 1 if len(self.variable) else 0

    @cached_property
    def members(self) -> list[np.ndarray]:
        """The columns of each variable."""
        starts = np.flatnonzero(np.diff(self.variable)) + 1
        return np.split(np.arange(len(self.variable)), starts)

    @cached_property
    def wide(self) -> list[int]:
        """The variables of several columns: the categories."""
        return [v for v, columns in enumerate(self.members) if len(columns) > 1]

    @cached_property
    def widths(self) -> np.ndarray:
        """Free columns of each variable: 1 for a number, one less than its levels for a category."""
        return np.array([max(1, len(columns) - 1) for columns in self.members])

    def free(self, columns: np.ndarray) -> np.ndarray:
        """These columns (indices) without the last one of every block that they hold whole."""
        chosen = np.zeros(len(self.variable), bool)
        chosen[columns] = True
        for v in self.wide:
            if chosen[self.members[v]].all():
                chosen[self.members[v][-1]] = False
        return np.asarray(columns)[chosen[columns]]

    def columns_of(self, variables: Sequence[int] | np.ndarray) -> np.ndarray:
        """All columns of some variables, ascending."""
        return np.flatnonzero(np.isin(self.variable, np.asarray(variables, int)))

    def variables_of(self, columns: np.ndarray) -> np.ndarray:
        """The variables that some columns (indices) belong to, ascending."""
        return np.unique(self.variable[columns])

    def any_of(self, columns: np.ndarray) -> np.ndarray:
        """For each variable, whether one of its columns is marked (bool p)."""
        return np.bincount(self.variable, columns, self.n_variables) > 0
