"""read(path): a cube from a file of any known format, recognised by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .._utils.register import Register
from .arrays import load_array, read_matlab, read_npy
from .cube import Cube
from .envi import DATA_SUFFIXES, read_envi
from .geotiff import read_geotiff
from .hdf5 import read_hdf5
from .netcdf import read_netcdf, read_zarr
from .units import wavelength_units

__all__ = ["READERS", "ImageReader", "read", "read_mask"]


@dataclass(frozen=True)
class ImageReader:
    """How files of one ending become a cube."""

    read: Callable[..., Cube]  # (path, **options) -> cube
    options: tuple[str, ...] = ()  # those of variable, shape and order that it takes


# By the ending of the file's name, in lower case.
READERS: Register[ImageReader] = Register(
    "image format",
    {
        **dict.fromkeys((".hdr", *DATA_SUFFIXES), ImageReader(read_envi)),
        ".tif": ImageReader(read_geotiff),
        ".tiff": ImageReader(read_geotiff),
        ".mat": ImageReader(read_matlab, ("variable", "shape", "order")),
        ".npy": ImageReader(read_npy, ("shape", "order")),
        **dict.fromkeys((".nc", ".nc4"), ImageReader(read_netcdf, ("variable",))),
        **dict.fromkeys((".h5", ".hdf5", ".he5"), ImageReader(read_hdf5, ("variable", "shape"))),
        ".zarr": ImageReader(read_zarr, ("variable",)),
    },
)


# What to do with formats that are not read.
_CONVERT = "; convert it, for example with gdal_translate -of ENVI {} scene.bip"
_INSTEAD = {
    **{
        end: _CONVERT.format(f"scene{end}") for end in (".jp2", ".vrt", ".hdf", ".hdf4", ".bsb", ".pix", ".ecw", ".asc")
    },
    **dict.fromkeys((".png", ".jpg", ".jpeg"), "; pictures of three colours are no spectra, though --truth reads .png"),
    **dict.fromkeys((".zip", ".gz", ".tar", ".7z"), "; unpack it and give the file inside"),
    **dict.fromkeys((".csv", ".txt", ".xlsx", ".parquet"), "; `fisherem fit` clusters tables"),
}


def _reader(path: Path) -> ImageReader:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix.lower() not in READERS:
        if Path(f"{path}.hdr").exists():
            return READERS[".hdr"]
        instead = _INSTEAD.get(path.suffix.lower(), "")
        raise ValueError(f"{path.name}: the format is recognised by the ending, one of {', '.join(READERS)}{instead}")
    return READERS[path.suffix.lower()]


def read(
    path,
    *,
    variable: str | None = None,
    shape: tuple[int, int] | None = None,
    order: str | None = None,
    wavelengths=None,
    units: str | None = None,
    fill_value: float | None = None,
    mask=None,
) -> Cube:
    """The cube of a file: ENVI (.hdr or its data file), GeoTIFF, MATLAB (.mat, v5 and v7.3), .npy, NetCDF (.nc), HDF5
    (.h5, .he5; PRISMA's are known) or Zarr (.zarr).

    Parameters
    ----------
    variable : the array of a file of several, where more than one could be the cube
    shape : (rows, columns) of a table of bands x pixels or pixels x bands (.mat, .npy), or of an HDF5 array whose sides
        have no names
    order : the order of the pixels of such a table: "C" along the rows (default for .npy), "F" down the columns (.mat)
    wavelengths, units, fill_value : values that are missing or wrong in the file
    mask : bool (rows x columns), True for the pixels to use, or a file with it (see `read_mask`)
    """
    path = Path(path)
    reader = _reader(path)
    options = {k: v for k, v in {"variable": variable, "shape": shape, "order": order}.items() if v is not None}
    if extra := set(options) - set(reader.options):
        raise ValueError(f"{', '.join(sorted(extra))}: not used for {path.suffix} files, which carry this themselves")
    if order not in (None, "C", "F"):
        raise ValueError(f"order must be 'C' or 'F'; got {order!r}")
    cube = reader.read(path, **options)
    said: dict = {}
    if wavelengths is not None:
        said["wavelengths"] = np.asarray(wavelengths, float)
        said["units"] = wavelength_units(units, said["wavelengths"])
    elif units is not None and cube.wavelengths is not None:
        said["units"] = wavelength_units(units, cube.wavelengths)
    if fill_value is not None:
        said["fill_value"] = float(fill_value)
    if mask is not None:
        use = read_mask(mask, cube.shape[:2])
        said["mask"] = use if cube.mask is None else use & cube.mask
    return replace(cube, **said) if said else cube


def read_mask(mask, shape: tuple[int, int]) -> np.ndarray:
    """The mask (bool, rows x columns) of an array or a file of one band (.npy, ENVI, GeoTIFF): 0 leaves a pixel out.

    `shape` is the (rows, columns) that it must have.
    """
    where = "the mask"
    if isinstance(mask, (str, Path)):
        path = Path(mask)
        where = f"{path.name}, the mask,"
        mask = load_array(path) if path.suffix.lower() == ".npy" else _reader(path).read(path).data
    size = tuple(getattr(mask, "shape", ())) or np.shape(mask)
    size = size[:2] if len(size) == 3 and size[2] == 1 else size
    if size != tuple(shape):  # before anything is read, as the file may be of any size
        raise ValueError(f"{where} must have the cube's rows x columns {tuple(shape)}; got {size}")
    return np.asarray(mask).reshape(size) != 0
