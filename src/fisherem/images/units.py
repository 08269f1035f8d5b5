"""Wavelengths: their units, and ranges such as "0.5-2.6um"."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["parse_range", "parse_wavelengths", "wavelength_units"]

UNITS = {
    "um": "um", "µm": "um", "μm": "um", "micrometers": "um", "micrometer": "um", "microns": "um", "micron": "um",
    "nm": "nm", "nanometers": "nm", "nanometer": "nm",
}  # fmt: skip
NUMBER = r"(\d+\.?\d*|\.\d+)"
_NUMBER_UNIT = re.compile(rf"\s*{NUMBER}\s*([^\d\s).]+)")
_RANGE = re.compile(rf"\s*{NUMBER}\s*(?:-|:|to)\s*{NUMBER}\s*([^\d\s.]*)\s*")


def wavelength_units(name: str | None, wavelengths) -> str:
    """ "um" or "nm", by name. Without a known name, values above 100 are nanometres: the sensors that this is
    meant for measure neither at 100 micrometres nor at 100 nanometres."""
    known = UNITS.get(str(name).strip().lower())
    return known or ("nm" if np.median(wavelengths) > 100 else "um")


def parse_range(text: str, wavelengths, units: str) -> np.ndarray:
    """Which bands have a wavelength in one of the ranges, as bool (bands). Several ranges are separated by commas.

    A range without units is in the units of the cube.
    """
    if wavelengths is None:
        raise ValueError(
            f"bands={text!r} asks for wavelengths, but the cube has none: give wavelengths= to read, or band numbers"
        )
    chosen = np.zeros(len(wavelengths), bool)
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        unit = match and (UNITS.get(match[3].lower()) if match[3] else units)
        if not match or not unit:
            raise ValueError(f"bands must read like '0.5-2.6um' or '500-900nm,1200-1300nm'; got {text!r}")
        factor = {("um", "nm"): 1000.0, ("nm", "um"): 1e-3}.get((unit, units), 1.0)
        low, high = sorted((factor * float(match[1]), factor * float(match[2])))
        chosen |= (wavelengths >= low) & (wavelengths <= high)
    if not chosen.any():
        raise ValueError(f"no band lies in {text!r}: the cube has {min(wavelengths):g} to {max(wavelengths):g} {units}")
    return chosen


def parse_wavelengths(names) -> tuple[np.ndarray, str] | None:
    """(wavelengths, units) of names of bands that begin with them, such as "485.2 nm"; None if one does not."""
    read = [_NUMBER_UNIT.match(name) for name in names]
    if not all(m and m[2].lower() in UNITS for m in read):
        return None
    return np.array([float(m[1]) for m in read if m]), UNITS[read[0][2].lower()]  # type: ignore[index]
