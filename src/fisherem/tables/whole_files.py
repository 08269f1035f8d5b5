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
from .cells import empty_cells
from .errors import TableError
from .identifiers import ROW_NAMES
from .limits import NO_LIMIT, check_archive, too_large
from .readers import READERS, Reader, Sheet, check_names
from .sources import check_shape, float_type

__all__ = ["read_excel", "read_npz"]

# Bytes per cell of a sheet: as an object in an array, and with its place while the sheet is read.
_CELL_BYTES, _KEPT_BYTES = 32, 64


def read_excel(path: Path, *, memory: int = NO_LIMIT) -> Sheet:
    """Read the first sheet of a workbook; its first line that is not empty holds the names of the columns.

    A sheet that takes more than `memory` bytes is refused.
    """
    try:
        cells = _cells(path, memory)
    except TableError:
        raise
    except ImportError:
        raise TableError(f"{path}: reading Excel files requires pip install 'fisherem[tables]'") from None
    except Exception as error:  # the engines raise exceptions of many types
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise TableError(f"{path}: not a readable Excel file ({reason})") from None
    empty = empty_cells(cells)
    rows, columns = np.flatnonzero(~empty.all(axis=1)), np.flatnonzero(~empty.all(axis=0))
    if not len(rows):
        raise TableError(f"{path}: the first sheet is empty")
    if len(rows) == 1:
        raise TableError(f"{path}: the first sheet has a header line but no rows")
    top, bottom = int(rows[0]), int(rows[-1])
    names = ["" if empty[top, j] else str(cells.iat[top, int(j)]).strip() for j in columns]
    check_names(path, names)
    frame = cells.mask(empty, None).iloc[top + 1 : bottom + 1, columns].reset_index(drop=True)
    frame.columns = pd.Index([names[0] or ROW_NAMES, *names[1:]])
    return Sheet(frame.infer_objects(), ["read the first sheet"], lines=range(top + 2, bottom + 2))


def _cells(path: Path, memory: int) -> pd.DataFrame:
    """The cells of the first sheet, of type object, from its first line and column to the last that are not empty."""
    if not zipfile.is_zipfile(path):  # the old binary format, which has at most 65,536 x 256 cells
        # header=None and dtype=object: pandas would rename duplicate columns and convert ids such as "007" to numbers
        return pd.read_excel(path, header=None, dtype=object, na_filter=False)
    check_archive(path, memory)
    import openpyxl

    with path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what the file says of its size need not be true
        with closing(sheet.rows) as rows:
            return _frame(path, rows, memory)


def _frame(path: Path, rows: Iterable[Iterable[Any]], memory: int) -> pd.DataFrame:
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
            held = f"the first sheet ({last_row + 1:,} rows x {last_column + 1:,} columns so far)"
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
    READERS.provide(_suffix, Reader(whole=read_excel, options=("memory",)))
READERS.provide(".npz", Reader(whole=read_npz, options=("memory",)))
