"""MATLAB's v5 format (.mat up to v7): the numeric arrays in a file, with every size checked.

A file is a header of 128 bytes and elements. An element is a tag (type, number of bytes) and its data; an array is an
element of elements: flags, sizes, name, values. SciPy's compiled reader crashes the process if some of
these sizes are damaged.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

__all__ = ["MatlabVariable", "is_matlab5", "variables"]

_HEADER = 128
# The format's numbers of the types that values are stored as, of packed elements and of arrays.
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_COMPRESSED, _MATRIX = 15, 14
# Classes of arrays that hold numbers: double, single and the integers. Others are text, cells, structs and objects.
_NUMERIC = range(6, 16)
_LOGICAL, _COMPLEX = 0x0200, 0x0800
# Bytes of an array that hold its flags, sizes and name, with room to spare.
_FRONT = 2**16
# Bytes of an array that MATLAB stores in this format: a small file that unpacks to more is none of its own.
_MOST_BYTES = 2**31


_Order = Literal["<", ">"]


class _DamagedError(ValueError):
    """The numbers in the file contradict each other."""


@dataclass(frozen=True)
class MatlabVariable:
    """A numeric array of a file: its name, its shape as MATLAB shows it, and where it is."""

    name: str
    shape: tuple[int, ...]
    element: memoryview  # as stored
    packed: bool
    order: _Order

    def read(self) -> np.ndarray:
        """The values, in the type that they are stored as."""
        data = self._unpacked() if self.packed else self.element
        kind, values = next(islice(_elements(data, self.order), 3, None), (0, b""))  # after flags, sizes and name
        if kind not in _STORED:
            raise _DamagedError(f"the values of {self.name!r} have the unknown type {kind}")
        array = np.frombuffer(values, np.dtype(_STORED[kind]).newbyteorder(self.order))
        if len(array) != math.prod(self.shape):
            size = " x ".join(map(str, self.shape))
            raise _DamagedError(f"{self.name!r} has {len(array)} values where its size, {size}, asks for others")
        return array.reshape(self.shape, order="F")

    def _unpacked(self) -> bytes:
        """Decompress an element: at most what the shape allows, and to its end, which verifies the checksum."""
        stream = zlib.decompressobj()
        data = stream.decompress(self.element, _FRONT + min(8 * math.prod(self.shape), _MOST_BYTES))
        if len(data) > _MOST_BYTES:
            raise _DamagedError(f"{self.name!r} unpacks to more than 2 GB, the most that the format allows")
        if not stream.eof:
            raise _DamagedError(f"the compressed values of {self.name!r} are incomplete, or more than its size allows")
        return data[8:]


def is_matlab5(start: bytes) -> bool:
    """Whether a file begins like one of this format (the first 128 bytes are looked at)."""
    return len(start) == _HEADER and start[124:128] in (b"\x00\x01IM", b"\x01\x00MI")


def variables(path: Path) -> list[MatlabVariable]:
    """The arrays of real numbers in a file, which is mapped into memory: only what describes them is read."""
    content = np.memmap(path, np.uint8, "r").data
    order: _Order = "<" if content[126:128] == b"IM" else ">"
    found = []
    for kind, data in _elements(content[_HEADER:], order, padded=False):
        packed = kind == _COMPRESSED
        front: bytes | memoryview = data
        if packed:
            kind, front = _unpacked_front(data, order)
        described = _described(front, order) if kind == _MATRIX else None
        if described is not None and described[0]:  # one without a name is MATLAB's own
            found.append(MatlabVariable(*described, data, packed, order))
    return found


def _elements(data, order: _Order, *, padded: bool = True) -> Iterator[tuple[int, memoryview]]:
    """(type, data) of elements that follow each other, one by one.

    Inside of arrays they are padded to 8 bytes; small ones fit into their tag.
    """
    view, at = memoryview(data), 0
    while at < len(view):
        if len(view) - at < 8:
            raise _DamagedError("it ends in the middle of an element")
        kind, size = struct.unpack_from(order + "II", view, at)
        if kind >> 16:  # the size is in the upper half, the data follow at once
            kind, size, begin, step = kind & 0xFFFF, kind >> 16, at + 4, 8
        else:
            begin, step = at + 8, 8 + (size + -size % 8 if padded else size)
        if begin + size > len(view):
            raise _DamagedError(f"an element of {size} bytes goes beyond its end")
        yield kind, view[begin : begin + size]
        at += step


def _unpacked_front(data: memoryview, order: _Order) -> tuple[int, bytes]:
    """(type, the first bytes) of a compressed element."""
    front = zlib.decompressobj().decompress(data, _FRONT)
    if len(front) < 8:
        raise _DamagedError("a compressed element is empty")
    return struct.unpack_from(order + "I", front)[0], front[8:]


def _described(front, order: _Order) -> tuple[str, tuple[int, ...]] | None:
    """(name, shape) of an array of real numbers; None for any other."""
    parts = [data for _, data in islice(_elements(front, order), 3)]  # flags, sizes, name; the values come after them
    if len(parts) < 3 or len(parts[0]) < 4 or len(parts[1]) % 4:
        raise _DamagedError("an array without flags, sizes and a name")
    flags = struct.unpack_from(order + "I", parts[0])[0]
    if (flags & 0xFF) not in _NUMERIC or flags & (_LOGICAL | _COMPLEX):
        return None
    shape = tuple(int(size) for size in np.frombuffer(parts[1], order + "i4"))
    if len(shape) < 2 or min(shape) < 0:
        raise _DamagedError(f"an array has the sizes {shape}")
    return bytes(parts[2]).decode("latin-1"), shape
