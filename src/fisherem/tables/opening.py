"""Opening a table: the one way from a path to rows, whole or streamed, for the estimators and the command line alike.

`READERS` says how a kind of file is read. A kind that can only be read whole becomes a frame; a kind that can be
streamed becomes a `FileTable`, which is read into memory once if it fits half of the budget and in blocks otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import column_name, listed
from . import text, whole_files  # noqa: F401 (they register their readers)
from .cells import check_cells, numbers_of
from .errors import TableError
from .file_table import DEFAULT_MEMORY, FileTable, parse_memory
from .readers import READERS, Sheet, reader_of
from .sources import Source
from .streamed_files import check_numbers, open_source

__all__ = ["Table", "is_path", "open_table"]

# The name of a first column that has none, as R and pandas write the names of the rows.
_ROW_NAMES = "(row)"


@dataclass
class Table:
    """A table of n rows and p columns of numbers, with what is known about its rows.

    X, a frame or a `FileTable` · ids (n), by default 1, 2, ... · labels (n) for scoring, or None · notes on how the
    file was read · path, or None for what was open already
    """

    X: pd.DataFrame | FileTable
    ids: Sequence | np.ndarray
    labels: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    path: Path | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns; x1, x2, ... where the file has none."""
        if isinstance(self.X, FileTable):
            return self.X.names or [column_name(j) for j in range(self.X.shape[1])]
        return list(self.X.columns)

    def named(self) -> Table:
        """For people: every column with a name, a frame if the rows are in memory or fit the budget."""
        if not isinstance(self.X, FileTable):
            return self
        if self.X.names is None:
            self.notes.append("columns are named x1, x2, ...")
        if self.X.fits:
            frame = pd.DataFrame(self.X.source.read(0, len(self.X)).astype(float, copy=False), columns=self.names)
            check_cells(self.path or "the table", frame)
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
        """The same table with these columns only, in this order; an error that lists those it lacks."""
        place = {name: j for j, name in enumerate(self.names)}
        missing = [name for name in names if name not in place]
        if missing:
            raise TableError(f"{self.path}: the model needs columns that are missing: {listed(missing)}")
        columns = [place[name] for name in names]
        X = self.X.select(columns) if isinstance(self.X, FileTable) else self.X.iloc[:, columns]
        return Table(X, self.ids, self.labels, self.notes, self.path)


@dataclass(frozen=True)
class _Roles:
    """Which columns are not numbers to cluster: ids, labels, and those left out; `only` names what may be kept."""

    id_column: str | None
    label_column: str | None
    drop: tuple[str, ...]
    only: frozenset[str] | None

    def check(self, path, names: list[str]) -> None:
        named = [("--id-column", self.id_column), ("--label-column", self.label_column)]
        for option, name in [*named, *(("--drop", name) for name in self.drop)]:
            if name is not None and name not in names:
                raise TableError(f"{path}: {option} names {name!r}, but the columns are {listed(names, 10)}")

    def kept(self, path, names: list[str]) -> list[int]:
        taken = {self.id_column, self.label_column, *self.drop}
        kept = [j for j, n in enumerate(names) if n not in taken and (self.only is None or n in self.only)]
        if not kept:
            raise TableError(f"{path}: no column is left to cluster")
        return kept


def is_path(X: Any) -> bool:
    """Whether X is the path of a file, not a table itself."""
    return isinstance(X, (str, os.PathLike))


def open_table(
    source: Any, *, id_column: str | None = None, label_column: str | None = None, drop: Sequence[str] = (),
    only: Sequence[str] | None = None, memory: Any = DEFAULT_MEMORY, comma: str | None = None,
) -> Table:  # fmt: skip
    """Open a path, a memory map or a Zarr array once, and take out the columns that are not to be clustered.

    Parameters
    ----------
    source : path, memory map or Zarr array
    id_column, label_column : str, optional
        The columns that name the rows and their known classes.
    drop : names of columns to leave out
    only : names of the columns that may be kept, optional
        Others are left out silently, whatever they hold.
    memory : str or int, default="1GB"
        The budget: rows that can be streamed are, if they do not fit half of it.
    comma : {"decimal", "thousands"}, optional
        What a comma inside of a number is in a text file. By default it is found out, and a file in which it could be
        either is refused.

    Returns
    -------
    Table
        All columns that are kept hold numbers.
    """
    roles = _Roles(id_column, label_column, tuple(drop), None if only is None else frozenset(only))
    if not is_path(source):
        opened = open_source(source)
        if opened is None:
            raise TypeError(f"expected a path, a memory map or a Zarr array; got {type(source).__name__}")
        return _from_source(None, opened, roles, memory)
    path = Path(source)
    reader = reader_of(path)
    if comma is not None and "comma" not in reader.options:
        kinds = ", ".join(kind for kind, one in READERS.items() if "comma" in one.options)
        raise TableError(
            f"{path}: comma (--comma) says how text is read ({kinds}), not this kind of file; leave it out"
        )
    if reader.streamed is not None:
        return _from_source(path, reader.streamed(path), roles, memory)
    assert reader.whole is not None  # a reader has one of the two
    given = {"as_text": () if id_column is None else (id_column,), "comma": comma}
    options = {name: given[name] for name in reader.options}
    return _from_sheet(path, reader.whole(path, **options), roles, parse_memory(memory))


def _from_source(path: Path | None, source: Source, roles: _Roles, memory: Any) -> Table:
    n, p = source.shape
    names = source.names or [column_name(j) for j in range(p)]
    where = path or source.path or "the table"
    roles.check(where, names)
    kept = roles.kept(where, names)
    ids = range(1, n + 1) if roles.id_column is None else source.column(names.index(roles.id_column))
    labels = None if roles.label_column is None else source.column(names.index(roles.label_column))
    chosen = check_numbers(source if len(kept) == p else source.select(kept))
    # columns without names keep the numbers that they have in the file
    given = [names[j] for j in kept] if len(kept) < p else None
    notes = [] if path is None else [f"read from {path.suffix.lower()}"]
    return Table(FileTable(chosen, parse_memory(memory), given), ids, labels, notes, path)


def _from_sheet(path: Path, sheet: Sheet, roles: _Roles, memory: int) -> Table:
    frame, notes, id_column = sheet.frame, list(sheet.notes), roles.id_column
    if frame.shape[1] > 1 and frame.columns[0] in ("", "Unnamed: 0"):
        frame = frame.rename(columns={frame.columns[0]: _ROW_NAMES})
        if id_column is None:
            id_column = _ROW_NAMES
            notes.append("the first column has no name and was taken as the names of the rows")
    names = list(frame.columns)
    roles = _Roles(id_column, roles.label_column, roles.drop, roles.only)
    roles.check(path, names)
    kept = frame.iloc[:, roles.kept(path, names)]
    ids = range(1, len(frame) + 1) if id_column is None else frame[id_column].to_numpy()
    labels = None if roles.label_column is None else frame[roles.label_column].to_numpy()
    if 2 * 8 * kept.size > memory:
        notes.append("this kind of file is read whole, whatever the budget; .parquet and .npy can be read in blocks")
    return Table(numbers_of(path, kept, sheet.line), ids, labels, notes, path)
