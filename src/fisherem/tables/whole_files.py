"""Readers for Excel workbooks and NumPy's .npz archives, which are always read whole."""

from __future__ import annotations

import zipfile
from array import array
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import column_name, listed
from .cells import blank_cells
from .errors import TableError
from .headers import find_headers, headers_of
from .identifiers import ROW_NAMES, as_names
from .limits import NO_LIMIT, check_archive, too_large
from .readers import READERS, Reader, Sheet, check_names
from .sources import check_shape, float_type

__all__ = ["read_excel", "read_npz"]

# Bytes per cell of a sheet: as an object in an array, and with its place while the sheet is read.
_CELL_BYTES, _KEPT_BYTES = 32, 64
# Rows that are read to find the headers.
_TOP = 6


def read_excel(path: Path, *, memory: int = NO_LIMIT, sheet: str | None = None, repeats: bool = False) -> Sheet:
    """Read a sheet of a workbook, by default the first; its first row that is not empty holds the names of the columns.

    A sheet that takes more than `memory` bytes is refused, and so are columns of the same name unless `repeats` are
    allowed.
    """
    try:
        cells, said = _cells(path, memory, sheet)
    except TableError:
        raise
    except ImportError:
        raise TableError(f"{path}: reading Excel files requires pip install 'fisherem[tables]'") from None
    except Exception as error:  # the engines raise exceptions of many types
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise TableError(f"{path}: not a readable Excel file ({reason})") from None
    empty = blank_cells(cells)
    rows, columns = np.flatnonzero(~empty.all(axis=1)), np.flatnonzero(~empty.all(axis=0))
    if not len(rows):
        raise TableError(f"{path}: {said} is empty")
    if len(rows) == 1:
        raise TableError(f"{path}: {said} has a header line but no rows")
    top, bottom = int(rows[0]), int(rows[-1])
    filled = cells.mask(empty, None).iloc[top : bottom + 1, columns].reset_index(drop=True)
    found = find_headers(filled.iloc[:_TOP].to_numpy(object).tolist())
    heads = [["" if blank_cells(row.to_frame())[j, 0] else as_names([cell])[0] for j, cell in enumerate(row)]
             for _, row in filled.iloc[:found].iterrows()]  # fmt: skip
    names, about, notes = headers_of(heads, range(top + 1, top + 1 + found), repeats, "row")
    check_names(path, names, repeats, [_letters(int(j)) for j in columns])
    frame = filled.iloc[found:].reset_index(drop=True)
    frame.columns = pd.Index([names[0] or ROW_NAMES, *names[1:]])
    places = range(top + 1 + found, bottom + 2)
    return Sheet(frame.infer_objects(), [f"read {said}", *notes], lines=places, counted="row", about=about)


def _letters(j: int) -> str:
    """The name of column j (from 0) in a spreadsheet: A, B, ..., Z, AA, ..."""
    return (_letters(j // 26 - 1) if j >= 26 else "") + chr(ord("A") + j % 26)


def _chosen(path: Path, names: list[str], sheet: str | None) -> tuple[int, str]:
    """(the number of a sheet given by its name or by its number from 1, words for it)."""
    others = f" of {len(names)} ({listed(names)}; --sheet selects another)" if len(names) > 1 else ""
    if sheet is None:
        return 0, f"the first sheet{', ' + repr(names[0]) + ',' + others if others else ''}"
    if sheet in names:
        return names.index(sheet), f"the sheet {sheet!r}"
    if sheet.isdigit() and 1 <= int(sheet) <= len(names):
        return int(sheet) - 1, f"the sheet {names[int(sheet) - 1]!r}"
    raise TableError(f"{path}: --sheet names {sheet!r}, but the sheets are {listed(names, 20)}")


def _cells(path: Path, memory: int, sheet: str | None) -> tuple[pd.DataFrame, str]:
    """(the cells of a sheet, of type object, to the last row and column that are not empty; words for the sheet)."""
    if not zipfile.is_zipfile(path):  # the old binary format, which has at most 65,536 x 256 cells
        with pd.ExcelFile(path) as old:
            number, said = _chosen(path, [str(name) for name in old.sheet_names], sheet)
            # header=None and dtype=object: pandas would rename duplicate columns and convert ids such as "007"
            return old.parse(number, header=None, dtype=object, na_filter=False), said
    check_archive(path, memory)
    import openpyxl

    with path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        number, said = _chosen(path, [one.title for one in book.worksheets], sheet)
        chosen = book.worksheets[number]
        chosen.reset_dimensions()  # what the file says of its size need not be true
        with closing(chosen.rows) as rows:
            return _frame(path, said, rows, memory), said


def _frame(path: Path, said: str, rows: Iterable[Iterable[Any]], memory: int) -> pd.DataFrame:
    """The cells of a sheet. Only those that are not empty are kept while it is read: one may be in the last corner."""
    places, values = array("Q"), []  # row, column, row, column, ...
    last_row = last_column = -1
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if (value := _value(cell)) is None:
                continue
            places.extend((i, j))
            values.append(value)
            last_row, last_column = i, max(last_column, j)
        size = max(_KEPT_BYTES * len(values), _CELL_BYTES * (last_row + 1) * (last_column + 1))
        if size > memory:
            held = f"{said} ({last_row + 1:,} rows x {last_column + 1:,} columns so far)"
            raise too_large(path, held, size, memory)
    table = np.full((last_row + 1, last_column + 1), "", object)
    for i, j, value in zip(places[::2], places[1::2], values, strict=True):
        table[i, j] = value
    return pd.DataFrame(table)


def _value(cell: Any) -> Any:
    """The value of a cell of openpyxl, or None; whole numbers are integers, and errors such as #N/A are NaN."""
    value = cell.value
    if value is None or value == "":
        return None
    if cell.data_type == "e":
        return np.nan
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_npz(path: Path, *, memory: int = NO_LIMIT) -> Sheet:
    """Read the array X of an archive, or its only array. An archive that unpacks to more than `memory` is refused."""
    try:
        with path.open("rb") as file:  # np.load(path) would not close a damaged file
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise TableError(f"{path}: a single array, not an archive of arrays; rename the file to .npy")
            check_archive(path, memory)
            if not archive.files:
                raise TableError(f"{path}: the archive contains no arrays")
            if "X" not in archive.files and len(archive.files) != 1:
                names = listed(archive.files, quoted=False)
                raise TableError(f"{path}: contains several arrays ({names}), none of them named X; name the table X")
            name = "X" if "X" in archive.files else archive.files[0]
            found = archive[name]
            if not isinstance(found, np.ndarray):
                raise TableError(f"{path}: {name!r} is not an array of numbers: save the table with numpy.savez")
    except TableError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise exceptions of many types
        raise TableError(f"{path}: not a readable NumPy archive ({str(error) or type(error).__name__})") from None
    _, p = check_shape(found.shape, f"{path}: the array")
    dtype = float_type(found.dtype, f"{path}: the array")
    frame = pd.DataFrame(found.astype(dtype, copy=False), columns=[column_name(j) for j in range(p)])
    return Sheet(frame, ["columns are named x1, x2, ..."])


for _suffix in (".xlsx", ".xls"):
    READERS.provide(_suffix, Reader(whole=read_excel, options=("memory", "sheet", "repeats")))
READERS.provide(".npz", Reader(whole=read_npz, options=("memory",)))
