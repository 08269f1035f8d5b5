"""Whether a flat binary file is what its header says: data type, byte order and interleave show in the values.

Neighbouring pixels and neighbouring bands are alike in every image. For a reading of the file, with ranks in [0, 1]
of its values v among themselves,

    roughness = mean |rank v[r, c, b] - rank v[r, c + 1, b]| + the same along rows + the same along bands

is 1 for values in random order and far less for an image. A wrong byte order or interleave puts neighbours apart, so
that another reading of the same bytes is smoother.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..policy.thresholds import THRESHOLDS

__all__ = ["DATA_TYPES", "INTERLEAVES", "check_layout", "other_sizes", "roughness"]

# ENVI's codes of real data types; complex ones (6, 9) cannot be reflectances.
DATA_TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
# Interleave -> (order of the sizes in the file, the transpose to rows x columns x bands)
INTERLEAVES = {
    "bsq": (("bands", "lines", "samples"), (1, 2, 0)),
    "bil": (("lines", "bands", "samples"), (0, 2, 1)),
    "bip": (("lines", "samples", "bands"), (0, 1, 2)),
}
# Cells that are looked at, each with three neighbours: the mean of as many ranks is good to 1%.
_CELLS = 2000
# Reflectances, radiances and counts are larger; the bits of integers read as floats are far smaller numbers.
_SMALL = 1e-12


def check_layout(data_path: Path, offset: int, sizes: dict[str, int], interleave: str, dtype: np.dtype) -> None:
    """Raise a ValueError if the values say that data type, byte order or interleave of the header are wrong."""
    if math.prod(sizes.values()) < THRESHOLDS.layout_cells:
        return  # chance would decide
    stored = np.memmap(data_path, np.uint8, "r", offset)
    cells = np.random.RandomState(0).random_sample((_CELLS, 3))
    as_said = _sampled(stored, sizes, interleave, dtype, cells)
    wrong = f"{data_path.name}: the values do not fit its header"
    if better := _other_kind(as_said, dtype):
        raise ValueError(f"{wrong}: read as {dtype.name} they are {_shown(as_said)}, but {better}")
    own = roughness(as_said)
    others = [
        (roughness(_sampled(stored, sizes, name, kind, cells)), most * own, text)
        for name, kind, text, most in _readings(interleave, dtype, sizes)
    ]
    value, most, text = min(others, default=(np.inf, 0.0, ""))
    if value < most:
        raise ValueError(
            f"{wrong}: neighbouring pixels and bands would be much more alike with {text} "
            f"(mean difference in rank {value:.2f} instead of {own:.2f}); correct the header"
        )


def other_sizes(n_bytes: int, offset: int, sizes: dict[str, int], dtype: np.dtype) -> str:
    """What would explain a data file of this size: "; it would fit ..." or nothing."""
    cells = math.prod(sizes.values())
    n_bytes -= offset
    kinds = [f"{code} ({np.dtype(kind).name})" for code, kind in DATA_TYPES.items()
             if np.dtype(kind).itemsize * cells == n_bytes]  # fmt: skip
    if kinds:
        return f"; that is the size for data type {' or '.join(kinds)}"
    for name in ("lines", "bands", "samples"):
        unit = cells // sizes[name] * dtype.itemsize
        if n_bytes > 0 and n_bytes % unit == 0:
            return f"; that is the size for {name} = {n_bytes // unit}"
    return ""


def roughness(values: np.ndarray) -> float:
    """The formula of this module for values (m x 4) of cells and their neighbours along columns, rows and bands."""
    order = np.sort(values, axis=None)
    rank = (np.searchsorted(order, values, "left") + np.searchsorted(order, values, "right")) / (2 * order.size)
    return float(np.abs(rank[:, 1:] - rank[:, :1]).mean(axis=0).sum())


def _sampled(stored: np.ndarray, sizes, interleave: str, dtype: np.dtype, cells: np.ndarray) -> np.ndarray:
    """Values (m x 4) of the cells (shares of the sides) and of their next neighbours; a side of 1 has none."""
    names, transpose = INTERLEAVES[interleave]
    shape = tuple(sizes[name] for name in names)
    view = stored[: dtype.itemsize * math.prod(shape)].view(dtype).reshape(shape)
    view = view.transpose(transpose)
    last = np.maximum(np.array(view.shape) - 1, 1)
    r, c, b = (cells * last).astype(int).T
    next_r, next_c, next_b = (np.minimum(i + 1, side - 1) for i, side in zip((r, c, b), view.shape, strict=True))
    found = np.stack([view[r, c, b], view[r, next_c, b], view[next_r, c, b], view[r, c, next_b]], axis=1)
    with np.errstate(invalid="ignore"):  # bits that are no numbers
        values = found.astype(float)
    return np.where(np.isnan(values), np.inf, values)


def _readings(interleave: str, dtype: np.dtype, sizes):
    """(interleave, data type, what to call it, how rough it may be) of the other readings of as many bytes."""
    rougher = THRESHOLDS.layout_rougher
    for name in INTERLEAVES:
        if name != interleave and sizes["bands"] >= THRESHOLDS.interleave_bands:
            yield name, dtype, f"interleave = {name}", THRESHOLDS.interleave_rougher
    if dtype.itemsize > 1:
        swapped = dtype.newbyteorder("S")
        order = 1 if swapped.str.startswith(">") else 0
        yield interleave, swapped, f"byte order = {order}", rougher
    other = {"i": "u", "u": "i"}.get(dtype.kind)
    if other:
        code = next((c for c, kind in DATA_TYPES.items() if kind == f"{other}{dtype.itemsize}"), None)
        if code is not None:
            yield interleave, np.dtype(f"{dtype.str[0]}{other}{dtype.itemsize}"), f"data type = {code}", rougher


def _other_kind(values: np.ndarray, dtype: np.dtype) -> str:
    """Why integers look like floats or floats like integers, else "": their order is the same, their size is not."""
    held = values[np.isfinite(values) & (values != 0)]
    if not len(held) or dtype.itemsize < 4:
        return ""
    size = float(np.median(np.abs(held)))
    if dtype.kind == "f":
        if size >= _SMALL:
            return ""
        code = {4: 3, 8: 14}[dtype.itemsize]
        return f"as integers (data type {code}) they are of ordinary size; correct the header"
    bits = held.astype(f"i{dtype.itemsize}").view(f"f{dtype.itemsize}")
    ordinary = np.isfinite(bits) & (np.abs(bits) > 1e-6) & (np.abs(bits) < 1e6)
    if ordinary.mean() < 0.99:  # integers of ordinary size are far smaller numbers as floats
        return ""
    code = {4: 4, 8: 5}[dtype.itemsize]
    return f"as floats (data type {code}) about {np.median(np.abs(bits)):.3g}; correct the header"


def _shown(values: np.ndarray) -> str:
    held = values[np.isfinite(values) & (values != 0)]
    return f"about {np.median(np.abs(held)):.3g}"
