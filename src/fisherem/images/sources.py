"""Cubes that other packages hold: xarray (with rioxarray's coordinate systems), Dask, Zarr, HDF5, SpyFile, arrays.

Dimensions are taken by their names, never by their order. What is not in memory stays where it is if it is large.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .._utils.wording import listed
from .cube import Cube
from .georeference import Georeference
from .lines import ArrayLines, LazyLines, ScaledLines, held_or_lazy
from .units import UNITS, parse_wavelengths, wavelength_units

__all__ = ["WAVELENGTH_NAMES", "as_cube", "cube_of_labelled", "sides"]

# Names of dimensions in the files and packages that we know, in lower case.
_ROWS = ("y", "lat", "latitude", "row", "rows", "line", "lines", "northing", "downtrack", "along_track",
         "number_of_lines", "number_of_scans")  # fmt: skip
_COLUMNS = ("x", "lon", "longitude", "column", "columns", "col", "cols", "sample", "samples", "easting", "crosstrack",
            "cross_track", "pixels_per_line", "number_of_pixels", "ccd_pixels")  # fmt: skip
_BANDS = ("band", "bands", "wavelength", "wavelengths", "wl", "lambda", "channel", "channels", "spectral",
          "wavelength_3d", "number_of_bands", "spectral_band")  # fmt: skip
WAVELENGTH_NAMES = ("wavelength", "wavelengths", "wl", "lambda", "fullwavelengths", "wavelength_3d", "radiance_wl")


def as_cube(source: Any, **known) -> Cube:
    """A Cube unchanged, or the Cube of an xarray.DataArray or Dataset, a SpyFile, or an array of rows x columns x bands
    (NumPy, Dask, Zarr, HDF5) with the `known` metadata."""
    if isinstance(source, Cube):
        if known:
            raise ValueError(f"{', '.join(known)} are properties of the cube: set them when you make the Cube")
        return source
    if hasattr(source, "data_vars"):
        source = _only_cube(source)
    if hasattr(source, "dims") and hasattr(source, "coords"):
        return cube_of_labelled(source, **known)
    if hasattr(source, "read_subregion") and hasattr(source, "metadata"):
        return _of_spyfile(source, **known)
    if isinstance(source, np.ndarray):
        return Cube(source, **known)
    if getattr(source, "ndim", 0) == 3 and hasattr(source, "chunks") and hasattr(source, "dtype"):  # Dask, Zarr, HDF5
        chunks = source.chunks
        first = 1 if not chunks else chunks[0] if isinstance(chunks[0], int) else max(chunks[0])
        return Cube(held_or_lazy(ArrayLines(source, (0, 1, 2), unit=int(first))), **known)
    return Cube(np.asarray(source), **known)


def _only_cube(dataset):
    """The DataArray of three dimensions in a Dataset."""
    found = {name: tuple(map(str, array.dims)) for name, array in dataset.data_vars.items() if array.ndim == 3}
    if len(found) != 1:
        held = ", ".join(f"{name} ({', '.join(dims)})" for name, dims in found.items()) or "none"
        raise ValueError(f"the Dataset must have one array of three dimensions, it has {held}: give dataset[name]")
    return dataset[next(iter(found))]


def sides(dims) -> tuple[int, int, int]:
    """The numbers of the dimensions of rows, columns and bands, by their names; one of the names may be unknown."""
    lower = [str(name).lower() for name in dims]
    places = [[i for i, name in enumerate(lower) if name in names] for names in (_ROWS, _COLUMNS, _BANDS)]
    rest = [i for i in range(len(lower)) if not any(i in place for place in places)]
    if len(lower) == 3 and sum(map(len, places)) == 2 and len(rest) == 1:
        places = [place or rest for place in places]
    if len(lower) != 3 or [len(place) for place in places] != [1, 1, 1]:
        raise ValueError(
            f"the dimensions of a cube must be those of rows, columns and bands by name; got {listed(dims)}: rename "
            "them to 'y', 'x' and 'band'"
        )
    return places[0][0], places[1][0], places[2][0]


def cube_of_labelled(array, name: str = "", **known) -> Cube:
    """The Cube of a DataArray: dimensions, wavelengths, coordinate system, fill value and scales by their names.

    `name` is that of its file, for errors.
    """
    axes = sides(array.dims)
    attributes = {**array.attrs}
    fill = attributes.get("_FillValue", attributes.get("missing_value"))
    said: dict = {"georeference": _place(array, axes), "labelled": array, **_bands(array, array.dims[axes[2]])}
    if fill is not None and np.ndim(fill) == 0 and np.isfinite(fill):
        said["fill_value"] = float(fill)
    data: np.ndarray | LazyLines
    held = getattr(array, "_in_memory", True) and isinstance(array.data, np.ndarray)
    if held:
        data = array.data.transpose(axes)
    else:
        stored = array.encoding.get("chunksizes") or array.encoding.get("preferred_chunks")
        if array.chunks:
            unit = max(array.chunks[axes[0]])
        elif isinstance(stored, dict):
            unit = stored.get(array.dims[axes[0]], 1)
        else:
            unit = stored[axes[0]] if stored else 1
        data = held_or_lazy(ArrayLines(array, axes, unit=int(unit), name=name))
    scale, offset = (float(attributes.get(name, usual)) for name, usual in (("scale_factor", 1), ("add_offset", 0)))
    if offset:
        p = data.shape[2]
        data = held_or_lazy(ScaledLines(data, np.full(p, scale), np.full(p, offset), said.pop("fill_value", None)))
    elif scale != 1:
        if not scale > 0:
            raise ValueError(f"the attribute scale_factor must be above 0; got {scale:g}")
        said["scale_factor"] = 1 / scale
    return Cube(data, **(said | known))


def _bands(array, dim) -> dict[str, Any]:
    """Wavelengths and names of the bands, from the coordinates along the band dimension or from the attributes."""
    said: dict[str, Any] = {}
    along = {str(name).lower(): c for name, c in array.coords.items() if c.dims == (dim,)}
    for name, coordinate in along.items():
        unit = str(coordinate.attrs.get("units", "")).strip().lower()
        if name not in WAVELENGTH_NAMES and unit not in UNITS:
            continue
        values = np.asarray(coordinate.values)
        try:
            said["wavelengths"] = values.astype(float)
        except (TypeError, ValueError):
            continue
        unit = unit or str(array.attrs.get("wavelength_units", "")) or _first_text(along.get("wavelength_units"))
        said["units"] = wavelength_units(unit, said["wavelengths"])
        break
    if "wavelengths" not in said and np.size(own := array.attrs.get("wavelength", array.attrs.get("wavelengths"))) > 1:
        said["wavelengths"] = np.asarray(own, float)
        said["units"] = wavelength_units(array.attrs.get("wavelength_units"), said["wavelengths"])
    names = array.attrs.get("long_name")
    if isinstance(names, (tuple, list)) and len(names) == array.sizes[dim] > 1:
        said["band_names"] = tuple(map(str, names))
        if "wavelengths" not in said and (read := parse_wavelengths(said["band_names"])) is not None:
            said["wavelengths"], said["units"] = read
    elif (own := along.get(str(dim).lower())) is not None and np.asarray(own.values).dtype.kind in "UO":
        said["band_names"] = tuple(map(str, own.values))
    return said


def _first_text(coordinate) -> str:
    return "" if coordinate is None else str(np.asarray(coordinate.values).ravel()[0])


def _place(array, axes) -> Georeference:
    """The coordinate system by the CF conventions, as rioxarray writes it, and the transform: its own, or that of
    evenly spaced coordinates."""
    name = array.encoding.get("grid_mapping", array.attrs.get("grid_mapping", "spatial_ref"))
    mapping = array.coords[name].attrs if name in array.coords else {}
    crs = mapping.get("crs_wkt") or mapping.get("spatial_ref") or array.attrs.get("crs")
    crs = None if crs is None or not str(crs).strip() else str(crs)
    if crs is not None and (match := re.fullmatch(r"\+init=(\w+:\d+)", crs)):
        crs = match[1].upper()
    text = str(mapping.get("GeoTransform", "")).split()
    if len(text) == 6:
        c, a, b, f, d, e = map(float, text)
        numbered = crs is None and (a, b, c, d, f, abs(e)) == (1, 0, 0, 0, 0, 1)  # numbers of pixels
        return Georeference(crs, None if numbered else (a, b, c, d, e, f))
    names = [array.dims[axis] for axis in axes[:2]]
    down, across = (_even(array.coords[name]) if name in array.coords else None for name in names)
    if down is None or across is None or (crs is None and down == across == (0.0, 1.0)):  # numbers of pixels
        return Georeference(crs)
    (y, dy), (x, dx) = down, across
    return Georeference(crs, (dx, 0.0, x - dx / 2, 0.0, dy, y - dy / 2))


def _even(coordinate) -> tuple[float, float] | None:
    """(first value, step) of evenly spaced coordinates; None otherwise."""
    values = np.asarray(coordinate.values)
    if values.dtype.kind not in "iuf" or values.ndim != 1 or len(values) < 2:
        return None
    values = values.astype(float)
    step = (values[-1] - values[0]) / (len(values) - 1)
    even = step != 0 and np.allclose(np.diff(values), step, rtol=1e-3, atol=0)
    return (float(values[0]), float(step)) if even else None


def _of_spyfile(image, **known) -> Cube:
    """The Cube of an image that the package spectral has opened; ENVI files are read by our own reader."""
    from pathlib import Path

    from .envi import read_envi

    path = Path(str(getattr(image, "filename", "")))
    if path.is_file() and (path.with_suffix(".hdr").is_file() or Path(f"{path}.hdr").is_file()):
        cube = read_envi(path)
        if cube.shape != tuple(image.shape):
            raise ValueError(f"{path.name} has {cube.shape}, but the SpyFile {tuple(image.shape)}")
        from dataclasses import replace

        return replace(cube, **known) if known else cube
    data = (
        np.asarray(image.open_memmap(interleave="bip")) if hasattr(image, "open_memmap") else np.asarray(image[:, :, :])
    )
    waves = getattr(getattr(image, "bands", None), "centers", None)
    if waves is not None:
        waves = np.asarray(waves, float)
        known = {"wavelengths": waves, "units": wavelength_units(image.bands.band_unit, waves)} | known
    return Cube(data, **known)
