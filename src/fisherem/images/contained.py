"""Files that may refer to others: an image is read from its own file and from those beside it, never from elsewhere.

GDAL's drivers open web addresses and arbitrary files that a description names (a VRT, a WMS service, a raw band), even
if the file is called .tif. HDF5 files link to other files, and coordinate systems may be addresses. Here each of these
is either read by the one driver for its format or refused.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.extras import need_extra
from .lines import check_bytes

__all__ = [
    "OutsideError",
    "check_beside",
    "check_crs",
    "check_hdf5",
    "external_mask",
    "gdal",
    "open_tiff",
    "world_file",
]

# The first bytes of TIFF and BigTIFF files, in both byte orders.
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
# No files beside the image (GDAL opens .ovr and .msk with any driver, and .aux.xml may name others), no downloads.
_SETTINGS = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR", "GDAL_PAM_ENABLED": False, "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": "none",
    "PROJ_NETWORK": False,
}  # fmt: skip
_WORLD_FILES = (".tfw", ".tifw", ".tiffw", ".wld")
# Groups of HDF5 files within each other; real products have up to seven.
_DEEPEST = 50
# Larger files are not six numbers.
_WORLD_FILE_BYTES = 1000
# How WKT begins, such as PROJCS[ or GEOGCRS[; and authority codes such as EPSG:32633.
_CRS = re.compile(r"\s*([A-Za-z_]+\s*[\[(]|[A-Za-z]+:\d+\s*$)")


class OutsideError(ValueError):
    """A file that refers to other places, or to itself."""


@contextmanager
def gdal():
    """A GDAL environment without files beside the image and without network access."""
    rasterio = need_extra("rasterio", "reading GeoTIFF files", "images")
    with rasterio.Env(**_SETTINGS):
        yield rasterio


def open_tiff(path: Path) -> Any:
    """An open raster file, which must be a TIFF whatever its name; call it inside `gdal()`."""
    rasterio = need_extra("rasterio", "reading GeoTIFF files", "images")
    with path.open("rb") as file:
        start = file.read(4)
    if start not in _TIFF:
        raise ValueError(f"{path.name} is not a TIFF file: convert it to GeoTIFF, for example with gdal_translate")
    name = str(path.resolve())
    if name.startswith("/vsi"):  # GDAL's virtual file systems
        raise ValueError(f"{path.name}: folders whose names begin with /vsi cannot be read; move the file")
    try:
        return rasterio.open(name, driver="GTiff")
    except rasterio.errors.RasterioIOError as error:
        raise ValueError(f"{path.name} cannot be read as a TIFF: {error}") from error


def check_beside(path: Path, other: Path) -> None:
    """Raise an error if `other`, a file that belongs to `path`, is a link that leaves the folder of `path`."""
    folders = {path.parent.resolve(), path.resolve().parent}
    if other.resolve().parent not in folders:
        raise ValueError(
            f"{other.name} beside {path.name} is a link to another folder, which is not followed: copy the file there"
        )


def world_file(path: Path) -> tuple[float, ...] | None:
    """The transform (a, b, c, d, e, f) in a world file beside an image; None without one."""
    for suffix in _WORLD_FILES:
        found = path.with_suffix(suffix)
        if not found.is_file():
            continue
        check_beside(path, found)
        try:
            with found.open(encoding="ascii") as file:
                a, d, b, e, x, y = map(float, file.read(_WORLD_FILE_BYTES).split())
        except ValueError:
            raise ValueError(f"{found.name} must hold the six numbers of a world file; fix or remove it") from None
        if not np.isfinite([a, d, b, e, x, y]).all():
            raise ValueError(f"{found.name} must hold finite numbers; fix or remove it")
        return a, b, x - (a + b) / 2, d, e, y - (d + e) / 2  # x, y: the centre of the first pixel
    return None


def external_mask(path: Path, shape: tuple[int, int]) -> np.ndarray | None:
    """The mask (bool, rows x columns) in the file .msk that GDAL writes beside an image; None without one."""
    found = Path(f"{path}.msk")
    if not found.is_file():
        return None
    check_beside(path, found)
    with gdal(), open_tiff(found) as file:
        if (file.height, file.width) != tuple(shape) or file.count < 1:
            raise ValueError(f"{found.name} has {file.height} x {file.width} pixels, but the image has {shape}")
        check_bytes(found.name, f"a mask of {file.height:,} x {file.width:,} pixels", file.height * file.width)
        return file.read(1) != 0


def check_crs(text: str, where: str) -> None:
    """Raise an error if a coordinate system is neither WKT nor an authority code: GDAL would open it as an address."""
    if not _CRS.match(text):
        raise ValueError(f"{where} must be a coordinate system in WKT or a code such as EPSG:32633; got {text!r:.80}")


def check_hdf5(file: Any, name: str) -> None:
    """Raise an error if arrays of an open HDF5 file lie in other files: links, raw storage, virtual datasets.

    Groups that contain each other are refused as well: whoever lists the arrays would not come to an end.
    """
    h5py = need_extra("h5py", "reading MATLAB v7.3 files", "images")
    places = {h5py.h5o.get_info(file.id).addr: "/"}
    waiting = [("", file)]
    while waiting:
        within, group = waiting.pop()
        for key in group:
            link = group.get(key, getlink=True)
            outside = not isinstance(link, h5py.HardLink)
            item = None if outside else group[key]
            if isinstance(item, h5py.Dataset):
                outside = item.is_virtual or bool(item.external)
            if outside:
                raise OutsideError(
                    f"{name}: {within + key!r} is a reference to data elsewhere, which is not followed: copy the array "
                    "into the file"
                )
            if isinstance(item, h5py.Group):
                address = h5py.h5o.get_info(item.id).addr
                if address in places:
                    raise OutsideError(
                        f"{name}: the groups {within + key!r} and {places[address]!r} are the same: copy the array "
                        "into a file of its own"
                    )
                if within.count("/") >= _DEEPEST:
                    raise OutsideError(f"{name}: groups are nested more than {_DEEPEST} deep; copy the array elsewhere")
                places[address] = within + key
                waiting.append((f"{within}{key}/", item))
