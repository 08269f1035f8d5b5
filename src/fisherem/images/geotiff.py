"""GeoTIFF by rasterio: nodata, georeference, band descriptions. Large files stay on disk, read in blocks of lines.

Beside the image only its world file (.tfw) and its mask (.msk) are read; `contained` says why.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from .contained import external_mask, gdal, open_tiff, world_file
from .cube import Cube
from .georeference import Georeference
from .lines import LazyLines, ScaledLines, check_bytes, held_or_lazy
from .units import NUMBER, parse_wavelengths, wavelength_units

__all__ = ["RasterLines", "read_geotiff"]

# No spectrometer has more; GDAL needs minutes to list the bands of a file with many more.
_MOST_BANDS = 10_000


class RasterLines(LazyLines):
    """The lines of a raster file, as stored."""

    def __init__(self, file):
        height, width = (max(sides) for sides in zip(*file.block_shapes, strict=True))
        shape, dtype = (file.height, file.width, file.count), np.result_type(*file.dtypes)
        together = file.interleaving is not None and file.interleaving.value == "pixel"
        unit = height if height < file.height else 1
        super().__init__(
            shape, dtype, unit=unit, block=(height, width, file.count if together else 1), name=Path(file.name).name
        )
        self.file = file

    def _read(self, first: int, stop: int) -> np.ndarray:
        with gdal() as rasterio:
            try:
                window = rasterio.windows.Window(0, first, self.shape[1], stop - first)
                return self.file.read(window=window).transpose(1, 2, 0)
            except rasterio.errors.RasterioIOError as error:
                name = Path(self.file.name).name
                raise ValueError(f"{name} is damaged or incomplete: {error}") from error


def read_geotiff(path: Path) -> Cube:
    """The cube of a GeoTIFF; a small file is read at once."""
    with gdal() as rasterio, warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        file = open_tiff(path)
        if file.count > _MOST_BANDS:
            raise ValueError(f"{path.name} has {file.count:,} bands; at most {_MOST_BANDS:,} are read from a TIFF")
        known = _described(file, path)
        if any(rasterio.enums.MaskFlags.per_dataset in flags for flags in file.mask_flag_enums):
            check_bytes(path.name, f"the mask of {file.height:,} x {file.width:,} pixels", file.height * file.width)
            mask = file.dataset_mask() > 0
        else:
            mask = external_mask(path, (file.height, file.width))
        scales, offsets = np.array(file.scales), np.array(file.offsets)
        lines: LazyLines = RasterLines(file)
        if (scales == scales[0]).all() and not offsets.any():
            known["scale_factor"] = 1 / scales[0]
        else:  # each band has its own scale: applied as the lines are read
            lines = ScaledLines(lines, scales, offsets, known.pop("fill_value", None))
        data = held_or_lazy(lines)
        if not isinstance(data, LazyLines):
            file.close()
        return Cube(data, mask=mask, path=str(path), **known)


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
    elif all(file.descriptions) and (read := parse_wavelengths(file.descriptions)) is not None:
        known["wavelengths"], known["units"] = read
    return known


def _wavelength(text: str, band: int, path: Path) -> float:
    """The number that a band's tag begins with."""
    match = re.match(rf"\s*{NUMBER}(\s|$)", text)
    if match is None:
        raise ValueError(f"{path.name}: the tag 'wavelength' of band {band} must be a number; it says {text!r}")
    return float(match[1])
