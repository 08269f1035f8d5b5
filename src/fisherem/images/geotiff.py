"""GeoTIFF by rasterio: nodata, georeference, band descriptions. Large files stay on disk, read in blocks of lines.

Beside the image only its world file (.tfw) and its mask (.msk) are read; `contained` says why.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from .contained import external_mask, gdal, open_tiff, world_file
from .cube import Cube, Georeference
from .lines import READ_WHOLE_BYTES, LazyLines
from .units import NUMBER, UNITS, wavelength_units

__all__ = ["RasterLines", "read_geotiff"]

_NUMBER_UNIT = re.compile(rf"\s*{NUMBER}\s*([^\d\s).]+)")


class RasterLines(LazyLines):
    """The lines of a raster file, as stored; with `own` (scales, offsets, fill value) as real values, NaN for the fill
    value. Scales and offsets have one entry per band."""

    def __init__(self, file, own: tuple[np.ndarray, np.ndarray, float | None] | None):
        height = max(rows for rows, _ in file.block_shapes)
        dtype = np.result_type(*file.dtypes) if own is None else np.dtype(float)
        super().__init__((file.height, file.width, file.count), dtype, unit=height if height < file.height else 1)
        self.file, self.own = file, own

    def _read(self, first: int, stop: int) -> np.ndarray:
        with gdal() as rasterio:
            try:
                window = rasterio.windows.Window(0, first, self.shape[1], stop - first)
                stored = self.file.read(window=window).transpose(1, 2, 0)
            except rasterio.errors.RasterioIOError as error:
                name = Path(self.file.name).name
                raise ValueError(f"{name} is damaged or incomplete: {error}") from error
        if self.own is None:
            return stored
        scales, offsets, fill = self.own
        values = stored.astype(float)
        if fill is not None:
            values[stored == fill] = np.nan
        return values * scales + offsets


def read_geotiff(path: Path) -> Cube:
    """The cube of a GeoTIFF; a small file is read at once."""
    with gdal() as rasterio, warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        file = open_tiff(path)
        known = _described(file, path)
        if any(rasterio.enums.MaskFlags.per_dataset in flags for flags in file.mask_flag_enums):
            mask = file.dataset_mask() > 0
        else:
            mask = external_mask(path, (file.height, file.width))
        scales, offsets = np.array(file.scales), np.array(file.offsets)
        own = None
        if (scales == scales[0]).all() and not offsets.any():
            known["scale_factor"] = 1 / scales[0]
        else:  # each band has its own scale: applied as the lines are read
            own = scales, offsets, known.pop("fill_value", None)
        lines = RasterLines(file, own)
        if np.prod(lines.shape) * lines.dtype.itemsize > READ_WHOLE_BYTES:
            return Cube(lines, mask=mask, path=str(path), **known)
        with file:
            return Cube(np.asarray(lines), mask=mask, path=str(path), **known)


def _described(file, path: Path) -> dict:
    transform = world_file(path) if file.transform.is_identity else tuple(file.transform)[:6]
    known: dict = {"georeference": Georeference(file.crs.to_wkt() if file.crs else None, transform)}
    if file.nodata is not None and np.isfinite(file.nodata):
        known["fill_value"] = float(file.nodata)
    if all(file.descriptions):
        known["band_names"] = tuple(file.descriptions)
    tags = [{k.lower(): v for k, v in file.tags(i).items()} for i in file.indexes]
    if all("wavelength" in t for t in tags):
        known["wavelengths"] = np.array([_wavelength(t["wavelength"], i, path) for i, t in enumerate(tags, 1)])
        known["units"] = wavelength_units(tags[0].get("wavelength_units"), known["wavelengths"])
    elif all(file.descriptions):
        read = [_NUMBER_UNIT.match(d) for d in file.descriptions]
        if all(m and m[2].lower() in UNITS for m in read):
            known["wavelengths"] = np.array([float(m[1]) for m in read if m])
            known["units"] = UNITS[read[0][2].lower()]  # type: ignore[index]
    return known


def _wavelength(text: str, band: int, path: Path) -> float:
    """The number that a band's tag begins with."""
    match = re.match(rf"\s*{NUMBER}(\s|$)", text)
    if match is None:
        raise ValueError(f"{path.name}: the tag 'wavelength' of band {band} must be a number; it says {text!r}")
    return float(match[1])
