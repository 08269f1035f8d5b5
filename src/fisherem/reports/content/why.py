"""Why the listed rows are in their groups: the terms of the variables in the log-odds against the next group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...estimators.naming import names_of_groups
from ...tables.rows_by_group import TableRows

__all__ = ["Change", "Why", "why"]

# Numbers on the page, about 5 bytes each, and variables with a bar of their own; the rest are added up.
_NUMBERS = 60_000
_LEAST_BARS, _MOST_BARS = 4, 12
# Cells of the rows that are looked at: 160 MB in a few arrays. Of wider tables fewer rows have bars.
_CELLS = 5_000_000


@dataclass(frozen=True)
class Change:
    """A `value` of the variable `index` (in the table) that, had it been `becomes`, would put the row into `to`."""

    index: int
    value: float
    becomes: float
    to: str


@dataclass(frozen=True)
class Why:
    """Of the first m listed rows (NaN for rows with missing cells): the terms of v variables (m x v, largest first),
    the sum of the `others` (m) and the `baseline` (m), the smallest change that would move the row (m, None if there is
    none), and the largest interaction of two of the v variables (m x 3: their places and the value; 0 if none)."""

    indices: np.ndarray
    names: list[str]
    values: np.ndarray
    others: np.ndarray
    baseline: np.ndarray
    changes: list[Change | None]
    pairs: np.ndarray
    all_names: list[str]

    @property
    def interact(self) -> bool:
        """Whether pairs of variables have terms."""
        return bool(self.pairs[:, 2].any())


def why(
    model, table: TableRows, rows: np.ndarray, names: list[str], groups: np.ndarray, called: list[str]
) -> Why | None:
    """For the listed rows of a page (their numbers in the table, and their groups); None for a single group.

    `names` are those of the variables, `called` those of the groups.
    """
    if len(model.weights_) == 1:
        return None
    p = table.shape[1]
    rows = rows[: max(1, _CELLS // p)]
    own = names_of_groups(model)
    held = table.at(rows)
    whole = np.flatnonzero(~np.isnan(held).any(axis=1))
    if not len(whole):
        return None
    found = model.contributions(table.framed(held[whole]), groups[: len(rows)][whole])
    m = min(p, max(_LEAST_BARS, min(_MOST_BARS, _NUMBERS // len(rows))))
    largest = np.argsort(-np.abs(found.values).mean(axis=0), kind="stable")[:m]
    largest = largest[np.abs(found.values[:, largest]).max(axis=0) > 0]
    values, pairs = np.full((len(rows), len(largest)), np.nan), np.zeros((len(rows), 3))
    others, baseline = np.full((2, len(rows)), np.nan)
    values[whole], baseline[whole] = found.values[:, largest], found.baseline
    others[whole] = found.values.sum(axis=1) - found.values[:, largest].sum(axis=1)
    pairs[whole] = np.column_stack(found.largest_pairs(largest))
    changes: list[Change | None] = [None] * len(rows)
    places = {name: j for j, name in enumerate(found.names)}
    for i, one in zip(whole, found.changes.itertuples(), strict=True):
        if one.variable:
            changes[i] = Change(places[one.variable], one.value, one.becomes, called[own.index(one.to)])
    shown = [names[j] for j in largest]
    return Why(largest, shown, values, others, baseline, changes, pairs, names)
