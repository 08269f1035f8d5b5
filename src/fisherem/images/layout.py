"""Whether a flat binary file is what its header says: data type, byte order and interleave show in the values.

Neighbouring pixels and neighbouring bands are alike in every image. For a reading of the file, with ranks in [0, 1]
of its values v among themselves,

    roughness = mean |rank v[r, c, b] - rank v[r, c + 1, b]| + the same along rows + the same along bands

is 1 for values in random order and far less for an image. A wrong byte order or data type makes neighbours unlike, so
that another reading of the same bytes is smoother. Interleaves are told apart by the values v[i] in the order of the
file, whatever the header says of them, with R lines, C samples, P bands and means over positions i:

    D(l) = mean |rank v[i + l] - rank v[i]|        seam(l) = mean |rank v[i] - rank v[i - 1]| where l divides i / D(1)

    bip    seam(P) is large, as one spectrum ends there and the next one begins; elsewhere it is about 1
    bsq    R C values further lies the same pixel in the next band, C P values further another line in another band
    bil    C P values further lies the next line in the same band; C values further the next band, P values anything
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
# Lines of samples x bands values, and values of each, in which seams are looked for.
_LINES, _VALUES = 16, 2**16
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
    others = [(roughness(_sampled(stored, sizes, interleave, kind, cells)), text) for kind, text in _other_types(dtype)]
    value, text = min(others, default=(np.inf, ""))
    if value < THRESHOLDS.layout_rougher * own:
        raise ValueError(
            f"{wrong}: neighbouring pixels and bands would be much more alike with {text} "
            f"(mean difference in rank {value:.2f} instead of {own:.2f}); correct the header"
        )
    if other := _other_interleave(_values(stored, sizes, dtype), sizes, interleave):
        raise ValueError(
            f"{wrong}: pixels and bands are in the order of interleave = {other}, not {interleave}; correct the header"
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
    rank = _ranks(values)
    return float(np.abs(rank[:, 1:] - rank[:, :1]).mean(axis=0).sum())


def _values(stored: np.ndarray, sizes, dtype: np.dtype) -> np.ndarray:
    """All values in the order of the file."""
    return stored[: dtype.itemsize * math.prod(sizes.values())].view(dtype)


def _other_interleave(values: np.ndarray, sizes: dict[str, int], said: str) -> str:
    """The interleave that the values (in the order of the file) have if it is another one than is said, else ""."""
    R, C, P = (sizes[name] for name in ("lines", "samples", "bands"))
    if min(R, C, P) < THRESHOLDS.interleave_side:
        return ""
    if _seams(values, C, P):
        return "bip" if said != "bip" else ""
    at = np.random.RandomState(0).randint(0, values.size - C * max(R, P), _CELLS)
    rank = _ranks(_numbers(np.stack([values[at], *(values[at + lag] for lag in (C, P, R * C, C * P))])))
    distances = np.abs(rank[1:] - rank[0]).mean(axis=1)
    if not distances.all():  # a scene that repeats itself
        return ""
    next_c, next_p, next_rc, next_cp = distances
    least = THRESHOLDS.interleave_rougher
    if said == "bsq":
        return "bil" if next_rc > max(2 * next_c, next_cp / THRESHOLDS.bsq_rougher) else ""
    if next_rc < least * next_cp and (said == "bip" or next_rc < 2 * next_c):
        return "bsq"
    return "bil" if said == "bip" and next_c < least * next_p else ""


def _seams(values: np.ndarray, samples: int, bands: int) -> bool:
    """Whether spectra end every so many bands."""
    lines = values.reshape(-1, samples * bands)
    chosen = np.unique(np.linspace(0, len(lines) - 1, min(_LINES, len(lines))).astype(int))
    rank = _ranks(_numbers(lines[chosen, : max(_VALUES, 8 * max(samples, bands))]))
    steps = np.abs(np.diff(rank, axis=1)).mean(axis=0)
    at_bands, at_samples = (steps[side - 1 :: side].mean() for side in (bands, samples))
    return bool(at_bands > max(THRESHOLDS.interleave_seam * steps.mean(), 2 * at_samples))


def _numbers(values: np.ndarray) -> np.ndarray:
    """Values as floats, NaN, which has no rank, as the largest."""
    with np.errstate(invalid="ignore"):  # bits that are no numbers
        values = values.astype(float)
    return np.where(np.isnan(values), np.inf, values)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks in [0, 1] of values among themselves; equal values share one."""
    order = np.sort(values, axis=None)
    return (np.searchsorted(order, values, "left") + np.searchsorted(order, values, "right")) / (2 * order.size)


def _sampled(stored: np.ndarray, sizes, interleave: str, dtype: np.dtype, cells: np.ndarray) -> np.ndarray:
    """Values (m x 4) of the cells (shares of the sides) and of their next neighbours; a side of 1 has none."""
    names, transpose = INTERLEAVES[interleave]
    shape = tuple(sizes[name] for name in names)
    view = _values(stored, sizes, dtype).reshape(shape).transpose(transpose)
    last = np.maximum(np.array(view.shape) - 1, 1)
    r, c, b = (cells * last).astype(int).T
    next_r, next_c, next_b = (np.minimum(i + 1, side - 1) for i, side in zip((r, c, b), view.shape, strict=True))
    found = np.stack([view[r, c, b], view[r, next_c, b], view[next_r, c, b], view[r, c, next_b]], axis=1)
    return _numbers(found)


def _other_types(dtype: np.dtype):
    """(data type, what to call it) of the other readings of as many bytes."""
    if dtype.itemsize > 1:
        swapped = dtype.newbyteorder("S")
        order = 1 if swapped.str.startswith(">") else 0
        yield swapped, f"byte order = {order}"
    other = {"i": "u", "u": "i"}.get(dtype.kind)
    if other:
        code = next((c for c, kind in DATA_TYPES.items() if kind == f"{other}{dtype.itemsize}"), None)
        if code is not None:
            yield np.dtype(f"{dtype.str[0]}{other}{dtype.itemsize}"), f"data type = {code}"


def _other_kind(values: np.ndarray, dtype: np.dtype) -> str:
    """Why integers look like floats or floats like integers, else "": their order is the same, their size is not."""
    held = values[np.isfinite(values) & (values != 0)]
    if not len(held) or dtype.itemsize < 4:
        return ""
    size = float(np.median(np.abs(held)))
    if dtype.kind == "f":
        if size >= _SMALL:
            return ""
        swapped = held.astype(dtype).byteswap().astype(float)
        if (np.isfinite(swapped) & (np.abs(swapped) > 1e-6) & (np.abs(swapped) < 1e9)).mean() > 0.99:
            order = 0 if dtype.str.startswith(">") else 1
            return f"with byte order = {order} about {np.median(np.abs(swapped)):.3g}; correct the header"
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
