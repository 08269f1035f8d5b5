"""Arrange a sheet: which columns of the file name or describe its rows, which way round it is, and what takes part.

All decisions are made on the columns of the file, before the table is turned, and the cells are converted to numbers in
the order of the file, so that errors count lines and columns as the file does.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import column_name, count, listed
from .cells import cells_of, numbers_of
from .duplicates import REFUSE, check_repeats, merged
from .errors import TableError
from .identifiers import (
    UNNAMED,
    as_names,
    dates_for_names,
    describes_genes,
    is_running,
    is_text,
    names_genes,
    names_rows,
    odd_columns,
    whole_and_unique,
)
from .missing import MISSING
from .readers import Sheet
from .table import Table
from .transposing import is_turned, question_of_genes
from .weights import weights_of

__all__ = ["Arranged", "ColumnRoles", "arrange", "find_id", "table_of"]

# Options of the command line that name several columns by being repeated.
_REPEATED = ("--drop", "--categories", "--covariate")


@dataclass(frozen=True)
class ColumnRoles:
    """What the user says of the columns; `only` restricts those that are kept, `find_ids` looks for identifiers."""

    id_column: str | None = None
    label_column: str | None = None
    weight_column: str | None = None
    drop: tuple[str, ...] = ()
    only: frozenset[str] | None = None
    find_ids: bool = False
    duplicates: str = REFUSE
    covariates: tuple[str, ...] = ()
    elsewhere: bool = False  # whether a sample sheet may have the labels and weights
    annotate: tuple[str, ...] = ()  # columns that do not take part, and are kept as annotation of the rows
    mixed: bool = False  # whether text and `categories` take part as categories
    categories: tuple[str, ...] = ()

    def check(self, path: Any, names: list[str], also: tuple[str, ...] = ()) -> None:
        """Raise an error if a name is neither a column of the file nor among `also`."""
        named = [("--id-column", self.id_column)] + [("--drop", name) for name in self.drop]
        if self.only is None:  # the model reports the columns that it lacks
            named += [("--categories", name) for name in self.categories]
        if not self.elsewhere:
            named += [("--label-column", self.label_column), ("--weight-column", self.weight_column)]
            named += [("--covariate", name) for name in self.covariates]
        known = {*names, *also}
        for option, name in named:
            if name is not None and name not in known:
                several = "," in name and known.issuperset(part.strip() for part in name.split(","))
                hint = f"; give {option} once for each column" if several and option in _REPEATED else ""
                raise TableError(f"{path}: {option} names {name!r}, but the columns are {listed(names, 10)}{hint}")

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that go with the rows and do not take part, besides the ids."""
        return (*(name for name in (self.label_column, self.weight_column) if name is not None), *self.covariates)

    def covariates_of(self, beside: dict[str, np.ndarray]) -> pd.DataFrame | None:
        """The covariates among the columns beside the table, as a frame; None if there are none."""
        found = {name: pd.Series(beside[name]).infer_objects() for name in self.covariates if name in beside}
        return pd.DataFrame(found) if found else None

    def kept(self, path: Any, names: list[str], aside: set[int], ids: Any = range(0)) -> list[int]:
        """The numbers of the columns that take part."""
        if self.only is not None and is_turned(list(self.only), names, ids):
            raise TableError(
                f"{path}: the table is transposed: the columns that the model needs, {listed(sorted(self.only), 3)}, "
                "are rows of the table; use --transpose"
            )
        kept = [j for j, name in enumerate(names) if j not in aside and (self.only is None or name in self.only)]
        if not kept and self.only is not None:
            raise TableError(f"{path}: the model needs columns that are missing: {listed(sorted(self.only))}")
        if not kept:
            raise TableError(f"{path}: no column is left to cluster")
        return kept


@dataclass
class Arranged:
    """The columns of a file: the one that names its rows (or None), those that describe them, those left out."""

    id: int | None
    describing: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def find_id(frame: pd.DataFrame, taken: set[str], turning: bool) -> int | None:
    """The column that names the rows: text at the front, or identifiers by their name; unique ones first.

    Identifiers are columns of text, or of different whole numbers. Names of genes may be repeated; other text that is
    repeated is no identifier, unless the table is to be turned.
    """
    found = []
    for j, name in enumerate(map(str, frame.columns)):
        column = frame.iloc[:, j]
        if name in taken or (j > 0 and not names_rows(name)):
            continue
        if name in UNNAMED or is_text(column):
            unique = bool(column.is_unique)
            if unique or turning or names_genes(name):
                counted = name in UNNAMED and is_running(column)
                found.append((not unique, counted, j))
        elif names_rows(name) and whole_and_unique(column):
            found.append((False, is_running(column), j))
    return min(found)[2] if found else None


def arrange(
    frame: pd.DataFrame, roles: ColumnRoles, turning: bool, first: int = 0, width: int | None = None
) -> Arranged:
    """Which columns of a file name its rows, and which describe them.

    `frame` may hold only those of the `width` columns that are relevant, from the column `first` on.
    """
    names = list(map(str, frame.columns))
    several = (frame.shape[1] if width is None else width) > 1
    # what a model needs takes part, whatever its name
    taken = {*roles.drop, *roles.annotate, *(() if turning else (*roles.beside, *(roles.only or ())))}
    if roles.id_column is not None:
        found = Arranged(names.index(roles.id_column) if roles.id_column in names else None)
    else:
        looked = several and (roles.find_ids or turning)
        unnamed = several and names and names[0] in UNNAMED and names[0] not in taken
        found = Arranged(find_id(frame, taken, turning) if looked else 0 if unnamed else None)
        if found.id is not None:
            found.notes.append(_said_of_ids(names[found.id], first + found.id == 0))
    if not (roles.find_ids or turning):
        return found
    genes = turning or (found.id is not None and names_genes(names[found.id]))
    for j, name in enumerate(names):
        if j == found.id or name in taken:
            continue
        column = frame.iloc[:, j]
        running = name in UNNAMED and is_running(column)
        number = names_rows(name) and whole_and_unique(column)
        text = is_text(column, gaps=True)
        described = genes and (describes_genes(name) or (names_genes(name) and text))
        if running or number or described or (turning and text):
            found.describing.append(j)
    if found.describing:
        shown = listed([names[j] for j in found.describing])
        one = len(found.describing) == 1
        found.notes.append(
            f"{'column' if one else 'columns'} {shown} {'names or describes' if one else 'name or describe'} the rows "
            f"of the file and {'does' if one else 'do'} not take part (--id-column chooses the names)"
        )
    return found


def _said_of_ids(name: str, first: bool) -> str:
    if name in UNNAMED:
        return "the first column has no name and was used as row names"
    which = f"the first column, {name!r}," if first else f"the column {name!r}"
    return f"{which} was used as row names (--id-column selects another)"


def table_of(path: Path, sheet: Sheet, roles: ColumnRoles, memory: int, missing: bool, transpose: bool | None) -> Table:
    """The table of a sheet: turned if that is asked for or known; a question if it looks as if it should be."""
    frame, names = sheet.frame, list(map(str, sheet.frame.columns))
    turning = sheet.samples_in_columns if transpose is None else transpose
    about = () if sheet.about is None else tuple(map(str, sheet.about.columns))
    if not turning:
        roles.check(path, names)
        found = arrange(frame, roles, turning=False)
        ids = range(1, len(frame) + 1) if found.id is None else _ids(frame, found.id)
        aside = {j for j, name in enumerate(names) if name in (*roles.drop, *roles.beside, *roles.annotate)}
        aside |= {found.id, *found.describing} - {None}  # type: ignore[arg-type]
        kept = roles.kept(path, names, aside, ids)
        if transpose is None and roles.find_ids and roles.only is None:
            id_name = "" if found.id is None else names[found.id]
            if said := question_of_genes(ids, id_name, [names[j] for j in kept], len(frame)):
                raise TableError(f"{path}: {said}")
        return _as_it_is(path, sheet, roles, found, ids, kept, memory, missing)
    why = "a series matrix has samples in columns" if transpose is None else "as requested by --transpose"
    sheet.notes.append(f"the table was transposed ({why}): its columns are now the rows (--no-transpose disables this)")
    return _turned(path, sheet, roles, about, memory, missing)


def said_of_categories(X: pd.DataFrame) -> list[str]:
    """A sentence that names the columns of a frame which take part as categories."""
    found = [(name, len(dtype.categories)) for name, dtype in X.dtypes.items() if hasattr(dtype, "categories")]
    if not found:
        return []
    shown = [f"{name!r} ({count(size, 'category', 'categories')})" for name, size in found]
    one = len(found) == 1
    return [
        f"{'column' if one else 'columns'} {listed(shown, quoted=False)} {'takes' if one else 'take'} part as "
        f"categories: --drop leaves {'it' if one else 'them'} out, --label-column only scores the groups with it"
    ]


def _ids(frame: pd.DataFrame, j: int) -> Any:
    """The names of the rows as they are written; dates as Excel shows them."""
    column = frame.iloc[:, j]
    dated = column.dtype == object and any(isinstance(cell, datetime.date) for cell in column)
    return np.array(as_names(column), object) if dated else column.to_numpy()


def _large(size: int, memory: int) -> list[str]:
    if 2 * 8 * size <= memory:
        return []
    return ["this kind of file is always read whole; .parquet and .npy files can be read in blocks"]


def _as_it_is(path, sheet: Sheet, roles: ColumnRoles, found: Arranged, ids, kept, memory: int, missing: bool) -> Table:
    frame, names = sheet.frame, list(map(str, sheet.frame.columns))
    notes = [*sheet.notes, *found.notes, *_large(len(frame) * len(kept), memory)]
    chosen = frame.iloc[:, kept]
    if roles.mixed:
        X = cells_of(path, sheet, chosen, missing, roles.categories)
    else:
        X = numbers_of(path, sheet, chosen, missing)
    beside = {name: frame.iloc[:, names.index(name)].to_numpy() for name in roles.beside if name in names}
    first = (
        [j for i, j in enumerate(kept) if names[j] not in {names[k] for k in kept[:i]}]
        if sheet.about is not None
        else []
    )
    variables = None if sheet.about is None else sheet.about.iloc[first].reset_index(drop=True)
    hints = odd_columns(frame.iloc[:, kept]) if roles.find_ids else []
    hints += said_of_categories(X)
    hints += [said] if (said := dates_for_names([*X.columns, *([] if isinstance(ids, range) else ids)])) else []
    weights = beside.get(roles.weight_column or "")
    if weights is not None:
        where = f"column {roles.weight_column!r}"
        weights = weights_of(weights, lambda i: f"{path}: {sheet.place(i)}, {where}", roles.weight_column or "")
    about = [name for name in dict.fromkeys(roles.annotate) if name in names]
    annotation = frame.iloc[:, [names.index(name) for name in about]].reset_index(drop=True) if about else None
    return Table(
        merged(X, roles.duplicates, notes), ids, beside.get(roles.label_column or ""), notes, path, hints,
        weights=weights, annotation=annotation, variables=variables, covariates=roles.covariates_of(beside),
    )  # fmt: skip


def _turned(path, sheet: Sheet, roles: ColumnRoles, about: tuple[str, ...], memory: int, missing: bool) -> Table:
    """The table with the columns of the file as its rows; rows of the file that are named become labels or weights."""
    columns = list(map(str, sheet.frame.columns))
    if roles.id_column is not None and roles.id_column not in columns:
        roles.check(path, columns)
    found = arrange(sheet.frame, roles, turning=True)
    rows = _row_names(sheet, found)
    roles.check(path, columns, (*rows, *about))
    for name in roles.beside:
        if name in columns and name not in rows and name not in about and not roles.elsewhere:
            raise TableError(
                f"{path}: {name!r} is a column of the file, which is turned: labels, weights and covariates of "
                "samples are rows of it, or columns of a sample sheet (--samples)"
            )
    aside = {j for j, name in enumerate(columns) if name in roles.drop} | {found.id, *found.describing}
    samples = [j for j in range(len(columns)) if j not in aside]
    if not samples:
        raise TableError(f"{path}: the table has only a column of names; there is nothing to transpose")
    # a name that is a column of the file is meant as such; others may be rows
    left = {*roles.beside, *(name for name in roles.drop if name not in columns)}
    kept = [i for i, name in enumerate(rows) if name not in left and (roles.only is None or name in roles.only)]
    if not kept:
        what = "the model needs columns that are missing" if roles.only else "no column is left to cluster"
        raise TableError(f"{path}: {what}{': ' + listed(sorted(roles.only)) if roles.only else ''}")
    names = [rows[i] for i in kept]
    check_repeats(path, names, roles.duplicates, lambda i: sheet.place(kept[i]))
    part = sheet.take(kept)
    numbers = numbers_of(path, part, part.frame.iloc[:, samples], missing)
    notes = [*sheet.notes, *found.notes, *_large(numbers.size, memory)]
    X = pd.DataFrame(numbers.to_numpy().T, columns=names)
    variables = None
    if found.describing and roles.only is None:
        known = part.frame.iloc[:, found.describing]
        variables = known.loc[~pd.Index(names).duplicated()].reset_index(drop=True)
    X = merged(X, roles.duplicates, notes)
    beside = {name: sheet.frame.iloc[rows.index(name), samples].to_numpy() for name in roles.beside if name in rows}
    hints = odd_columns(sheet.frame.iloc[:, samples]) if roles.find_ids else []
    hints += [said] if (said := dates_for_names(names)) else []
    annotation = None if sheet.about is None else sheet.about.iloc[samples].reset_index(drop=True)
    ids, weights = [columns[j] for j in samples], beside.get(roles.weight_column or "")
    if weights is not None:
        where = f"{path}: {sheet.place(rows.index(roles.weight_column or ''))}"
        weights = weights_of(weights, lambda i: f"{where}, column {ids[i]!r}", roles.weight_column or "")
    return Table(
        X, ids, beside.get(roles.label_column or ""), notes, path, hints, weights, annotation, variables,
        roles.covariates_of(beside),
    )  # fmt: skip


def _row_names(sheet: Sheet, found: Arranged) -> list[str]:
    """Names for the rows of a file that become variables; those without one are named after their place in the file."""
    if found.id is None:
        return [column_name(i) for i in range(len(sheet.frame))]
    column = sheet.frame.iloc[:, found.id]
    nameless = column.isna().to_numpy(bool) | column.isin(MISSING).to_numpy(bool)
    names = [
        sheet.place(i) if gone else name for i, (gone, name) in enumerate(zip(nameless, as_names(column), strict=True))
    ]
    if nameless.any():
        without = [name for name, gone in zip(names, nameless, strict=True) if gone]
        found.notes.append(
            f"{count(len(without), 'row')} of the file {'has' if len(without) == 1 else 'have'} no name in column "
            f"{str(column.name)!r} and {'is' if len(without) == 1 else 'are'} named {listed(without, 3)}"
        )
    return names
