"""Which library spectra the groups look like: by spectral angle, and by the fit of the library's absorption features.

    angle(a, b) = arccos(a . b / |a| |b|)                              0 for the same shape, whatever the brightness
    fit(g, l)   = sum_f area_f r_f^2 / sum_f area_f                    1 for the same features, whatever their depth

f runs over the features of the library spectrum, r_f is the correlation of both spectra in f after division by the line
between its ends (0 if it is negative), and area_f the area that the feature takes from the library spectrum (after
Clark et al. 2003, Tetracorder). Library spectra are interpolated to the bands that were used.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..policy.thresholds import THRESHOLDS
from .continuum import continuum_removed, features
from .library import Library

__all__ = ["Identified", "feature_fit", "identify", "spectral_angle"]

_FACTORS = {("um", "nm"): 1e3, ("nm", "um"): 1e-3}


@dataclass(frozen=True)
class Identified:
    """K groups against m library spectra.

    angles (K x m, in degrees) and fits (K x m); NaN where they cannot be compared.
    """

    groups: tuple[str, ...]
    names: tuple[str, ...]
    angles: np.ndarray = field(repr=False)
    fits: np.ndarray = field(repr=False)
    library: str = ""

    def table(self) -> pd.DataFrame:
        """A row per group and way: the nearest library spectrum with its value, and the runner-up with its value."""
        rows = []
        for k, group in enumerate(self.groups):
            for way, values, sign in (("spectral angle", self.angles[k], 1), ("feature fit", self.fits[k], -1)):
                order = [j for j in np.argsort(sign * values, kind="stable") if np.isfinite(values[j])]
                best, second = [*order[:2], None, None][:2]
                rows.append(
                    {
                        "group": group, "by": way, "nearest": _name(self.names, best), "value": _at(values, best),
                        "runner_up": _name(self.names, second), "runner_up_value": _at(values, second),
                    }
                )  # fmt: skip
        return pd.DataFrame(rows)

    def lines(self) -> list[str]:
        """One line per group: "group 1: kaolinite by angle (3.1 degrees, then illite 5.2), ..."."""
        table, out = self.table(), []
        for group in self.groups:
            said = []
            for row in table[table["group"] == group].to_dict("records"):
                unit = " degrees" if row["by"] == "spectral angle" else ""
                if not row["nearest"]:
                    said.append(f"nothing by {row['by']}")
                    continue
                after = f", then {row['runner_up']} {row['runner_up_value']:.3g}" if row["runner_up"] else ""
                said.append(f"{row['nearest']} by {row['by']} ({row['value']:.3g}{unit}{after})")
            out.append(f"{group} is nearest to {' and '.join(said)}")
        return out


def _name(names, j) -> str:
    return "" if j is None else names[j]


def _at(values, j) -> float:
    return float("nan") if j is None else float(values[j])


def identify(spectra, wavelengths, units: str, library: Library, groups) -> Identified:
    """Compare mean spectra (K x p, NaN for bands that were not used) over wavelengths (p) with a library."""
    if wavelengths is None:
        raise ValueError("a library needs wavelengths, but the cube has none: add them to the file")
    own = np.asarray(wavelengths, float) * _FACTORS.get((units, library.units), 1.0)
    order = np.argsort(own, kind="stable")
    own, spectra = own[order], np.asarray(spectra, float)[:, order]
    used = np.isfinite(spectra).any(axis=0)
    own, spectra = own[used], spectra[:, used]
    angles, fits = np.full((2, len(spectra), len(library.names)), np.nan)
    for j, values in enumerate(library.spectra):
        known = np.isfinite(values)
        if known.sum() < 3:
            continue
        waves = library.wavelengths[known]
        inside = (own >= waves[0]) & (own <= waves[-1])
        if inside.mean() < THRESHOLDS.library_overlap or inside.sum() < 3:
            continue
        reference = np.interp(own[inside], waves, values[known])
        for k, spectrum in enumerate(spectra):
            part = spectrum[inside]
            if np.isfinite(part).all():
                angles[k, j] = spectral_angle(part, reference)
                fits[k, j] = feature_fit(own[inside], part, reference)
    if np.isnan(angles).all():
        raise ValueError(
            f"{library.path or 'the library'} has no spectrum that covers {THRESHOLDS.library_overlap:.0%} of the "
            f"bands from {own.min():g} to {own.max():g} {library.units}; its wavelengths are "
            f"{library.wavelengths[0]:g} to {library.wavelengths[-1]:g}"
        )
    return Identified(tuple(groups), library.names, angles, fits, library.path)


def spectral_angle(a: np.ndarray, b: np.ndarray) -> float:
    """The angle between two spectra in degrees; NaN if one is 0 everywhere."""
    if not a.any() or not b.any():
        return float("nan")
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    # the same as arccos(a . b), which loses half of the digits of small angles
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))))


def feature_fit(waves: np.ndarray, spectrum: np.ndarray, reference: np.ndarray) -> float:
    """How well the features of the reference are in the spectrum, from 0 to 1; NaN if the reference has none."""
    total = area = 0.0
    for feature in features(waves, continuum_removed(waves, reference)):
        part = (waves >= feature.left) & (waves <= feature.right)
        own, known = (_below_line(waves[part], values[part]) for values in (spectrum, reference))
        if own is None or known is None:
            continue
        size = float(np.trapezoid(1 - known, waves[part]))
        deviations = float(own.std() * known.std())
        r = 0.0 if deviations == 0 else float(((own - own.mean()) * (known - known.mean())).mean() / deviations)
        total, area = total + size * max(0.0, r) ** 2, area + size
    return total / area if area > 0 else float("nan")


def _below_line(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Values divided by the line between the first and the last one; None if that is not above 0."""
    line = np.interp(x, x[[0, -1]], y[[0, -1]])
    return y / line if (line > 0).all() else None
