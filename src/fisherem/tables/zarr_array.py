"""Zarr arrays, read in whole chunks of rows."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.extras import need_extra
from .contained import check_links
from .errors import TableError
from .sources import Source, check_shape, float_type

__all__ = ["ZarrSource", "open_store", "open_zarr"]

# Files that say how arrays are stored, and a codec in them that would execute what a file holds.
_METADATA = (".zarray", ".zmetadata", "zarr.json")
_PICKLE = re.compile(r'"(id|name)"\s*:\s*"[^"]*pickle"', re.IGNORECASE)
# Every chunk is a file and costs at least 0.1 ms, so that more than so many of less than so many bytes (a block of the
# disk; what a disk reads in that time) are refused: each pass over them would take minutes to days.
_MOST_CHUNKS = ((20_000, 4096), (1_000_000, 65_536))


def open_zarr(path: Path) -> ZarrSource:
    """The array in a Zarr store; for a group, an error lists the names of its arrays."""
    found = open_store(path)
    if not hasattr(found, "chunks"):
        names = ", ".join(sorted(name for name, _ in found.arrays())) or "none"
        raise TableError(f"{path}: a Zarr group; open one of its arrays ({names}) with zarr and pass that")
    return ZarrSource(found, path)


def open_store(path: Path) -> Any:
    """The array or group in a Zarr store; a TableError for what is none, leads elsewhere or holds pickled objects."""
    zarr = need_extra("zarr", "reading Zarr", "dask")
    check_links(path)
    for name in path.rglob("*"):
        if name.name in _METADATA and _PICKLE.search(name.read_text(errors="replace")):
            raise TableError(f"{path}: {name.relative_to(path)} asks for pickled objects, which are not read")
    try:
        found = zarr.open(str(path.resolve()), mode="r")  # a relative path could look like an address
        arrays = [found] if hasattr(found, "chunks") else [one for _, one in found.members(max_depth=None)]
    except Exception as error:  # zarr raises exceptions of its own
        raise TableError(f"{path}: cannot be read as Zarr ({error})") from None
    for array in arrays:
        _check_chunks(array, path)
    return found


def _check_chunks(array: Any, path: Path) -> None:
    chunks = getattr(array, "chunks", ())  # a group has none
    size = math.prod(chunks) * getattr(array, "dtype", np.dtype("u1")).itemsize
    number = math.prod(-(-side // chunk) for side, chunk in zip(getattr(array, "shape", ()), chunks, strict=False))
    if any(number > most and size < least for most, least in _MOST_CHUNKS):
        raise TableError(
            f"{path}: stored in {number:,} chunks of {size:,} bytes, each of which is a file: store it in larger chunks"
        )


class ZarrSource(Source):
    """A Zarr array: whole chunks of rows are read."""

    def __init__(self, array, path: Path | None = None):
        self.array, self.path = array, path
        what = "the Zarr array" if path is None else f"{path}: the Zarr array"
        self.shape, self.dtype = check_shape(array.shape, what), float_type(np.dtype(array.dtype), what)
        self.row_step = int(array.chunks[0])
        width = -(-self.shape[1] // int(array.chunks[1])) * int(array.chunks[1])  # of whole chunks
        self.step_bytes = self.row_step * max(width, 1) * self.dtype.itemsize

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop."""
        return np.asarray(self.array[start:stop]).astype(self.dtype, copy=False)

    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows of these numbers."""
        return np.asarray(self.array.oindex[index]).astype(self.dtype, copy=False)
