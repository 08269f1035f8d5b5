"""The page of a table: from its content to one HTML file with style, script and data inside."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import numpy as np

from .._utils.wording import group_name
from ..estimators.pipelines import on_its_rows, steps_in_words
from ..plots.style import PALETTE
from . import figures, rows, svg
from .document import asset, template, write_page
from .table_content import Content, build
from .text import embedded

__all__ = ["render", "report", "scatter_data"]


def report(model, X=None, path=None, *, ids=None, labels=None, title=None, stability=None, notes=None) -> Path:
    """Write one self-contained HTML page about a fit: groups, subspace, selected variables, how it was chosen.

    The page needs no network. Groups are counted from 1 on it. At most 4,000 points are drawn, a sample of every group,
    and the page says so.

    Parameters
    ----------
    model : fitted FisherEM, SparseFisherEM or ModelSearch, a pipeline that ends in one, or a Segmentation
        For a search, the page shows the best fit and how it was chosen. A segmented image brings its pixels with it:
        ``report(found, path="report.html")``.
    X : array, frame or path of n rows
        Usually the rows of the fit. A frame's column names and index are kept. A file is read once if it fits half of
        the model's memory budget, and in blocks otherwise.
    path : str or Path
        The file to write; its folder is made if need be. An existing file is replaced in one piece.
    ids : sequence of n, optional
        Names of the rows; by default the frame's index, or the rows' numbers from 1.
    labels : sequence of n, optional
        Known classes, for scoring only (accuracy and adjusted Rand index); rows without a class are left out.
    title : str, optional
        The page's heading.
    stability : Stability, optional
        The result of `fisherem.stability` for these rows: the page then says how often the group of each row and
        each variable came back. It is what to look at where posteriors carry no information (more variables than rows).
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
    content = build(model, X, ids=ids, labels=labels, title=title, stability=stability, notes=notes)
    return write_page(Path(path), render(content))


def render(content: Content) -> str:
    """The page as HTML text."""
    script = asset("geometry.js") + asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template("table.html").render(
        c=content,
        css=asset("page.css"),
        script=script,
        script_hash=digest,
        data=embedded(scatter_data(content)) if content.d else "",
        figures=figures,
        definitions=svg.definitions(),
        limits={"doubts": rows.MAX_DOUBTS, "axes": rows.MAX_AXES, "doubt": rows.DOUBT},
    )


def _short(values: np.ndarray) -> list:
    """Numbers with as many decimals as one part in 100,000 of their range needs."""
    values = np.asarray(values, float)
    spread = float(np.ptp(values)) if values.size else 0.0
    spread = spread or float(np.abs(values).max(initial=0)) or 1.0
    return np.round(values, int(5 - np.floor(np.log10(spread)))).tolist()


def scatter_data(content: Content) -> dict:
    """What the browser needs to draw the subspace, as plain numbers and text: a list per axis with a number per point.

    `group` and `second` count from 0, as places in the list `groups`, whose names count from 1.
    """
    points = content.points
    data = {
        "groups": [
            {
                "name": group_name(k),
                "count": int(content.groups.counts[k]),
                "colour": svg.colour(k),
                "shape": svg.shape(k),
                "hollow": svg.hollow(k),
            }
            for k in range(content.K)
        ],
        "marks": list(svg.MARK_PATHS),
        "colours": len(PALETTE),
        "ids": points.ids,
        "group": points.groups.tolist(),
        "posterior": np.round(points.posteriors, 4).tolist(),
        "second": points.seconds.tolist(),
        "secondPosterior": np.round(points.second_posteriors, 4).tolist(),
        "axes": [_short(column) for column in points.coordinates.T],
        "centres": [_short(row) for row in content.centres],
        # six significant digits: the smallest direction of a covariance may be thousands of times below the largest
        "covariances": [[[float(f"{v:.6g}") for v in row] for row in one] for one in content.covariances],
        "arrows": [{"name": name, "loadings": np.round(loadings, 4).tolist()} for name, loadings in content.arrows],
    }
    if content.stability is not None and content.stability.back is not None:
        data["cameBack"] = np.round(content.stability.back.shares[points.rows], 3).tolist()
    if points.classes is not None:
        data["classes"] = points.classes
    return data
