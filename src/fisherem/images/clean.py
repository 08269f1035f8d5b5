"""From a cube to the rows that are clustered: what is left out is counted, and the rest is clipped and normalised.

    row[i, b] = clip(value[pixel i, band b]) / |clip(value[pixel i, :])|        optionally (row - mean_b) / deviation_b

By default each pixel is divided by its norm and values are clipped at 10 robust deviations; bands are not standardised.
How well sparse Fisher-EM (two-step, AkjB, 0.1) agrees with the truth: on Samson 0.70 unchanged, 0.85 standardised, 0.97
normalised, 0.98 both, and the same by svd; on the demo scene 0.29, 0.29, 0.996, 0.993 (with 3, 47, 6, 14 bands). The
CRISM tile has no known truth, so it decides nothing (docs/images.md). Light and slope multiply a whole spectrum: they
are most of the variance of a scene and say nothing about what the ground is made of. Dividing by the norm removes them.
Standardising gives quiet bands the same weight as the others, and selects more bands without gaining anything.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import median_filter

from .cleaning_report import CleaningReport
from .cube import Cube, Pixels
from .read import read_mask
from .units import parse_range

__all__ = ["CLIP", "CleanPixels", "Cleaned", "clean"]

# Values further than this many robust standard deviations from their band's median are pulled back to that limit.
# Snow, shadow and glint lie within it on the scenes we have; the CRISM tile's spikes lie a thousand deviations out.
CLIP = 10.0
# Pixels that the limits are taken from, spread evenly: a median of 2000 values is good to 3% of a deviation.
_SAMPLE = 2000
# A broken detector: its robust deviation is this many times that of its neighbours (a window of 11 bands), and above
# the level of the signal there, which no absorption can be. The CRISM tile has one such band, 7400 times its
# neighbours; the next has 1.08 times, and Samson's most 1.22 times.
_ERRATIC, _WINDOW = 10.0, 11
# A band without a value in more than this share of the pixels goes; otherwise each of its gaps costs a pixel.
_EMPTY_BAND = 0.5
# Values read at a time.
_CHUNK = 2**20
# Cleaned rows up to this size are made once and kept; larger ones are made from the file again whenever they are read.
_KEEP_BYTES = 2**28


class CleanPixels:
    """The n x p rows that are clustered, made from the cube's pixels when they are read (see `ArrayRows`).

    A slice is valid until the same thread reads the next one: new memory for every slice would cost more than the
    arithmetic.
    """

    ndim = 2

    def __init__(self, pixels: Pixels, index: np.ndarray | None, bands: np.ndarray | None):
        self.pixels, self.index, self.bands = pixels, index, bands  # None: all
        n = len(pixels) if index is None else len(index)
        self.shape = (n, pixels.shape[1] if bands is None else len(bands))
        self.size = n * self.shape[1]
        self.dtype = pixels.dtype
        self.limits: tuple[np.ndarray, np.ndarray] | None = None
        self.factor: np.ndarray | None = None  # n: 1 / norm
        self.standard: tuple[np.ndarray, np.ndarray] | None = None  # p: mean and deviation
        self._buffers = threading.local()

    def __getstate__(self):
        """Everything but the threads' buffers."""
        return {k: v for k, v in self.__dict__.items() if k != "_buffers"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._buffers = threading.local()

    def __len__(self) -> int:
        return self.shape[0]

    def reflectance(self, key) -> np.ndarray:
        """Rows `key` of the chosen pixels and bands (m x p), clipped, but neither normalised nor standardised."""
        values = self._read(key)
        if self.bands is not None:
            values = values[:, self.bands]
        return values if self.limits is None else np.clip(values, *self.limits)

    def _read(self, key) -> np.ndarray:
        if self.index is None:
            return self.pixels[key]
        wanted = self.index[key]
        first, last = (int(wanted[0]), int(wanted[-1])) if len(wanted) else (0, -1)
        # a stretch with gaps: reading across them is cheaper than picking single pixels, until most are gaps
        if isinstance(key, slice) and last - first < 4 * len(wanted):
            return self.pixels[first : last + 1][wanted - first]
        return self.pixels[wanted]

    def __getitem__(self, key) -> np.ndarray:
        if isinstance(key, (int, np.integer)):
            return self[int(key) : int(key) + 1][0].copy()
        values = self.reflectance(key)
        if self.factor is None and self.standard is None:
            return values
        made = self._buffer(len(values)) if isinstance(key, slice) else np.empty(values.shape, self.dtype)
        if self.factor is not None:
            values = np.multiply(values, self.factor[key, None], out=made)
        if self.standard is not None:
            values = np.subtract(values, self.standard[0], out=made)
            values /= self.standard[1]
        return values

    def _buffer(self, n: int) -> np.ndarray:
        """n rows of this thread's memory."""
        buffer = getattr(self._buffers, "array", None)
        if buffer is None or len(buffer) < n:
            buffer = self._buffers.array = np.empty((n, self.shape[1]), self.dtype)
        return buffer[:n]

    def chunks(self):
        """Slices that together cover all rows."""
        step = max(1, _CHUNK // self.pixels.shape[1])
        return (slice(i, min(i + step, len(self))) for i in range(0, len(self), step))


@dataclass(frozen=True)
class Cleaned:
    """The result of cleaning.

    rows (n x p, in memory or read when indexed) · source, their `CleanPixels` · mask (bool, rows x columns), the n
    pixels that are used · bands (p), their numbers from 0 · report, what was left out.
    """

    rows: np.ndarray | CleanPixels = field(repr=False)
    source: CleanPixels = field(repr=False)
    mask: np.ndarray = field(repr=False)
    bands: np.ndarray = field(repr=False)
    report: CleaningReport


def clean(cube: Cube, *, bands=None, mask=None, clip=CLIP, normalise=True, standardise=False) -> Cleaned:
    """Choose the pixels and bands to use, count the others, and make the rows (n x p) that are clustered.

    Parameters
    ----------
    bands : "0.5-2.6um" (wavelengths; several ranges with commas), band numbers from 0, or one bool per band; None: all
    mask : bool (rows x columns), True for the pixels to use, or a file with it
    clip : values further than this many robust standard deviations from the band's median are pulled back; None: none
    normalise : divide each pixel by its norm; or a function that says so when it is given the cleaned pixels
    standardise : give each band mean 0 and variance 1
    """
    report = CleaningReport(n_pixels=cube.shape[0] * cube.shape[1], n_bands=cube.shape[2])
    use = np.ones(cube.shape[:2], bool) if cube.mask is None else cube.mask.copy()
    if mask is not None:
        use &= read_mask(mask, cube.shape[:2])
    use = use.ravel()
    report.masked_by_request = int((~use).sum())
    chosen = _chosen_bands(cube, bands, report)
    limits = None
    if clip is not None:
        *limits, erratic = _limits(cube, use, chosen, float(clip))
        report.bands_erratic = tuple(int(j) for j in np.flatnonzero(erratic))
        chosen = chosen & ~erratic
    chosen, use = _scan(cube, use, chosen, limits, report)
    kept = np.flatnonzero(chosen)
    index = None if use.all() else np.flatnonzero(use)
    rows = CleanPixels(cube.pixels, index, None if chosen.all() else kept)
    if report.clipped and limits is not None:
        scale = rows.dtype.type(cube.scale_factor)
        rows.limits = limits[0][kept].astype(rows.dtype) / scale, limits[1][kept].astype(rows.dtype) / scale
    report.normalised = bool(normalise(rows) if callable(normalise) else normalise)
    if report.normalised:
        _normalise(rows)
    if standardise:
        _standardise(rows)
    report.standardised = standardise
    report.used_pixels, report.used_bands = rows.shape
    made = rows if rows.size * rows.dtype.itemsize > _KEEP_BYTES else _in_memory(rows)
    return Cleaned(made, rows, use.reshape(cube.shape[:2]), kept, report)


def _chosen_bands(cube: Cube, bands, report: CleaningReport) -> np.ndarray:
    chosen = np.ones(cube.shape[2], bool)
    if isinstance(bands, str):
        chosen = parse_range(bands, cube.wavelengths, cube.units)
    elif bands is not None:
        asked = np.asarray(bands)
        if asked.dtype == bool and asked.shape != (cube.shape[2],):
            raise ValueError(f"bands must have one True or False per band ({cube.shape[2]}); got {asked.shape}")
        if asked.dtype != bool and not (asked.dtype.kind in "iu" and ((asked >= 0) & (asked < cube.shape[2])).all()):
            raise ValueError(f"bands must be wavelengths ('0.5-2.6um') or band numbers from 0 to {cube.shape[2] - 1}")
        chosen = np.zeros(cube.shape[2], bool)
        chosen[asked] = True
    report.bands_not_asked = int((~chosen).sum())
    if cube.bad_bands is not None:
        report.bands_bad = tuple(int(j) for j in np.flatnonzero(chosen & cube.bad_bands))
        chosen = chosen & ~cube.bad_bands
    if not chosen.any():
        raise ValueError("no band is left: all that were asked for are in the bad-band list")
    return chosen


def _invalid(raw: np.ndarray, fill: float | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Where the fill value is, and where NaN or infinity is (None for integers): bool arrays of the shape of `raw`."""
    is_fill = np.zeros(raw.shape, bool) if fill is None else raw == _stored(fill, raw.dtype)
    return is_fill, (~np.isfinite(raw) if raw.dtype.kind == "f" else None)


def _stored(fill: float, dtype: np.dtype):
    """The fill value in the file's own type: headers write it in decimals."""
    return dtype.type(fill) if dtype.kind == "f" else fill


def _limits(cube: Cube, use, chosen, clip: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper limit per band, in stored units, from an even sample of pixels; and which bands are erratic."""
    if clip <= 0:
        raise ValueError(f"clip must be above 0 (robust standard deviations), or None; got {clip!r}")
    candidates = np.flatnonzero(use)
    low, high = np.full(cube.shape[2], -np.inf), np.full(cube.shape[2], np.inf)
    erratic = np.zeros(cube.shape[2], bool)
    middle, spread = _levels(cube, candidates[:: max(1, len(candidates) // _SAMPLE)])
    whole = chosen & np.isfinite(middle)
    if whole.any():
        middle, spread = middle[whole], spread[whole]
        around, level = (median_filter(v, _WINDOW, mode="nearest") for v in (spread, np.abs(middle)))
        erratic[whole] = (spread > _ERRATIC * around) & (spread > level)
        spread[spread == 0] = np.inf  # half of the values are the same number: there is no scale to judge by
        low[whole], high[whole] = middle - clip * spread, middle + clip * spread
    return low, high, erratic


def _levels(cube: Cube, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median and robust deviation of every band among the sampled pixels, in stored units; NaN where none has a value.

    Some bands at a time: a median takes several copies of what it is taken of.
    """
    middle, spread = np.full(cube.shape[2], np.nan), np.full(cube.shape[2], np.nan)
    for first, raw in cube.pixels.raw_bands(sample, max(1, _CHUNK // max(1, len(sample)))):
        is_fill, not_finite = _invalid(raw, cube.fill_value)
        bad = is_fill if not_finite is None else is_fill | not_finite
        found = np.flatnonzero(~bad.all(axis=0))
        values, gaps = raw[:, found].astype(float), bad[:, found]
        if not values.size:
            continue
        values[gaps] = np.nan
        median_of = np.nanmedian if gaps.any() else np.median
        middle[first + found] = median_of(values, axis=0)
        spread[first + found] = 1.4826 * median_of(np.abs(values - middle[first + found]), axis=0)
    return middle, spread


def _scan(cube: Cube, use, chosen, limits, report: CleaningReport) -> tuple[np.ndarray, np.ndarray]:
    """Leave out bands without values or variation, and pixels with gaps: (bands, pixels) to use, as bool."""
    found = _look(cube, use, chosen, limits)
    empty = chosen & (found.gaps > _EMPTY_BAND * max(1, int(use.sum()) - found.n_blank))
    if empty.any():
        report.bands_empty = tuple(int(j) for j in np.flatnonzero(empty))
        found = _look(cube, use, chosen := chosen & ~empty, limits)
    report.fill_pixels, report.not_finite_pixels = found.n_fill, found.n_not_finite
    report.dark_pixels, report.clipped = found.n_dark, found.n_clipped
    use = use & ~found.pixels
    if not use.any():
        raise ValueError(f"all pixels are invalid: nothing to cluster ({report.brief()})")
    constant = chosen & ~found.varies
    report.bands_constant = tuple(int(j) for j in np.flatnonzero(constant))
    chosen = chosen & ~constant
    if chosen.sum() < 2:
        raise ValueError(f"{int(chosen.sum())} bands are left after cleaning, at least 2 are needed ({report.brief()})")
    return chosen, use


@dataclass
class _Found:
    pixels: np.ndarray  # bool n: a gap in some chosen band, or 0 in all
    gaps: np.ndarray  # per band: pixels that have other values but not this one
    varies: np.ndarray  # per band: more than one value among the pixels without gaps
    n_blank: int = 0  # pixels without any value
    n_fill: int = 0
    n_not_finite: int = 0
    n_dark: int = 0
    n_clipped: int = 0


def _look(cube: Cube, use, chosen, limits) -> _Found:
    """What one pass over the pixels finds."""
    n_all, p = cube.pixels.shape
    found = _Found(np.zeros(n_all, bool), np.zeros(p, int), np.zeros(p, bool))
    columns = slice(None) if chosen.all() else np.flatnonzero(chosen)
    low, high = (np.empty(0), np.empty(0)) if limits is None else (limits[0][columns], limits[1][columns])
    first: np.ndarray | None = None
    step = max(1, _CHUNK // p)
    for start in range(0, n_all, step):
        here = np.flatnonzero(use[start : start + step])
        raw = cube.pixels.raw(slice(start, min(start + step, n_all)))
        raw = (raw if len(here) == len(raw) else raw[here])[:, columns]
        is_fill, not_finite = _invalid(raw, cube.fill_value)
        bad = is_fill if not_finite is None else is_fill | not_finite
        dark = ~raw.any(axis=1)
        rows_bad = bad.any(axis=1) | dark
        if rows_bad.any():
            with_fill = is_fill.any(axis=1)
            blank: np.ndarray = np.asarray(bad.all(axis=1))
            found.pixels[start + here] = rows_bad
            found.gaps[columns] += (bad & ~blank[:, None]).sum(axis=0)
            found.n_blank += int(blank.sum())
            found.n_fill += int(with_fill.sum())
            found.n_dark += int((dark & ~with_fill).sum())
            found.n_not_finite += int((rows_bad & ~with_fill & ~dark).sum())
            raw = raw[~rows_bad]
        if not len(raw):
            continue
        first = raw[0].copy() if first is None else first
        lowest, highest = raw.min(axis=0), raw.max(axis=0)
        found.varies[columns] |= (lowest != first) | (highest != first)
        if limits is not None:
            beyond = np.flatnonzero((lowest < low) | (highest > high))
            part = raw[:, beyond]
            found.n_clipped += int(np.count_nonzero((part < low[beyond]) | (part > high[beyond])))
    return found


def _normalise(rows: CleanPixels) -> None:
    """Let every row be divided by its norm."""
    norms = np.empty(len(rows), rows.dtype)
    for part in rows.chunks():
        values = rows.reflectance(part)
        norms[part] = np.sqrt(np.einsum("ij,ij->i", values, values))
    norms[norms == 0] = 1  # nothing but constant bands had a value: the row stays 0
    rows.factor = 1 / norms


def _standardise(rows: CleanPixels) -> None:
    total = np.zeros(rows.shape[1])
    squares = np.zeros(rows.shape[1])
    shift = rows[:1][0].astype(float)  # near the mean: the difference of squares then loses few digits
    for part in rows.chunks():
        values = rows[part] - shift
        total += values.sum(axis=0)
        squares += (values * values).sum(axis=0)
    mean = total / len(rows)
    deviation = np.sqrt(np.maximum(squares / len(rows) - mean**2, np.finfo(float).tiny))
    rows.standard = (mean + shift).astype(rows.dtype), deviation.astype(rows.dtype)


def _in_memory(rows: CleanPixels) -> np.ndarray:
    made = np.empty(rows.shape, rows.dtype)
    for part in rows.chunks():
        made[part] = rows[part]
    return made
