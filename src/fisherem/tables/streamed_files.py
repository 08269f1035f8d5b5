"""Tables in files, read a range of rows at a time: .npy and memory maps, Zarr, Parquet.

A source has shape, dtype (float32 or float64, what `read` gives), names of the columns or None,
`read(start, stop, buffer)` and `take(index)`, and says in what steps it is best read: `row_step` rows of `step_bytes`.
"""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.extras import need_extra

__all__ = ["FileChangedError", "NpySource", "ParquetSource", "ZarrSource", "open_source"]


class FileChangedError(OSError):
    """The file is not what it was when it was opened."""


def _float_type(dtype: np.dtype, what: str) -> np.dtype:
    """float32 stays; other numbers become float64, as they do in memory."""
    if dtype.kind not in "biuf":
        raise ValueError(f"{what} must hold numbers; it has data type {dtype}")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


def _check_table_shape(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    if len(shape) != 2:
        raise ValueError(f"{what} must be a table of rows x columns; its shape is {shape}")
    return int(shape[0]), int(shape[1])


def open_source(X: Any):
    """The source behind a path, a memory map or a Zarr array; None for everything else."""
    if isinstance(X, np.memmap):
        return NpySource(X) if X.ndim == 2 else None
    if type(X).__module__.partition(".")[0] == "zarr" and hasattr(X, "chunks"):
        return ZarrSource(X)
    if not isinstance(X, (str, os.PathLike)):
        return None
    path = Path(X)
    kind = path.suffix.lower()
    if kind not in _OPENERS:
        raise ValueError(f"{path}: rows can be read from {', '.join(_OPENERS)}; load other kinds of files first")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    return _OPENERS[kind](path)


# -- .npy ----------------------------------------------------------------------------------------------------------


def _open_npy(path: Path) -> NpySource:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: not a whole NumPy file ({error})") from None
    return NpySource(array)


class NpySource:
    """A memory map. Its file is read by calls: where a map would end the process with a signal because the file has
    become shorter, a call says so."""

    names = None
    row_step = 1

    def __init__(self, array: np.memmap):
        self.array = array
        self.path: Any = getattr(array, "filename", None)
        self.shape = _check_table_shape(array.shape, str(self.path or "the memory map"))
        self.dtype = _float_type(array.dtype, str(self.path or "the memory map"))
        n, p = self.shape
        item = array.itemsize
        self.step_bytes = p * item
        self._by_rows = array.strides == (p * item, item)
        self._by_columns = not self._by_rows and array.strides == (item, n * item)
        # pages of a copy-on-write map may differ from the file
        direct = self.path is not None and array.mode != "c" and (self._by_rows or self._by_columns)
        self._file: Any = _open(self.path) if direct else None
        self._offset = _position(array) if direct else 0
        self._lock = threading.Lock()
        # blocks are read into a buffer of ours where the file has the type that is wanted
        self.wants_buffer = direct and array.dtype == self.dtype

    def __del__(self):
        if getattr(self, "_file", None) is not None:
            self._file.close()

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        if self._file is None:
            self._check_size()
            return np.array(self.array[start:stop], self.dtype)
        (n, p), item, m = self.shape, self.array.itemsize, stop - start
        room = np.empty(m * p * item, np.uint8) if buffer is None or not self.wants_buffer else buffer[: m * p * item]
        if self._by_rows:
            self._fill(room, self._offset + start * p * item)
            rows = room.view(self.array.dtype).reshape(m, p)
        else:
            for j in range(p):
                self._fill(room[j * m * item : (j + 1) * m * item], self._offset + (j * n + start) * item)
            rows = room.view(self.array.dtype).reshape(p, m).T
        return rows.astype(self.dtype, copy=False)

    def take(self, index: np.ndarray) -> np.ndarray:
        if self._file is None or not self._by_rows:
            self._check_size()
            return np.array(self.array[index], self.dtype)
        out = np.empty((len(index), self.shape[1]), self.dtype)
        for i, row in enumerate(index):
            out[i] = self.read(int(row), int(row) + 1)[0]
        return out

    def _fill(self, room: np.ndarray, offset: int) -> None:
        data = memoryview(room.data)
        while len(data):
            if hasattr(os, "preadv"):
                got = os.preadv(self._file.fileno(), [data], offset)
            else:
                with self._lock:
                    self._file.seek(offset)
                    got = self._file.readinto(data)
            if got == 0:
                self._shrunk()
            data, offset = data[got:], offset + got

    def _check_size(self) -> None:
        if self.path is not None and os.stat(self.path).st_size < self.array.offset + self.array.nbytes:
            self._shrunk()

    def _shrunk(self):
        raise FileChangedError(
            f"{self.path} has become shorter while it was read: it has {os.stat(self.path).st_size} bytes and its "
            f"{self.shape[0]} x {self.shape[1]} table needs {self._offset + self.array.nbytes}; "
            "leave the file alone during a fit"
        )


def _open(path: Any):
    return open(path, "rb", buffering=0)  # closed with the source


def _position(array: np.memmap) -> int:
    """Where the array's first element stands in the file, also for a part of a map."""
    whole: Any = array._mmap  # type: ignore[attr-defined]
    begin = np.frombuffer(whole, np.uint8).__array_interface__["data"][0]
    offset = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    return offset + array.__array_interface__["data"][0] - begin


# -- Zarr ----------------------------------------------------------------------------------------------------------


def _open_zarr(path: Path) -> ZarrSource:
    zarr = need_extra("zarr", "reading Zarr", "dask")
    try:
        found = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr has exceptions of its own
        raise ValueError(f"{path}: cannot be read as Zarr ({error})") from None
    if not hasattr(found, "chunks"):
        names = ", ".join(sorted(name for name, _ in found.arrays())) or "none"
        raise ValueError(f"{path}: a Zarr group; give one of its arrays ({names}), opened by zarr")
    return ZarrSource(found)


class ZarrSource:
    """A Zarr array: whole chunks of rows are read."""

    names = None
    wants_buffer = False

    def __init__(self, array):
        self.array = array
        self.shape = _check_table_shape(array.shape, "the Zarr array")
        self.dtype = _float_type(np.dtype(array.dtype), "the Zarr array")
        self.row_step = int(array.chunks[0])
        self.step_bytes = self.row_step * self.shape[1] * self.dtype.itemsize

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(self.array[start:stop]).astype(self.dtype, copy=False)

    def take(self, index: np.ndarray) -> np.ndarray:
        return np.asarray(self.array.oindex[index]).astype(self.dtype, copy=False)


# -- Parquet -------------------------------------------------------------------------------------------------------


class ParquetSource:
    """One Parquet file, or the files of a folder in the order of their names: whole row groups are read."""

    wants_buffer = False

    def __init__(self, path: Path):
        parquet = need_extra("pyarrow.parquet", "reading Parquet", "tables")
        paths = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not paths:
            raise ValueError(f"{path}: a folder without Parquet files")
        try:
            self._files = [parquet.ParquetFile(one) for one in paths]
        except Exception as error:  # pyarrow has exceptions of its own
            raise ValueError(f"{path}: not a whole Parquet file ({str(error).splitlines()[0]})") from None
        self.path = path
        self.names, self.dtype = _columns(self._files, paths)
        self._groups = [
            (f, g) for f in self._files for g in range(f.num_row_groups) if f.metadata.row_group(g).num_rows
        ]
        lengths = [f.metadata.row_group(g).num_rows for f, g in self._groups]
        self._begin = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
        self.shape = (int(self._begin[-1]), len(self.names))
        self.row_step = max(lengths, default=1)
        self.step_bytes = self.row_step * self.shape[1] * self.dtype.itemsize
        self._last: tuple[int, np.ndarray] | None = None  # the row group that was read last
        self._lock = threading.Lock()

    def _group(self, g: int) -> np.ndarray:
        with self._lock:
            if self._last is None or self._last[0] != g:
                self._last = None
                file, number = self._groups[g]
                try:
                    table = file.read_row_group(number, columns=self.names)
                except OSError as error:
                    raise FileChangedError(f"{self.path} changed while it was read ({error})") from None
                values = np.empty((table.num_rows, len(self.names)), self.dtype)
                for j, name in enumerate(self.names):
                    values[:, j] = table.column(name).to_numpy()
                self._last = g, values
            return self._last[1]

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        first, last = np.searchsorted(self._begin, [start, stop - 1], side="right") - 1
        parts = []
        for g in range(first, last + 1):
            low, high = max(start, self._begin[g]), min(stop, self._begin[g + 1])
            parts.append(self._group(g)[low - self._begin[g] : high - self._begin[g]])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def take(self, index: np.ndarray) -> np.ndarray:
        groups = np.searchsorted(self._begin, index, side="right") - 1
        out = np.empty((len(index), self.shape[1]), self.dtype)
        for g in np.unique(groups):
            here = groups == g
            out[here] = self._group(g)[index[here] - self._begin[g]]
        return out


_NUMBERS = ("int", "uint", "float", "double", "halffloat", "bool")


def _columns(files, paths) -> tuple[list[str], np.dtype]:
    """Names of the columns (an index that pandas wrote is none) and the type that holds them all."""
    schema = files[0].schema_arrow
    index = {c for c in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(c, str)}
    names = [name for name in schema.names if name not in index]
    for file, path in zip(files, paths, strict=True):
        if [name for name in file.schema_arrow.names if name not in index] != names:
            raise ValueError(f"{path}: its columns are not those of {paths[0].name}")
    kinds = {name: str(schema.field(name).type) for name in names}
    bad = [
        n for n, kind in kinds.items() if not kind.startswith(("int", "uint", "float", "double", "halffloat", "bool"))
    ]
    if bad:
        shown = ", ".join(map(repr, bad[:5])) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
        raise ValueError(f"columns must be numeric; {shown} hold text or categories: drop or encode them")
    return names, np.dtype(np.float32 if set(kinds.values()) == {"float"} else np.float64)


_OPENERS = {".npy": _open_npy, ".zarr": _open_zarr, ".parquet": ParquetSource, ".pq": ParquetSource}
