"""The files that a fit of the command line leaves in its folder: the register `WRITERS`, by file name.

A writer takes a `Finished` fit and the path to write to. Writers may skip a fit: results.csv exists only
after a search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from .._utils.atomic import output_folder
from .._utils.register import Register
from .._utils.spreadsheets import write_csv
from ..estimators.marking import markers_frame, roles_of
from ..estimators.mixed import in_numbers, of_columns, shares_of
from ..estimators.naming import names_of_groups
from ..persistence import save
from ..tables.rows_by_group import table_rows
from .page.table import report
from .words.summary import criteria_table, labels_table, variables_table

__all__ = ["WRITERS", "Finished", "write_all"]


@dataclass(frozen=True)
class Finished:
    """A finished fit and what belongs to it."""

    fitted: Any  # the estimator or the ModelSearch
    model: Any  # the estimator, of a search the best one
    table: Any  # the table that was read: ids, labels and notes
    X: Any  # the frame or the table in a file (n x p) that was fitted, scaled if it was
    scaler: Any = None  # the fitted scaler, or None
    stability: Any = None  # the Stability of the fit, or None
    annotate: tuple[str, ...] = ()  # columns of what is known of the rows that the page shows
    title: str | None = None  # the heading of the page
    saved: Any = None  # what goes into the model file, if it is not `model`: the model with its covariates


Writer = Callable[[Finished, Path], Any]
WRITERS: Register[Writer] = Register("output file")


@WRITERS.add("labels.csv")
def _labels(done: Finished, path: Path) -> None:
    labels = labels_table(done.model, done.X, done.table.ids)
    if done.stability is not None:
        labels["reproducibility"] = done.stability.row_frequencies
    write_csv(done.table.annotated(labels), path)


@WRITERS.add("variables.csv")
def _variables(done: Finished, path: Path) -> None:
    if hasattr(done.model, "encoding_"):
        write_csv(variables_table(done.model, ()), path)
        return
    names = done.X.columns if hasattr(done.X, "columns") else done.X.names
    write_csv(done.table.described(_with_frequencies(variables_table(done.model, names), done, "selected")), path)


@WRITERS.add("roles.csv")
def _roles(done: Finished, path: Path) -> None:
    if hasattr(done.model, "roles_"):
        write_csv(_with_frequencies(done.model.roles_, done, "role"), path)


def _with_frequencies(table: pd.DataFrame, done: Finished, after: str) -> pd.DataFrame:
    """The table (a row per variable) with the share of the refits that selected each, where there were refits."""
    if done.stability is None:
        return table
    table = table.copy()
    table.insert(list(table.columns).index(after) + 1, "reproducibility", done.stability.frequencies)
    return table


@WRITERS.add("markers.csv")
def _markers(done: Finished, path: Path) -> None:
    if len(done.model.weights_) > 1:
        # the means are in the units of the file, also where the rows were scaled before the fit
        given = done.table.X if done.table.covariates is None else done.X  # less the effects of the covariates
        model, X = in_numbers(done.model, given)
        rows, names = table_rows(model, X), list(map(str, done.table.names if X is given else X.columns))
        labels, called = np.asarray(done.model.predict(done.X)), names_of_groups(done.model)
        stability = of_columns(done.stability, done.model)
        write_csv(markers_frame(rows, labels, names, called, roles_of(model), stability=stability), path)


@WRITERS.add("categories.csv")
def _categories(done: Finished, path: Path) -> None:
    if hasattr(done.model, "encoding_"):
        write_csv(shares_of(done.model, done.X), path)


@WRITERS.add("criteria.csv")
def _criteria(done: Finished, path: Path) -> None:
    write_csv(criteria_table(done.model, done.scaler is not None), path)


@WRITERS.add("results.csv")
def _results(done: Finished, path: Path) -> None:
    if done.fitted is not done.model:
        write_csv(done.fitted.results_, path)


@WRITERS.add("model.skops")
def _model(done: Finished, path: Path) -> None:
    model = done.model if done.saved is None else done.saved
    save(model if done.scaler is None else make_pipeline(done.scaler, model), path)


@WRITERS.add("report.html")
def _report(done: Finished, path: Path) -> None:
    table = done.table
    report(
        done.fitted, done.X, path, ids=table.ids, labels=table.labels, notes=table.notes, stability=done.stability,
        annotate=None if table.annotation is None or not done.annotate else table.annotation[list(done.annotate)],
        title=done.title,
    )  # fmt: skip


WRITERS.seal()


def write_all(
    folder, fitted, model, table, X, scaler=None, stability=None, annotate=(), title=None, saved=None
) -> list[Path]:
    """Every registered file of a fit, all or none of them; returns the paths.

    `fitted` is the estimator or the search, `model` the estimator itself, `table` what was read (ids, labels, notes),
    `X` the frame that was fitted, `scaler` what it was scaled by and `stability` what was found again on other
    rows. With it, labels.csv, variables.csv, roles.csv and markers.csv have a column reproducibility: the share of the
    refits. The page shows the columns `annotate` of what is known of the rows. `saved` goes into the model file in
    place of `model`.
    """
    done = Finished(fitted, model, table, X, scaler, stability, tuple(annotate), title, saved)
    folder = Path(folder)
    with output_folder(folder) as new:
        for name, write in WRITERS.items():
            write(done, new / name)
        written = [name for name in WRITERS if (new / name).exists()]
    return [folder / name for name in written]
