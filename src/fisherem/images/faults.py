"""Faults that no header declares: noisy bands, columns of a broken or badly calibrated detector.

Everything is judged by robust statistics of lines that are spread over the scene, against neighbours: with
v[r, c, b] in stored units and the medians over rows r or over pixels,

    noise[b]     = median |v[r, c + 1, b] - v[r, c, b]|                        pixels and their neighbours
    step[c, b]   = median_r |v[r, c + 1, b] - v[r, c, b]|
    usual[b]     = median_c min(step[c - 1, b], step[c, b])    of columns that have an ordinary one beside them
    side[c, b]   = median over lags l of median_r (v[r, c, b] - v[r, c + l, b])    left: l = -3..-1, right: l = 1..3
    offset[c, b] = the smaller of the two sides if they have the same sign, else 0; in the first and last column, which
                   have one side, the smallest of its lags if these have the same sign
    stuck[c]     = share of r, b with v[r + 1, c, b] = v[r, c, b]
    w[r, c, b]   = fourth difference of v along c, which is small where light changes gradually
    uneven[b]    = median_c |median_r w[r, c, b]| / median_c median_r |w[r, c, b] - median_r w[r, c, b]|

A border between materials hardly changes these medians: most pixels have a neighbour of the same material.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import median_filter

from ..policy.thresholds import THRESHOLDS
from .clean_pixels import without_value
from .cube import Cube

__all__ = ["CUSTOMARY", "KEEP", "Faults", "as_keep", "find_faults", "flat", "undeclared_fill"]

# What can be kept although it looks faulty.
KEEP = ("fill", "bands", "columns")
# Values that files fill pixels with where nothing was measured, by custom.
CUSTOMARY = frozenset({-9999.0, -999.0, -32768.0, 65535.0, 4294967295.0, float(np.float32(-3.4028235e38)), 1e20})
# Values that are looked at; a median over the rows that this leaves is good enough for faults that change a map.
_VALUES = 2**22
_LINES, _BANDS = 128, 48
_PAIRS = 2000
# Bands around a band, columns to both sides of a column.
_NEAR, _FAR = 11, 41
_LAGS = tuple(lag for lag in range(-3, 4) if lag)  # hills and borders are wider than stripes


@dataclass(frozen=True)
class Faults:
    """Faults of a cube: `bands` and `columns`, numbers from 0; `stuck`, those of the columns that repeat their values;
    `remarks`, what cannot be masked."""

    bands: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    stuck: tuple[int, ...] = ()
    remarks: tuple[str, ...] = field(default=())


def as_keep(keep) -> frozenset[str]:
    """What is to be kept, as a set of the words of `KEEP`; True means all."""
    if isinstance(keep, bool) or keep is None:
        return frozenset(KEEP if keep else ())
    words = {keep} if isinstance(keep, str) else set(keep)
    if "all" in words:
        return frozenset(KEEP)
    if unknown := words - set(KEEP):
        raise ValueError(
            f"keep must be of {', '.join(KEEP)} or all; got {', '.join(map(repr, sorted(map(str, unknown))))}"
        )
    return frozenset(words)


def flat(raw: np.ndarray) -> np.ndarray:
    """Which rows (m x p) have one value in every band; none if there are too few bands to tell."""
    if raw.shape[1] < THRESHOLDS.flat_bands:
        return np.zeros(len(raw), bool)
    return np.asarray((raw == raw[:, :1]).all(axis=1))


def undeclared_fill(cube: Cube, flat_values, limits: np.ndarray | None) -> frozenset[float]:
    """The fill values among those that some pixels have in every band; `limits` (2 x bands) are those of clipping.

    A float that repeats in all bands is none that was measured. Integers of few levels may; they must be a customary
    fill value, or lie outside the limits of most bands.
    """
    values = set()
    for value in flat_values:
        outside = value in CUSTOMARY
        if limits is not None:
            outside |= bool(np.mean((value < limits[0]) | (value > limits[1])) > 0.5)
        if outside or cube.data.dtype.kind == "f":
            values.add(value)
    return frozenset(values)


def find_faults(cube: Cube, use: np.ndarray, chosen: np.ndarray, keep: frozenset[str] = frozenset()) -> Faults:
    """The faults among the pixels `use` (bool, rows x columns) and the bands `chosen` (bool)."""
    bands: tuple[int, ...] = ()
    if "bands" not in keep:
        bands = _noisy(cube, use, chosen)
    columns: tuple[int, ...] = ()
    stuck: tuple[int, ...] = ()
    remarks: list[str] = []
    if "columns" not in keep and cube.shape[1] > 2 * max(_LAGS) and cube.shape[0] >= THRESHOLDS.stripe_rows:
        good = chosen.copy()
        good[list(bands)] = False
        striped, repeated, uneven = _columns(cube, use, np.flatnonzero(good))
        if uneven or striped.mean() > THRESHOLDS.stripe_most:
            many = "most" if uneven else f"{int(striped.sum())} of {cube.shape[1]}"
            remarks.append(
                f"{many} columns differ from their neighbours in many bands: the scene is striped, and too much of it "
                "to leave the columns out; destripe it first"
            )
            striped[:] = False
        columns = tuple(int(c) for c in np.flatnonzero(striped | repeated))
        stuck = tuple(int(c) for c in np.flatnonzero(repeated))
    return Faults(bands, columns, stuck, tuple(remarks))


# -- bands -------------------------------------------------------------------------------------------------------------


def _noisy(cube: Cube, use: np.ndarray, chosen: np.ndarray) -> tuple[int, ...]:
    """Bands (from 0) that are noise beside their neighbours, or at quite another level."""
    numbers = np.flatnonzero(chosen)
    if len(numbers) < _NEAR:
        return ()
    first, second = _pairs(cube, use, numbers)
    if len(first) < THRESHOLDS.band_pairs:
        return ()
    noise, level, spread = (np.full(len(numbers), np.nan) for _ in range(3))
    step = max(1, 2**18 // len(first))
    for b in range(0, len(numbers), step):
        part = slice(b, b + step)
        a, z = (_observed(v[:, part], cube.fill_value) for v in (first, second))
        noise[part] = _median(np.abs(a - z), 0)
        level[part] = _median(a, 0)
        spread[part] = 1.4826 * _median(np.abs(a - level[part]), 0)
    known = np.isfinite(noise) & np.isfinite(spread)
    found = np.zeros(len(numbers), bool)
    found[known] = _outlying(noise[known], level[known], spread[known])
    return tuple(int(b) for b in numbers[found])


def _outlying(noise: np.ndarray, level: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Which bands are far noisier than those near them, are noise where those farther off are not, or lie far off."""
    near, far = (_around(noise, size) for size in (_NEAR, _FAR))
    around, size = (_around(v, _NEAR) for v in (level, np.maximum(np.abs(level), spread)))
    times, tiny = THRESHOLDS.band_noise, np.finfo(float).tiny
    white = noise > THRESHOLDS.band_white * spread  # neighbours differ as much as any two pixels
    noisy = (noise > times * near) & (near > tiny) | (noise > times * far) & white & (far > tiny)
    return noisy | (np.abs(level - around) > THRESHOLDS.band_level * size)


def _around(values: np.ndarray, size: int) -> np.ndarray:
    """Medians of the `size` bands around each; at both ends those of the first and the last so many bands."""
    size = min(size, len(values))
    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, size), axis=1)
    return medians[np.clip(np.arange(len(values)) - size // 2, 0, len(medians) - 1)]


def _pairs(cube: Cube, use: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stored values (m x bands) of pixels spread over the scene, and of their neighbours to the right."""
    most = int(np.clip(2**20 // len(numbers), THRESHOLDS.band_pairs, _PAIRS))
    both = np.flatnonzero((use[:, 1:] & use[:, :-1]).ravel())
    chosen = both[np.unique(np.linspace(0, len(both) - 1, min(most, len(both))).astype(int))] if len(both) else both
    r, c = chosen // max(1, use.shape[1] - 1), chosen % max(1, use.shape[1] - 1)
    pixel = r * use.shape[1] + c
    first, second = cube.pixels.raw(pixel), cube.pixels.raw(pixel + 1)
    if len(numbers) < cube.shape[2]:
        first, second = first[:, numbers], second[:, numbers]
    bad = flat(first) | flat(second)
    return (first[~bad], second[~bad]) if bad.any() else (first, second)


# -- columns -----------------------------------------------------------------------------------------------------------


def _columns(cube: Cube, use: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """(columns at another level than their neighbours in many bands, columns that repeat their values, both as bool;
    whether most columns lie at levels of their own)."""
    rows, columns, _ = cube.shape
    bands = numbers[np.unique(np.linspace(0, len(numbers) - 1, min(_BANDS, len(numbers))).astype(int))]
    n_lines = int(np.clip(_VALUES // (columns * len(bands)), 16, min(_LINES, rows)))
    starts = np.unique(np.linspace(0, max(0, rows - 2), max(1, n_lines // 2)).astype(int))
    picked = np.unique(np.concatenate([starts, np.minimum(starts + 1, rows - 1)]))
    values = np.empty((len(picked), columns, len(bands)))
    for i, r in enumerate(picked):
        line = np.asarray(cube.data[int(r) : int(r) + 1])[0]
        values[i] = np.where(use[r][:, None], _observed(line[:, bands], cube.fill_value), np.nan)
        values[i][flat(line[:, numbers]) | ~line.any(axis=1)] = np.nan
    shares = np.zeros(columns)
    for b in range(len(bands)):
        shares += _striped(values[:, :, b])
    following = np.flatnonzero(np.diff(picked) == 1)
    same = values[following + 1] == values[following]
    seen = np.isfinite(values[following]) & np.isfinite(values[following + 1])
    stuck = same.sum(axis=(0, 2)) / np.maximum(seen.sum(axis=(0, 2)), 1)
    usual = median_filter(stuck, _NEAR, mode="nearest")  # dark water repeats values in many columns
    striped = shares >= THRESHOLDS.stripe_bands * len(bands)
    values[:, striped] = np.nan
    uneven = [_unevenness(values[:, :, b]) for b in range(len(bands))]
    return striped, stuck > usual + THRESHOLDS.stuck_share, bool(np.median(uneven) > THRESHOLDS.stripe_bend)


def _striped(values: np.ndarray) -> np.ndarray:
    """Which columns of one band (rows x columns) lie beside their neighbours, as bool."""
    columns = values.shape[1]
    offsets = np.full((len(_LAGS), columns), np.nan)
    for i, lag in enumerate(_LAGS):
        here, there = slice(max(0, -lag), columns - max(0, lag)), slice(max(0, lag), columns - max(0, -lag))
        offsets[i, here] = _median(values[:, here] - values[:, there], 0)
    half = len(_LAGS) // 2
    left, right = _median(offsets[:half], 0), _median(offsets[half:], 0)
    # a border between materials differs from one side only
    same = np.sign(left) * np.sign(right) > 0  # the product itself may overflow
    offset = np.where(same, np.minimum(np.abs(left), np.abs(right)), np.sign(left) * np.sign(right) * 0)
    offset[0], offset[-1] = _one_sided(offsets[half:, 0]), _one_sided(offsets[:half, -1])
    if np.isfinite(offset).sum() < 2 * len(_LAGS):
        return np.zeros(columns, bool)
    step = _median(np.abs(np.diff(values, axis=1)), 0)
    usual = float(_median(np.fmin(np.append(step, np.nan), np.append(np.nan, step))[:, None], 0)[0])
    if not usual > 0:  # values of few levels
        return np.zeros(columns, bool)
    return np.asarray(np.nan_to_num(offset) > THRESHOLDS.stripe_noise * usual)


def _unevenness(values: np.ndarray) -> float:
    """How far columns of one band (rows x columns) lie off those beside them, in units of what single pixels do."""
    waves = np.diff(values, 4, axis=1)
    usual = _median(waves, 0)
    seen = np.isfinite(usual)
    if not seen.any():
        return 0.0
    noise = np.median(_median(np.abs(waves - usual)[:, seen], 0))
    return float(np.median(np.abs(usual[seen])) / noise) if noise > 0 else 0.0


def _one_sided(differences: np.ndarray) -> float:
    """The smallest difference of a column from those on its only side, 0 if they go both ways, NaN without any."""
    if np.isnan(differences).any():
        return float("nan")
    same = (differences > 0).all() or (differences < 0).all()
    return float(np.abs(differences).min()) if same else 0.0


def _observed(raw: np.ndarray, fill: float | None) -> np.ndarray:
    """Stored values as floats, NaN where there is none."""
    values = raw.astype(float)
    bad = without_value(raw, fill)
    if bad.any():
        values[bad] = np.nan
    return values


def _median(values: np.ndarray, axis: int) -> np.ndarray:
    """The median of the values that are not NaN; NaN if there is none."""
    missing = np.isnan(values)
    if not missing.any():
        return np.median(values, axis=axis)
    out = np.full(values.shape[1], np.nan)
    some = ~missing.all(axis=axis)
    out[some] = np.nanmedian(values[:, some], axis=axis)
    return out
