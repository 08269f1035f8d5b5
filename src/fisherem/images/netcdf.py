"""NetCDF and Zarr through xarray, in any group of the file: as EMIT, PACE and others deliver scenes. Nothing is copied.

Arrays, wavelengths and lists of good bands are found by the names of their dimensions.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.extras import need_extra
from ..tables.zarr_array import open_store
from .cube import Cube
from .hdf5 import open_hdf5, the_cube
from .lines import ArrayLines, held_or_lazy
from .sources import WAVELENGTH_NAMES, cube_of_labelled, sides
from .units import UNITS

__all__ = ["read_netcdf", "read_zarr"]

_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
# One number per band: 1 for bands that can be used.
_GOOD = ("good_wavelengths", "good_bands", "bbl", "bad_band_list")
# Values and coordinates as they are stored: fill values and scales are applied as the lines are read.
_AS_STORED: dict[str, Any] = {"mask_and_scale": False, "decode_times": False, "decode_coords": "all", "chunks": None}


def read_netcdf(path: Path, *, variable: str | None = None) -> Cube:
    """The cube of a NetCDF file, version 3 or 4; `variable` names the array ("group/name")."""
    xarray = need_extra("xarray", "reading NetCDF files", "xarray")
    with path.open("rb") as opened:
        start = opened.read(8)
    if start[:4] in _CLASSIC:
        groups, options = [""], {"engine": "scipy"}
    elif start.startswith(b"\x89HDF"):
        need_extra("h5netcdf", "reading NetCDF 4 files", "xarray")
        with open_hdf5(path) as file:
            groups = ["", *_groups(file)]
        options = {"engine": "h5netcdf", "phony_dims": "access"}
    else:
        raise ValueError(f"{path.name} is not a NetCDF file")
    return _of_groups(xarray, path, groups, options, variable)


def read_zarr(path: Path, *, variable: str | None = None) -> Cube:
    """The cube of a Zarr store: an array of rows x columns x bands, or of a group with named dimensions."""
    found = open_store(path)
    if hasattr(found, "chunks"):
        names = getattr(found.metadata, "dimension_names", None) or found.attrs.get("_ARRAY_DIMENSIONS")
        axes = (0, 1, 2) if not names or None in names else sides(names)
        if found.ndim != 3:
            raise ValueError(f"{path.name}: a cube has rows x columns x bands; got an array of shape {found.shape}")
        lines = ArrayLines(found, axes, unit=int(found.chunks[axes[0]]), name=path.name)
        return Cube(held_or_lazy(lines), path=str(path))
    xarray = need_extra("xarray", "reading groups of Zarr arrays", "xarray")
    groups = ["", *sorted(name for name, item in found.members(max_depth=None) if not hasattr(item, "chunks"))]
    return _of_groups(xarray, path, groups, {"engine": "zarr", "consolidated": False}, variable)


def _groups(file, within: str = "") -> list[str]:
    found = []
    for key, item in file.items():
        if hasattr(item, "keys"):
            found += [f"{within}{key}", *_groups(item, f"{within}{key}/")]
    return found


def _of_groups(xarray, path: Path, groups: list[str], options: dict[str, Any], variable: str | None) -> Cube:
    datasets = {}
    for group in groups:
        try:
            own = {"group": group} if group else {}
            datasets[group] = xarray.open_dataset(str(path.resolve()), **options, **own, **_AS_STORED)
        except Exception as error:  # by what is damaged
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"{path.name} cannot be read by xarray: {reason or type(error).__name__}") from error
    arrays = {
        f"{group}/{name}".strip("/"): array
        for group, dataset in datasets.items()
        for name, array in dataset.data_vars.items()
        if array.dtype.kind in "iufb"
    }
    array = arrays[the_cube(arrays, variable, path.name, lambda one: f"({', '.join(map(str, one.dims))})")]
    band = array.dims[sides(array.dims)[2]]
    everything = [*arrays.items(), *((str(n), c) for d in datasets.values() for n, c in d.coords.items())]
    good = None
    for key, other in everything:
        name, unit = key.rsplit("/", 1)[-1].lower(), str(other.attrs.get("units", "")).strip().lower()
        if other.dims != (band,):
            continue
        if name in _GOOD:
            good = np.asarray(other.values) != 0
        elif (name in WAVELENGTH_NAMES or (unit in UNITS and "width" not in name and "fwhm" not in name)) and not any(
            coordinate.dims == (band,) and str(coordinate.name).lower() in WAVELENGTH_NAMES
            for coordinate in array.coords.values()
        ):
            array = array.assign_coords(wavelengths=(band, np.asarray(other.values), other.attrs))
    cube = cube_of_labelled(array, path.name)
    said: dict[str, Any] = {"path": str(path), "bad_bands": None if good is None else ~good}
    if cube.georeference.transform is None:
        said["remarks"] = (
            *cube.remarks,
            f"{path.name} is in the geometry of the sensor, without evenly spaced coordinates, so the maps have none",
        )
    return replace(cube, **said)
