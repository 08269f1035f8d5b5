"""Which bands of a cube are those of a model: by wavelength, or by number where the model has no wavelengths.

    value[i, b] = (1 - share[b]) cube[i, left[b]] + share[b] cube[i, right[b]]          b = 1 .. p, bands of the model

With the nearest bands `share` is 0; with `resample` it interpolates between the two bands around a wavelength.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.wording import count
from ..policy.thresholds import THRESHOLDS
from .clean_pixels import CleanPixels
from .cube import Cube
from .units import wavelength_units

__all__ = ["Matched", "MatchedPixels", "match_bands"]

_FACTORS = {("um", "nm"): 1e3, ("nm", "um"): 1e-3}


@dataclass(frozen=True)
class Matched:
    """For each of the p bands of a model the bands `left` and `right` of a cube (from 0), and the `share` of the right
    one. `absent` (bool, p) are bands that the cube does not have and that can be done without."""

    left: np.ndarray
    right: np.ndarray
    share: np.ndarray
    absent: np.ndarray

    @property
    def nearest(self) -> np.ndarray:
        """The nearer of the two bands (p)."""
        return np.where(self.share > 0.5, self.right, self.left)

    @property
    def needed(self) -> np.ndarray:
        """The numbers of all bands of the cube that are used."""
        return np.union1d(self.left[~self.absent], self.right[~self.absent])


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
        if self.matched.absent.any():
            values = np.array(values)
            values[:, self.matched.absent] = np.nan
        return values if self.limits is None else np.clip(values, *self.limits)


def match_bands(
    wavelengths: np.ndarray | None, units: str, bands: np.ndarray, n_bands: int, cube: Cube, *,
    selected: np.ndarray, tolerance: float | None = None, resample: bool = False,
) -> Matched:  # fmt: skip
    """The bands of `cube` for a model with `wavelengths` (p) in `units`, or with the numbers `bands` of `n_bands`.

    Bands of the cube that are bad are not used. A few of the model's bands that are not `selected` (bool, p) may be
    absent. A ValueError says which bands are not found.
    """
    scene = cube.path or "the cube"
    if wavelengths is None:
        if cube.shape[2] != n_bands:
            raise ValueError(
                f"{scene} has {count(cube.shape[2], 'band')}, but the model was made from a scene of {n_bands} bands "
                "without wavelengths: bands can be matched by number only, so both must have the same"
            )
        absent = np.zeros(len(bands), bool) if cube.bad_bands is None else cube.bad_bands[bands]
        _check_absent(absent, selected, scene, [f"number {b + 1}" for b in bands], "they are bad bands in it")
        return Matched(bands, bands, np.zeros(len(bands)), absent)
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
        allowed = (
            THRESHOLDS.band_distance * spacing if tolerance is None else np.full(len(wavelengths), float(tolerance))
        )
        distance = np.abs(own[left] - wavelengths)
        missing = distance > allowed * (1 + 1e-9)
        advice = (
            f"its nearest bands are up to {distance.max():.3g} {units} away, {allowed[distance.argmax()]:.3g} are "
            "allowed; tolerance= (--tolerance) allows more, resample=True (--resample) interpolates"
        )
    _check_absent(missing, selected, scene, [f"at {w:g} {units}" for w in wavelengths], advice)
    if not resample:
        _check_once(left, ~missing, wavelengths, units, scene)
    return Matched(good[left], good[right], share, missing)


def _check_absent(missing: np.ndarray, selected: np.ndarray, scene: str, names: list[str], advice: str) -> None:
    """Raise an error if bands are missing that the model cannot do without."""
    needed = missing & selected
    if needed.any() or missing.sum() > THRESHOLDS.bands_absent * len(missing):
        first = int(np.flatnonzero(needed if needed.any() else missing)[0])
        raise ValueError(
            f"{scene} lacks {count(int(missing.sum()), 'band')} of the {len(missing)} of the model, "
            f"{count(int(needed.sum()), 'selected one')} among them, the first {names[first]}: {advice}"
        )


def _check_once(left: np.ndarray, there: np.ndarray, wavelengths: np.ndarray, units: str, scene: str) -> None:
    """Raise an error if two bands of the model have the same nearest band."""
    taken, counts = np.unique(left[there], return_counts=True)
    if (counts > 1).any():
        both = wavelengths[there & (left == taken[counts > 1][0])]
        raise ValueError(
            f"{scene} has one band for two of the model, at {both[0]:g} and {both[1]:g} {units}: give a smaller "
            "tolerance= (--tolerance), or resample=True (--resample)"
        )


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
    inside = (wanted >= own[0]) & (wanted <= own[-1]) & (np.maximum(before, after) <= THRESHOLDS.band_reach * spacing)
    near = np.minimum(before, after) <= THRESHOLDS.band_distance * spacing  # it stands for the wavelength alone
    missing = ~inside & ~near
    return left, right, np.clip(share, 0, 1), missing
