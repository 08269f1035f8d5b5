"""The results of a search as tables (the criterion by model and K, the sparsity path of the best fit) and in words.

In: a fitted `ModelSearch`. Out: plain tables, which both the pictures of `plots` and the page of `reports` draw, and
the `Summary` of the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import column_name, count
from ..estimators.describing import Summary, summary_lines, warnings_of
from ..model.criteria import CRITERIA
from ..policy.decisions import Decision
from ..policy.number_of_groups.wording import NEXT
from .grid import DENSE, SELECTION
from .grid_runner import PATH_CRITERIA
from .search_parameters import VERDICT

__all__ = [
    "CriterionTable",
    "PathTable",
    "criterion_label",
    "criterion_table",
    "number_decision",
    "path_table",
    "summary_of",
]

# Reasons of a verdict that a summary lists, besides what to do next; `verdict_` has all of them.
_MOST_REASONS = 2


@dataclass(frozen=True)
class CriterionTable:
    """The criterion of the dense fits.

    Attributes
    ----------
    criterion : str
        The name of the criterion, an entry of `CRITERIA`.
    values : DataFrame
        A row per model, a column per number of groups (ascending); NaN where a fit failed or was not made.
    best : tuple of (int, str)
        The number of groups and the model with the largest value.
    """

    criterion: str
    values: pd.DataFrame
    best: tuple[int, str]


@dataclass(frozen=True)
class PathTable:
    """The sparsity paths of the best number of groups and model.

    Attributes
    ----------
    n_clusters, model : int, str
        The number of groups and the model of the paths.
    fits : dict of str to DataFrame
        For each weighting of the axes, the rows of `results_` along its path, sparsest first.
    sizes : DataFrame
        The norm of each variable's loadings along the path of `axis_weights`: a row per share (ascending), a column
        per variable.
    axis_weights : str
        The weighting that was asked for; by default that of the best fit.
    chosen : float
        The share that the search chose.
    column : str
        The column of `fits` by which it was chosen.
    """

    n_clusters: int
    model: str
    fits: dict[str, pd.DataFrame]
    sizes: pd.DataFrame
    axis_weights: str
    chosen: float
    column: str


def criterion_label(column: str) -> str:
    """The label of a column of `results_`: "BIC", "BIC of the selection"."""
    name = column.removeprefix(SELECTION)
    label = CRITERIA[name].label if name in CRITERIA else name
    return label if name == column else f"{label} of the selection"


def criterion_table(search, criterion: str | None = None) -> CriterionTable:
    """The criterion of a fitted search's dense fits, by model and number of groups.

    `criterion` is the name of an entry of `CRITERIA`; by default the one that the search used.
    """
    check_is_fitted(search, "results_")
    if search.criterion_ == VERDICT:
        raise ValueError(
            "a verdict compares no models: see search.verdict_.rules, or give criterion='bic' for the paper's search"
        )
    criterion = search.criterion_ if criterion is None else CRITERIA.find(criterion).name
    dense = search.results_[search.results_["method"] == DENSE]
    values = dense.pivot_table(index="model", columns="n_clusters", values=criterion, sort=False, dropna=False)
    values = values[sorted(values.columns)]
    model, K = values.stack().dropna().idxmax()  # type: ignore[misc]
    return CriterionTable(criterion, values, (int(K), str(model)))


def path_table(search, axis_weights: str | None = None) -> PathTable | None:
    """The sparsity paths of a fitted search's best number of groups and model; None for a search of dense fits.

    `axis_weights` is the weighting whose loadings are returned; by default that of the best fit.
    """
    check_is_fitted(search, "results_")
    if not search.paths_:
        return None
    results = search.results_
    best = results.iloc[search.best_index_].to_dict()
    K, model = int(best["n_clusters"]), str(best["model"])
    weights = str(best["axis_weights"]) if axis_weights is None else axis_weights
    if (K, model, weights) not in search.paths_:
        followed = ", ".join(repr(w) for k, m, w in search.paths_ if (k, m) == (K, model))
        raise ValueError(f"no path with axis_weights={weights!r} was followed; choose one of {followed}")
    mine = results[(results["method"] != DENSE) & (results["n_clusters"] == K) & (results["model"] == model)]
    mine = mine.sort_values("sparsity", kind="stable")
    sizes = search.paths_[K, model, weights].sort_index()
    return PathTable(
        n_clusters=K,
        model=model,
        fits={str(name): rows.reset_index(drop=True) for name, rows in mine.groupby("axis_weights")},
        sizes=sizes.set_axis(_names(sizes.columns), axis=1),
        axis_weights=weights,
        chosen=float(best["sparsity"]),
        column=PATH_CRITERIA[search.path_criterion] + search.criterion_,
    )


def _names(columns) -> list[str]:
    """Names of variables; columns without names are numbered from 0 in `paths_`."""
    return [column_name(int(c)) if isinstance(c, (int, np.integer)) else str(c) for c in columns]


def number_decision(search: Any) -> Decision:
    """The number of groups that a fitted search chose, as a decision."""
    verdict = getattr(search, "verdict_", None)
    if verdict is None:
        label, chosen = criterion_label(search.criterion_), int(search.best_params_["n_clusters"])
        values = criterion_table(search).values.max()
        reason = f"the fit with the largest {label}"
    else:
        label, chosen = "gain on scores", verdict.n_clusters
        table = verdict.rules.set_index("label").loc[label]
        values = table[[K for K in table.index if isinstance(K, (int, np.integer))]].dropna()
        reason = f"{verdict.confidence}: {verdict.reasons[0] if verdict.reasons else verdict.headline}"
    tried = ", ".join(f"{K} {float(value):.1f}" for K, value in values.items())
    return Decision("number of groups", str(chosen), f"{tried} ({label})", reason)


def summary_of(search: Any, best: Any) -> Summary:
    """The summary of a fitted search; `best` is its best estimator, or the last step of the best pipeline."""
    K, n = len(best.weights_), len(best.labels_)
    notes = ["interrupted: the choice is based on the fits that were finished"] if search.interrupted_ else []
    verdict = getattr(search, "verdict_", None)
    if verdict is not None:
        title = f"ModelSearch: {count(K, 'group')} of {count(n, 'row')} ({verdict.confidence})"
        reasons = verdict.reasons[:_MOST_REASONS]
        following = tuple(reason for reason in verdict.reasons[_MOST_REASONS:] if reason == NEXT)
        said = [("verdict", verdict.headline), *(("", reason) for reason in (*reasons, *following))]
        # the verdict has a caution of its own about few rows
        notes = [*verdict.cautions, *(text for text in warnings_of(best) if not text.startswith("fewer rows"))]
    else:
        chosen = ", ".join(f"{name} {_short(value)}" for name, value in search.best_params_.items())
        label = CRITERIA[search.criterion_].label
        title = f"ModelSearch: {count(K, 'group')} of {count(n, 'row')}, chosen by {label}"
        said = [
            ("chosen", f"{chosen} ({label} {search.best_score_:.1f}, best of {count(len(search.results_), 'fit')})")
        ]
        notes += warnings_of(best)
    return Summary(title, [*said, *summary_lines(best)], notes)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
