"""From the cells of a sheet to numbers: what is not a finite number is named by its line and column."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from .errors import TableError
from .kinds import NUMBERS, kind_of

__all__ = ["check_cells", "numbers_of"]

# Cells of a workbook that pandas would make numbers of.
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def _no_line(row: int) -> int | None:
    return None


def numbers_of(path: Path | str, frame: pd.DataFrame, line: Callable[[int], int | None] = _no_line) -> pd.DataFrame:
    """The frame (n x p) in float64; a TableError for the first cell that is empty or holds no finite number.

    line(row) is the line of the file on which a row stands, or None.
    """
    names = [str(name) for name in frame.columns]
    if all(_is_number(dtype) for dtype in set(frame.dtypes)):  # at once: there may be 100,000 columns
        values = frame.to_numpy(float)
        complete = np.isfinite(values).all(axis=0)
        if not complete.all():
            _numbers(path, frame.iloc[:, int(np.argmin(complete))], line)
        return pd.DataFrame(values, columns=names)
    values = np.empty(frame.shape)
    for j in range(frame.shape[1]):
        values[:, j] = _numbers(path, frame.iloc[:, j], line)
    return pd.DataFrame(values, columns=names)


def check_cells(path: Path | str, frame: pd.DataFrame) -> None:
    """The same errors for a frame that is known to hold numbers; nothing is copied."""
    values = frame.to_numpy()
    with np.errstate(over="ignore"):
        total = values.sum()
    if not np.isfinite(total):  # a sum is not finite if any term is not; overflow is sorted out below
        for name in frame.columns:
            _numbers(path, frame[name], _no_line)


def _is_number(dtype) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def _numbers(path: Path | str, column: pd.Series, line: Callable[[int], int | None]) -> np.ndarray:
    """The column in float64, or an error for its first cell that is no finite number."""
    held = _held(column)
    if held not in (NUMBERS, "text"):  # to_numeric would count the days of dates and the codes of categories
        raise TableError(_not_numbers(path, column.name, held, next(iter(column.dropna()), "")))
    values = pd.to_numeric(column, errors="coerce").to_numpy(float)
    bad = ~np.isfinite(values)
    if not bad.any():
        return values
    row = int(np.argmax(bad))
    cell = column.iloc[row]
    where = f"{path}: {_place(row, line)}, column {column.name!r}"
    if pd.isna(cell) or cell == "":
        raise TableError(f"{where}: the cell is empty; fill it, remove the row or use --drop {column.name!r}")
    if bad.all():
        raise TableError(_not_numbers(path, column.name, "text", cell))
    raise TableError(f"{where}: {str(cell)!r} is not a finite number; fix the cell or remove the row")


def _held(column: pd.Series) -> str:
    """What a column holds: cells of type object are looked at one by one."""
    if column.dtype == object and any(isinstance(cell, _DATES) for cell in column):
        return "dates"
    return "text" if column.dtype == object else kind_of(column.dtype)


def _place(row: int, line: Callable[[int], int | None]) -> str:
    number = line(row)
    return f"row {row + 1}" if number is None else f"line {number}"


def _not_numbers(path: Path | str, name, held: str, cell) -> str:
    return (
        f"{path}: column {name!r} holds {held} ({str(cell)!r}, ...): leave it out or encode it "
        f"(on the command line: --drop, --id-column or --label-column {name!r})"
    )
