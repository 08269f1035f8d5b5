"""PRISMA's HDF5 products (.he5): two cubes of rows x bands x columns, one per detector, joined by wavelength.

    level 2:  value = min + stored (max - min) / 65535        level 1:  value = stored / factor - offset

Bands that the product flags as absent are not read. A pixel that is stored as 0 in every band lies outside the swath.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .cube import Cube
from .georeference import Georeference
from .lines import LazyLines, held_or_lazy

__all__ = ["PrismaLines", "is_prisma", "read_prisma"]

_DETECTORS = ("Vnir", "Swir")
_SWATHS = "HDFEOS/SWATHS"
_LEVELS = ("L2D", "L2C", "L2B", "L1")


def is_prisma(file) -> bool:
    """Whether an open HDF5 file is a product of PRISMA."""
    return all(f"List_Cw_{detector}" in file.attrs for detector in _DETECTORS) and _SWATHS in file


class PrismaLines(LazyLines):
    """The bands of both detectors in the order of their wavelengths, in physical units; NaN outside the swath."""

    def __init__(self, parts: list[tuple[Any, np.ndarray]], order: np.ndarray, gains: np.ndarray, offsets: np.ndarray):
        """`parts` are (cube, numbers of its bands), `order` that of all these bands, gains and offsets theirs."""
        rows, _, columns = parts[0][0].shape
        chunks = parts[0][0].chunks
        unit = 1 if chunks is None else int(chunks[0])
        super().__init__((rows, columns, len(order)), np.float32, unit=unit, block=chunks or ())
        self.parts, self.order, self.gains, self.offsets = parts, order, gains, offsets

    def _read(self, first: int, stop: int) -> np.ndarray:
        try:
            stored = np.concatenate([cube[first:stop][:, bands] for cube, bands in self.parts], axis=1)
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(f"the file is damaged or incomplete: {error}") from error
        stored = stored[:, self.order].transpose(0, 2, 1)
        values = stored * self.gains.astype(np.float32) + self.offsets.astype(np.float32)
        values[~stored.any(axis=2)] = np.nan
        return values.astype(np.float32, copy=False)


def read_prisma(file, path: Path) -> Cube:
    """The cube of an open product of level 1, 2B, 2C or 2D."""
    swath, level = _swath(file, path)
    parts, waves, gains, offsets = [], [], [], []
    for detector in _DETECTORS:
        cube = file[f"{swath}/Data Fields/{detector.upper()}_Cube"]
        listed = np.ravel(_attribute(file, f"List_Cw_{detector}", path)).astype(float)
        flags = file.attrs.get(f"List_Cw_{detector}_Flags")
        there = (listed > 0) & (True if flags is None else np.ravel(flags) != 0)
        if cube.ndim != 3 or cube.shape[1] != len(listed):
            raise ValueError(
                f"{path.name}: {detector.upper()}_Cube has shape {cube.shape}, but {len(listed)} wavelengths"
            )
        gain, offset = _scale(file, detector, level, path)
        parts.append((cube, np.flatnonzero(there)))
        waves.append(listed[there])
        gains.append(np.full(int(there.sum()), gain))
        offsets.append(np.full(int(there.sum()), offset))
    if parts[0][0].shape[::2] != parts[1][0].shape[::2]:
        raise ValueError(f"{path.name}: the two detectors have different rows and columns")
    wavelengths = np.concatenate(waves)
    order = np.argsort(wavelengths, kind="stable")
    lines = PrismaLines(parts, order, np.concatenate(gains)[order], np.concatenate(offsets)[order])
    place, remarks = _place(file, lines.shape, level, path)
    data = held_or_lazy(lines)
    if not isinstance(data, LazyLines):
        file.close()
    return Cube(data, wavelengths[order], "nm", georeference=place, remarks=remarks, path=str(path))


def _swath(file, path: Path) -> tuple[str, str]:
    for level in _LEVELS:
        swath = f"{_SWATHS}/PRS_{level}_HCO"
        if all(f"{swath}/Data Fields/{detector.upper()}_Cube" in file for detector in _DETECTORS):
            return swath, level
    raise ValueError(f"{path.name} has no VNIR_Cube and SWIR_Cube of PRISMA level {', '.join(_LEVELS)}")


def _attribute(file, name: str, path: Path):
    if name not in file.attrs:
        raise ValueError(f"{path.name} lacks the attribute {name} of PRISMA's products")
    return file.attrs[name]


def _number(file, name: str, path: Path) -> float:
    value = np.ravel(_attribute(file, name, path))
    if value.size != 1 or not np.isfinite(float(value[0])):
        raise ValueError(f"{path.name}: the attribute {name} must be one finite number")
    return float(value[0])


def _scale(file, detector: str, level: str, path: Path) -> tuple[float, float]:
    """(gain, offset) of a detector."""
    if level == "L1":
        return 1 / _number(file, f"ScaleFactor_{detector}", path), -_number(file, f"Offset_{detector}", path)
    least, most = (_number(file, f"L2Scale{detector}{end}", path) for end in ("Min", "Max"))
    return (most - least) / 65535, least


def _place(file, shape, level: str, path: Path) -> tuple[Georeference, tuple[str, ...]]:
    """Level 2D lies on a map, the others in the geometry of the sensor."""
    if level != "L2D" or "Epsg_Code" not in file.attrs:
        text = f"{path.name} is in the geometry of the sensor, so the maps have no coordinates (level 2D has them)"
        return Georeference(), (text,)
    left, top = (_number(file, f"Product_ULcorner_{name}", path) for name in ("easting", "northing"))
    right, bottom = (_number(file, f"Product_LRcorner_{name}", path) for name in ("easting", "northing"))
    # the corners are the centres of the pixels there
    dx, dy = (right - left) / max(1, shape[1] - 1), (bottom - top) / max(1, shape[0] - 1)
    crs = f"EPSG:{int(_number(file, 'Epsg_Code', path))}"
    return Georeference(crs, (dx, 0.0, left - dx / 2, 0.0, dy, top - dy / 2)), ()
