"""Open a table from a path, for the estimators and the command line alike.

`READERS` says how each kind of file is read. Kinds that can only be read whole become a frame; kinds that can be
streamed become a `FileTable`, which is read once if it fits in half of the memory budget and in blocks otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import column_name, listed
from . import text, whole_files  # noqa: F401 (they register their readers)
from .cells import check_cells, numbers_of
from .errors import TableError
from .file_table import DEFAULT_MEMORY, FileTable, parse_memory
from .kinds import is_path
from .readers import READERS, Sheet, reader_of
from .sources import Source
from .streamed_files import check_numbers, open_source
from .transposing import COLUMN_NAMES, first_is_text, hint_of_genes, is_turned, transposed

__all__ = ["Table", "open_table"]

# The name given to a first column without a name, which is how R and pandas write row names.
_ROW_NAMES = "(row)"


@dataclass
class Table:
    """A table of n rows and p numeric columns, with the ids and known classes of its rows.

    X, a frame or a `FileTable` · ids (n), by default 1, 2, ... · labels (n) for scoring, or None · notes on how the
    file was read · path, or None if the table was not opened from a path · hint about a possible mistake, or ""
    """

    X: pd.DataFrame | FileTable
    ids: Sequence | np.ndarray
    labels: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    path: Path | None = None
    hint: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the columns; x1, x2, ... if the file has none."""
        if isinstance(self.X, FileTable):
            return self.X.names or [column_name(j) for j in range(self.X.shape[1])]
        return list(self.X.columns)

    def named(self) -> Table:
        """The same table with a name for every column, as a frame if the rows fit in the memory budget."""
        if not isinstance(self.X, FileTable):
            return self
        if self.X.names is None:
            self.notes.append("columns are named x1, x2, ...")
        if self.X.fits:
            frame = pd.DataFrame(self.X.source.read(0, len(self.X)).astype(float, copy=False), columns=self.names)
            check_cells(self.path or "the table", frame, self.X.missing)
            self.X.source.check_unchanged()
            self.X = frame
        else:
            self.X = FileTable(self.X.source, self.X.memory, self.names)
            self.notes.append(
                f"{self.X.shape[0]:,} rows x {self.X.shape[1]:,} columns take more than half of the memory budget "
                f"({self.X.memory / 1e6:g} MB): they are read in blocks"
            )
        return self

    def select(self, names: Sequence[str]) -> Table:
        """The same table with only these columns, in this order; an error lists missing ones."""
        place = {name: j for j, name in enumerate(self.names)}
        missing = [name for name in names if name not in place]
        if missing:
            raise TableError(f"{self.path}: the model needs columns that are missing: {listed(missing)}")
        columns = [place[name] for name in names]
        X = self.X.select(columns) if isinstance(self.X, FileTable) else self.X.iloc[:, columns]
        return replace(self, X=X)


@dataclass(frozen=True)
class _Roles:
    """Which columns are not clustered: ids, labels and dropped columns; `only` restricts the columns that are kept."""

    id_column: str | None
    label_column: str | None
    drop: tuple[str, ...]
    only: frozenset[str] | None
    find_ids: bool = False  # whether a first column of unique text is used as row names

    def check(self, path, names: list[str]) -> None:
        named = [("--id-column", self.id_column), ("--label-column", self.label_column)]
        for option, name in [*named, *(("--drop", name) for name in self.drop)]:
            if name is not None and name not in names:
                raise TableError(f"{path}: {option} names {name!r}, but the columns are {listed(names, 10)}")

    def with_ids(self, first: str, cells, notes: list[str]) -> _Roles:
        """Use the column `first` as row names if no other role is given to it and its cells are unique; add a note."""
        taken = self.id_column is not None or first in (self.label_column, *self.drop)
        if not self.find_ids or taken or len(set(cells)) < len(cells):
            return self
        notes.append(f"the first column, {first!r}, was used as row names (--id-column selects another)")
        return replace(self, id_column=first)

    def kept(self, path, names: list[str], ids: Any = range(0)) -> list[int]:
        if self.only is not None and is_turned(list(self.only), names, ids):
            raise TableError(
                f"{path}: the table is transposed: the columns that the model needs, {listed(sorted(self.only), 3)}, "
                "are rows of the table; use --transpose"
            )
        taken = {self.id_column, self.label_column, *self.drop}
        kept = [j for j, n in enumerate(names) if n not in taken and (self.only is None or n in self.only)]
        if not kept and self.only is not None:
            raise TableError(f"{path}: the model needs columns that are missing: {listed(sorted(self.only))}")
        if not kept:
            raise TableError(f"{path}: no column is left to cluster")
        return kept


def open_table(
    source: Any, *, id_column: str | None = None, label_column: str | None = None, drop: Sequence[str] = (),
    only: Sequence[str] | None = None, memory: Any = DEFAULT_MEMORY, comma: str | None = None,
    find_ids: bool = False, transpose: bool | None = None, missing: bool = False,
) -> Table:  # fmt: skip
    """Open a path, a memory map or a Zarr array, and separate the columns that are not clustered.

    Parameters
    ----------
    source : path, memory map or Zarr array
    id_column, label_column : str, optional
        The columns with the names of the rows and with their known classes.
    drop : names of columns to leave out
    only : names of the columns that may be kept, optional
        All other columns are ignored, whatever they contain.
    memory : str or int, default="1GB"
        The memory budget. Files that can be streamed are read in blocks if they do not fit in half of it; others
        that unpack to more are refused.
    comma : {"decimal", "thousands"}, optional
        The meaning of a comma inside a number of a text file. By default it is detected; an ambiguous file raises an
        error.
    find_ids : bool, default=False
        Use a first column of unique text as row names.
    transpose : bool, optional
        Make the columns of the file the rows. By default only GEO series matrix files are transposed, because they have
        samples in columns.
    missing : bool, default=False
        Read empty cells as NaN. Otherwise, and always when rows are read in blocks, they raise an error.

    Returns
    -------
    Table
        All columns that are kept are numeric.
    """
    roles = _Roles(id_column, label_column, tuple(drop), None if only is None else frozenset(only), find_ids)
    if not is_path(source):
        opened = open_source(source)
        if opened is None:
            raise TypeError(f"expected a path, a memory map or a Zarr array; got {type(source).__name__}")
        return _from_source(None, opened, roles, memory, missing)
    path = Path(source)
    reader = reader_of(path)
    if comma is not None and "comma" not in reader.options:
        kinds = ", ".join(kind for kind, one in READERS.items() if "comma" in one.options)
        raise TableError(
            f"{path}: comma (--comma) applies to text files only ({kinds}); leave it out for this kind of file"
        )
    if reader.streamed is not None:
        opened = reader.streamed(path)
        if not transpose:
            return _from_source(path, opened, roles, memory, missing)
        sheet = _whole_source(path, opened, parse_memory(memory))
    else:
        assert reader.whole is not None  # a reader has one of the two
        given = {"as_text": () if id_column is None else (id_column,), "comma": comma, "memory": parse_memory(memory)}
        sheet = reader.whole(path, **{name: given[name] for name in reader.options})
        _check_not_empty(path, sheet.frame.shape)
    if sheet.samples_in_columns if transpose is None else transpose:
        why = "a series matrix has samples in columns" if transpose is None else "as requested by --transpose"
        sheet = transposed(path, sheet)
        sheet.notes.append(
            f"the table was transposed ({why}): its columns are now the rows (--no-transpose disables this)"
        )
    return _from_sheet(path, sheet, roles, parse_memory(memory), missing)


def _whole_source(path: Path, source: Source, memory: int) -> Sheet:
    """All rows of a source as a sheet, so that it can be transposed."""
    n, p = source.shape
    _check_not_empty(path, source.shape)
    names = source.names or [column_name(j) for j in range(p)]
    if 2 * n * p * source.dtype.itemsize > memory:
        raise TableError(
            f"{path}: {n:,} rows x {p:,} columns take more than half of the memory budget ({memory / 1e6:g} MB), but "
            "transposing needs all of them in memory: increase memory (--memory)"
        )
    first = 1 if names[0] in source.text_columns else 0
    numbers = check_numbers(source.select(range(first, p)) if first else source)
    frame = pd.DataFrame(numbers.read(0, n), columns=names[first:])
    if first:
        frame.insert(0, names[0], source.column(0))
    return Sheet(frame, [f"read from {path.suffix.lower()}"])


def _check_not_empty(where: Any, shape: tuple[int, ...]) -> None:
    """Raise an error for a table without rows or without columns."""
    for size, what in zip(shape, ("rows", "columns"), strict=True):
        if size == 0:
            raise TableError(f"{where}: the table has no {what} (its shape is {shape[0]:,} x {shape[1]:,})")


def _from_source(path: Path | None, source: Source, roles: _Roles, memory: Any, missing: bool) -> Table:
    n, p = source.shape
    names = source.names or [column_name(j) for j in range(p)]
    where = path or source.path or "the table"
    _check_not_empty(where, source.shape)
    roles.check(where, names)
    notes = [] if path is None else [f"read from {path.suffix.lower()}"]
    if roles.find_ids and source.text_columns.get(names[0]) == "text":
        roles = roles.with_ids(names[0], source.column(0), notes)
    ids = range(1, n + 1) if roles.id_column is None else source.column(names.index(roles.id_column))
    kept = roles.kept(where, names, ids)
    labels = None if roles.label_column is None else source.column(names.index(roles.label_column))
    chosen = check_numbers(source if len(kept) == p else source.select(kept))
    # unnamed columns are numbered by their position in the file
    given = [names[j] for j in kept] if len(kept) < p else None
    table = FileTable(chosen, parse_memory(memory), given, missing=missing)
    return Table(table, ids, labels, notes, path, hint_of_genes(ids, chosen.shape))


def _from_sheet(path: Path, sheet: Sheet, roles: _Roles, memory: int, missing: bool) -> Table:
    frame, notes = sheet.frame, list(sheet.notes)
    if frame.shape[1] > 1 and frame.columns[0] in ("", "Unnamed: 0"):
        frame = frame.rename(columns={frame.columns[0]: _ROW_NAMES})
        if roles.id_column is None:
            roles = replace(roles, id_column=_ROW_NAMES)
            notes.append("the first column has no name and was used as row names")
    elif frame.columns[0] == COLUMN_NAMES and roles.id_column is None:
        roles = replace(roles, id_column=COLUMN_NAMES)
    elif frame.shape[1] > 1 and roles.find_ids and first_is_text(frame):
        roles = roles.with_ids(frame.columns[0], list(frame.iloc[:, 0]), notes)
    names = list(frame.columns)
    roles.check(path, names)
    ids = range(1, len(frame) + 1) if roles.id_column is None else frame[roles.id_column].to_numpy()
    kept = frame.iloc[:, roles.kept(path, names, ids)]
    labels = None if roles.label_column is None else frame[roles.label_column].to_numpy()
    if 2 * 8 * kept.size > memory:
        notes.append("this kind of file is always read whole; .parquet and .npy files can be read in blocks")
    return Table(numbers_of(path, sheet, kept, missing), ids, labels, notes, path, hint_of_genes(ids, kept.shape))
