"""Cubes (rows x columns x bands) that stay in their file: formats that cannot be mapped into memory, read line by line.

    lines[a:b] = the lines a to b - 1        lines[r, c] = out[i, :] = value at (r[i], c[i])

Compressed strips, tiles and chunks are decompressed whenever they are read, so lines are read in groups and the most
recent groups are cached.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

__all__ = ["READ_WHOLE_BYTES", "ArrayLines", "LazyLines", "ScaledLines", "check_bytes", "held_or_lazy"]

# Files up to this size are read at once: that is faster, and cleaned rows are kept in memory up to the same size.
READ_WHOLE_BYTES = 2**28
# Bytes of a group of lines, and how many groups are kept: one per core that reads, and those that tiles overlap with.
_GROUP_BYTES = 2**24
_KEPT = 8
# Blocks of the file may be larger than a group. Up to this size the lines of a block are read together; those of larger
# ones are read in several groups, although every group then unpacks the block again.
_MOST_GROUP_BYTES = 2**28
# A line, or a block that has to be unpacked at once, of more bytes is refused: a small file can unpack to any size.
_MOST_BYTES = 2**30


class LazyLines(ABC):
    """The part of the interface of a 3-D array (rows x columns x bands) that `Pixels` needs; thread-safe."""

    ndim = 3

    def __init__(self, shape: tuple[int, int, int], dtype, unit: int = 1, *, block: Sequence[int] = (), name: str = ""):
        """`unit` is the number of lines per block of the file, `block` the sizes of a block that is unpacked at once,
        `name` that of the file for errors."""
        self.shape, self.dtype, self.name = shape, np.dtype(dtype), name
        bytes_of_line = max(1, shape[1] * shape[2] * self.dtype.itemsize)
        check_bytes(name, f"a line of {shape[1]:,} columns x {shape[2]:,} bands", bytes_of_line)
        if block:
            sizes = " x ".join(f"{size:,}" for size in block)
            check_bytes(name, f"a block of {sizes} values", math.prod(block) * self.dtype.itemsize)
        if bytes_of_line * unit > _MOST_GROUP_BYTES:
            self._step = max(1, _MOST_GROUP_BYTES // bytes_of_line)
        else:
            self._step = unit * max(1, _GROUP_BYTES // (bytes_of_line * unit))
        self._most_kept = max(1, min(_KEPT, 2 * _MOST_GROUP_BYTES // (bytes_of_line * self._step)))
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
                while len(self._groups) > self._most_kept:
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
        shape = (int(array.shape[axes[0]]), int(array.shape[axes[1]]), int(array.shape[axes[2]]))
        super().__init__(shape, array.dtype, unit=unit, block=_block(array), name=name)
        self.array, self.axes = array, axes

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


def _block(array) -> tuple[int, ...]:
    """The sizes of the blocks that an array is stored or computed in; () where they are not known."""
    chunks = getattr(array, "chunks", None) or getattr(array, "encoding", {}).get("chunksizes") or ()
    if not isinstance(chunks, (tuple, list)):  # True: h5py has yet to choose
        return ()
    return tuple(int(max(size)) if isinstance(size, (tuple, list)) else int(size) for size in chunks)


def check_bytes(name: str, what: str, size: int) -> None:
    """Raise an error for what takes so many bytes that it is not read at once."""
    if size > _MOST_BYTES:
        raise ValueError(
            f"{name or 'the array'}: {what} takes {size / 1e9:,.3g} GB, too much to be read at once: store the image "
            "in smaller blocks, or cut a part out of it"
        )


def held_or_lazy(lines: LazyLines) -> np.ndarray | LazyLines:
    """The whole array of a small cube, the lines of a large one."""
    size = float(np.prod(lines.shape, dtype=float)) * lines.dtype.itemsize
    return lines if size > READ_WHOLE_BYTES else np.asarray(lines)
