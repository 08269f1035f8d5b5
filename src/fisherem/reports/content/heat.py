"""The heat map: the values of variables in the rows, ordered by group, as plain levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...tables.rows_by_group import Moments, TableRows
from .rows import Points, stratified
from .tracks import Track, tracks
from .tree import GroupTree, group_tree

__all__ = ["HALF", "MISSING", "RANGE", "HeatMap", "heat_map"]

# Most rows (about the width of a wide page in pixels), most variables (about two screens with legible names), and most
# where all are shown, in narrower lines.
_MAX_ROWS = 720
MAX_VARIABLES = 60
MAX_ALL = 200
# Values are clipped at this many standard deviations from the overall mean; few values of a normal density exceed it.
RANGE = 2.5
# The level of a missing cell, above the levels of values.
MISSING = 31
# Levels on each side of 0; steps of a sixth of a standard deviation are the smallest visible ones.
HALF = 15


@dataclass
class HeatMap:
    """`levels` (v x m) from 0 to 30, 15 at the overall mean and 31 where a cell is missing, of v variables in m rows.

    `places` (m) say where the rows stand in the page's list of rows; they are ordered by group, the groups as in the
    dendrogram `tree`, and inside a group along the first axis. `groups` (m) are their groups, `group_names` K.
    `indices` (v) are the variables' numbers in the table (from 0), with their `names`; `n_variables` could be shown in
    all, and the table has `n_rows`. `tracks` are annotations of the rows.
    """

    levels: np.ndarray
    places: np.ndarray
    groups: np.ndarray
    indices: list[int]
    names: list[str]
    n_variables: int
    n_rows: int
    tree: GroupTree
    tracks: list[Track]
    group_names: list[str]

    @property
    def has_gaps(self) -> bool:
        """Whether a cell that is shown is missing."""
        return bool((self.levels == MISSING).any())


def heat_map(
    X: TableRows, moments: Moments, points: Points, variables: list[int], names: list[str], called: list[str], *,
    n_variables: int, tree: GroupTree | None = None, annotate: pd.DataFrame | None = None,
) -> HeatMap | None:  # fmt: skip
    """The heat map of `variables` (numbers in the table); None where there are none.

    Only rows that the scatter plot shows are used, so that marking a row works in both. The dendrogram is that of the
    means of these variables, or `tree`.
    """
    if not variables or not points.n_drawn:
        return None
    away = _standardised_means(variables, moments)
    tree = group_tree(away) if tree is None else tree
    rank = np.full(len(called), len(called))
    rank[tree.order] = np.arange(len(tree.order))
    indices = _by_group(variables, away[tree.order])
    groups = points.groups[: points.n_drawn]
    places = stratified(groups, len(moments.counts), _MAX_ROWS)
    along = points.coordinates[places, 0] if points.coordinates.shape[1] else places
    places = places[np.lexsort((along, rank[groups[places]]))]
    columns = X.columns(indices)
    rows = points.rows[places]
    levels = [_levels(np.asarray(column, float)[rows], j, moments) for j, column in zip(indices, columns, strict=True)]
    shown = [names[j] for j in indices]
    return HeatMap(
        np.array(levels), places, groups[places], indices, shown, n_variables, points.total, tree,
        tracks(annotate, rows), called,
    )  # fmt: skip


def _standardised_means(indices: list[int], moments: Moments) -> np.ndarray:
    """The means of the groups (K x v) in standard deviations from the overall mean; NaN for groups without rows."""
    constant = moments.constant[indices]
    away = (moments.means[:, indices] - moments.mean[indices]) / np.where(constant, 1.0, moments.deviation[indices])
    away[moments.counts > 0] = np.nan_to_num(away[moments.counts > 0])
    return away


def _by_group(indices: list[int], away: np.ndarray) -> list[int]:
    """Order variables by the group in which they are highest, largest deviation first, so that blocks are visible."""
    return [indices[i] for i in np.lexsort((-away.max(axis=0), away.argmax(axis=0)))]


def _levels(values: np.ndarray, j: int, moments: Moments) -> np.ndarray:
    z = np.zeros(len(values)) if moments.constant[j] else (values - moments.mean[j]) / moments.deviation[j]
    levels = np.round(np.clip(np.nan_to_num(z) / RANGE, -1, 1) * HALF + HALF)
    return np.where(np.isnan(values), MISSING, levels).astype(np.uint8)
