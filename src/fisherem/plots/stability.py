"""Selection frequencies over subsamples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .style import Display, colours_of, new_axes

__all__ = ["StabilityDisplay"]


@dataclass(repr=False)
class StabilityDisplay(Display):
    """How often each variable is selected.

    Attributes
    ----------
    table : DataFrame
        A row per variable, the most frequent first: variable, frequency, selected (by the full fit), stable.
    threshold : float
        The frequency from which a variable counts as stable.
    bound : float
        The bound on the expected number of falsely selected stable variables; infinite where there is none.
    agreement : float
        The mean adjusted Rand index between refits.
    """

    table: pd.DataFrame
    threshold: float
    bound: float
    agreement: float

    @classmethod
    def from_stability(cls, result, *, threshold: float = 0.75, n_variables: int = 30) -> StabilityDisplay:
        """The `n_variables` that a result of `fisherem.stability` selects most often.

        A variable is stable if at least a share `threshold` of the refits selects it.
        """
        table = result.table(threshold).head(n_variables)
        return cls(table, threshold, result.error_bound(threshold), float(result.pairwise.mean()))

    def plot(self, ax=None, *, palette=None):
        """A bar per variable; those above the threshold in colour, the full fit's selection marked with a dot.

        These are the first two colours of `palette` (see `ProjectionDisplay.plot`).
        """
        stable, dot = colours_of(palette, 2)
        ax = new_axes(ax, (7, 1.2 + 0.25 * len(self.table)))
        shown = self.table.iloc[::-1]
        colours = [stable if s else "0.75" for s in shown["stable"]]
        ax.barh(shown["variable"], shown["frequency"], color=colours)
        marked = shown[shown["selected"]]
        ax.plot(marked["frequency"] + 0.015, marked["variable"], "o", ms=4, color=dot, label="in the full fit")
        ax.axvline(self.threshold, color="0.3", lw=1, ls=":")
        ax.set_xlim(0, 1.05)
        ax.set_xlabel("share of the subsamples that select it")
        bound = f"at most {self.bound:.1f} expected false selections at {self.threshold:g}\n"
        ax.set_title(f"{bound if np.isfinite(self.bound) else ''}ARI between refits {self.agreement:.2f}", fontsize=10)
        ax.legend(frameon=False, loc="lower right")
        self.ax_ = ax
        return self
