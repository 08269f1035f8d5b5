"""Readers for files that are read a range of rows at a time: .npy and memory maps, Zarr, Parquet.

In: a path, a memory map or a Zarr array. Out: a `Source` of n x p numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileChangedError, TableError
from .kinds import describe_refused, is_path, is_stored
from .npy import NpySource, open_npy
from .parquet import ParquetSource
from .readers import READERS, Reader, reader_of
from .sources import Source
from .zarr_array import ZarrSource, open_zarr

__all__ = ["FileChangedError", "NpySource", "ParquetSource", "ZarrSource", "check_numbers", "open_source"]

READERS.provide(".npy", Reader(streamed=open_npy))
READERS.provide(".zarr", Reader(streamed=open_zarr))
for _suffix in (".parquet", ".pq"):
    READERS.provide(_suffix, Reader(streamed=ParquetSource))


def open_source(X: Any) -> Source | None:
    """The source for a path, a memory map or a Zarr array; None for everything else."""
    if not is_stored(X):
        return None
    if not is_path(X):
        return NpySource(X) if isinstance(X, np.memmap) else ZarrSource(X)
    path = Path(X)
    reader = reader_of(path)
    if reader.streamed is None:
        streamed = ", ".join(kind for kind, one in READERS.items() if one.streamed is not None)
        raise TableError(f"{path}: rows can be streamed from {streamed}; this kind of file is read whole")
    return check_numbers(reader.streamed(path))


def check_numbers(source: Source) -> Source:
    """Return the source, or raise an error if some of its columns are not numeric."""
    if source.text_columns:
        where = "" if source.path is None else f"{source.path}: "
        raise TableError(
            f"{where}columns must be numeric; {describe_refused(source.text_columns.items())}: drop or encode them "
            "(on the command line: --drop, --id-column or --label-column)"
        )
    return source
