"""The heat map: the values of the selected variables in the rows, ordered by group, as plain levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...tables.rows_by_group import Moments, TableRows
from .rows import Points, stratified
from .variables import Variable

__all__ = ["HALF", "MISSING", "RANGE", "HeatMap", "heat_map"]

# Most rows (about the width of a wide page in pixels) and most variables (about two screens with legible names).
_MAX_ROWS = 720
_MAX_VARIABLES = 60
# Values are clipped at this many standard deviations from the overall mean; few values of a normal density exceed it.
RANGE = 2.5
# The level of a missing cell, above the levels of values.
MISSING = 31
# Levels on each side of 0; steps of a sixth of a standard deviation are the smallest visible ones.
HALF = 15


@dataclass
class HeatMap:
    """`levels` (v x m) from 0 to 30, 15 at the overall mean and 31 where a cell is missing, of v variables in m rows.

    `places` (m) say where the rows stand in the page's list of rows; they are ordered by group and inside a group along
    the first axis. `groups` (m) are their groups. `indices` (v) are the variables' numbers in the table (from 0), with
    their `names`; `n_variables` are selected in all, and the table has `n_rows`.
    """

    levels: np.ndarray
    places: np.ndarray
    groups: np.ndarray
    indices: list[int]
    names: list[str]
    n_variables: int
    n_rows: int

    @property
    def has_gaps(self) -> bool:
        """Whether a cell that is shown is missing."""
        return bool((self.levels == MISSING).any())


def heat_map(X: TableRows, moments: Moments, points: Points, listed: list[Variable], n_selected: int) -> HeatMap | None:
    """The heat map of the selected variables `listed`, largest loadings first; None where nothing was selected.

    Only rows that the scatter plot shows are used, so that marking a row works in both.
    """
    if not listed or not points.n_drawn:
        return None
    indices = _by_group([v.index for v in listed[:_MAX_VARIABLES]], moments)
    groups = points.groups[: points.n_drawn]
    places = stratified(groups, len(moments.counts), _MAX_ROWS)
    along = points.coordinates[places, 0] if points.coordinates.shape[1] else places
    places = places[np.lexsort((along, groups[places]))]
    names = {v.index: v.name for v in listed}
    columns = X.columns(indices)
    rows = points.rows[places]
    levels = [_levels(np.asarray(column, float)[rows], j, moments) for j, column in zip(indices, columns, strict=True)]
    shown = [names[j] for j in indices]
    return HeatMap(np.array(levels), places, groups[places], indices, shown, n_selected, points.total)


def _by_group(indices: list[int], moments: Moments) -> list[int]:
    """Order variables by the group in which they are highest, largest deviation first, so that blocks are visible."""
    constant = moments.constant[indices]
    away = np.nan_to_num(moments.means[:, indices] - moments.mean[indices])
    away = away / np.where(constant, 1.0, moments.deviation[indices])
    return [indices[i] for i in np.lexsort((-away.max(axis=0), away.argmax(axis=0)))]


def _levels(values: np.ndarray, j: int, moments: Moments) -> np.ndarray:
    z = np.zeros(len(values)) if moments.constant[j] else (values - moments.mean[j]) / moments.deviation[j]
    levels = np.round(np.clip(np.nan_to_num(z) / RANGE, -1, 1) * HALF + HALF)
    return np.where(np.isnan(values), MISSING, levels).astype(np.uint8)
