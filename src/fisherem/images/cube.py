"""The cube: rows x columns x bands, read a few lines at a time, with the metadata of its file.

`Pixels` is the same data as a table: pixel i = row * columns + column, out[i, b] = data[row, column, b] / scale. Every
interleave is a strided view of one array in memory or on disk, so a slice of pixels copies only those lines.
Large compressed files are read as `LazyLines`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..tables.masked import unmasked
from .georeference import Georeference
from .lines import LazyLines

__all__ = ["Cube", "Pixels"]


def _float_type(dtype: np.dtype) -> np.dtype:
    """float32 where it holds every value exactly (integers up to 16 bits), else float64."""
    exact = dtype.kind in "iub" and dtype.itemsize <= 2
    return np.dtype(np.float32 if exact or (dtype.kind == "f" and dtype.itemsize <= 4) else np.float64)


class Pixels:
    """The n x bands table of a cube's pixels, read when indexed.

    `pixels[a:b]` and `pixels[index array]` give native floats divided by the scale factor; `raw` gives the same pixels
    as they are stored, for comparison with a fill value.
    """

    ndim = 2

    def __init__(self, view: np.ndarray | LazyLines, scale: float = 1.0):
        self.view, self.scale = view, scale  # view: rows x columns x bands, any strides, or read line by line
        rows, columns, bands = view.shape
        self.columns = columns
        self.shape = (rows * columns, bands)
        self.dtype = _float_type(view.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def raw(self, key) -> np.ndarray:
        """Stored values of a slice (step 1) or of an array of pixel numbers: m x bands."""
        if isinstance(key, slice):
            start, stop, _ = key.indices(len(self))
            first = start // self.columns
            lines = self.view[first : -(-stop // self.columns)]
            flat = lines.reshape(-1, self.shape[1])  # a view where the bands lie together (bip), else these lines
            return flat[start - first * self.columns : stop - first * self.columns]
        key = np.asarray(key)
        return self.view[key // self.columns, key % self.columns]

    def raw_bands(self, key: np.ndarray, step: int) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the first band, stored values of these pixels), `step` bands at a time: m x step."""
        row, column = key // self.columns, key % self.columns
        # decompressed once, not at every step
        held = self.view[row, column] if isinstance(self.view, LazyLines) else None
        for first in range(0, self.shape[1], step):
            bands = slice(first, first + step)
            yield first, self.view[row, column, bands] if held is None else held[:, bands]

    def __getitem__(self, key) -> np.ndarray:
        values = np.asarray(self.raw(key)).astype(self.dtype, copy=False)
        return values if self.scale == 1 else values / self.dtype.type(self.scale)


@dataclass(frozen=True)
class Cube:
    """An image of rows x columns x bands (a strided view, on disk where the format allows, or `LazyLines` of a large
    compressed file) and the metadata of the file.

    wavelengths (bands) in `units` ("um", "nm" or "") · band_names (bands) · bad_bands (bool, bands) ·
    mask (bool, rows x columns, True for pixels to use) · fill_value, as stored · scale_factor, what stored values are
    divided by · georeference · path · default_bands, those (from 0) that the file shows as red, green and blue ·
    remarks, what reading it has to say · labelled, the DataArray that it was made of.
    """

    data: np.ndarray | LazyLines = field(repr=False)
    wavelengths: np.ndarray | None = None
    units: str = ""
    band_names: tuple[str, ...] | None = None
    bad_bands: np.ndarray | None = None
    mask: np.ndarray | None = None
    fill_value: float | None = None
    scale_factor: float = 1.0
    georeference: Georeference = field(default_factory=Georeference)
    path: str = ""
    default_bands: tuple[int, int, int] | None = None
    remarks: tuple[str, ...] = ()
    labelled: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self):
        if np.ma.isMaskedArray(self.data):  # masked cells are missing values
            object.__setattr__(self, "data", unmasked(self.data))
        if self.data.ndim != 3:
            raise ValueError(f"a cube has rows x columns x bands; got an array of shape {self.data.shape}")
        if self.data.dtype.kind not in "iufb":
            raise ValueError(f"a cube holds real numbers; got data type {self.data.dtype}")
        for name in ("wavelengths", "band_names", "bad_bands"):
            value = getattr(self, name)
            if value is not None and len(value) != self.shape[2]:
                raise ValueError(f"{name} must have one entry per band ({self.shape[2]}); got {len(value)}")
        if self.mask is not None and self.mask.shape != self.shape[:2]:
            raise ValueError(f"the mask must have the cube's rows x columns {self.shape[:2]}; got {self.mask.shape}")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(rows, columns, bands)."""
        return self.data.shape  # type: ignore[return-value]

    @property
    def pixels(self) -> Pixels:
        """The n x bands table of the pixels in row-major order, read when indexed."""
        return Pixels(self.data, self.scale_factor)

    def names(self) -> list[str]:
        """One name per band: the file's, else the wavelength, else "band 1", "band 2", ..."""
        if self.band_names is not None:
            return list(self.band_names)
        if self.wavelengths is not None:
            return [f"{w:.6g} {self.units}".strip() for w in self.wavelengths]
        return [f"band {j + 1}" for j in range(self.shape[2])]
