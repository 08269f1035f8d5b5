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
    """The first sheet of a workbook; its first line holds the names."""
    try:
        frame = pd.read_excel(path)
    except ImportError:
        raise TableError(f"{path}: reading Excel needs an extra: pip install 'fisherem[tables]'") from None
    except Exception as error:  # the engines have exceptions of their own
        raise TableError(f"{path}: not a readable Excel file ({str(error).splitlines()[0]})") from None
    frame.columns = [str(name) for name in frame.columns]
    check_names(path, list(frame.columns))
    return Sheet(frame, ["read the first sheet"], first_line=2)


def read_npz(path: Path) -> Sheet:
    """The array X of an archive, or its only array."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if "X" not in archive.files and len(archive.files) != 1:
                names = listed(archive.files, quoted=False)
                raise TableError(f"{path}: holds several arrays ({names}) and none is called X; name the table X")
            array = archive["X" if "X" in archive.files else archive.files[0]]
    except TableError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have their own
        raise TableError(f"{path}: not a readable NumPy archive ({error})") from None
    _, p = check_shape(array.shape, f"{path}: the array")
    dtype = float_type(array.dtype, f"{path}: the array")
    frame = pd.DataFrame(array.astype(dtype, copy=False), columns=[column_name(j) for j in range(p)])
    return Sheet(frame, ["columns are named x1, x2, ..."])


READERS.add(".xlsx", Reader(whole=read_excel))
READERS.add(".xls", READERS[".xlsx"])
READERS.add(".npz", Reader(whole=read_npz))
READERS.seal()
