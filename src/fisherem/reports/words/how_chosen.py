"""How a search chose the fit: the page's words and numbers about a `ModelSearch`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..._utils.wording import count
from ...search.model_search import ModelSearch
from ...search.search_parameters import VERDICT
from ...search.search_tables import PathTable, criterion_label, criterion_table, path_table
from ..text import clean, tally

__all__ = ["Curve", "Path", "SearchWords", "path_of", "search_of"]

# Variables with a curve of their own in the lowest panel of the path: more could not be told apart.
_MAX_PATH_VARIABLES = 6
# Paths that are named in the sentence about the choice.
_MAX_PATHS_NAMED = 4


@dataclass(frozen=True)
class Curve:
    """A variable, its number in the table (from 0), and the length of its loadings along the path."""

    index: int
    name: str
    values: list[float]


@dataclass
class Path:
    """The sparsity path of the best number of groups and model, as the page draws it.

    `lines` maps each weighting of the axes to its points (share, criterion, number of variables), dense to sparse.
    `shares` (m) and `sizes`, the `Curve` of each of the selected variables with the largest loadings, belong to the
    chosen `weighting`. `chosen` is the chosen share, `label` names the criterion that chose it, `value` is that
    criterion there and `n_selected` the number of variables.
    """

    lines: dict[str, list[tuple[float, float, float]]]
    shares: list[float]
    sizes: list[Curve]
    chosen: float
    weighting: str
    label: str
    value: float
    n_selected: int


@dataclass
class SearchWords:
    """How a search chose: `values` is the criterion of the dense fits, models x numbers of groups (NaN: failed).

    `best_dense` and `best` are (number of groups, model) of the best dense fit and of the chosen fit; `failures` counts
    the reasons of failed fits; `label` is the criterion as people read it; `sentence` says it all in words.
    """

    criterion: str
    label: str
    values: pd.DataFrame
    best_dense: tuple[int, str]
    best: tuple[int, str]
    n_fits: int
    failures: dict[str, int]
    interrupted: bool
    path: Path | None
    sentence: str

    @property
    def ranking(self) -> list[str]:
        """The models by their best criterion, best first."""
        return [str(m) for m in self.values.max(axis=1).sort_values(ascending=False, kind="stable").index]


def search_of(search: ModelSearch) -> SearchWords | None:
    """The page's account of a fitted search; None for a verdict, of which `how_many` speaks."""
    if search.criterion_ == VERDICT:
        return None
    results, table = search.results_, criterion_table(search)
    failed = results[~np.isfinite(results[table.criterion].astype(float))]
    best = search.best_params_
    return SearchWords(
        criterion=table.criterion,
        label=criterion_label(table.criterion),
        values=table.values,
        best_dense=table.best,
        best=(int(best["n_clusters"]), str(best["model"])),
        n_fits=len(results),
        failures=tally(failed["stop_reason"]),
        interrupted=bool(search.interrupted_),
        path=path_of(path_table(search)),
        sentence=_sentence(search, table.values),
    )


def _sentence(search: ModelSearch, values: pd.DataFrame) -> str:
    """How the fit was chosen, in one to three sentences."""
    Ks = [int(K) for K in values.columns]
    groups = _number_of_groups(Ks[0]) if len(Ks) == 1 else f"K from {Ks[0]} to {Ks[-1]}"
    n, label = int(values.notna().to_numpy().sum()), criterion_label(search.criterion_)
    fits = "One fit was judged" if n == 1 else f"{count(n, 'fit')} were compared"
    text = f"{fits} by {label} (larger is better): {groups}, {count(len(values), 'model')}."
    if not search.paths_:
        return text
    best, K = search.best_params_, _number_of_groups(search.best_params_["n_clusters"])
    shares = {float(share) for path in search.paths_.values() for share in path.index}
    if len(shares) == 1:  # a sparsity that was given: there was no path to choose along
        given = f"The sparse fits have the sparsity {shares.pop():.3g}, which was given."
        return f"{text} {given} The best has {K} and model {best['model']}."
    criterion = f"{label} of the selection" if search.path_criterion == "selection" else f"penalised {label}"
    return (
        f"{text} The sparsity was then chosen by the {criterion} along the path of {_followed(search)}. "
        f"The best fit has {K}, model {best['model']} and sparsity {best['sparsity']:.3g}."
    )


def _number_of_groups(K: int) -> str:
    """The text "K = 3", with spaces at which a line does not break."""
    return f"K\u00a0=\u00a0{K}"


def _followed(search: ModelSearch) -> str:
    """The paths of the search: "K = 2, AB; K = 3, DB"."""
    cells = sorted({(int(K), str(model)) for K, model, _ in search.paths_})
    named = "; ".join(f"{_number_of_groups(K)}, {model}" for K, model in cells[:_MAX_PATHS_NAMED])
    more = len(cells) - _MAX_PATHS_NAMED
    return f"{named} and {more} more" if more > 0 else named


def path_of(table: PathTable | None) -> Path | None:
    """The page's curves of a search's sparsity path; None where no path was followed, or a single share was fitted."""
    if table is None or table.sizes.shape[0] < 2:
        return None
    sizes = table.sizes.iloc[::-1]
    at_choice = sizes.loc[table.chosen].to_numpy(float)
    largest = [j for j in np.argsort(-at_choice, kind="stable")[:_MAX_PATH_VARIABLES] if at_choice[j] > 0]
    fits = table.fits[table.axis_weights]
    best = fits.loc[fits["sparsity"] == table.chosen].iloc[0]
    return Path(
        lines={weighting: _line(fits, table.column) for weighting, fits in table.fits.items()},
        shares=[float(s) for s in sizes.index],
        sizes=[Curve(int(j), clean(sizes.columns[j], 40), [float(v) for v in sizes.iloc[:, j]]) for j in largest],
        chosen=table.chosen,
        weighting=table.axis_weights,
        label=criterion_label(table.column),
        value=float(best[table.column]),
        n_selected=int(best["n_selected"]),
    )


def _line(fits: pd.DataFrame, column: str) -> list[tuple[float, float, float]]:
    """(share, criterion, number of variables) of the fits that did not fail, dense to sparse."""
    rows = fits[["sparsity", column, "n_selected"]].to_numpy(float)[::-1]
    return [(float(s), float(c), float(v)) for s, c, v in rows if np.isfinite(c)]
