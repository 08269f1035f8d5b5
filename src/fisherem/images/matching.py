"""Which bands of a cube are those of a model: by wavelength, or by number where the model has no wavelengths.

    value[i, b] = (1 - share[b]) cube[i, left[b]] + share[b] cube[i, right[b]]          b = 1 .. p, bands of the model

With the nearest bands `share` is 0; with `resample` it interpolates between the two bands around a wavelength.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.wording import count
from .clean_pixels import CleanPixels
from .cube import Cube
from .units import wavelength_units

__all__ = ["TOLERANCE", "Matched", "MatchedPixels", "match_bands"]

# How far the nearest band may lie, as a share of the distance between neighbouring bands of the model. Sensors are
# about as wide in wavelength as their bands are apart, so a band that is off by a quarter measures three quarters of
# the same light. Repeated scenes of one sensor differ by less than a tenth.
TOLERANCE = 0.25
# Resampling interpolates between bands that are at most this many distances of neighbouring bands away (of the model or
# the cube, the wider ones): one bad band may be bridged, a gap of many bands, as in the atmosphere's water, may not.
_REACH = 2.0
_FACTORS = {("um", "nm"): 1e3, ("nm", "um"): 1e-3}


@dataclass(frozen=True)
class Matched:
    """For each of the p bands of a model the bands `left` and `right` of a cube (from 0), and the `share` of the right
    one."""

    left: np.ndarray
    right: np.ndarray
    share: np.ndarray

    @property
    def nearest(self) -> np.ndarray:
        """The nearer of the two bands (p)."""
        return np.where(self.share > 0.5, self.right, self.left)

    @property
    def needed(self) -> np.ndarray:
        """The numbers of all bands of the cube that are used."""
        return np.union1d(self.left, self.right)


class MatchedPixels(CleanPixels):
    """The pixels of a cube at the p bands of a model (n x p)."""

    def __init__(self, cube: Cube, index: np.ndarray, matched: Matched):
        super().__init__(cube.pixels, index, matched.left)
        self.matched = matched

    def reflectance(self, key) -> np.ndarray:
        """Rows `key` (m x p), interpolated and clipped, but neither normalised nor standardised."""
        stored = self._read(key)
        values = stored[:, self.matched.left]
        if self.matched.share.any():
            share = self.matched.share.astype(values.dtype)
            values = (1 - share) * values + share * stored[:, self.matched.right]
        return values if self.limits is None else np.clip(values, *self.limits)


def match_bands(
    wavelengths: np.ndarray | None, units: str, bands: np.ndarray, n_bands: int, cube: Cube, *,
    tolerance: float | None = None, resample: bool = False,
) -> Matched:  # fmt: skip
    """The bands of `cube` for a model with `wavelengths` (p) in `units`, or with the numbers `bands` of `n_bands`.

    Bands of the cube that are listed as bad are not used. A ValueError says which bands are not found.
    """
    scene = cube.path or "the cube"
    if wavelengths is None:
        if cube.shape[2] != n_bands:
            raise ValueError(
                f"{scene} has {count(cube.shape[2], 'band')}, but the model was made from a scene of {n_bands} bands "
                "without wavelengths: bands can be matched by number only, so both must have the same"
            )
        return Matched(bands, bands, np.zeros(len(bands)))
    if cube.wavelengths is None:
        raise ValueError(
            f"{scene} has no wavelengths, but the model needs bands from {wavelengths.min():g} to "
            f"{wavelengths.max():g} {units}: add them to the file, or give wavelengths= to fisherem.images.read"
        )
    good = np.flatnonzero(np.isfinite(cube.wavelengths) & (True if cube.bad_bands is None else ~cube.bad_bands))
    if not len(good):
        raise ValueError(f"{scene} has no band that is not in its bad-band list")
    unit = wavelength_units(cube.units, cube.wavelengths)
    own = np.asarray(cube.wavelengths, float)[good] * _FACTORS.get((unit, units), 1.0)
    order = np.argsort(own, kind="stable")
    good, own = good[order], own[order]
    spacing = _spacing(wavelengths)
    if resample:
        found = _between(wavelengths, own, np.maximum(spacing, np.median(_spacing(own))))
        left, right, share, missing = found
        advice = "it has no bands around them"
    else:
        left = right = np.abs(own - wavelengths[:, None]).argmin(axis=1)
        share = np.zeros(len(wavelengths))
        allowed = TOLERANCE * spacing if tolerance is None else np.full(len(wavelengths), float(tolerance))
        distance = np.abs(own[left] - wavelengths)
        missing = distance > allowed * (1 + 1e-9)
        advice = (
            f"its nearest bands are up to {distance.max():.3g} {units} away, {allowed[distance.argmax()]:.3g} are "
            "allowed; tolerance= (--tolerance) allows more, resample=True (--resample) interpolates"
        )
    if missing.any():
        first = wavelengths[missing]
        raise ValueError(
            f"{scene} lacks {count(int(missing.sum()), 'band')} of the {len(wavelengths)} of the model, the first at "
            f"{first[0]:g} {units}: {advice}"
        )
    return Matched(good[left], good[right], share)


def _spacing(wavelengths: np.ndarray) -> np.ndarray:
    """The distance from each band to its nearest neighbour in wavelength; infinite for a single band."""
    order = np.argsort(wavelengths, kind="stable")
    steps = np.diff(np.asarray(wavelengths, float)[order])
    out = np.empty(len(order))
    out[order] = np.minimum(np.append(steps, np.inf), np.append(np.inf, steps))
    typical = np.median(steps) if len(steps) else np.inf
    return np.maximum(out, 0.1 * typical)  # overlapping detectors measure some wavelengths twice


def _between(wanted: np.ndarray, own: np.ndarray, spacing: np.ndarray):
    """(left, right, share, which are missing) of the ascending wavelengths `own` around each of `wanted`."""
    right = np.clip(np.searchsorted(own, wanted), 1 if len(own) > 1 else 0, len(own) - 1)
    left = np.maximum(right - 1, 0)
    gap = own[right] - own[left]
    share = np.divide(wanted - own[left], gap, out=np.zeros(len(wanted)), where=gap > 0)
    before, after = np.abs(wanted - own[left]), np.abs(own[right] - wanted)
    inside = (wanted >= own[0]) & (wanted <= own[-1]) & (np.maximum(before, after) <= _REACH * spacing)
    missing = ~inside & (np.minimum(before, after) > TOLERANCE * spacing)  # a band that near stands for it alone
    return left, right, np.clip(share, 0, 1), missing
