"""`summary()` and `plot()` of a fitted estimator.

In: the fitted attributes. Out: a `Summary`, which prints as a few lines and renders as a table in a notebook, and a
plot of the groups in the plane of two axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import column_name, count, listed
from .fitting import variable_names_of
from .mixed import shares_of, variable_sizes
from .naming import names_of_groups

__all__ = [
    "Described", "Summary", "covariate_words", "summary_lines", "warnings_of",
]  # fmt: skip

# Names and groups that a summary lists; the rest is counted. This is about two lines.
_MOST_LISTED = 12
_MOST_CATEGORIES = 4


@dataclass(frozen=True)
class Summary:
    """A fit in a few lines.

    `title` is one sentence · `lines` are (label, text) pairs · `warnings` are texts. It prints as text and renders as a
    small table in a notebook.
    """

    title: str
    lines: Sequence[tuple[str, str]]
    warnings: Sequence[str] = field(default_factory=tuple)

    def __str__(self) -> str:
        width = max([len(name) for name, _ in self.lines], default=0)
        lines = [f"  {name.ljust(width)}  {text}" for name, text in self.lines]
        return "\n".join([self.title, *lines, *(f"  ! {text}" for text in self.warnings)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.lines
        )
        notes = "".join(f"<li>{escape(text)}</li>" for text in self.warnings)
        return (
            f"<div><p><b>{escape(self.title)}</b></p><table>{rows}</table>{f'<ul>{notes}</ul>' if notes else ''}</div>"
        )


def summary_lines(model: Any) -> list[tuple[str, str]]:
    """The (label, text) lines about a fitted estimator: groups, variables, model, convergence."""
    sizes = np.bincount(model.labels_, minlength=len(model.weights_))
    n = max(1, int(sizes.sum()))
    called = zip(names_of_groups(model), sizes.tolist(), strict=True)
    groups = [f"{name} with {count(size, 'row')} ({size / n:.0%})" for name, size in called]
    lines = [
        ("groups", listed(groups, _MOST_LISTED, quoted=False)),
        ("variables", _selected(model)),
        *_categories(model),
        ("model", _model(model)),
    ]
    if getattr(model, "scale_", "none") != "none":
        by = "numbers divided by their standard deviations, categories by the square roots of their shares"
        done = by if hasattr(model, "encoding_") else "columns divided by their standard deviations"
        lines.append(("scaling", done))
    if getattr(model, "covariate_share_", None) is not None:
        lines.append(("covariates", covariate_words(model, _MOST_LISTED)))
    if model.converged_:
        lines.append(("iterations", f"{model.n_iter_}, converged"))
    return lines


def _categories(model: Any) -> list[tuple[str, str]]:
    """For selected categories, the commonest level of each group: "sex: male 81%, female 74%"."""
    if not hasattr(model, "encoding_"):
        return []
    shares = shares_of(model)
    found = []
    for name, levels in shares[shares["selected"]].groupby("variable", sort=False):
        groups = levels.filter(regex=r"^group \d+$")
        best = [levels["category"].iloc[int(np.argmax(groups[k]))] for k in groups]
        told = [f"{level} {groups[k].max():.0%}" for level, k in zip(best, groups, strict=True)]
        found.append(f"{name}: {', '.join(told)}")
    if not found:
        return []
    return [("categories", f"{listed(found, _MOST_CATEGORIES, quoted=False)} (commonest in each group)")]


def covariate_words(model: Any, most: int) -> str:
    """How much the covariates of a fit explain of all variables together, and of those of which it is most."""
    texts = []
    for one in model.covariate_share_.itertuples():
        if len(model.covariate_share_) > 1 and one.Index == len(model.covariate_share_) - 1:
            break  # all of them together
        parts = model.covariate_shares_[["variable", one.covariate]].sort_values(
            one.covariate, ascending=False, kind="stable"
        )
        top = [f"{name} {share:.0%}" for name, share in parts.head(3).to_numpy() if share > 0]
        texts.append(
            f"{one.covariate} explains {one.share:.1%} of the variance" + (f" (most: {', '.join(top)})" if top else "")
        )
    return listed(texts, most, quoted=False)


def _model(model: Any) -> str:
    """The name of the model and its noise outside the axes, or the structure of a mixture of factor models."""
    if not hasattr(model, "noise_factors_"):
        return str(getattr(model, "model_", getattr(model, "structure", type(model).__name__)))
    m, p = int(model.noise_factors_), len(model.loadings_)
    noise = "of any covariance" if m >= p - 1 else f"with {count(m, 'common factor')}"
    return f"{model.model_}, noise {noise if m else 'without common factors'}"


def _selected(model: Any) -> str:
    """The selected variables, largest loadings first; "all 13" for a dense fit."""
    support = np.asarray(model.support_)
    chosen = np.flatnonzero(support)
    if len(chosen) == len(support):
        return f"all {len(support):,}"
    names = variable_names_of(model)
    order = chosen[np.argsort(-variable_sizes(model)[chosen], kind="stable")]
    shown = [column_name(int(j)) if names is None else str(names[j]) for j in order]
    return f"{len(chosen):,} of {len(support):,}: {listed(shown, _MOST_LISTED, quoted=False)}" if shown else "none"


def warnings_of(model: Any) -> list[str]:
    """Warnings about a fitted estimator, for its summary."""
    found = []
    if unscaled := getattr(model, "scale_warning_", ""):
        found.append(unscaled)
    if confounded := getattr(model, "covariate_warning_", ""):
        found.append(confounded)
    if not model.converged_:
        found.append(f"not converged after {count(int(model.n_iter_), 'iteration')} ({model.stop_reason_})")
    sizes = np.bincount(model.labels_, minlength=len(model.weights_))
    if empty := [name for name, size in zip(names_of_groups(model), sizes, strict=True) if not size]:
        found.append(f"{listed(empty, quoted=False)} {'has' if len(empty) == 1 else 'have'} no rows: try fewer groups")
    n, p = len(model.labels_), len(model.support_)
    if n < p:
        found.append(
            f"fewer rows ({n:,}) than variables ({p:,}): almost any grouping can be separated perfectly, so check "
            "that the groups are reproduced on other rows (fisherem.stability)"
        )
    return found


class Described:
    """Mixin with `summary` and `plot` of a fitted estimator."""

    def summary(self) -> Summary:
        """The fit in a few lines: groups and their sizes, selected variables, model, and warnings.

        It prints as text and renders as a small table in a notebook.
        """
        check_is_fitted(self)
        model: Any = self
        n, p, m = len(model.labels_), len(model.support_), int(np.count_nonzero(model.support_))
        made = f"{m:,} of {count(p, 'variable')}"
        title = f"{type(self).__name__}: {count(len(model.weights_), 'group')} of {count(n, 'row')}, made by {made}"
        return Summary(title, summary_lines(model), warnings_of(model))

    def plot(self, X=None, *, axes=(0, 1), ax=None, group_names=None, palette=None, covariates=None):
        """Draw the groups in the plane of two `axes` (from 0), with the rows X (n x p) if they are given.

        `group_names` (K) and `palette` (a list of colours, or the name of a matplotlib colormap) are as in
        `ProjectionDisplay.plot`. Returns the `ProjectionDisplay`, with the matplotlib axes in `ax_`.
        """
        # `plots` imports this package, and matplotlib is needed for plots only
        display = import_module("fisherem.plots").ProjectionDisplay
        model, X = (self, X) if covariates is None else self.adjusted(X, covariates)  # type: ignore[attr-defined]
        return display.from_estimator(model, X, axes=axes).plot(ax, group_names=group_names, palette=palette)
