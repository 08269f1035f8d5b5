"""GeoTIFF by rasterio: nodata, georeference, band descriptions; read into memory (strips and tiles may be packed)."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from .cube import Cube, Georeference
from .extras import need
from .units import UNITS, wavelength_units

__all__ = ["read_geotiff"]

_NUMBER_UNIT = re.compile(r"\s*([\d.]+)\s*([^\d\s)]+)")


def read_geotiff(path: Path) -> Cube:
    rasterio = need("rasterio", "reading GeoTIFF files")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        try:
            file = rasterio.open(path)
        except rasterio.errors.RasterioIOError as error:
            raise ValueError(f"{path.name} cannot be read as a raster: {error}") from error
        with file:
            try:
                stored = file.read()
            except rasterio.errors.RasterioIOError as error:
                raise ValueError(f"{path.name} is damaged or incomplete: {error}") from error
            known = _described(file)
            mask = None
            if any(rasterio.enums.MaskFlags.per_dataset in flags for flags in file.mask_flag_enums):
                mask = file.dataset_mask() > 0
            scales, offsets = np.array(file.scales), np.array(file.offsets)
    if (scales == scales[0]).all() and not offsets.any():
        known["scale_factor"] = 1 / scales[0]
    else:  # a scale of its own per band: apply it here
        stored = stored.astype(float)
        if (fill := known.pop("fill_value", None)) is not None:
            stored[stored == fill] = np.nan
        stored = stored * scales[:, None, None] + offsets[:, None, None]
    return Cube(stored.transpose(1, 2, 0), mask=mask, path=str(path), **known)


def _described(file) -> dict:
    transform = None if file.transform.is_identity else tuple(file.transform)[:6]
    known: dict = {"georeference": Georeference(file.crs.to_wkt() if file.crs else None, transform)}
    if file.nodata is not None and np.isfinite(file.nodata):
        known["fill_value"] = float(file.nodata)
    if all(file.descriptions):
        known["band_names"] = tuple(file.descriptions)
    tags = [{k.lower(): v for k, v in file.tags(i).items()} for i in file.indexes]
    if all("wavelength" in t for t in tags):
        known["wavelengths"] = np.array([float(t["wavelength"].split()[0]) for t in tags])
        known["units"] = wavelength_units(tags[0].get("wavelength_units"), known["wavelengths"])
    elif all(file.descriptions):
        read = [_NUMBER_UNIT.match(d) for d in file.descriptions]
        if all(m and m[2].lower() in UNITS for m in read):
            known["wavelengths"] = np.array([float(m[1]) for m in read if m])
            known["units"] = UNITS[read[0][2].lower()]  # type: ignore[index]
    return known
