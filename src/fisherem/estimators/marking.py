"""What marks each group: how far it is from the others in every variable, and how sure that is.

In: rows in groups (n x p). Out: a frame with a row per group and variable.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import listed
from ..tables.rows_by_group import Moments, TableRows, table_rows
from .mixed import in_numbers, of_columns
from .naming import names_of_groups, variable_names

__all__ = [
    "Marks", "check_certainty", "effects", "markers_frame", "mean_outside", "nearest_effects", "placed_markers",
    "roles_of",
]  # fmt: skip

# Lower bound on the within-group standard deviation, relative to the overall one: effects of variables that hardly
# vary within the groups would otherwise be unbounded.
_LEAST_DEVIATION = 0.1
# Of a standard deviation: means are rounded by less.
_ROUNDING = 1e-9
_SELECTED, _NOT_SELECTED = "selected", "not selected"


def mean_outside(moments: Moments) -> np.ndarray:
    """out[k, j] = the mean of variable j over the rows of all groups but k; NaN where there are none."""
    counts, means = moments.observed, np.nan_to_num(moments.means)
    found = np.full(means.shape, np.nan)
    for k in range(len(means)):
        others = np.arange(len(means)) != k
        rest = counts[others].sum(axis=0)
        shares = counts[others] / np.maximum(rest, 1)  # sums of large values would overflow
        np.copyto(found[k], (shares * means[others]).sum(axis=0), where=rest > 0)
    return found


def _within(moments: Moments) -> np.ndarray:
    """The standard deviation (p) within the groups, at least a tenth of the overall one."""
    return moments.deviation * np.sqrt(np.clip(1 - moments.between, _LEAST_DEVIATION**2, 1))


def effects(moments: Moments) -> np.ndarray:
    """out[k, j] = (mean of group k - mean of all other rows) / standard deviation within the groups, in variable j.

    0 for constant variables, and for a group that has no rows or all of them.
    """
    away = moments.means - mean_outside(moments)
    there = np.isfinite(away) & ~moments.constant
    return np.divide(away, _within(moments), out=np.zeros_like(away), where=there)


def nearest_effects(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """(effect, nearest), both K x p: the same against the group whose mean of the variable is nearest, and that group.

    The group is -1 where there is none.
    """
    within, K = _within(moments), len(moments.means)
    found, nearest = np.zeros(moments.means.shape), np.full(moments.means.shape, -1)
    for k in range(K):
        gaps = moments.means[k] - moments.means
        gaps[k] = np.nan
        there = np.isfinite(gaps).any(axis=0)
        closest = np.where(np.isfinite(gaps), np.abs(gaps), np.inf).argmin(axis=0)
        nearest[k] = np.where(there, closest, -1)
        gap = gaps[closest, np.arange(gaps.shape[1])]
        np.divide(gap, within, out=found[k], where=there & ~moments.constant)
    return found, nearest


def roles_of(model: Any) -> list[str]:
    """The role of each variable; of a model that does not know the roles, whether it is selected."""
    known = getattr(model, "roles_", None)
    if known is not None:
        return list(known["role"])
    return [_SELECTED if one else _NOT_SELECTED for one in np.asarray(model.support_)]


def markers_frame(
    rows: TableRows, labels: np.ndarray, variables: list[str], groups: list[str], roles: list[str], *,
    stability=None, significance=None,
) -> pd.DataFrame:  # fmt: skip
    """The table of `Marks.markers` for rows (n x p) in the groups `labels` (n, from 0; -1 is in none).

    `variables` and `roles` have p entries, `groups` K names.
    """
    moments = rows.moments(labels, len(groups))
    return placed_markers(rows, labels, moments, variables, groups, roles, stability, significance)[0]


def placed_markers(
    rows: TableRows, labels: np.ndarray, moments: Moments, variables: list[str], groups: list[str], roles: list[str],
    stability=None, significance=None,
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:  # fmt: skip
    """(the table of markers, the group and the variable of each of its rows, both from 0); see `markers_frame`."""
    effect, (near, nearest) = effects(moments), nearest_effects(moments)
    outside = mean_outside(moments)
    # a value that is the mean up to rounding is not beyond it
    limits = np.nan_to_num(outside) + np.sign(effect) * _ROUNDING * moments.deviation
    counts = rows.beyond(labels, limits, np.sign(effect))
    share = np.divide(counts, moments.observed, out=np.full(counts.shape, np.nan), where=effect != 0)
    parts, places = [], []
    for k in np.flatnonzero(moments.counts).tolist():
        order = np.lexsort((np.arange(len(variables)), -np.abs(effect[k])))
        part = pd.DataFrame({
            "group": groups[k],
            "variable": np.array(variables, object)[order],
            "direction": np.array(["low", "", "high"], object)[np.sign(effect[k, order]).astype(int) + 1],
            "effect": effect[k, order],
            "effect_nearest": near[k, order],
            "nearest": [groups[other] if other >= 0 else "" for other in nearest[k, order]],
            "mean_inside": moments.means[k, order],
            "mean_outside": outside[k, order],
            "share_beyond": share[k, order],
            "role": np.array(roles, object)[order],
        })  # fmt: skip
        parts.append(_with_certainty(part, k, order, nearest[k, order], stability, significance))
        places.append(np.stack([np.full(len(order), k), order]))
    k, j = np.hstack(places)
    return pd.concat(parts, ignore_index=True), k, j


def _with_certainty(part: pd.DataFrame, k: int, order, nearest, stability, significance) -> pd.DataFrame:
    if stability is not None:
        part["reproducibility"] = np.asarray(stability.frequencies)[order]
    if significance is None:
        return part
    if "group" not in significance:
        found = significance.set_index("variable")[["p", "q"]].reindex(part["variable"])
    else:  # of a pair of groups, which count from 1 there: the pair with the nearest group
        pairs = significance.set_index(["group", "other", "variable"])[["p", "q"]]
        wanted = [
            (min(k, other) + 1, max(k, other) + 1, name)
            for other, name in zip(nearest, part["variable"], strict=True)
        ]  # fmt: skip
        found = pairs.reindex(pd.MultiIndex.from_tuples(wanted))
    part[["p", "q"]] = found.to_numpy()
    return part


def check_certainty(variables: list[str], stability, significance) -> None:
    """Raise an error if the result of `stability` or of `significance` is not about these variables."""
    if stability is not None and len(getattr(stability, "frequencies", ())) != len(variables):
        raise ValueError(
            f"stability must be the result of fisherem.stability for these {len(variables)} variables; got "
            f"{type(stability).__name__} of {len(getattr(stability, 'frequencies', ()))}"
        )
    if significance is None:
        return
    if not isinstance(significance, pd.DataFrame) or not {"variable", "p", "q"} <= set(significance):
        raise TypeError(
            "significance must be the frame that fisherem.significance returns, with the columns variable, p and q; "
            f"got {type(significance).__name__}"
        )
    if missing := sorted(set(variables) - set(significance["variable"].astype(str))):
        raise ValueError(f"significance has no row for {listed(missing)}: compute it for this table")


class Marks:
    """Mixin of `FittedMixture`: `markers` and `subcluster`."""

    def markers(self, X, *, stability=None, significance=None, group_names=None, covariates=None) -> pd.DataFrame:
        """What marks each group: a row per group and variable, sorted by group and inside a group by the effect.

        Parameters
        ----------
        X : array, frame or path of n rows
            Usually the rows of the fit. Rows are in the groups that `predict` gives them.
        stability : Stability, optional
            The result of `fisherem.stability`, for the column reproducibility.
        significance : DataFrame, optional
            The result of `fisherem.significance`, for the columns p and q. With ``pairs=True`` they are those of the
            pair with the nearest group.
        group_names : sequence of K, optional
            What the groups are called; by default as in `name_groups`. "group 1" is ``labels_ == 0``.
        covariates : array, series or frame of n rows, optional
            Those of the rows, for a model that was fitted with covariates: the values are then less their effects.

        Returns
        -------
        DataFrame
            group and variable · direction, "high" or "low" · effect, how far the mean of the group lies from the mean
            of all other rows, in standard deviations within the groups · effect_nearest, the same against the
            group `nearest`, whose mean of this variable is nearest · mean_inside and mean_outside, in the units of X ·
            share_beyond, the share of the group's rows that lie beyond mean_outside in this direction · role (see
            `roles_`) · reproducibility, p and q where they are known. A standard deviation within the groups is taken
            as at least a tenth of the overall one. Groups without rows are left out.
        """
        check_is_fitted(self)
        self._need(covariates)  # type: ignore[attr-defined]
        plain, X = (self, X) if covariates is None else self.adjusted(X, covariates)  # type: ignore[attr-defined]
        inner, X = in_numbers(plain, X)  # of a category, every level is a variable here
        model, X = inner._for_columns(X)
        rows = table_rows(model, X)
        names = names_of_groups(model, group_names)
        variables = variable_names(model, rows.shape[1])
        stability = of_columns(stability, self)
        check_certainty(variables, stability, significance)
        labels = np.asarray(model.predict(rows.given))
        return markers_frame(
            rows, labels, variables, names, roles_of(model), stability=stability, significance=significance
        )

    def subcluster(self, X, group, n_clusters="auto", *, random_state=None, n_jobs=None, covariates=None):
        """Split one group: fit again to its rows, with variables chosen anew; its labels are then "2.1", "2.2", ...

        Parameters
        ----------
        X : array, frame or path of n rows
            Usually the rows of the fit. The rows of the group are those that `predict` puts there.
        group : int or str
            The number of the group as people read it (group 1 is ``labels_ == 0``), or its name.
        n_clusters : int or "auto", default="auto"
            How many groups to look for; "auto" lets `ModelSearch` decide, which may find that there is only one.
        random_state : int, RandomState or None
            The seed; by default that of the model.
        n_jobs : int or None
            Processes of a search; None means all cores.
        covariates : array, series or frame of n rows, optional
            Those of the rows, for a model that was fitted with covariates: the rows less their effects are split.

        Returns
        -------
        Subclusters
            `labels` (n) are texts, `model` is the fit to the rows of the group; see `fisherem.Subclusters`.
        """
        inside = import_module("fisherem.search.subclusters")  # `search` imports this package
        return inside.split(self, X, group, inside.splitter(self, n_clusters, random_state, n_jobs), covariates)
