"""The evidence for the number of groups: the agreement of halves, the gain over one group, and the consensus matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .style import Display, colours_of

__all__ = ["VerdictDisplay"]


@dataclass(repr=False)
class VerdictDisplay(Display):
    """The evidence of a search by verdict, by number of groups.

    Attributes
    ----------
    numbers : ndarray of int
        The numbers of groups that were looked at.
    agreement : ndarray
        How much the groups of halves of the rows agree (adjusted Rand index); NaN where halves were not fitted.
    gain : ndarray
        The gain over one group in nats; NaN where no fit was usable or the judge has no opinion.
    chosen : int
        The number that the verdict names.
    headline : str
        The verdict in one sentence.
    consensus : ndarray or None
        For rows ordered by group (m x m): the share of the fits to halves that put two rows together, with the chosen
        number of groups; None for one group.
    groups : ndarray
        The groups of these rows (m), counted from 0.
    """

    numbers: np.ndarray
    agreement: np.ndarray
    gain: np.ndarray
    chosen: int
    headline: str
    consensus: np.ndarray | None
    groups: np.ndarray

    @classmethod
    def from_search(cls, search) -> VerdictDisplay:
        """The evidence of a fitted `ModelSearch` that has given a verdict."""
        check_is_fitted(search, "results_")
        verdict = getattr(search, "verdict_", None)
        if verdict is None:
            raise ValueError("the search chose by a criterion and has given no verdict: see CriterionDisplay")
        evidence = search.evidence_
        numbers = np.array(evidence.numbers)
        agreement = np.array([evidence.agreement(K) for K in evidence.numbers])
        gain = np.array([evidence.gain(K) for K in evidence.numbers])
        gain[~np.isfinite(gain)] = np.nan
        consensus, groups = evidence.consensus(verdict.n_clusters) or (None, np.zeros(0, int))
        return cls(numbers, agreement, gain, verdict.n_clusters, verdict.headline, consensus, groups)

    def plot(self, figure=None, *, palette=None):
        """Agreement of halves and gain against the number of groups, with the choice; beside them the consensus matrix.

        Dark squares along the diagonal are groups that fits to halves of the rows find again; grey between two squares
        means that some fits put these groups together. Lines and choice are in the first two colours of `palette` (see
        `ProjectionDisplay.plot`).
        """
        line, choice = colours_of(palette, 2)
        import matplotlib.pyplot as plt

        matrix = self.consensus is not None
        figure = figure or plt.figure(figsize=(11 if matrix else 7, 6), layout="constrained")
        grid = figure.add_gridspec(2, 2 if matrix else 1)
        top = figure.add_subplot(grid[0, 0])
        bottom = figure.add_subplot(grid[1, 0], sharex=top)
        for ax, values, label in (
            (top, self.agreement, "agreement of halves\n(adjusted Rand index)"),
            (bottom, self.gain, "gain over one group (nats)"),
        ):
            ax.plot(self.numbers, values, "o-", color=line, ms=5, lw=1.2)
            ax.axvline(self.chosen, color=choice, lw=1, ls=":")
            ax.set_ylabel(label)
        top.set_ylim(np.nanmin([0, *self.agreement]) - 0.05, 1.05)
        bottom.axhline(0, color="0.7", lw=0.8)
        bottom.set_xticks(self.numbers)
        bottom.set_xlabel("number of groups K")
        self.axes_ = np.array([top, bottom])
        if matrix:
            self._draw_consensus(figure, figure.add_subplot(grid[:, 1]), choice)
        figure.suptitle(self.headline, fontsize=10, wrap=True)
        self.figure_ = figure
        return self

    def _draw_consensus(self, figure, ax, colour: str) -> None:
        picture = ax.imshow(self.consensus, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        for border in np.flatnonzero(np.diff(self.groups)) + 0.5:
            ax.axhline(border, color=colour, lw=0.8)
            ax.axvline(border, color=colour, lw=0.8)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel(f"rows, ordered by the {self.chosen} groups")
        figure.colorbar(picture, ax=ax, shrink=0.6, label="share of fits to halves that put two rows together")
        self.axes_ = np.append(self.axes_, ax)
