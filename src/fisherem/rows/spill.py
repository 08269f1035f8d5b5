"""Arrays kept in memory up to a limit, and in a temporary file beyond it.

The file is unlinked when it is created, so that it disappears when it is closed or the process ends for any reason.
Arrays are written and read by calls instead of a memory map, so that a full disk raises an error and not a signal.
"""

from __future__ import annotations

import tempfile
import threading
from typing import Any

import numpy as np

__all__ = ["Kept", "Spill", "SpillError"]


class SpillError(OSError):
    """The temporary file could not be written."""


class Kept:
    """An array kept by a `Spill`. Its space is released when this object is deleted."""

    __slots__ = ("_array", "_offset", "_spill", "dtype", "nbytes", "shape")

    def __init__(self, spill: Spill, array: np.ndarray, offset: int | None):
        self._spill, self._offset = spill, offset
        self.shape, self.dtype, self.nbytes = array.shape, array.dtype, array.nbytes
        self._array: Any = array if offset is None else None

    def get(self) -> np.ndarray:
        """The array, read back if it is on disk."""
        if self._offset is None:
            return self._array
        return self._spill.read(self._offset, self.shape, self.dtype)

    def __del__(self):
        self._spill.release(self._offset, self.nbytes)


class Spill:
    """Keeps arrays: the first `limit` bytes in memory, the others in a file in `tempfile.gettempdir()`."""

    def __init__(self, limit: int):
        self.limit = limit
        self.in_memory = 0
        self.on_disk = 0  # the size of the file
        self._file: Any = None
        self._free: dict[int, list[int]] = {}
        self._lock = threading.RLock()  # an array may be released in the middle of any call

    def keep(self, array: np.ndarray) -> Kept:
        """Keep an array in memory if the limit allows, otherwise in the file."""
        with self._lock:
            if self.in_memory + array.nbytes <= self.limit:
                self.in_memory += array.nbytes
                # a view would keep its whole base array alive
                return Kept(self, array if array.base is None else array.copy(), None)
            return Kept(self, array, self._write(np.ascontiguousarray(array)))

    def _write(self, array: np.ndarray) -> int:
        same_size = self._free.get(array.nbytes)
        offset = same_size.pop() if same_size else self.on_disk
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="fisherem-", buffering=0)  # noqa: SIM115
            self._file.seek(offset)
            data = memoryview(array.data).cast("B")
            while len(data):
                data = data[self._file.write(data) :]
        except OSError as error:
            raise SpillError(
                error.errno,
                f"posteriors and projections pass the memory budget and cannot be written to {tempfile.gettempdir()} "
                f"({error.strerror}, after {self.on_disk / 2**20:.0f} MB): set TMPDIR to a folder with more room, or "
                "raise memory",
            ) from error
        self.on_disk = max(self.on_disk, offset + array.nbytes)
        return offset

    def read(self, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Read an array from the file."""
        array = np.empty(shape, dtype)
        with self._lock:
            self._file.seek(offset)
            data = memoryview(array.data).cast("B")
            while len(data):
                data = data[self._file.readinto(data) :]
        return array

    def release(self, offset: int | None, nbytes: int) -> None:
        """Release the space of an array."""
        with self._lock:
            if offset is None:
                self.in_memory -= nbytes
            else:
                self._free.setdefault(nbytes, []).append(offset)

    def __del__(self):
        self.close()

    def close(self) -> None:
        """Close the file, which removes it."""
        with self._lock:
            if self._file is not None:
                self._file.close()
