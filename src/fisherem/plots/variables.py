"""The variables of a fit: their loadings on the axes, and the profile of the group means over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import shorten
from ..estimators.adjusting import refuse_unadjusted
from ..estimators.naming import axis_names
from ..estimators.pipelines import on_its_rows
from .style import (
    PALETTE,
    Display,
    caveat,
    colours_of,
    group_legend,
    group_styles,
    is_given,
    legend_names,
    new_axes,
    variable_names,
)

__all__ = ["LoadingsDisplay", "ProfilesDisplay"]

# Up to this many variables the profile names each one; with more, names would overlap, so the axis shows numbers.
_MAX_NAMED = 40
# Up to this many axes have bars, and up to this many groups have lines over variables without names; more are an image.
_MOST_BARS, _MOST_LINES = 3, 5
# Characters of a name beside a picture.
_CHARACTERS = 36
_DIVERGING, _SEQUENTIAL = "RdBu_r", "viridis"


def _image(ax, values: np.ndarray, label: str, diverging: bool, across=None):
    """`values` as coloured cells with a colour bar; where they diverge, white is 0."""
    largest = float(np.abs(values).max(initial=0)) or 1.0
    limits = {"vmin": -largest, "vmax": largest} if diverging else {}
    shown = ax.imshow(
        values, cmap=_DIVERGING if diverging else _SEQUENTIAL, aspect="auto", interpolation="nearest", extent=across,
        **limits,
    )  # fmt: skip
    ax.figure.colorbar(shown, ax=ax, label=label, pad=0.02)


@dataclass(repr=False)
class LoadingsDisplay(Display):
    """The loadings of the variables on the discriminative axes, the largest first.

    Attributes
    ----------
    loadings : ndarray of shape (m, d)
        The loadings of the m variables that are shown.
    names : list of str
        Their names.
    n_selected : int
        How many variables have a loading that is not 0.
    n_variables : int
        How many there are.
    axis_names : tuple of d str
        What the axes are made of: "axis 1: flavanoids, proline".
    about : str
        The rows and groups of the fit, and that they were not checked.
    """

    loadings: np.ndarray
    names: list[str]
    n_selected: int
    n_variables: int
    axis_names: tuple[str, ...] = ()
    about: str = ""

    @classmethod
    def from_estimator(cls, model, *, names=None, n_variables=30) -> LoadingsDisplay:
        """The loadings of a fitted estimator: at most `n_variables` of the selected variables, the longest first.

        The estimator may be the last step of a pipeline. `names` (p) are the variables' names, by default those of the
        fit.
        """
        check_is_fitted(model)
        model, _ = on_its_rows(model)
        p, d = model.loadings_.shape
        if d == 0:
            raise ValueError("a model of one group has no axes to show")
        size = np.linalg.norm(model.loadings_, axis=1)
        selected = np.flatnonzero(model.support_)
        shown = selected[np.argsort(-size[selected], kind="stable")][:n_variables]
        all_names = variable_names(model, names, p)
        return cls(
            model.loadings_[shown], [all_names[j] for j in shown], len(selected), p,
            tuple(axis_names(model, all_names)), caveat(len(model.labels_), len(model.weights_), is_given(model)),
        )  # fmt: skip

    def plot(self, ax=None, *, palette=None):
        """A bar per variable and axis, side by side, in the colours of `palette` (see `ProjectionDisplay.plot`).

        More than three axes are an image with a column for each; red loadings are positive.
        """
        m, d = self.loadings.shape
        bars = d <= _MOST_BARS
        ax = new_axes(ax, (7, 1.4 + (0.12 + 0.14 * d) * m) if bars else (max(6.0, 3.5 + 0.4 * d), 3.0 + 0.22 * m))
        called = self.axis_names or tuple(f"axis {j + 1}" for j in range(d))
        if bars:
            height, colours = 0.8 / d, colours_of(palette, d)
            for j in range(d):
                place = np.arange(m) + (j - (d - 1) / 2) * height
                ax.barh(place, self.loadings[:, j], height, color=colours[j], label=called[j])
            ax.axvline(0, color="0.3", lw=0.8)
            ax.invert_yaxis()
            ax.set_xlabel("loading")
            ax.legend(frameon=False)
        else:
            _image(ax, self.loadings, "loading", True)
            ax.set_xticks(range(d), called, rotation=90)
        ax.set_yticks(np.arange(m), [shorten(name, _CHARACTERS) for name in self.names])
        shown = f", the {m} largest shown" if m < self.n_selected else ""
        said = f"\n{self.about}" if self.about else ""
        ax.set_title(f"{self.n_selected} of {self.n_variables} variables selected{shown}{said}", fontsize=10)
        self.ax_ = ax
        return self


@dataclass(repr=False)
class ProfilesDisplay(Display):
    """The means of the groups over all variables, the selected ones marked.

    Attributes
    ----------
    values : ndarray of shape (K, p)
        The means, in standard deviations from the overall mean if `standardised`.
    selected : ndarray of shape (p,), bool
        The variables with a loading that is not 0.
    names : list of str
        The names of the variables.
    standardised : bool
        Whether the means are in standard deviations.
    group_names : sequence of K str, or None
        What the groups are called, if they have names.
    n_rows : int
        The rows of the fit.
    given : bool
        Whether the groups were given, not found.
    """

    values: np.ndarray
    selected: np.ndarray
    names: list[str]
    standardised: bool
    group_names: list[str] | None = None
    n_rows: int = 0
    given: bool = False

    @classmethod
    def from_estimator(cls, model, X=None, *, names=None) -> ProfilesDisplay:
        """The group means of a fitted estimator.

        If the rows X (n x p) are given, the means are in standard deviations of X from its mean, so that variables of
        any unit fit in one picture; constant variables are then 0. The estimator may be the last step of a pipeline;
        its means are those of what the steps make of X. `names` (p) are the variables' names, by default those of the
        fit.
        """
        check_is_fitted(model)
        model, X = on_its_rows(model, X)
        if X is not None:
            refuse_unadjusted(model)
        values = model.group_means_
        all_names = variable_names(model, names, values.shape[1])
        if X is not None:
            rows = np.asarray(X, float)
            if rows.ndim != 2 or rows.shape[1] != values.shape[1]:
                raise ValueError(f"X must have the model's {values.shape[1]} columns; got shape {rows.shape}")
            exponents = np.frexp(np.nanmax(np.abs(rows), axis=0, initial=0.0))[1]  # squares may overflow or vanish
            rows, values = np.ldexp(rows, -exponents), np.ldexp(values, -exponents)
            mean, spread = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
            flat = spread <= 1e-12 * np.abs(mean)  # rounding is all that a constant column varies by
            values = np.where(flat, 0.0, (values - mean) / np.where(flat, 1.0, spread))
        known = getattr(model, "group_names_", None)
        called = None if known is None else [str(name) for name in known]
        return cls(
            values, np.asarray(model.support_), all_names, X is not None, called, len(model.labels_), is_given(model)
        )

    def plot(self, ax=None, *, group_names=None, palette=None):
        """A line per group, a grey bar per selected variable; of many groups and variables, an image.

        The legend calls the groups by their names, else "group 1", "group 2", ..., unless K `group_names` are given.
        `palette` is as in `ProjectionDisplay.plot`.
        """
        K, p = self.values.shape
        ax = new_axes(ax, (9, 5))
        group_names = legend_names(self.group_names if group_names is None else group_names, K)
        what = "mean (standard deviations)" if self.standardised else "mean"
        lines = p <= _MAX_NAMED or K <= _MOST_LINES
        if lines:
            self._draw_lines(ax, group_names, palette)
            ax.set_ylabel(what)
            group_legend(ax, K)
        else:
            _image(ax, self.values, what, self.standardised, (0.5, p + 0.5, K - 0.5, -0.5))
            ax.set_yticks(range(K), [shorten(name, _CHARACTERS) for name in group_names])
        if p <= _MAX_NAMED:
            ax.set_xticks(range(1, p + 1), [shorten(name, _CHARACTERS) for name in self.names], rotation=90)
        else:
            ax.set_xlabel("number of the variable, from 1")
        said = f"\n{caveat(self.n_rows, K, self.given)}" if self.n_rows else ""
        grey = " (grey)" if lines and not self.selected.all() else ""
        ax.set_title(f"{int(self.selected.sum())} of {p} variables selected{grey}{said}", fontsize=10)
        self.ax_ = ax
        return self

    def _draw_lines(self, ax, group_names, palette) -> None:
        K, p = self.values.shape
        styles = group_styles(K, palette)
        if not self.selected.all():  # marking every variable would distinguish none
            for j in np.flatnonzero(self.selected):
                ax.axvspan(j + 0.5, j + 1.5, color="0.85", lw=0, zorder=0)
        for k, (colour, marker) in enumerate(styles):
            line = "-" if k < len(PALETTE) else "--"
            ax.plot(
                range(1, p + 1), self.values[k], line, color=colour, marker=marker if p <= _MAX_NAMED else None, ms=5,
                lw=1.2, label=group_names[k],
            )  # fmt: skip
