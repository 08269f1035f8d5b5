"""Files that are read whole, besides text: Excel sheets and NumPy's .npz archives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .._utils.wording import column_name, listed
from .errors import TableError
from .readers import READERS, Reader, Sheet, check_names
from .sources import check_shape, float_type

__all__ = ["read_excel", "read_npz"]


def read_excel(path: Path) -> Sheet:
    """The first sheet of a workbook, its cells as they are; its first line that is not empty holds the names."""
    try:
        # pandas would rename columns of the same name, and make numbers of ids such as 007 that are written as text
        cells = pd.read_excel(path, header=None, dtype=object, na_filter=False)
    except ImportError:
        raise TableError(f"{path}: reading Excel needs an extra: pip install 'fisherem[tables]'") from None
    except Exception as error:  # the engines have exceptions of their own
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise TableError(f"{path}: not a readable Excel file ({reason})") from None
    empty = np.array([[_is_empty(cell) for cell in row] for row in cells.to_numpy()], bool).reshape(cells.shape)
    rows, columns = np.flatnonzero(~empty.all(axis=1)), np.flatnonzero(~empty.all(axis=0))
    if not len(rows):
        raise TableError(f"{path}: the first sheet is empty")
    if len(rows) == 1:
        raise TableError(f"{path}: only a header line, no rows")
    top, bottom = int(rows[0]), int(rows[-1])
    names = ["" if empty[top, j] else str(cells.iat[top, int(j)]).strip() for j in columns]
    check_names(path, names)
    frame = cells.mask(empty, None).iloc[top + 1 : bottom + 1, columns].reset_index(drop=True)
    frame.columns = pd.Index(names)
    return Sheet(frame.infer_objects(), ["read the first sheet"], first_line=top + 2)


def _is_empty(cell) -> bool:
    return cell is None or cell == "" or cell is pd.NaT or (isinstance(cell, float) and np.isnan(cell))


def read_npz(path: Path) -> Sheet:
    """The array X of an archive, or its only array."""
    try:
        with path.open("rb") as file:  # NumPy would leave a damaged one open
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise TableError(f"{path}: an array, not an archive of arrays; name the file .npy")
            if not archive.files:
                raise TableError(f"{path}: an archive without arrays")
            if "X" not in archive.files and len(archive.files) != 1:
                names = listed(archive.files, quoted=False)
                raise TableError(f"{path}: holds several arrays ({names}) and none is called X; name the table X")
            array = archive["X" if "X" in archive.files else archive.files[0]]
    except TableError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have their own
        raise TableError(f"{path}: not a readable NumPy archive ({str(error) or type(error).__name__})") from None
    _, p = check_shape(array.shape, f"{path}: the array")
    dtype = float_type(array.dtype, f"{path}: the array")
    frame = pd.DataFrame(array.astype(dtype, copy=False), columns=[column_name(j) for j in range(p)])
    return Sheet(frame, ["columns are named x1, x2, ..."])


for _suffix in (".xlsx", ".xls"):
    READERS.provide(_suffix, Reader(whole=read_excel))
READERS.provide(".npz", Reader(whole=read_npz))
READERS.seal()
