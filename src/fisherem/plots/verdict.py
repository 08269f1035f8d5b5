"""How a verdict on the number of groups came about: what comes back, and what the likelihood sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .style import PALETTE, Display

__all__ = ["VerdictDisplay"]


@dataclass(repr=False)
class VerdictDisplay(Display):
    """The evidence of a search by verdict, by number of groups.

    Attributes
    ----------
    numbers : ndarray of int
        The numbers of groups that were looked at.
    agreement : ndarray
        How much the groups of halves of the rows agree (adjusted Rand index); NaN for one group.
    value : ndarray
        C on columns without skew, less that of one group; NaN where no partition was usable.
    chosen : int
        The number that the verdict names.
    headline : str
        The verdict in one sentence.
    """

    numbers: np.ndarray
    agreement: np.ndarray
    value: np.ndarray
    chosen: int
    headline: str

    @classmethod
    def from_search(cls, search) -> VerdictDisplay:
        """The evidence of a fitted `ModelSearch` that has given a verdict."""
        check_is_fitted(search, "results_")
        verdict = getattr(search, "verdict_", None)
        if verdict is None:
            raise ValueError("the search chose by a criterion and has given no verdict: see CriterionDisplay")
        evidence = search.evidence_
        best = [evidence.best(K) for K in evidence.numbers]
        values = np.array([np.nan if one is None else one.robust for one in best])
        agreement = search.results_["agreement"].to_numpy(float)
        reference = values[0] if np.isfinite(values[0]) else 0.0
        return cls(np.array(evidence.numbers), agreement, values - reference, verdict.n_clusters, verdict.headline)

    def plot(self, figure=None):
        """Two panels over the number of groups: what comes back on halves of the rows, and C; the chosen one marked."""
        import matplotlib.pyplot as plt

        figure = figure or plt.figure(figsize=(7, 6), layout="constrained")
        top, bottom = figure.subplots(2, sharex=True)
        for ax, values, label in (
            (top, self.agreement, "halves of the rows agree\n(adjusted Rand index)"),
            (bottom, self.value, "C on columns without skew,\nless that of one group (nats)"),
        ):
            ax.plot(self.numbers, values, "o-", color=PALETTE[0], ms=5, lw=1.2)
            ax.axvline(self.chosen, color=PALETTE[1], lw=1, ls=":")
            ax.set_ylabel(label)
        bottom.set_xticks(self.numbers)
        bottom.set_xlabel("number of groups K")
        top.set_title(self.headline, fontsize=10, wrap=True)
        self.figure_, self.axes_ = figure, np.array([top, bottom])
        return self
