"""The variables as the page shows them: loadings, distributions per group, the profile of the group means."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .page_rows import PageRows

__all__ = ["Profile", "Variable", "bins", "profile", "variables"]

# Variables with a row in the table of loadings, and those with a box plot: a box takes about 0.5 kB per group, and all
# of them together are held below 0.25 MB.
MAX_LISTED = 100
MAX_BOXES = 24
_GROUP_BOXES = 480
_FEWEST_BOXES = 6
# Up to this many variables the profile has a point for each; with more, neighbours share one.
MAX_POINTS = 400

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass
class Variable:
    """A selected variable: its number in the table (from 0), loadings (d), their length, means (K), and the quantiles
    of its values in each group (K x 5, NaN for a group without rows); no quantiles if it has no picture."""

    index: int
    name: str
    loadings: np.ndarray
    size: float
    mean: np.ndarray
    quantiles: np.ndarray | None


@dataclass
class Profile:
    """Group means in standard deviations from the overall mean. `values` (K x m), `selected` (m) bool, `first` and
    `last` (m) the numbers (from 0) of the variables that a point stands for, `names` (m) of the variables, or None
    where a point stands for several."""

    values: np.ndarray
    selected: np.ndarray
    first: np.ndarray
    last: np.ndarray
    names: list[str] | None
    n_variables: int

    @property
    def binned(self) -> bool:
        """Whether a point stands for several variables."""
        return self.values.shape[1] < self.n_variables


def variables(model, X: PageRows, group: np.ndarray, names: list[str]) -> list[Variable]:
    """The selected variables of a fit to X (n x p) with the groups (n), largest loadings first.

    At most 100 are listed, and the first 24 (fewer with more than 20 groups) have quantiles.
    """
    sizes = np.linalg.norm(model.loadings_, axis=1)
    chosen = np.flatnonzero(model.support_)
    chosen = chosen[np.argsort(-sizes[chosen], kind="stable")][:MAX_LISTED]
    members = [np.flatnonzero(group == k) for k in range(len(model.weights_))]
    drawn = max(_FEWEST_BOXES, min(MAX_BOXES, _GROUP_BOXES // len(members)))
    found = [
        Variable(int(j), names[j], model.loadings_[j], float(sizes[j]), model.group_means_[:, j], quantiles=None)
        for j in chosen
    ]
    for variable, column in zip(found[:drawn], X.columns([int(j) for j in chosen[:drawn]]), strict=True):
        variable.quantiles = _quantiles(column, members)
    return found


def _quantiles(column: np.ndarray, members: list[np.ndarray]) -> np.ndarray:
    column = np.asarray(column, float)
    empty = np.full(len(QUANTILES), np.nan)
    return np.array([np.quantile(column[rows], QUANTILES) if len(rows) else empty for rows in members])


def bins(p: int, most: int = MAX_POINTS) -> np.ndarray:
    """Edges of at most `most` runs of neighbouring variables."""
    return np.unique(np.linspace(0, p, min(p, most) + 1).astype(int))


def _together(z: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """One value per group (rows of z) for neighbouring variables (columns)."""
    if selected.any():
        candidates = z[:, selected]
        return candidates[:, np.abs(candidates).max(axis=0).argmax()]
    return np.take_along_axis(z, np.abs(z).argmax(axis=1)[:, None], axis=1)[:, 0]


def profile(model, X: PageRows, names: list[str]) -> Profile:
    """The standardised group means over all variables of X (n x p).

    Where several variables share a point, it shows the selected one among them (of several, the one whose means are
    furthest from 0); if none is selected, each group's mean that is furthest from 0.
    """
    mean, spread = X.moments()
    flat = spread <= 1e-12 * np.maximum(np.abs(mean), 1e-300)  # rounding is all that a constant column varies by
    z = np.where(flat, 0.0, (model.group_means_ - mean) / np.where(flat, 1.0, spread))
    z[np.abs(z) < 1e-9] = 0.0  # rounding: a single group's mean is the overall mean
    p = z.shape[1]
    edges = bins(p)
    first, last = edges[:-1], edges[1:] - 1
    values, selected = z, model.support_
    if len(first) < p:
        values = np.column_stack([_together(z[:, a:b], model.support_[a:b]) for a, b in pairwise(edges)])
        selected = np.logical_or.reduceat(model.support_, first)
    return Profile(values, np.asarray(selected), first, last, names if len(first) == p else None, p)
