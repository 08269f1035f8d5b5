"""Why a row is in its group: its log-odds against the next group as a sum over the variables.

In: complete rows (n x p). Out: `Contributions`, with a term per row and variable, and for each row the smallest change
of one selected variable that would move it into another group.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import count
from ..core.data.precisions import Precisions
from ..tables.anndata_object import of_cells
from ..tables.checking import check_number, check_table
from ..tables.encoding import Encoding
from .mixed import in_numbers
from .naming import names_of_groups, variable_names

__all__ = ["Contributions", "ExplainsRows"]

# How far beyond the border a changed value is, as shares of the change: the smallest that `predict` confirms is taken.
_BEYOND = (1e-9, 1e-6, 1e-3)
# Variables whose pairs are compared: those with the largest interactions.
_MOST_PAIRED = 200


@dataclass(frozen=True)
class Contributions:
    """The log-odds of the group of each row against the runner-up, as a sum over the variables.

    ``log_odds = baseline + values.sum(axis=1)``. Positive values speak for the group, negative ones for the runner-up.
    Arrays count groups from 0, as `labels_` does; frames name them, and "group 1" is ``labels_ == 0``.

    Attributes
    ----------
    names : list of p names
    groups, against : ndarray of shape (n,)
        The group of each row and the runner-up.
    log_odds, baseline : ndarray of shape (n,)
        The log-odds, and their value for a row half-way between the means of the two groups.
    values : ndarray of shape (n, p)
        The term of each variable, including its half of each interaction.
    interactions : ndarray of shape (n, p)
        The part of `values` that is due to interactions; 0 if the groups have a common covariance.
    group_names : list of K names
    changes : DataFrame of n rows
        The smallest change of one selected variable that moves the row, where changes are compared in units of
        `scales_`: `variable`, its `value`, and the value `becomes` that moves the row into the group `to`. Where no
        change does, they are "" and NaN.
    """

    names: list[str]
    groups: np.ndarray
    against: np.ndarray
    log_odds: np.ndarray
    baseline: np.ndarray
    values: np.ndarray
    interactions: np.ndarray
    changes: pd.DataFrame
    _precisions: Precisions = field(repr=False)
    _rows: np.ndarray = field(repr=False)
    group_names: list[str] = field(repr=False)

    def frame(self, index=None) -> pd.DataFrame:
        """One line per row: group, against, log_odds, baseline, and a column per variable."""
        called = np.array(self.group_names, object)
        about = {"group": called[self.groups], "against": called[self.against]}
        numbers = pd.DataFrame({"log_odds": self.log_odds, "baseline": self.baseline}, index=index)
        values = pd.DataFrame(self.values, columns=self.names, index=index)
        return pd.concat([pd.DataFrame(about, index=index), numbers, values], axis=1)

    def pairs(self, row, most=5) -> pd.DataFrame:
        """The largest interactions of a row (from 0): `variable`, `other` and `value`, which both share equally."""
        check_number("row", row, integer=True, least=0, most=len(self.groups) - 1)
        check_number("most", most, integer=True, least=1)
        among = np.sort(np.argsort(-np.abs(self.interactions[row]), kind="stable")[:_MOST_PAIRED])
        values = self._precisions.pairs(self.groups[row], self.against[row], self._rows[[row]], among)[0]
        one, other = np.triu_indices(len(among), 1)
        order = np.argsort(-np.abs(values), kind="stable")[:most]
        order, names = order[values[order] != 0], [self.names[j] for j in among]
        columns = {"variable": [names[j] for j in one[order]], "other": [names[j] for j in other[order]]}
        return pd.DataFrame(columns | {"value": values[order]})

    def largest_pairs(self, among) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The largest interaction of each row between two of the variables `among` (places in `names`).

        (one, other, value): places in `among` and the interaction, which is 0 where there is none.
        """
        among, n = np.asarray(among, int), len(self.groups)
        one, other = np.triu_indices(len(among), 1)
        largest, values = np.zeros(n, int), np.zeros(n)
        if not len(one):
            return largest, largest, values
        for a, b in {(int(a), int(b)) for a, b in zip(self.groups, self.against, strict=True)}:
            mine = np.flatnonzero((self.groups == a) & (self.against == b))
            found = self._precisions.pairs(a, b, self._rows[mine], among)
            largest[mine] = np.abs(found).argmax(axis=1)
            values[mine] = found[np.arange(len(mine)), largest[mine]]
        return one[largest], other[largest], values


def _checked_groups(groups, n: int, K: int) -> np.ndarray:
    found = np.asarray(groups)
    if found.shape != (n,) or found.dtype.kind not in "iu" or (n and not 0 <= found.min() <= found.max() < K):
        raise ValueError(f"groups must be {n} numbers from 0 to {K - 1}, one per row of X; got shape {found.shape}")
    return found


class ExplainsRows:
    """Mixin of `FittedMixture`: `contributions`."""

    def contributions(self, X, groups=None, covariates=None) -> Contributions:
        """Why each row is in its group: the log-odds against the runner-up as a sum over the variables.

        X is an array or a frame without missing cells (n x p). The sum is exact. Where the covariances of the groups
        differ, pairs of variables interact, and each of the two gets half of the interaction. Also says the smallest
        change of one selected variable that `predict` confirms to move the row. Where the selected columns are enough
        for `predict`, they are enough here.

        `groups` (n, from 0) are other groups to explain than those of `predict`: each is compared with the most
        probable one of the others. For a row that `predict` puts elsewhere the log-odds are negative, and it has no
        change. Of a table with categories, the variables are the columns of its encoding, and only numbers are changed.
        """
        check_is_fitted(self)
        self._need(covariates)  # type: ignore[attr-defined]
        covariates = of_cells(X, covariates)
        inner, X = in_numbers(self, X)
        model, X = inner._for_columns(X)
        if hasattr(self, "encoding_"):
            model = _changing_numbers(model, self.encoding_)
        if len(model.weights_) == 1:
            raise ValueError("the model has one group only: there is no other group to compare a row with")
        model, table = model._beside(np.asarray(check_table(model, X, reset=False), float), covariates)
        if len(gaps := np.flatnonzero(np.isnan(table).any(axis=1))):
            raise ValueError(
                f"contributions need complete rows; {count(len(gaps), 'row')} of X with missing cells, first row "
                f"{gaps[0]} (from 0): give model.impute(X)"
            )
        posteriors = model._posteriors(table)
        placed = posteriors.argmax(axis=1)
        here = placed if groups is None else _checked_groups(groups, *posteriors.shape)
        others = posteriors.copy()
        others[np.arange(len(here)), here] = -1.0
        rows = model._rows_of(table)
        centred = np.asarray(rows.everything(), float) - rows.centre
        found = model._explained(table, centred, here, others.argmax(axis=1))
        elsewhere = here != placed
        found.changes.loc[elsewhere, ["variable", "to"]] = ""
        found.changes.loc[elsewhere, ["value", "becomes"]] = np.nan
        return found

    def _explained(self, table, rows: np.ndarray, groups: np.ndarray, against: np.ndarray) -> Contributions:
        model: Any = self
        precisions = model._solution().precisions()
        (n, p), K = rows.shape, len(model.weights_)
        values, interactions, baseline = np.empty((n, p)), np.empty((n, p)), np.empty(n)
        nearest, towards = np.full((n, p), np.nan), np.full((n, p), -1)
        for a in range(K):
            mine = np.flatnonzero(groups == a)
            for b in (b for b in range(K) if b != a and len(mine)):
                terms = precisions.terms(a, b, rows[mine])
                second = against[mine] == b
                there = mine[second]
                values[there], interactions[there] = terms.values[second], terms.interactions[second]
                baseline[there] = terms.base
                steps = np.where(model.support_, terms.crossings(), np.nan)
                closer = np.abs(steps) < np.where(np.isnan(nearest[mine]), np.inf, np.abs(nearest[mine]))
                nearest[mine] = np.where(closer, steps, nearest[mine])
                towards[mine] = np.where(closer, b, towards[mine])
        names, called = variable_names(self, p), names_of_groups(self)
        changes = self._changes(table, nearest, towards, names)
        odds = baseline + values.sum(axis=1)
        return Contributions(
            names, groups, against, odds, baseline, values, interactions, changes, precisions, rows, called
        )  # fmt: skip

    def _changes(self, table, nearest: np.ndarray, towards: np.ndarray, names: list[str]) -> pd.DataFrame:
        """The smallest change of each row, from the steps (n x p) to the nearest border in each variable."""
        model: Any = self
        n = len(table)
        size = np.where(np.isnan(nearest), np.inf, np.abs(nearest))
        chosen, at = size.argmin(axis=1), np.arange(n)
        step, to = nearest[at, chosen], towards[at, chosen]
        becomes, done = np.full(n, np.nan), ~np.isfinite(size[at, chosen])
        for beyond in _BEYOND:
            left = np.flatnonzero(~done)
            if not len(left):
                break
            trial = np.array(table[left], float)
            new = self._shifted(trial, chosen[left], step[left] * (1 + beyond))
            trial[np.arange(len(left)), chosen[left]] = new
            reached = np.isfinite(new) & (model._labels(np.where(np.isfinite(trial), trial, 0.0)) == to[left])
            becomes[left[reached]] = new[reached]
            done[left[reached]] = True
        found, called = np.isfinite(becomes), names_of_groups(self)
        return pd.DataFrame({
            "variable": np.where(found, np.array(names, object)[chosen], ""),
            "value": np.where(found, table[at, chosen], np.nan),
            "becomes": becomes,
            "to": [called[k] if there else "" for k, there in zip(to, found, strict=True)],
        })  # fmt: skip

    def _shifted(self, table: np.ndarray, columns: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The value of one column of each row after a step in units of the divided (and transformed) columns."""
        model: Any = self
        scales, powers, at = model._scales(), model._powers(), np.arange(len(table))
        if powers is None:
            return table[at, columns] + step * scales[columns]
        bent = powers.transform(table)
        bent[at, columns] += step * scales[columns]
        return powers.inverse(bent)[at, columns]


def _changing_numbers(model: Any, encoding: Encoding) -> Any:
    """The model of encoded columns with the selected numbers alone: no indicator changes alone."""
    wanted = {name for name, one in zip(encoding.column_names, encoding.blocks.indicators, strict=True) if not one}
    changing = copy.copy(model)
    changing.support_ = model.support_ & np.array([name in wanted for name in model.feature_names_in_])
    return changing
