"""The variables as the page shows them: loadings, distributions per group, the profile of the group means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...tables.rows_by_group import Moments, TableRows

__all__ = ["MAX_NAMED", "Profile", "Variable", "profile", "variables"]

# Variables with a row in the table of loadings, and those with a box plot: a box takes about 0.5 kB per group, and all
# of them together are held below 0.25 MB.
MAX_LISTED = 100
MAX_BOXES = 24
_GROUP_BOXES = 480
_FEWEST_BOXES = 6
# Lines of the profile, about two screens of a phone. If there are more variables, a few lines are reserved for the
# strongest of those not selected, but at most a dozen.
MAX_NAMED = 40
_FEWEST_OTHERS = 4
_MOST_OTHERS = 12

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass
class Variable:
    """A selected variable: its number in the table (from 0), loadings (d), their length, means (K), and the quantiles
    of its values in each group (K x 5, NaN for a group without rows); no quantiles if it has no picture.
    `group_names` are K."""

    index: int
    name: str
    loadings: np.ndarray
    size: float
    mean: np.ndarray
    quantiles: np.ndarray | None
    group_names: list[str]


@dataclass
class Profile:
    """Group means in standard deviations from the overall mean. `values` (K x m), `selected` (m) bool, `indices` (m)
    the variables' numbers in the table (from 0) and their `names` (m); `n_variables` and `n_selected` in all."""

    values: np.ndarray
    selected: np.ndarray
    indices: np.ndarray
    names: list[str]
    n_variables: int
    n_selected: int

    @property
    def n_others(self) -> int:
        """How many of the variables shown are not selected."""
        return int((~self.selected).sum())


def variables(model, X: TableRows, group: np.ndarray, names: list[str], called: list[str]) -> list[Variable]:
    """The selected variables of a fit to X (n x p) with the groups (n, `called` K names), largest loadings first.

    At most 100 are listed, and the first 24 (fewer with more than 20 groups) have quantiles.
    """
    sizes = np.linalg.norm(model.loadings_, axis=1)
    chosen = np.flatnonzero(model.support_)
    chosen = chosen[np.argsort(-sizes[chosen], kind="stable")][:MAX_LISTED]
    members = [np.flatnonzero(group == k) for k in range(len(model.weights_))]
    drawn = max(_FEWEST_BOXES, min(MAX_BOXES, _GROUP_BOXES // len(members)))
    found = [
        Variable(int(j), names[j], model.loadings_[j], float(sizes[j]), model.group_means_[:, j], None, called)
        for j in chosen
    ]
    for variable, column in zip(found[:drawn], X.columns([int(j) for j in chosen[:drawn]]), strict=True):
        variable.quantiles = _quantiles(column, members)
    return found


def _quantiles(column: np.ndarray, members: list[np.ndarray]) -> np.ndarray:
    column = np.asarray(column, float)
    empty = np.full(len(QUANTILES), np.nan)
    observed = [column[rows][~np.isnan(column[rows])] for rows in members]
    return np.array([np.quantile(values, QUANTILES) if len(values) else empty for values in observed])


def profile(model, moments: Moments, names: list[str]) -> Profile:
    """The standardised group means (K x p) of a fit, for the most informative variables.

    Up to 40 variables are all shown, in the order of the table. Of more, the selected ones come first, largest loadings
    first, and then the others whose variance lies between the groups most.
    """
    constant = moments.constant
    z = np.where(constant, 0.0, (model.group_means_ - moments.mean) / np.where(constant, 1.0, moments.deviation))
    z[np.abs(z) < 1e-9] = 0.0  # rounding: a single group's mean is the overall mean
    p = z.shape[1]
    support = np.asarray(model.support_)
    shown = np.arange(p) if p <= MAX_NAMED else _strongest(model, support, moments.between)
    return Profile(z[:, shown], support[shown], shown, [names[j] for j in shown], p, int(support.sum()))


def _strongest(model, support: np.ndarray, between: np.ndarray) -> np.ndarray:
    """At most 40 numbers of variables: selected ones by their loadings, then others by their share between groups."""
    sizes = np.linalg.norm(model.loadings_, axis=1)
    by_size, by_share = np.argsort(-sizes, kind="stable"), np.argsort(-between, kind="stable")
    if support.all():  # no selection: all variables are used
        return by_share[:MAX_NAMED]
    selected = by_size[support[by_size]][: MAX_NAMED - _FEWEST_OTHERS]
    room = min(MAX_NAMED - len(selected), _MOST_OTHERS)
    return np.concatenate([selected, by_share[~support[by_share]][:room]])
