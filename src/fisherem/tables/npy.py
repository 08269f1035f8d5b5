"""NumPy's .npy files and memory maps, read a range of rows at a time."""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileChangedError, TableError
from .sources import Source, check_shape, float_type
from .watch import Watch, changed

__all__ = ["NpySource", "open_npy"]

# Evenly spaced rows that are compared after every pass, which takes about 0.1 ms.
_SAMPLE_ROWS = 32
_SAMPLE_COLUMNS = 10_000


def open_npy(path: Path) -> NpySource:
    """The table in a .npy file; only its header is read."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # headers are Python literals: NumPy raises many types of errors for a damaged one
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TableError(f"{path}: not a readable NumPy file of numbers, or truncated ({reason})") from None
    if not isinstance(array, np.memmap):
        raise TableError(f"{path}: not a NumPy file of one array; an archive of arrays is named .npz")
    return NpySource(array)


class NpySource(Source):
    """A memory map whose file is read with system calls rather than through the map.

    If the file is truncated, reading through the map would kill the process with a signal; a call raises an error.
    """

    def __init__(self, array: np.memmap):
        self.array = array
        self.path = getattr(array, "filename", None)
        what = f"{self.path}: the array" if self.path else "the memory map"
        self.shape, self.dtype = check_shape(array.shape, what), float_type(array.dtype, what)
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
        # blocks are read directly into the caller's buffer if the dtype of the file needs no conversion
        self.wants_buffer = direct and array.dtype == self.dtype
        self._watch = Watch([] if self.path is None or array.mode == "c" else [self.path])
        self._sample = np.unique(np.linspace(0, max(0, n - 1), min(n, _SAMPLE_ROWS)).astype(int))
        self._before = self._look()

    def __del__(self):
        if getattr(self, "_file", None) is not None:
            self._file.close()

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop, stored in `buffer` if the dtype of the file needs no conversion."""
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

    def check_unchanged(self) -> None:
        """Raise an error if the size, the modification time or a few sampled rows of the file have changed.

        The rows are compared because writing through a memory map may not update the modification time.
        """
        self._watch.check()
        if self._look() != self._before:
            raise changed(self.path or "the memory map")

    def _look(self) -> bytes:
        """The beginnings of the sampled rows as bytes; empty if the file is too short, which the first pass reports."""
        width = min(self.shape[1], _SAMPLE_COLUMNS)
        try:
            if self._file is None or not self._by_rows:
                self._check_size()
                return np.array(self.array[self._sample, :width]).tobytes()
            item = self.array.itemsize
            room = np.empty((len(self._sample), width * item), np.uint8)
            for line, row in zip(room, self._sample, strict=True):
                self._fill(line, self._offset + int(row) * self.shape[1] * item)
            return room.tobytes()
        except FileChangedError:
            return b""

    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers, each read with a separate call."""
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
            f"{self.path} has become shorter while it was being read: it has {os.stat(self.path).st_size} bytes but "
            f"its {self.shape[0]} x {self.shape[1]} table needs {self._offset + self.array.nbytes}; do not modify the "
            "file during a fit"
        )


def _open(path: Any):
    return open(path, "rb", buffering=0)  # closed with the source


def _position(array: np.memmap) -> int:
    """The position in the file of the array's first element, also for a slice of a map."""
    whole: Any = array._mmap  # type: ignore[attr-defined]
    begin = np.frombuffer(whole, np.uint8).__array_interface__["data"][0]
    offset = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    return offset + array.__array_interface__["data"][0] - begin
