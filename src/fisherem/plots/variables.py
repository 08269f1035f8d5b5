"""The variables of a fit: their loadings on the axes, and the profile of the group means over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

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
    """

    loadings: np.ndarray
    names: list[str]
    n_selected: int
    n_variables: int
    axis_names: tuple[str, ...] = ()

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
            model.loadings_[shown], [all_names[j] for j in shown], len(selected), p, tuple(axis_names(model, all_names))
        )  # fmt: skip

    def plot(self, ax=None, *, palette=None):
        """A bar per variable and axis, side by side, in the colours of `palette` (see `ProjectionDisplay.plot`)."""
        m, d = self.loadings.shape
        ax = new_axes(ax, (7, 1.4 + (0.12 + 0.14 * d) * m))
        height, colours = 0.8 / d, colours_of(palette, d)
        called = self.axis_names or tuple(f"axis {j + 1}" for j in range(d))
        for j in range(d):
            place = np.arange(m) + (j - (d - 1) / 2) * height
            ax.barh(place, self.loadings[:, j], height, color=colours[j], label=called[j])
        ax.axvline(0, color="0.3", lw=0.8)
        ax.set_yticks(np.arange(m), self.names)
        ax.invert_yaxis()
        ax.set_xlabel("loading")
        shown = f", the {m} largest shown" if m < self.n_selected else ""
        ax.set_title(f"{self.n_selected} of {self.n_variables} variables selected{shown}", fontsize=10)
        ax.legend(frameon=False)
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
        """A line per group, a grey bar per selected variable.

        The legend calls the groups by their names, else "group 1", "group 2", ..., unless K `group_names` are given.
        `palette` is as in `ProjectionDisplay.plot`.
        """
        K, p = self.values.shape
        ax = new_axes(ax, (9, 5))
        places = range(1, p + 1)  # people count variables from 1
        group_names = legend_names(self.group_names if group_names is None else group_names, K)
        styles = group_styles(K, palette)
        if not self.selected.all():  # marking every variable would distinguish none
            for j in np.flatnonzero(self.selected):
                ax.axvspan(j + 0.5, j + 1.5, color="0.85", lw=0, zorder=0)
        for k in range(K):
            colour, marker = styles[k]
            line = "-" if k < len(PALETTE) else "--"
            ax.plot(
                places, self.values[k], line, color=colour, marker=marker if p <= _MAX_NAMED else None, ms=5, lw=1.2,
                label=group_names[k],
            )  # fmt: skip
        if p <= _MAX_NAMED:
            ax.set_xticks(places, self.names, rotation=90)
        else:
            ax.set_xlabel("number of the variable, from 1")
        ax.set_ylabel("mean (standard deviations)" if self.standardised else "mean")
        said = f"\n{caveat(self.n_rows, K, self.given)}" if self.n_rows else ""
        ax.set_title(f"{int(self.selected.sum())} of {p} variables selected (grey){said}", fontsize=10)
        group_legend(ax, K)
        self.ax_ = ax
        return self
