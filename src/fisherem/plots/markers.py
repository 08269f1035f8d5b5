"""The dot plot of the markers: which variables mark each group, by how much, and in how many of its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._utils.wording import shorten
from .style import Display, caveat, colormap_of, is_given, new_axes, note_below

__all__ = ["MarkersDisplay", "effect_limit"]

# The area of a dot that stands for all rows, in square points.
_AREA = 130
# Effects at which the colours can end, and the share of the variables whose largest effect may lie beyond: where many
# do, large effects cannot be told from very large ones.
_LIMITS, _BEYOND = (2.5, 4.0, 6.0, 10.0, 15.0, 20.0), 0.1
# Smaller effects are not drawn: Cohen (1988) calls 0.5 a medium one.
_LEAST_EFFECT = 0.5
# Characters that all horizontal names of groups have room for, and of a name that is turned; lines up to which the
# colour bar is as high as the plot.
_ROOM, _TURNED, _FEW = 36, 28, 10
# The shares in the legend of sizes.
_SHARES = (0.25, 0.5, 0.75, 1.0)
_DIVERGING = "RdBu_r"


def effect_limit(effect: np.ndarray) -> float:
    """The effect at which the colours of a dot plot (v x K) end: the smallest limit that the largest effects of nine
    variables of ten do not exceed."""
    largest = float(np.quantile(np.abs(np.nan_to_num(effect)).max(axis=1), 1 - _BEYOND))
    return next((limit for limit in _LIMITS if largest <= limit), _LIMITS[-1])


@dataclass(repr=False)
class MarkersDisplay(Display):
    """The variables that mark each group, as dots: the area is the share beyond the others, the colour the effect.

    Attributes
    ----------
    effect : ndarray of shape (v, K)
        The effect of each variable shown in each group, against all other rows.
    share : ndarray of shape (v, K)
        The share of the group's rows that lie beyond the mean of the others, in the direction of the effect.
    names : list of v str
        The variables, those that mark the first group first.
    group_names : list of K str
    about : str
        The rows and groups, and that they were not checked.
    """

    effect: np.ndarray
    share: np.ndarray
    names: list[str]
    group_names: list[str]
    about: str = ""

    @classmethod
    def from_markers(cls, table: pd.DataFrame, *, n_variables=5) -> MarkersDisplay:
        """The table that `markers` returns; at most `n_variables` of each group, those with the largest effects.

        Variables without evidence of a difference and effects below 0.5 are left out.
        """
        groups = list(dict.fromkeys(table["group"]))
        differing = (table["effect"].abs() >= _LEAST_EFFECT) & (table["role"] != "no evidence")
        names: dict[str, None] = {}
        for group in groups:
            mine = table["variable"][differing & (table["group"] == group)]
            names |= dict.fromkeys([name for name in mine if name not in names][:n_variables])
        if not names:
            raise ValueError(f"no variable differs by {_LEAST_EFFECT} standard deviations in a group: nothing to show")
        wide = table.pivot(index="variable", columns="group", values=["effect", "share_beyond"]).loc[list(names)]
        effect, share = (wide[name][groups].to_numpy(float) for name in ("effect", "share_beyond"))
        return cls(effect, share, list(names), [str(group) for group in groups])

    @classmethod
    def from_estimator(cls, model, X, *, n_variables=5, group_names=None) -> MarkersDisplay:
        """The markers of a fitted estimator, search or `Explanation` for the rows X."""
        given = {} if group_names is None else {"group_names": group_names}
        display = cls.from_markers(model.markers(X, **given), n_variables=n_variables)
        inner = getattr(model, "best_estimator_", model)
        inner = inner if hasattr(inner, "weights_") else inner.model  # of an `Explanation`
        n = X.shape[0] if hasattr(X, "shape") else len(inner.labels_)
        display.about = caveat(n, len(inner.weights_), is_given(inner))
        return display

    def plot(self, ax=None, *, palette=None):
        """Draw on `ax`, or on a new figure; `palette` is the name of a diverging matplotlib colormap."""
        v, K = self.effect.shape
        longest = max(map(len, self.names))
        turned = max(map(len, self.group_names)) > _ROOM / K
        called = [shorten(name, _TURNED) for name in self.group_names] if turned else self.group_names
        above = 0.08 * max(map(len, called)) if turned else 0.0  # inches, as are the sizes of a new figure
        ax = new_axes(ax, (max(6.0, 2.6 + 0.08 * longest + 0.45 * K), 2.4 + 0.26 * v + above))
        y, x = np.indices((v, K))
        there, limit = np.isfinite(self.share), effect_limit(self.effect)
        dots = ax.scatter(
            x[there], y[there], s=_AREA * self.share[there], c=self.effect[there],
            cmap=colormap_of(palette, _DIVERGING), vmin=-limit, vmax=limit, edgecolors="0.6", linewidths=0.5,
        )  # fmt: skip
        ax.set_xticks(range(K), called, rotation=90 if turned else 0)
        ax.xaxis.tick_top()
        ax.set_yticks(range(v), self.names)
        ax.set_xlim(-0.6, K - 0.4)
        ax.set_ylim(v - 0.4, -0.6)
        for side in ax.spines.values():
            side.set_visible(False)
        ax.tick_params(length=0)
        ax.figure.colorbar(dots, ax=ax, label="effect (sd)", extend="both", shrink=0.7 if v > _FEW else 1.0, pad=0.02)
        handles = [ax.scatter([], [], s=_AREA * s, color="0.7", edgecolors="0.6", label=f"{s:.0%}") for s in _SHARES]
        ax.legend(
            handles=handles, title="rows beyond the others' mean", loc="upper left", bbox_to_anchor=(0, 0), ncols=4,
            borderaxespad=0.8, frameon=False, fontsize=8, title_fontsize=8,
        )  # fmt: skip
        said = "The groups were made from these rows, or given:\nthe effects are not tests."
        note_below(ax, f"{said}\n{self.about}".rstrip(), 52)
        self.ax_ = ax
        return self
