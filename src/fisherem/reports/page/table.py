"""The page of a table: from its content to one HTML file with style, script and data inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ...estimators.mixed import is_in_numbers, of_columns
from ...estimators.naming import names_of_groups
from ...estimators.pipelines import on_its_rows, steps_in_words
from ...policy.thresholds import THRESHOLDS
from .. import figures
from ..content import rows
from ..content.markers import LEAST_EFFECT
from ..content.subgroups import subgroups_of
from ..figures import svg
from ..text import embedded
from ..words.facts import GIVEN_GROUPS
from .conclusion import conclude
from .data import caveat, page_data
from .document import asset, scripts, template, write_page
from .factor_page import as_given_groups, is_factor_mixture
from .table_content import Content, build, with_categories

__all__ = ["page_of", "render", "report"]

# In execution order: each script may use definitions of the previous ones.
_SCRIPTS = (
    "page.js",
    "geometry.js",
    "marking.js",
    "scatter.js",
    "heat.js",
    "rows.js",
    "why.js",
    "legends.js",
    "saving.js",
)


def report(
    model, X=None, path=None, *, ids=None, labels=None, title=None, stability=None, notes=None, group_names=None,
    significance=None, annotate=None, palette=None, covariates=None, subgroups=None,
) -> Path:  # fmt: skip
    """Write one self-contained HTML page about a fit: groups, subspace, selected variables, how it was chosen.

    The page needs no network. Groups are counted from 1 on it. At most 4,000 points are drawn, a sample of every group,
    and at most 10,000 rows are listed; the page says so.

    Parameters
    ----------
    model : fitted FisherEM, SparseFisherEM or ModelSearch, a pipeline that ends in one, or a Segmentation
        For a search, the page shows the best fit and how it was chosen. A segmented image brings its pixels with it:
        ``report(found, path="report.html")``.
    X : array, frame or path of n rows
        Usually the rows of the fit. A frame's column names and index are kept. A file is read once if it fits half of
        the model's memory budget, and in blocks otherwise.
    path : str or Path
        The file to write; its folder is created if necessary. An existing file is replaced atomically.
    ids : sequence of n, optional
        Names of the rows; by default the frame's index, or the rows' numbers from 1.
    labels : sequence of n, optional
        Known classes, for scoring only (accuracy and adjusted Rand index); rows without a class are left out.
    title : str, optional
        The page's heading.
    stability : Stability, optional
        The result of `fisherem.stability` for these rows: the page then shows how often the group of each row and
        each variable are found again. Useful if the posteriors are not informative (more variables than rows).
    notes : sequence of str, optional
        What was done to the data before the fit, such as "columns were standardised".
    group_names : sequence of K, optional
        What the groups are called; by default as in `name_groups`, else "group 1" (``labels_ == 0``), "group 2", ...
    significance : DataFrame, optional
        The result of `fisherem.significance` for these rows: the page then has p- and q-values of the variables.
    annotate : DataFrame, optional
        What else is known of the rows (n): a line above the heat map per column. Rows are matched by the index.
    palette : sequence of colours or str, optional
        Colours of the groups, or the name of a matplotlib colormap; the default is safe for colour-blind readers. From
        the ninth group on they begin again, as outlines.
    covariates : array, series or frame of n rows, optional
        Those of the rows, for a model that was fitted with covariates: the page then shows values less their effects.
    subgroups : "all", Subclusters or a list of them, optional
        Results of ``model.subcluster`` for these rows: the page then shows the groups inside, by the variables that
        split each, in a table, in the subspace and in the list of rows. "all" splits every group now.

    Returns
    -------
    Path
        The file written.
    """
    if path is None:
        raise TypeError("report needs a path to write to: report(model, X, path), or report(segmentation, path=path)")
    if hasattr(model, "mean_spectra"):
        return model.report(path, title=title)
    if hasattr(model, "placed_elsewhere"):  # an Explanation
        about = {"group_names": group_names, "significance": significance, "annotate": annotate, "palette": palette,
                 "subgroups": subgroups}  # fmt: skip
        return model.report(X, path, ids=ids, title=title, notes=notes or (), covariates=covariates, **about)
    if covariates is not None:
        model, X = model.adjusted(X, covariates)
    steps = steps_in_words(model)
    if steps:  # a pipeline: the page is about its last step, and the rows as that step sees them
        model, X = on_its_rows(model, X)
        notes = [*steps, *([notes] if isinstance(notes, str) else notes or [])]
    notes = [notes] if isinstance(notes, str) else list(notes or [])
    given: np.ndarray | None = None
    if is_factor_mixture(model):
        if subgroups is not None:
            raise TypeError("subgroups: the groups of a FactorMixture cannot be split")
        factors = model
        model, given, own, fitted = as_given_groups(factors, X)
        group_names, notes = own if group_names is None else group_names, [*fitted, *notes]
    elif str(getattr(model, "stop_reason_", "")) == GIVEN_GROUPS:
        given, said = as_labelled(model, labels)
        notes = [*notes, said]
    return page_of(
        model, X, path, ids=ids, labels=labels, title=title, stability=stability, notes=notes, given=given,
        group_names=group_names, significance=significance, annotate=annotate, palette=palette, subgroups=subgroups,
    )  # fmt: skip


def page_of(model, X, path, *, stability=None, notes=(), subgroups=None, **about) -> Path:
    """Write the page of a fitted estimator or search and the rows X, with the keywords of `build`."""
    inside = subgroups_of(subgroups, model, X)
    fitted, rows = getattr(model, "best_estimator_", model), X
    if hasattr(fitted, "count_total_"):
        notes = ["values are logarithms of counts", *notes]
    if not is_in_numbers(fitted):  # the page is about the columns of numbers, and counts the variables
        model, X = on_its_rows(model, X)
    content = build(model, X, stability=of_columns(stability, fitted), notes=notes, subgroups=inside, **about)
    if hasattr(fitted, "encoding_"):
        content = with_categories(content, fitted, rows)
    return write_page(Path(path), render(content))


def as_labelled(model, labels) -> tuple[np.ndarray | None, str]:
    """(the groups of the rows by the names of the model's groups, or None; a note) for a model of given groups.

    If every label is the name of a group, or missing, the rows are described as labelled.
    """
    names = names_of_groups(model)
    if labels is not None:
        texts = ["" if gone else str(one) for one, gone in zip(labels, pd.isna(pd.Series(list(labels))), strict=True)]
        if {text for text in texts if text} <= set(names) and any(texts):
            return np.array([names.index(text) if text else -1 for text in texts]), "the groups were given"
    return None, "the groups of the model were given; rows are where the selected variables place them"


def render(content: Content) -> str:
    """The page as HTML text."""
    script, digest = scripts(_SCRIPTS)
    return template("table.html").render(
        c=content,
        conclusion=conclude(content),
        css=asset("page.css"),
        script=script,
        script_hash=digest,
        data=embedded(page_data(content)) if content.d else "",
        figures=figures,
        definitions=svg.definitions(),
        caveat=caveat(content),
        limits={
            "doubts": rows.MAX_DOUBTS,
            "axes": rows.MAX_AXES,
            "doubt": rows.DOUBT,
            "effect": LEAST_EFFECT,
            "outside": THRESHOLDS.outside,
        },
    )
