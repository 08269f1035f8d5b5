"""Cubes (rows x columns x bands) that stay in their file: formats that cannot be mapped into memory, read line by line.

    lines[a:b] = the lines a to b - 1        lines[r, c] = out[i, :] = value at (r[i], c[i])

Compressed strips, tiles and chunks are decompressed whenever they are read, so lines are read in groups and the most
recent groups are cached.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict

import numpy as np

__all__ = ["READ_WHOLE_BYTES", "ArrayLines", "LazyLines", "ScaledLines", "held_or_lazy"]

# Files up to this size are read at once: that is faster, and cleaned rows are kept in memory up to the same size.
READ_WHOLE_BYTES = 2**28
# Bytes of a group of lines, and how many groups are kept: one per core that reads, and those that tiles overlap with.
_GROUP_BYTES = 2**24
_KEPT = 8


class LazyLines(ABC):
    """The part of the interface of a 3-D array (rows x columns x bands) that `Pixels` needs; thread-safe."""

    ndim = 3

    def __init__(self, shape: tuple[int, int, int], dtype, unit: int = 1):
        """`unit` is the number of lines per block of the file; groups are multiples of it."""
        self.shape, self.dtype = shape, np.dtype(dtype)
        bytes_of_line = max(1, shape[1] * shape[2] * self.dtype.itemsize)
        self._step = unit * max(1, _GROUP_BYTES // (bytes_of_line * unit))
        self._groups: OrderedDict[int, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    @abstractmethod
    def _read(self, first: int, stop: int) -> np.ndarray:
        """Lines first to stop - 1 from the file; called by one thread at a time."""

    def _group(self, g: int) -> np.ndarray:
        with self._lock:
            if g in self._groups:
                self._groups.move_to_end(g)
            else:
                self._groups[g] = self._read(g * self._step, min((g + 1) * self._step, self.shape[0]))
                while len(self._groups) > _KEPT:
                    self._groups.popitem(last=False)
            return self._groups[g]

    def __getitem__(self, key) -> np.ndarray:
        if isinstance(key, slice):
            start, stop, stride = key.indices(self.shape[0])
            if stride != 1:
                raise IndexError("lines are read in order: slices need a step of 1")
            if stop <= start:
                return np.empty((0, *self.shape[1:]), self.dtype)
            parts = []
            for g in range(start // self._step, (stop - 1) // self._step + 1):
                low = g * self._step
                parts.append(self._group(g)[max(start - low, 0) : stop - low])
            return parts[0] if len(parts) == 1 else np.concatenate(parts)
        rows, columns = (np.asarray(k) for k in key)
        out = np.empty((len(rows), self.shape[2]), self.dtype)
        for g in np.unique(rows // self._step):
            here = rows // self._step == g
            out[here] = self._group(int(g))[rows[here] - g * self._step, columns[here]]
        return out

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self._read(0, self.shape[0]).astype(dtype or self.dtype, copy=False)


class ArrayLines(LazyLines):
    """The lines of an array that computes or reads what is indexed (Dask, Zarr, xarray, HDF5), in any order of axes.

    `axes` are the numbers of its axes of rows, columns and bands; `unit` is the number of rows of its chunks.
    """

    def __init__(self, array, axes: tuple[int, int, int], unit: int = 1, name: str = ""):
        super().__init__(tuple(int(array.shape[a]) for a in axes), array.dtype, unit=unit)  # type: ignore[arg-type]
        self.array, self.axes, self.name = array, axes, name

    def _read(self, first: int, stop: int) -> np.ndarray:
        key = tuple(slice(first, stop) if a == self.axes[0] else slice(None) for a in range(3))
        try:
            return np.asarray(self.array[key]).transpose(self.axes)
        except (OSError, RuntimeError, KeyError, ValueError) as error:  # by what is damaged
            raise ValueError(f"{self.name or 'the array'} is damaged or incomplete: {error}") from error


class ScaledLines(LazyLines):
    """value = stored * scale + offset, with scales and offsets (bands); NaN for the `fill` value."""

    def __init__(self, data, scales: np.ndarray, offsets: np.ndarray, fill: float | None):
        super().__init__(data.shape, np.dtype(float), unit=getattr(data, "_step", 1))
        self.data, self.scales, self.offsets, self.fill = data, scales, offsets, fill

    def _read(self, first: int, stop: int) -> np.ndarray:
        stored = np.asarray(self.data[first:stop])
        values = stored.astype(float)
        if self.fill is not None:
            values[stored == self.fill] = np.nan
        return values * self.scales + self.offsets


def held_or_lazy(lines: LazyLines) -> np.ndarray | LazyLines:
    """The whole array of a small cube, the lines of a large one."""
    size = float(np.prod(lines.shape, dtype=float)) * lines.dtype.itemsize
    return lines if size > READ_WHOLE_BYTES else np.asarray(lines)
