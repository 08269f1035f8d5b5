"""Results of a ModelSearch: the criterion against K by model, and along the sparsity path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..search.search_tables import criterion_label, criterion_table, path_table
from .style import MARKERS, PALETTE, Display, colours_of, new_axes

__all__ = ["CriterionDisplay", "PathDisplay"]

# Curves of variables without a name in the legend lie behind the others.
_UNNAMED = {"lw": 0.7, "zorder": 1}


@dataclass(repr=False)
class CriterionDisplay(Display):
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
        """The dense fits of a fitted search; `criterion` is by default the one that the search used."""
        found = criterion_table(search, criterion)
        return cls(found.values.T.dropna(axis=1, how="all"), found.criterion, found.best)

    def plot(self, ax=None, *, palette=None):
        """A line per model, in the colours of `palette` (see `ProjectionDisplay.plot`); the best fit is ringed."""
        ax = new_axes(ax)
        colours = colours_of(PALETTE if palette is None else palette, len(self.values.columns))
        for i, model in enumerate(self.values.columns):
            ax.plot(
                self.values.index,
                self.values[model],
                color=colours[i],
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
        ax.set_ylabel(f"{criterion_label(self.criterion)} (larger is better)")
        ax.legend(title=f"best: {model}, K={K}", frameon=False, fontsize=8, ncols=2)
        self.ax_ = ax
        return self


@dataclass(repr=False)
class PathDisplay(Display):
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
        """The path of a fitted search's best K and model; `axis_weights` are by default those of the best fit."""
        found = path_table(search, axis_weights)
        if found is None:
            raise ValueError("the search followed no sparsity path: it was given a FisherEM")
        columns = (f"selection_{search.criterion_}", search.criterion_)
        return cls(found.fits[found.axis_weights], found.sizes, found.chosen, columns)

    def plot(self, figure=None, *, n_labels=8, palette=None):
        """Three panels over the share of the l1 norm: criterion, number of variables, loadings.

        The `n_labels` variables with the largest loadings are named, in the colours of `palette` (see
        `ProjectionDisplay.plot`); the others are grey.
        """
        import matplotlib.pyplot as plt

        figure = figure or plt.figure(figsize=(8, 9), layout="constrained")
        top, middle, bottom = figure.subplots(3, sharex=True)
        self._draw_criterion(top, palette)
        self._draw_counts(middle)
        self._draw_loadings(bottom, n_labels, palette)
        for ax in (top, middle, bottom):
            ax.axvline(self.chosen, color="0.5", lw=1, ls=":")
            ax.set_xscale("log")
        self.figure_ = figure
        self.axes_ = np.array([top, middle, bottom])
        return self

    def _draw_criterion(self, ax, palette) -> None:
        for column, colour in zip(self.columns, colours_of(palette, len(self.columns)), strict=True):
            ax.plot(self.table["sparsity"], self.table[column], "o-", ms=4, color=colour, label=criterion_label(column))
        ax.set_ylabel("criterion (larger is better)")
        ax.legend(frameon=False)

    def _draw_counts(self, ax) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

        share, counts = self.table["sparsity"], self.table["n_selected"]
        ax.step(share, counts, where="post", color="0.2")
        ax.plot(share, counts, "o", ms=4, color="0.2")
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # a path may stay between two powers of ten
        ax.yaxis.set_major_formatter(ScalarFormatter())
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylabel("selected variables")

    def _draw_loadings(self, ax, n_labels: int, palette) -> None:
        largest = np.argsort(-self.sizes.max().to_numpy(), kind="stable")
        colours = colours_of(PALETTE if palette is None else palette, max(n_labels, 1))
        for i, j in enumerate(largest):
            labelled = i < n_labels
            colour = colours[i] if labelled else "0.8"
            named = {"lw": 1.4, "zorder": 2, "label": str(self.sizes.columns[j])}
            ax.plot(self.sizes.index, self.sizes.iloc[:, j], color=colour, **(named if labelled else _UNNAMED))
        ax.set_ylabel("size of the loadings")
        ax.set_xlabel("sparsity (share of the l1 norm)")
        ax.legend(frameon=False, fontsize=8, ncols=2)
