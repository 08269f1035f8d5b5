"""What a search has seen, as tables: the criterion by model and K, and the sparsity path of the best fit.

A fitted `ModelSearch` goes in; plain tables come out. The pictures of `plots` and the page of `reports` draw these, so
both show the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import column_name
from ..model.criteria import CRITERIA
from .search_parameters import VERDICT

__all__ = ["CriterionTable", "PathTable", "criterion_label", "criterion_table", "path_column", "path_table"]

# Columns of this prefix hold a criterion of the selected variables (see `docs/choosing.md`).
_OF_THE_SELECTION = "selection_"


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
        What the paths belong to.
    fits : dict of str to DataFrame
        For each weighting of the axes, the rows of `results_` along its path, sparsest first.
    sizes : DataFrame
        The length of each variable's loadings along the path of `axis_weights`: a row per share (ascending), a column
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


def path_column(search) -> str:
    """The column of `results_` that chooses the sparsity."""
    return search.criterion_ if search.path_criterion == "penalised" else f"{_OF_THE_SELECTION}{search.criterion_}"


def criterion_label(column: str) -> str:
    """A column of `results_` as people read it: "BIC", "BIC of the selection"."""
    name = column.removeprefix(_OF_THE_SELECTION)
    label = CRITERIA[name].label if name in CRITERIA else name
    return label if name == column else f"{label} of the selection"


def criterion_table(search, criterion: str | None = None) -> CriterionTable:
    """The criterion of a fitted search's dense fits, by model and number of groups.

    `criterion` is the name of an entry of `CRITERIA`; by default the one that the search used.
    """
    check_is_fitted(search, "results_")
    _need_a_grid(search)
    criterion = search.criterion_ if criterion is None else CRITERIA.find(criterion).name
    dense = search.results_[search.results_["method"] == "dense"]
    values = dense.pivot_table(index="model", columns="n_clusters", values=criterion, sort=False, dropna=False)
    values = values[sorted(values.columns)]
    model, K = values.stack().dropna().idxmax()  # type: ignore[misc]
    return CriterionTable(criterion, values, (int(K), str(model)))


def _need_a_grid(search) -> None:
    if search.criterion_ == VERDICT:
        raise ValueError(
            "a verdict compares no models: see search.verdict_.rules, or give criterion='bic' for the paper's search"
        )


def path_table(search, axis_weights: str | None = None) -> PathTable | None:
    """The sparsity paths of a fitted search's best number of groups and model; None for a search of dense fits.

    `axis_weights` says whose loadings are wanted; by default those of the best fit.
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
    mine = results[(results["method"] != "dense") & (results["n_clusters"] == K) & (results["model"] == model)]
    mine = mine.sort_values("sparsity", kind="stable")
    sizes = search.paths_[K, model, weights].sort_index()
    return PathTable(
        n_clusters=K,
        model=model,
        fits={str(name): rows.reset_index(drop=True) for name, rows in mine.groupby("axis_weights")},
        sizes=sizes.set_axis(_names(sizes.columns), axis=1),
        axis_weights=weights,
        chosen=float(best["sparsity"]),
        column=path_column(search),
    )


def _names(columns) -> list[str]:
    """Names of variables; a table without names has the columns' numbers from 0 here."""
    return [column_name(int(c)) if isinstance(c, (int, np.integer)) else str(c) for c in columns]
