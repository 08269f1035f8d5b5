"""The colour view of a scene: three bands as red, green and blue, in natural or in false colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .clean_pixels import without_value
from .cube import Cube
from .lines import LazyLines

__all__ = ["NATURAL", "check_rgb", "colour_bands", "colour_view"]

# Wavelengths of red, green and blue in micrometres, and how far from them a band may lie: the receptors of the eye are
# about that broad.
NATURAL = (0.65, 0.55, 0.46)
_WITHIN = 0.04
_PER_MICROMETRE = {"um": 1.0, "nm": 1000.0}
# The darkest and brightest 2% of each channel are clipped, as viewers of satellite images do; otherwise a few bright
# pixels would make all others dark.
_CLIPPED = (2, 98)
# The number of lines read at a time from a compressed file.
_LINES = 64


def check_rgb(rgb: Sequence[int] | None, n_bands: int) -> tuple[int, int, int] | None:
    """Three numbers of bands (from 0) as a tuple; None stays."""
    if rgb is None:
        return None
    numbers = [rgb] if isinstance(rgb, (str, int)) else list(rgb)
    whole = all(isinstance(b, (int, np.integer)) and 0 <= b < n_bands for b in numbers)
    if len(numbers) != 3 or not whole:
        raise ValueError(f"rgb must be three bands from 0 to {n_bands - 1}, for red, green and blue; got {rgb!r}")
    return int(numbers[0]), int(numbers[1]), int(numbers[2])


def colour_bands(cube: Cube, used: np.ndarray) -> tuple[tuple[int, int, int], bool]:
    """(bands for red, green and blue, whether these are natural colours), among the bands that were `used` (bool).

    The file's own default bands come first. Natural colours need bands near 650, 550 and 460 nm. Otherwise the bands
    lie at one sixth, a half and five sixths of the spectrum, the longest wavelength as red; three bands without
    wavelengths are red, green and blue.
    """
    bands = np.flatnonzero(used)
    if cube.default_bands is not None:
        return cube.default_bands, _natural(cube, cube.default_bands)
    if cube.wavelengths is None:
        if len(used) == 3 and used.all():
            return (0, 1, 2), True
    else:
        waves = np.asarray(cube.wavelengths, float)[bands]
        unit = _PER_MICROMETRE.get(cube.units)
        if unit is not None:
            nearest = [int(np.abs(waves / unit - target).argmin()) for target in NATURAL]
            if all(abs(waves[j] / unit - w) <= _WITHIN for j, w in zip(nearest, NATURAL, strict=True)):
                return (int(bands[nearest[0]]), int(bands[nearest[1]]), int(bands[nearest[2]])), True
        bands = bands[np.argsort(waves, kind="stable")]
    red, green, blue = (int(bands[int(share * len(bands))]) for share in (5 / 6, 1 / 2, 1 / 6))
    return (red, green, blue), False


def _natural(cube: Cube, bands: Sequence[int]) -> bool:
    """Whether these bands are near red, green and blue."""
    unit = _PER_MICROMETRE.get(cube.units)
    if cube.wavelengths is None or unit is None:
        return False
    waves = np.asarray(cube.wavelengths, float)[list(bands)] / unit
    return bool((np.abs(waves - np.array(NATURAL)) <= _WITHIN).all())


def colour_view(cube: Cube, bands: Sequence[int], shown: np.ndarray) -> np.ndarray:
    """rows x columns x 3 (uint8): three bands, each stretched between its 2% and 98% quantile over the pixels `shown`
    (bool, rows x columns); 0 elsewhere. A missing value is shown at half intensity."""
    values = _three(cube, list(bands))
    out = np.zeros(values.shape, np.uint8)
    for channel in range(3):
        stored = values[..., channel][shown]
        inside, observed = stored.astype(float), ~without_value(stored, cube.fill_value)
        low, high = np.percentile(inside[observed], _CLIPPED) if observed.any() else (0.0, 0.0)
        level = np.full(len(inside), 0.5)
        if high > low:
            level[observed] = (inside[observed] - low) / (high - low)
        out[..., channel][shown] = np.round(255 * np.clip(level, 0, 1))
    return out


def _three(cube: Cube, bands: list[int]) -> np.ndarray:
    """rows x columns x 3 of stored values: their scale does not matter to the view."""
    data = cube.data
    if isinstance(data, LazyLines):
        starts = range(0, data.shape[0], _LINES)
        return np.concatenate([data[first : first + _LINES][:, :, bands] for first in starts])
    return np.stack([np.asarray(data[:, :, b]) for b in bands], axis=2)
