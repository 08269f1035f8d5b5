"""From the cells of a sheet to numbers: what is not a finite number is named by its line and column."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .errors import TableError
from .kinds import NUMBERS, kind_of
from .missing import found_missing

__all__ = ["Places", "check_cells", "numbers_of"]

# Cells of a workbook that pandas would make numbers of.
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def _no_line(row: int) -> int | None:
    return None


@dataclass(frozen=True)
class Places:
    """Where cells stand: the path of the file, the line of a row (None where there are none), what a cell holds."""

    path: Path | str
    line: Callable[[int], int | None] = _no_line
    written: Callable[[int, str], str] | None = None

    def of(self, row: int) -> str:
        """ "line 5", or "row 5" where there are no lines."""
        number = self.line(row)
        return f"row {row + 1}" if number is None else f"line {number}"


def numbers_of(places: Places, frame: pd.DataFrame, missing: bool = False) -> pd.DataFrame:
    """The frame (n x p) in float64; a TableError for the first cell that holds no finite number, or is empty.

    Of empty cells the error says how many there are, where, and what can be done. With `missing` they are NaN.
    """
    if missing:
        empty = frame.isna().to_numpy() | (frame == "").to_numpy()
        if empty.any() and not empty.all(axis=0).any():
            filled = frame.mask(empty).ffill().bfill()  # a value of the column itself, to be taken out again
            return numbers_of(places, filled.infer_objects()).mask(empty)
    names = [str(name) for name in frame.columns]
    if all(_is_number(dtype) for dtype in set(frame.dtypes)):  # at once: there may be 100,000 columns
        values = frame.to_numpy(float)
        _check_finite(places, frame, values)
        return pd.DataFrame(values, columns=names)
    values = np.empty(frame.shape)
    for j in range(frame.shape[1]):
        values[:, j] = _numbers(places, frame, j)
    return pd.DataFrame(values, columns=names)


def check_cells(path: Path | str, frame: pd.DataFrame, missing: bool = False) -> None:
    """The same errors for a frame that is known to hold numbers; nothing is copied."""
    values = frame.to_numpy()
    if missing and not np.isinf(values).any():
        return
    with np.errstate(over="ignore"):
        total = values.sum()
    if not np.isfinite(total):  # a sum is not finite if any term is not; overflow is sorted out below
        _check_finite(Places(path), frame, values)


def _is_number(dtype) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _check_finite(places: Places, frame: pd.DataFrame, values: np.ndarray) -> None:
    """The error of the first column with a value that is not finite; nothing if all are."""
    finite = np.isfinite(values).all(axis=0)
    if not finite.all():
        _numbers(places, frame, int(np.argmin(finite)))


def _numbers(places: Places, frame: pd.DataFrame, j: int) -> np.ndarray:
    """Column j in float64, or an error for its first cell that is no finite number."""
    column = frame.iloc[:, j]
    held = _held(column)
    if held not in (NUMBERS, "text"):  # to_numeric would count the days of dates and the codes of categories
        raise TableError(_not_numbers(places.path, column.name, held, next(iter(column.dropna()), "")))
    values = pd.to_numeric(column, errors="coerce").to_numpy(float)
    bad = ~np.isfinite(values)
    if not bad.any():
        return values
    row = int(np.argmax(bad))
    cell = column.iloc[row]
    filled = [one for one in column if not _is_empty(one)] if bad.all() else []
    if filled:
        raise TableError(_not_numbers(places.path, column.name, "text", filled[0]))
    if _is_empty(cell):
        empty = frame.isna().to_numpy() | (frame == "").to_numpy()
        raise TableError(f"{places.path}: {found_missing(empty, list(frame.columns), places.of, places.written)}")
    where = f"{places.path}: {places.of(row)}, column {column.name!r}"
    raise TableError(f"{where}: {str(cell)!r} is not a finite number; fix the cell or remove the row")


def _is_empty(cell) -> bool:
    return bool(pd.isna(cell)) or (isinstance(cell, str) and cell == "")


def _held(column: pd.Series) -> str:
    """What a column holds: cells of type object are looked at one by one."""
    if column.dtype == object and any(isinstance(cell, _DATES) for cell in column):
        return "dates"
    return "text" if column.dtype == object else kind_of(column.dtype)


def _not_numbers(path: Path | str, name, held: str, cell) -> str:
    return (
        f"{path}: column {name!r} holds {held} ({str(cell)!r}, ...): leave it out or encode it "
        f"(on the command line: --drop, --id-column or --label-column {name!r})"
    )
