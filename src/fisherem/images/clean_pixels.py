"""The rows that are clustered, computed from a cube's pixels when they are read: clipped, divided, standardised."""

from __future__ import annotations

import threading

import numpy as np

from .cube import Pixels

__all__ = [
    "CHUNK",
    "SOFT",
    "CleanPixels",
    "divide_by_norms",
    "in_memory",
    "invalid",
    "norms_of",
    "standardise_bands",
    "without_value",
]

_UNIT = "values are as large or small as numbers can be, so give the image in another unit"
# What is said for division by sqrt(norm^2 + c^2) with the median norm c.
SOFT = "soft"
# The number of values read at a time.
CHUNK = 2**20


def invalid(raw: np.ndarray, fill: float | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Where the fill value is, and where NaN or infinity is (None for integers): bool arrays of the shape of `raw`."""
    is_fill = np.zeros(raw.shape, bool) if fill is None else raw == _stored(fill, raw.dtype)
    return is_fill, (~np.isfinite(raw) if raw.dtype.kind == "f" else None)


def without_value(raw: np.ndarray, fill: float | None) -> np.ndarray:
    """Where there is no value."""
    is_fill, not_finite = invalid(raw, fill)
    return is_fill if not_finite is None else is_fill | not_finite


def _stored(fill: float, dtype: np.dtype):
    """The fill value in the file's own type: headers write it in decimals."""
    return dtype.type(fill) if dtype.kind == "f" else fill


class CleanPixels:
    """The n x p rows that are clustered, computed from the cube's pixels when they are read (see `ArrayRows`).

    A slice is valid until the same thread reads the next one: allocating memory for every slice would take longer than
    the arithmetic.
    """

    ndim = 2

    def __init__(self, pixels: Pixels, index: np.ndarray | None, bands: np.ndarray | None):
        self.pixels, self.index, self.bands = pixels, index, bands  # None: all
        n = len(pixels) if index is None else len(index)
        self.shape = (n, pixels.shape[1] if bands is None else len(bands))
        self.size = n * self.shape[1]
        self.dtype = pixels.dtype
        self.limits: tuple[np.ndarray, np.ndarray] | None = None
        self.fill: tuple[float | None] | None = None  # the stored fill value, where gaps are kept: they become NaN
        self.factor: np.ndarray | None = None  # n: 1 / norm, or 1 / sqrt(norm^2 + c^2)
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
            return self._values(key)
        wanted = self.index[key]
        first, last = (int(wanted[0]), int(wanted[-1])) if len(wanted) else (0, -1)
        # reading a range is faster than single pixels, unless most pixels of the range are not needed
        if isinstance(key, slice) and last - first < 4 * len(wanted):
            return self._values(slice(first, last + 1))[wanted - first]
        return self._values(wanted)

    def _values(self, key) -> np.ndarray:
        """Pixels `key` of the cube (m x bands), with NaN where they have no value."""
        values = self.pixels[key]
        return (
            values if self.fill is None else np.where(without_value(self.pixels.raw(key), self.fill[0]), np.nan, values)
        )

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
        step = max(1, CHUNK // self.pixels.shape[1])
        return (slice(i, min(i + step, len(self))) for i in range(0, len(self), step))


def divide_by_norms(rows: CleanPixels, squares: np.ndarray | None = None, dark: float | None = 0.0) -> float:
    """Divide every row by sqrt(norm^2 + dark^2); returns `dark`, for None the median norm.

    Missing values count with the average square of their band, by default among these rows, else `squares` (p, in
    any common unit).
    """
    norms = np.empty(len(rows), rows.dtype)
    mean = None
    if rows.fill is not None:
        mean = _mean_squares(rows) if squares is None else squares
    for part in rows.chunks():
        values = rows.reflectance(part)
        if mean is None:
            norms[part] = norms_of(values)
        else:
            observed = np.isfinite(values)
            seen = norms_of(np.where(observed, values, 0).astype(float))
            norms[part] = seen * np.sqrt(mean.sum() / np.maximum(observed @ mean, np.finfo(float).tiny))
    dark = float(np.median(norms)) if dark is None else dark
    norms = np.hypot(norms, rows.dtype.type(dark))
    norms[norms == 0] = 1  # only constant bands had values: the row stays 0
    with np.errstate(divide="ignore", over="ignore"):
        rows.factor = 1 / norms
    if not (np.isfinite(rows.factor) & (rows.factor > 0)).all():
        raise ValueError(f"pixels cannot be divided by their norms: {_UNIT}, or do not normalise")
    return dark


def norms_of(values: np.ndarray) -> np.ndarray:
    """Euclidean norms of rows (m x p), also where squares overflow or vanish."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", values, values)
    limits = np.finfo(squares.dtype)
    norms = np.sqrt(squares)
    odd = np.flatnonzero(~np.isfinite(squares) | (squares < limits.tiny / limits.eps))
    if len(odd):
        exponents = np.frexp(np.abs(values[odd]).max(axis=1, initial=0))[1]
        norms[odd] = np.ldexp(np.linalg.norm(np.ldexp(values[odd], -exponents[:, None]), axis=1), exponents)
    return norms


def _mean_squares(rows: CleanPixels) -> np.ndarray:
    """The mean square of each band among the pixels that have a value there (p), in a unit of all bands in which no
    square overflows."""
    sums, counts, exponent = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), None
    for part in rows.chunks():
        values = rows.reflectance(part).astype(float)
        largest = int(np.frexp(np.nanmax(np.abs(values), initial=0.0))[1])
        if exponent is None or largest > exponent:
            sums = sums if exponent is None else np.ldexp(sums, 2 * (exponent - largest))
            exponent = largest
        sums += np.nansum(np.ldexp(values, -exponent) ** 2, axis=0)
        counts += np.isfinite(values).sum(axis=0)
    return sums / np.maximum(counts, 1)


def standardise_bands(rows: CleanPixels) -> None:
    """Give every band mean 0 and variance 1 among these rows."""
    total, squares, counts, largest = (np.zeros(rows.shape[1]) for _ in range(4))
    shift = np.nan_to_num(rows[:1][0].astype(float))  # near the mean: the difference of squares then loses few digits
    for part in rows.chunks():
        values = rows[part] - shift
        if rows.fill is not None:
            counts -= np.isnan(values).sum(axis=0)
            values = np.nan_to_num(values)
        counts += len(values)
        with np.errstate(over="ignore"):
            total += values.sum(axis=0)
            squares += (values * values).sum(axis=0)
        largest = np.maximum(largest, np.abs(values).max(axis=0, initial=0))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = total / counts
        variance = squares / counts - mean**2
    vanished = (squares < np.finfo(float).tiny) & (largest > 0)
    if not np.isfinite(variance).all() or vanished.any():
        raise ValueError(f"bands cannot be standardised, as their variances overflow or vanish: {_UNIT}")
    deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    rows.standard = (mean + shift).astype(rows.dtype), deviation.astype(rows.dtype)


def in_memory(rows: CleanPixels) -> np.ndarray:
    """All rows as an array (n x p)."""
    made = np.empty(rows.shape, rows.dtype if rows.fill is None else float)
    for part in rows.chunks():
        made[part] = rows[part]
    return made
