"""One pass over the pixels of a cube: which have no values, which bands vary, and how many values are clipped."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .clean_pixels import CHUNK, invalid
from .cube import Cube
from .faults import CUSTOMARY, flat

__all__ = ["Found", "examine"]


@dataclass
class Found:
    """What one pass over the pixels found, for each pixel, for each band and in all."""

    pixels: np.ndarray  # bool n: a gap in some chosen band, or 0 in all
    gaps: np.ndarray  # per band: pixels that have other values but not this one
    varies: np.ndarray  # per band: more than one value among the pixels without gaps
    n_blank: int = 0  # pixels without any value
    n_gappy: int = 0  # pixels with some
    n_fill: int = 0
    n_not_finite: int = 0
    n_dark: int = 0
    n_clipped: int = 0
    flat: dict[float, int] = field(default_factory=dict)  # value -> pixels that have it in every chosen band
    odd: Counter[float] = field(default_factory=Counter)  # customary fill value -> single values beyond the limits


def examine(cube: Cube, use, chosen, limits, keep: bool = False, fills: frozenset[float] = frozenset()) -> Found:
    """Examine the pixels in one pass; with `keep`, pixels with some missing values are used.

    Pixels with one of the values `fills` in every chosen band have no values.
    """
    n_all, p = cube.pixels.shape
    found = Found(np.zeros(n_all, bool), np.zeros(p, int), np.zeros(p, bool))
    columns = slice(None) if chosen.all() else np.flatnonzero(chosen)
    low, high = (np.empty(0), np.empty(0)) if limits is None else (limits[0][columns], limits[1][columns])
    least, most = np.full((2, len(np.arange(p)[columns])), np.nan)
    step = max(1, CHUNK // p)
    for start in range(0, n_all, step):
        here = np.flatnonzero(use[start : start + step])
        raw = cube.pixels.raw(slice(start, min(start + step, n_all)))
        raw = (raw if len(here) == len(raw) else raw[here])[:, columns]
        is_fill, not_finite = invalid(raw, cube.fill_value)
        bad = is_fill if not_finite is None else is_fill | not_finite
        dark = ~raw.any(axis=1)
        one_value = flat(raw) & ~dark & ~bad.any(axis=1)
        for value, n in zip(*np.unique(raw[one_value, 0], return_counts=True), strict=True):
            found.flat[float(value)] = found.flat.get(float(value), 0) + int(n)
        if fills and one_value.any():
            bad = bad | (one_value & np.isin(raw[:, 0], list(fills)))[:, None]
        rows_bad = bad.any(axis=1) | dark
        if rows_bad.any():
            blank: np.ndarray = np.asarray(bad.all(axis=1))
            if keep:
                dark = ~(raw.astype(bool) & ~bad).any(axis=1) & ~blank
                rows_bad = blank | dark
            with_fill = is_fill.any(axis=1) & rows_bad
            found.pixels[start + here] = rows_bad
            found.gaps[columns] += (bad & ~(blank | dark)[:, None]).sum(axis=0)
            found.n_blank += int(blank.sum())
            found.n_gappy += int((bad.any(axis=1) & ~blank & ~dark).sum())
            found.n_fill += int(with_fill.sum())
            found.n_dark += int((dark & ~with_fill).sum())
            undeclared = one_value & rows_bad
            found.n_not_finite += int((rows_bad & ~with_fill & ~dark & ~undeclared).sum())
            raw, bad = raw[~rows_bad], bad[~rows_bad]
        if not len(raw):
            continue
        if keep and bad.any():
            raw = np.where(bad, np.nan, raw.astype(float, copy=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a band without a value in this piece
            lowest, highest = (np.nanmin(raw, axis=0), np.nanmax(raw, axis=0)) if keep else (raw.min(0), raw.max(0))
        least, most = np.fmin(least, lowest), np.fmax(most, highest)
        if limits is not None:
            beyond = np.flatnonzero((lowest < low) | (highest > high))
            part = raw[:, beyond]
            outside = part[(part < low[beyond]) | (part > high[beyond])]
            found.n_clipped += len(outside)
            found.odd.update({value: n for value in CUSTOMARY if (n := int((outside == value).sum()))})
    found.varies[columns] = most > least
    return found
