"""The table that a file holds: numbers, the names of its rows, and what else is known of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from .._utils.wording import column_name, listed
from .cells import check_cells
from .errors import TableError
from .file_table import FileTable
from .identifiers import odd_columns
from .sparse_table import SparseTable

__all__ = ["Table"]


@dataclass
class Table:
    """A table of n rows and p numeric columns, with the ids and known classes of its rows.

    X, a frame, a `FileTable` or a `SparseTable` · ids (n), by default 1, 2, ... · labels (n) for scoring, or None ·
    notes on how the file was read · path, or None if the table was not opened from a path · hints about possible
    mistakes · weights (n) of the rows, or None · annotation, a frame of n rows with what is known of the samples (a
    sample sheet, the description of a series matrix, a second header row), or None · variables, a frame of p rows with
    what the file says of the variables (symbols, descriptions, units), or None · covariates, a frame of n rows, or None
    """

    X: pd.DataFrame | FileTable | SparseTable
    ids: Sequence | np.ndarray
    labels: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    path: Path | None = None
    hints: list[str] = field(default_factory=list)
    weights: np.ndarray | None = None
    annotation: pd.DataFrame | None = None
    variables: pd.DataFrame | None = None
    covariates: pd.DataFrame | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns; x1, x2, ... if the file has none."""
        if isinstance(self.X, (FileTable, SparseTable)):
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
            self.hints += odd_columns(frame)
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
        X = self.X.select(columns) if isinstance(self.X, (FileTable, SparseTable)) else self.X.iloc[:, columns]
        known = self.variables
        return replace(self, X=X, variables=None if known is None else known.iloc[columns].reset_index(drop=True))

    def annotated(self, rows: pd.DataFrame) -> pd.DataFrame:
        """A frame with a row per row of the table, and what is known of the samples in further columns."""
        if self.annotation is None:
            return rows
        known = self.annotation.rename(columns={name: f"{name} (sample)" for name in self.annotation if name in rows})
        return pd.concat([rows, known], axis=1)

    def described(self, variables: pd.DataFrame) -> pd.DataFrame:
        """A frame with a row per variable, and what the file says of them in further columns."""
        if self.variables is None:
            return variables
        known = self.variables.rename(columns={n: f"{n} (file)" for n in self.variables if n in variables})
        return pd.concat([variables, known], axis=1)

    def keep_rows(self, rows: np.ndarray) -> Table:
        """The same table with only the rows for which `rows` (n, bool) is true; X must be a frame."""
        assert isinstance(self.X, pd.DataFrame)
        return replace(
            self,
            X=self.X.loc[rows].reset_index(drop=True),
            ids=[one for one, kept in zip(self.ids, rows, strict=True) if kept],
            labels=None if self.labels is None else self.labels[rows],
            weights=None if self.weights is None else self.weights[rows],
            annotation=None if self.annotation is None else self.annotation.loc[rows].reset_index(drop=True),
            covariates=None if self.covariates is None else self.covariates.loc[rows].reset_index(drop=True),
        )
