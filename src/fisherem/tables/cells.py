"""Convert the cells of a sheet to numbers; errors name the line and the column of the first invalid cell."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from .encoding import MOST_LEVELS, by_size, level_of
from .errors import TableError
from .identifiers import dates_for_names, is_text, looks_like_dates
from .kinds import NUMBERS, kind_of
from .missing import MISSING, describe_missing
from .readers import Sheet

__all__ = ["blank_cells", "cells_of", "check_cells", "empty_cells", "numbers_of"]

# Types of workbook cells that pandas would silently convert to numbers.
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
# Characters of a cell that an error shows.
_SHOWN = 60


def blank_cells(frame: pd.DataFrame) -> np.ndarray:
    """Which cells (n x p) hold nothing: missing values and empty strings."""
    return frame.isna().to_numpy(bool) | (frame == "").to_numpy(bool)


def empty_cells(frame: pd.DataFrame) -> np.ndarray:
    """Which cells (n x p) have no value: those that hold nothing, and words for that such as "NA" and "#DIV/0!"."""
    empty = blank_cells(frame)
    for j, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            empty[:, j] |= frame.iloc[:, j].isin(MISSING).to_numpy(bool)
    return empty


def cells_of(
    path: Path | str, sheet: Sheet, frame: pd.DataFrame, missing: bool = False, categories: Collection[str] = ()
) -> pd.DataFrame:
    """Columns of a sheet (n x p) as numbers, and those of text and in `categories` as categories.

    Text that is partly numbers, and text with a different value in most rows, raise the errors of `numbers_of`.
    """
    names = [str(name) for name in frame.columns]
    levels = {j: _levels(frame.iloc[:, j]) for j, name in enumerate(names) if name in categories or _named(frame, j)}
    levels = {j: one for j, one in levels.items() if names[j] in categories or not _names_rows(one)}
    others = [j for j in range(len(names)) if j not in levels]
    for j, one in levels.items():
        if (gaps := one.isna().to_numpy()).any() and not missing:
            empty = np.zeros(frame.shape, bool)
            empty[:, j] = gaps
            raise TableError(f"{path}: {describe_missing(empty, list(frame.columns), sheet.place, sheet.written)}")
    numbers = numbers_of(path, sheet, frame.iloc[:, others], missing) if others else None
    place = {j: i for i, j in enumerate(others)}
    columns = [levels[j] if numbers is None or j in levels else numbers.iloc[:, place[j]] for j in range(len(names))]
    return pd.concat(columns, axis=1).set_axis(names, axis=1)


def _named(frame: pd.DataFrame, j: int) -> bool:
    """Whether a column is text, without a number or a date in it; empty cells do not count."""
    column = frame.iloc[:, j]
    if pd.api.types.is_bool_dtype(column.dtype) or kind_of(column.dtype) == "categories":
        return True
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return False
    filled = column[~empty_cells(column.to_frame())[:, 0]]
    return is_text(filled) and not looks_like_dates(filled) and not any(isinstance(cell, _DATES) for cell in filled)


def _levels(column: pd.Series) -> pd.Series:
    """A column as categories, numbers by size and text by the alphabet; empty cells are missing."""
    empty = empty_cells(column.to_frame())[:, 0]
    texts = [None if gone else level_of(cell) for cell, gone in zip(column, empty, strict=True)]
    known = sorted({text for text in texts if text is not None}, key=by_size)
    return pd.Series(pd.Categorical(texts, categories=known), name=column.name)


def _names_rows(levels: pd.Series) -> bool:
    return len(levels.cat.categories) > max(2, MOST_LEVELS * len(levels))


def numbers_of(path: Path | str, sheet: Sheet, frame: pd.DataFrame, missing: bool = False) -> pd.DataFrame:
    """Columns of a sheet (`frame`, n x p) as float64; a TableError for the first cell that is not a finite number.

    If cells are empty, the error says how many, where, and what can be done. With `missing` they become NaN instead.
    """
    if missing:
        empty = empty_cells(frame)
        if empty.any() and not empty.all(axis=0).any():
            filled = frame.mask(empty).ffill().bfill()  # placeholders from the same column, masked again below
            return numbers_of(path, sheet, filled.infer_objects()).mask(empty)
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in set(frame.dtypes)):
        values = frame.to_numpy(float)  # all columns at once: there may be 100,000
        _check_finite(path, sheet, frame, values)
    else:
        values = np.empty(frame.shape)
        for j in range(frame.shape[1]):
            values[:, j] = _numbers(path, sheet, frame, j)
    return pd.DataFrame(values, columns=[str(name) for name in frame.columns])


def check_cells(path: Path | str, frame: pd.DataFrame, missing: bool = False) -> None:
    """Raise the same errors for a numeric frame, without copying it."""
    values = frame.to_numpy()
    if missing and not np.isinf(values).any():
        return
    with np.errstate(over="ignore"):
        total = values.sum()
    if not np.isfinite(total):  # fast path: a sum is not finite if any term is not; it may also have overflowed
        _check_finite(path, Sheet(frame), frame, values)


def _check_finite(path: Path | str, sheet: Sheet, frame: pd.DataFrame, values: np.ndarray) -> None:
    """Raise the error for the first column with a value that is not finite, if there is one."""
    finite = np.isfinite(values).all(axis=0)
    if not finite.all():
        _numbers(path, sheet, frame, int(np.argmin(finite)))


def _numbers(path: Path | str, sheet: Sheet, frame: pd.DataFrame, j: int) -> np.ndarray:
    """Column j as float64, or an error for its first cell that is not a finite number."""
    column = frame.iloc[:, j]
    held = _held(column)
    if held not in (NUMBERS, "text"):  # to_numeric would convert dates to days and categories to codes
        raise TableError(_not_numbers(path, column.name, held, next(iter(column.dropna()), "")))
    values = pd.to_numeric(column, errors="coerce").to_numpy(float)
    bad = ~np.isfinite(values)
    if not bad.any():
        return values
    row = int(np.argmax(bad))
    empty = empty_cells(frame)
    if bad.all() and not empty[:, j].all():
        raise TableError(_not_numbers(path, column.name, "text", column[~empty[:, j]].iloc[0]))
    if empty[row, j]:
        raise TableError(f"{path}: {describe_missing(empty, list(frame.columns), sheet.place, sheet.written)}")
    cell = str(column.iloc[row])
    excel = " (did Excel turn a number or a name into a date?)" if dates_for_names([cell]) else ""
    raise TableError(
        f"{path}: {sheet.place(row)}, column {column.name!r}: {_shown(cell)} is not a finite number{excel}; fix the "
        "cell or remove the row"
    )


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}...")


def _held(column: pd.Series) -> str:
    """What a column holds; columns of type object are checked cell by cell."""
    if column.dtype == object and any(isinstance(cell, _DATES) for cell in column):
        return "dates"
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        return "dates" if looks_like_dates(column[column != ""]) else "text"
    return kind_of(column.dtype)


def _not_numbers(path: Path | str, name, held: str, cell) -> str:
    return (
        f"{path}: column {name!r} holds {held} ({_shown(str(cell))}, ...): leave it out or encode it "
        f"(on the command line: --drop, --id-column or --label-column {name!r})"
    )
