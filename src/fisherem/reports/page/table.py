"""The page of a table: from its content to one HTML file with style, script and data inside."""

from __future__ import annotations

from pathlib import Path

from ...estimators.pipelines import on_its_rows, steps_in_words
from ...policy.thresholds import THRESHOLDS
from .. import figures
from ..content import rows
from ..figures import svg
from ..text import embedded
from ..words.group_words import LEAST_EFFECT
from .conclusion import conclude
from .data import page_data
from .document import asset, scripts, template, write_page
from .factor_page import as_given_groups, is_factor_mixture
from .table_content import Content, build

__all__ = ["render", "report"]

# In execution order: each script may use definitions of the previous ones.
_SCRIPTS = ("page.js", "geometry.js", "marking.js", "scatter.js", "heat.js", "rows.js", "why.js", "saving.js")


def report(model, X=None, path=None, *, ids=None, labels=None, title=None, stability=None, notes=None) -> Path:
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

    Returns
    -------
    Path
        The file written.
    """
    if path is None:
        raise TypeError("report needs a path to write to: report(model, X, path), or report(segmentation, path=path)")
    if hasattr(model, "mean_spectra"):
        return model.report(path, title=title)
    steps = steps_in_words(model)
    if steps:  # a pipeline: the page is about its last step, and the rows as that step sees them
        model, X = on_its_rows(model, X)
        notes = [*steps, *([notes] if isinstance(notes, str) else notes or [])]
    if is_factor_mixture(model):
        model, fitted = as_given_groups(model, X)
        notes = [*fitted, *([notes] if isinstance(notes, str) else notes or [])]
    content = build(model, X, ids=ids, labels=labels, title=title, stability=stability, notes=notes)
    return write_page(Path(path), render(content))


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
        limits={
            "doubts": rows.MAX_DOUBTS,
            "axes": rows.MAX_AXES,
            "doubt": rows.DOUBT,
            "effect": LEAST_EFFECT,
            "outside": THRESHOLDS.outside,
        },
    )
