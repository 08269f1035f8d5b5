"""The discriminative subspace: groups, ellipses, loadings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from .style import MARKERS, PALETTE, legend_names, new_axes, variable_names

__all__ = ["ProjectionDisplay"]

# Names of variables: their size, and the height of a line of them, in points.
_FONT, _LINE = 9, 11


@dataclass
class ProjectionDisplay:
    """The discriminative subspace: rows by group, an ellipse per group, and the loadings of the variables.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
        The rows in the plane; (n, 1) for a single axis.
    labels : ndarray of shape (n,)
        Their groups, from 0.
    centres : ndarray of shape (K, 2)
        The groups' means.
    ellipses : ndarray of shape (K, 60, 2)
        The contours that hold 95% of each group's density in the plane.
    arrows : ndarray of shape (m, 2)
        The loadings of the m variables that are shown.
    names : list of str
        Their names.
    axes : tuple of int
        The numbers of the axes that are shown, from 0.
    """

    points: np.ndarray
    labels: np.ndarray
    centres: np.ndarray
    ellipses: np.ndarray
    arrows: np.ndarray
    names: list[str]
    axes: tuple[int, ...]

    @classmethod
    def from_estimator(cls, model, X, *, axes=(0, 1), names=None, n_arrows=12) -> ProjectionDisplay:
        """The rows X (n x p) on two `axes` (from 0) of a fitted estimator.

        At most `n_arrows` variables are shown as arrows, those with the largest loadings. `names` (p) are the names of
        the variables, by default those of the fit.
        """
        check_is_fitted(model)
        d = model.loadings_.shape[1]
        if d == 0:
            raise ValueError("a model of one group has no axes to show")
        chosen = (0,) if d == 1 else tuple(axes)
        if max(chosen) >= d or min(chosen) < 0 or len(set(chosen)) != len(chosen):
            raise ValueError(f"axes must be two different numbers between 0 and {d - 1}; got {axes!r}")
        loadings = model.loadings_[:, chosen]
        size = np.linalg.norm(loadings, axis=1)
        shown = np.argsort(-size, kind="stable")[: min(n_arrows, int((size > 0).sum()))]
        centres = model.latent_means_[:, chosen]
        covariances = model.covariances_[:, chosen][:, :, chosen]
        angle = np.linspace(0, 2 * np.pi, 60)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])[:, : len(chosen)]
        radius = np.sqrt(5.991)  # the 95% quantile of chi squared with two degrees of freedom
        ellipses = centres[:, None] + radius * np.einsum("aj,kij->kai", circle, np.linalg.cholesky(covariances))
        points = np.asarray(model.transform(X), float)[:, chosen]
        all_names = variable_names(model, names, len(loadings))
        return cls(points, model.predict(X), centres, ellipses, loadings[shown], [all_names[j] for j in shown], chosen)

    def plot(self, ax=None, *, group_names=None):
        """Draw on `ax`, or on a new figure. With one axis, each group is a strip of points.

        The legend calls the groups "group 1", "group 2", ... unless K `group_names` are given.
        """
        ax = new_axes(ax, (8, 6))
        K = len(self.centres)
        group_names = legend_names(group_names, K)
        flat = self.points.shape[1] == 1
        for k in range(K):
            rows = self.points[self.labels == k]
            colour, marker = PALETTE[k % len(PALETTE)], MARKERS[k % len(MARKERS)]
            # one axis: spread the rows of a group over a band of its own, evenly and without chance
            x, y = (rows[:, 0], k + 0.6 * (np.arange(len(rows)) % 17 / 16 - 0.5)) if flat else rows.T
            label = f"{group_names[k]} ({len(rows)})"
            ax.scatter(x, y, s=22, c=colour, marker=marker, alpha=0.75, linewidths=0, label=label)
            if not flat:
                ax.plot(*self.ellipses[k].T, color=colour, lw=1.2)
        if flat:
            ax.set_yticks(range(K), group_names)
        else:
            ax.set_ylabel(f"discriminative axis {self.axes[1] + 1}")
            ax.set_aspect("equal", adjustable="datalim")
            self._draw_arrows(ax)
        ax.set_xlabel(f"discriminative axis {self.axes[0] + 1}")
        ax.legend(frameon=False, loc="best")
        self.ax_ = ax
        return self

    def _draw_arrows(self, ax) -> None:
        from matplotlib.patheffects import withStroke

        middle = self.points.mean(axis=0)
        reach = 0.45 * np.abs(self.points - middle).max() / np.linalg.norm(self.arrows, axis=1).max()
        tips = middle + reach * self.arrows
        right = tips[:, 0] >= middle[0]
        outside = middle + 1.06 * (tips - middle)
        ax.apply_aspect()  # the scale is final only now
        where = ax.transData.transform(outside) * 72 / ax.figure.dpi  # in points
        raised = np.empty(len(tips))
        for side in (right, ~right):
            raised[side] = _apart(where[side, 1], _LINE) - where[side, 1]
        halo = [withStroke(linewidth=2.5, foreground="white", alpha=0.8)]  # names lie over points
        for tip, at, up, name, is_right in zip(tips, outside, raised, self.names, right, strict=True):
            ax.annotate("", tip, middle, arrowprops={"arrowstyle": "-|>", "color": "0.35", "lw": 1.1})
            ax.annotate(
                name, at, (0, up), textcoords="offset points", color="0.2", fontsize=_FONT,
                ha="left" if is_right else "right", va="center", path_effects=halo,
            )  # fmt: skip


def _apart(heights: np.ndarray, least: float) -> np.ndarray:
    """The heights moved as little as it takes to be `least` apart, in their order."""
    order = np.argsort(heights, kind="stable")
    steps = least * np.arange(len(heights))
    # the nearest sequence that rises by `least` each time is, less the steps, the nearest one that does not fall
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps).x + steps if len(heights) else []
    return moved
