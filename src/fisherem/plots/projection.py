"""The discriminative subspace: groups, ellipses, loadings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import count, shorten
from ..estimators.naming import axis_names
from ..estimators.pipelines import on_its_rows
from .style import (
    Display,
    caveat,
    group_legend,
    group_styles,
    is_given,
    legend_names,
    new_axes,
    note_below,
    variable_names,
)

__all__ = ["ProjectionDisplay"]

# Names of variables: their size, and the height of a line of them, in points.
_FONT, _LINE = 9, 11
# Characters of such a name: longer ones would leave the picture.
_CHARACTERS = 24
# The 95% quantile of chi squared with two degrees of freedom, and with one: what the contours enclose.
_CONTOUR = {2: 5.991, 1: 3.841}


@dataclass(repr=False)
class ProjectionDisplay(Display):
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
    sizes : ndarray of shape (K,)
        The rows of each group: those of X, or those of the fit where no X was given.
    n_axes : int
        How many axes there are.
    n_strangers : int
        The rows of X that lie inside the ellipse of another group than their own.
    axis_names : tuple of str
        What the axes are made of: "axis 1: flavanoids, proline".
    group_names : sequence of K str, or None
        What the groups are called, if they have names.
    given : bool
        Whether the groups were given, not found.
    """

    points: np.ndarray
    labels: np.ndarray
    centres: np.ndarray
    ellipses: np.ndarray
    arrows: np.ndarray
    names: list[str]
    axes: tuple[int, ...]
    sizes: np.ndarray
    n_axes: int
    n_strangers: int = 0
    axis_names: tuple[str, ...] = ()
    group_names: list[str] | None = None
    given: bool = False

    @classmethod
    def from_estimator(cls, model, X=None, *, axes=(0, 1), names=None, n_arrows=12, labels=None) -> ProjectionDisplay:
        """The rows X (n x p) on two `axes` (from 0) of a fitted estimator, a search or a pipeline that ends in one.

        Without X the groups are shown as ellipses only. At most `n_arrows` variables are shown as arrows, those with
        the largest loadings. `names` (p) are the names of the variables, by default those of the fit. `labels` (n) are
        other groups of the rows than those of `predict`; rows with -1 are left out.
        """
        check_is_fitted(model)
        model, X = on_its_rows(model, X)
        model = getattr(model, "best_estimator_", model)
        d = model.loadings_.shape[1]
        if d == 0:
            raise ValueError("a model of one group has no axes to show")
        chosen = (0,) if d == 1 else tuple(axes)
        if len(chosen) not in _CONTOUR or max(chosen) >= d or min(chosen) < 0 or len(set(chosen)) != len(chosen):
            raise ValueError(f"axes must be two different numbers between 0 and {d - 1}; got {axes!r}")
        loadings = model.loadings_[:, chosen]
        size = np.linalg.norm(loadings, axis=1)
        shown = np.argsort(-size, kind="stable")[: min(n_arrows, int((size > 0).sum()))]
        centres = model.latent_means_[:, chosen]
        covariances = model.covariances_[:, chosen][:, :, chosen]
        angle = np.linspace(0, 2 * np.pi, 60)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])[:, : len(chosen)]
        radius = np.sqrt(_CONTOUR[len(chosen)])
        ellipses = centres[:, None] + radius * np.einsum("aj,kij->kai", circle, np.linalg.cholesky(covariances))
        points = np.zeros((0, len(chosen))) if X is None else np.asarray(model.transform(X), float)[:, chosen]
        given = labels is not None
        if given and X is not None:
            points, labels = points[np.asarray(labels) >= 0], np.asarray(labels)[np.asarray(labels) >= 0]
        else:
            labels = np.zeros(0, int) if X is None else np.asarray(model.predict(X))
        sizes = np.bincount(model.labels_ if X is None else labels, minlength=len(centres))
        all_names = variable_names(model, names, len(loadings))
        return cls(
            points, labels, centres, ellipses, loadings[shown], [all_names[j] for j in shown], chosen, sizes, d,
            _strangers(points, labels, centres, covariances), tuple(axis_names(model, all_names)[j] for j in chosen),
            _known_names(model), given or is_given(model),
        )  # fmt: skip

    @property
    def note(self) -> str:
        """What the ellipses are, and why points lie in that of another group than their own, where some do."""
        drawn = "Each ellipse holds 95% of its group in this plane."
        if not self.n_strangers:
            return drawn
        lie = "lies" if self.n_strangers == 1 else "lie"
        reason = "where ellipses overlap, a row goes to the group that is most probable there."
        if self.n_axes > self.points.shape[1]:
            others = count(self.n_axes - self.points.shape[1], "other axis", "other axes")
            reason = f"the groups are also apart along {others}."
        return f"{drawn}\n{count(self.n_strangers, 'row')} {lie} in the ellipse of another group: {reason}"

    def plot(self, ax=None, *, group_names=None, palette=None):
        """Draw on `ax`, or on a new figure. With one axis, each group is a strip of points over the span of 95% of it.

        A note below the picture says what the ellipses are, why points lie in another group's, and what was not
        checked. The legend calls the groups by their names, else "group 1", "group 2", ..., unless K `group_names` are
        given. `palette` is a list of colours or the name of a matplotlib colormap; the default is safe for colour-blind
        readers.
        """
        ax = new_axes(ax, (8, 6))
        K = len(self.centres)
        group_names = legend_names(self.group_names if group_names is None else group_names, K)
        styles = group_styles(K, palette)
        flat = self.points.shape[1] == 1
        for k in range(K):
            rows = self.points[self.labels == k]
            colour, marker = styles[k]
            # one axis: spread the rows of a group over a band of its own, evenly and without chance
            x, y = (rows[:, 0], k + 0.6 * (np.arange(len(rows)) % 17 / 16 - 0.5)) if flat else rows.T
            label = f"{group_names[k]} ({self.sizes[k]})"
            ax.scatter(x, y, s=22, c=colour, marker=marker, alpha=0.75, linewidths=0, label=label)
            if flat:
                span = self.ellipses[k, :, 0]
                ax.plot([span.min(), span.max()], [k, k], color=colour, lw=1.2)
            else:
                ax.plot(*self.ellipses[k].T, color=colour, lw=1.2)
        if flat:
            ax.set_yticks(range(K), group_names)
        else:
            ax.set_ylabel(self._axis(1))
            ax.set_aspect("equal", adjustable="datalim")
            self._draw_arrows(ax)
        ax.set_xlabel(self._axis(0))
        group_legend(ax, K)
        said = caveat(int(self.sizes.sum()), K, self.given)
        note_below(ax, said if flat else f"{self.note}\n{said}")  # strips lie apart, whatever their spans
        self.ax_ = ax
        return self

    def _axis(self, i: int) -> str:
        return self.axis_names[i] if self.axis_names else f"axis {self.axes[i] + 1}"

    def _draw_arrows(self, ax) -> None:
        from matplotlib.patheffects import withStroke

        shown = self.points if len(self.points) else self.ellipses.reshape(-1, 2)
        middle = shown.mean(axis=0)
        reach = 0.45 * np.abs(shown - middle).max() / np.linalg.norm(self.arrows, axis=1).max()
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
                shorten(name, _CHARACTERS), at, (0, up), textcoords="offset points", color="0.2", fontsize=_FONT,
                ha="left" if is_right else "right", va="center", path_effects=halo,
            )  # fmt: skip


def _known_names(model) -> list[str] | None:
    known = getattr(model, "group_names_", None)
    return None if known is None else [str(name) for name in known]


def _strangers(points: np.ndarray, labels: np.ndarray, centres: np.ndarray, covariances: np.ndarray) -> int:
    """How many points (n x a) lie inside the contour of a group that is not theirs."""
    inside = np.zeros(len(points), bool)
    for k, (centre, covariance) in enumerate(zip(centres, covariances, strict=True)):
        offset = points - centre
        distance = np.einsum("na,na->n", offset, np.linalg.solve(covariance, offset.T).T)
        inside |= (distance <= _CONTOUR[points.shape[1]]) & (labels != k)
    return int(inside.sum())


def _apart(heights: np.ndarray, least: float) -> np.ndarray:
    """The heights moved as little as it takes to be `least` apart, in their order."""
    order = np.argsort(heights, kind="stable")
    steps = least * np.arange(len(heights))
    # the nearest sequence that rises by `least` each time is, less the steps, the nearest one that does not fall
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps).x + steps if len(heights) else []
    return moved
