"""What a ModelSearch has seen: the criterion against K by model, and along the sparsity path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .style import MARKERS, PALETTE, new_axes

__all__ = ["CriterionDisplay", "PathDisplay"]


@dataclass
class CriterionDisplay:
    """The criterion of the dense fits against the number of groups, by model.

    Attributes
    ----------
    values : DataFrame
        The criterion; a row per number of groups, a column per model.
    criterion : str
        Its name.
    best : tuple of (int, str)
        The number of groups and the model with the largest value.
    """

    values: pd.DataFrame
    criterion: str
    best: tuple[int, str]

    @classmethod
    def from_search(cls, search, criterion: str | None = None) -> CriterionDisplay:
        """Of a fitted search; `criterion` by default the search's own."""
        check_is_fitted(search, "results_")
        criterion = criterion or search.criterion
        dense = search.results_[search.results_["method"] == "dense"]
        values = dense.pivot_table(index="n_clusters", columns="model", values=criterion, sort=False)
        values = values.sort_index()
        K, model = values.stack().idxmax()
        return cls(values, criterion, (int(K), str(model)))

    def plot(self, ax=None):
        """One line per model; the best is ringed."""
        ax = new_axes(ax)
        for i, model in enumerate(self.values.columns):
            ax.plot(
                self.values.index,
                self.values[model],
                color=PALETTE[i % len(PALETTE)],
                marker=MARKERS[i % len(MARKERS)],
                linestyle="-" if i < len(PALETTE) else "--",
                markersize=5,
                lw=1.2,
                label=model,
            )
        K, model = self.best
        ax.plot([K], [self.values.loc[K, model]], "o", ms=14, mfc="none", mec="black")
        ax.set_xticks(self.values.index)
        ax.set_xlabel("number of groups K")
        ax.set_ylabel(f"{self.criterion.upper()} (larger is better)")
        ax.legend(title=f"best: {model}, K={K}", frameon=False, fontsize=8, ncols=2)
        self.ax_ = ax
        return self


@dataclass
class PathDisplay:
    """A sparsity path of a search.

    Attributes
    ----------
    table : DataFrame
        The fits of the path, sparsest first.
    sizes : DataFrame
        The size of the loadings; a row per share, a column per variable.
    chosen : float
        The share that the search chose.
    columns : tuple of str
        The columns of `table` that the first panel shows.
    """

    table: pd.DataFrame
    sizes: pd.DataFrame
    chosen: float
    columns: tuple[str, str]

    @classmethod
    def from_search(cls, search, axis_weights: str | None = None) -> PathDisplay:
        """Of the best K and model; `axis_weights` by default those of the best fit."""
        check_is_fitted(search, "results_")
        if not search.paths_:
            raise ValueError("the search followed no sparsity path: it was given a FisherEM")
        best = search.results_.loc[search.best_index_]
        weights = axis_weights or best["axis_weights"]
        key = (best["n_clusters"], best["model"], weights)
        if key not in search.paths_:
            raise ValueError(f"no path with axis_weights={weights!r} was followed")
        r = search.results_
        rows = r[(r["method"] != "dense") & (r["axis_weights"] == weights)]
        rows = rows[(rows["n_clusters"] == key[0]) & (rows["model"] == key[1])].sort_values("sparsity")
        sizes = search.paths_[key].sort_index()
        columns = (f"selection_{search.criterion}", search.criterion)
        return cls(rows.reset_index(drop=True), sizes, float(best["sparsity"]), columns)

    def plot(self, figure=None, *, n_labels=8):
        """Three panels over the share: criterion, number of variables, loadings."""
        import matplotlib.pyplot as plt
        from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

        figure = figure or plt.figure(figsize=(8, 9), layout="constrained")
        top, middle, bottom = figure.subplots(3, sharex=True)
        share = self.table["sparsity"]
        for column, colour in zip(self.columns, PALETTE, strict=False):
            top.plot(share, self.table[column], "o-", ms=4, color=colour, label=column.replace("_", " "))
        top.set_ylabel("criterion (larger is better)")
        top.legend(frameon=False)
        middle.step(share, self.table["n_selected"], where="post", color="0.2")
        middle.plot(share, self.table["n_selected"], "o", ms=4, color="0.2")
        middle.set_yscale("log")
        middle.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # a path may stay between two powers of ten
        middle.yaxis.set_major_formatter(ScalarFormatter())
        middle.yaxis.set_minor_formatter(NullFormatter())
        middle.set_ylabel("selected variables")
        largest = self.sizes.max().sort_values(ascending=False).index
        for i, name in enumerate(largest):
            labelled = i < n_labels
            colour = PALETTE[i % len(PALETTE)] if labelled else "0.8"
            style = {"lw": 1.4, "zorder": 2, "label": str(name)} if labelled else {"lw": 0.7, "zorder": 1}
            bottom.plot(self.sizes.index, self.sizes[name], color=colour, **style)
        bottom.set_ylabel("size of the loadings")
        bottom.set_xlabel("sparsity (share of the l1 norm)")
        bottom.legend(frameon=False, fontsize=8, ncols=2)
        for ax in (top, middle, bottom):
            ax.axvline(self.chosen, color="0.5", lw=1, ls=":")
            ax.set_xscale("log")
        self.figure_ = figure
        self.axes_ = np.array([top, middle, bottom])
        return self
