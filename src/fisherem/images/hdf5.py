"""HDF5 by h5py: any file with a cube in it, and PRISMA's products. Large cubes stay on disk.

HDF5 has no names for the sides of an array. Those of a cube are told by dimension scales, by a list of wavelengths that
is as long as one side, or by `shape`; where that leaves a doubt the file is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.extras import need_extra
from .contained import OutsideError, check_hdf5
from .cube import Cube
from .lines import ArrayLines, LazyLines, held_or_lazy
from .prisma import is_prisma, read_prisma
from .sources import WAVELENGTH_NAMES, sides
from .units import UNITS, wavelength_units

__all__ = ["open_hdf5", "read_hdf5", "the_cube"]


def open_hdf5(path: Path) -> Any:
    """An open HDF5 file that holds all of its arrays itself."""
    h5py = need_extra("h5py", "reading HDF5 files", "images")
    try:
        file = h5py.File(path, "r")
        check_hdf5(file, path.name)
    except OutsideError:
        raise
    except Exception as error:  # a damaged file can make h5py raise anything
        raise ValueError(f"{path.name} cannot be read as HDF5: {' '.join(str(error).split())}") from error
    return file


def read_hdf5(path: Path, *, variable: str | None = None, shape: tuple[int, int] | None = None) -> Cube:
    """The cube of an HDF5 file; `variable` names the array by its path in the file, `shape` is (rows, columns)."""
    file = open_hdf5(path)
    if variable is None and is_prisma(file):
        return read_prisma(file, path)
    arrays = _arrays(file)
    dataset = file[the_cube(arrays, variable, path.name, lambda item: " x ".join(map(str, item.shape)))]
    known = _wavelengths(arrays, dataset)
    axes = _axes(dataset, known.pop("axis", None), shape, path.name)
    fill = _number(dataset.attrs.get("_FillValue", dataset.attrs.get("Data_Ignore_Value")))
    if fill is not None:
        known["fill_value"] = fill
    factor = _number(dataset.attrs.get("Scale_Factor"))
    if factor is not None and factor > 0:
        known["scale_factor"] = factor  # as NEON writes it: stored values are divided by it
    unit = 1 if dataset.chunks is None else int(dataset.chunks[axes[0]])
    data = held_or_lazy(ArrayLines(dataset, axes, unit=unit, name=path.name))
    if not isinstance(data, LazyLines):
        file.close()
    return Cube(data, path=str(path), **known)


def _arrays(file) -> dict[str, Any]:
    """All numeric arrays by their paths in the file."""
    found: dict[str, Any] = {}

    def visit(name: str, item) -> None:
        if hasattr(item, "dtype") and hasattr(item, "shape") and item.dtype.kind in "iuf":
            found[name] = item

    file.visititems(visit)
    return found


def the_cube(arrays: dict[str, Any], variable: str | None, name: str, sides: Callable[[Any], str]) -> str:
    """The name of the array to read: the one that was asked for, or the only one that could be a cube.

    `sides(array)` says in an error what the array is.
    """
    cubes = {key: item for key, item in arrays.items() if item.ndim == 3 and min(item.shape) > 1}
    said = ", ".join(f"{key} {sides(item)}" for key, item in cubes.items()) or "none"
    if variable is not None:
        if variable.strip("/") not in cubes:
            raise ValueError(f"{name} has no array {variable!r} of three dimensions; it has: {said}")
        return variable.strip("/")
    if len(cubes) != 1:
        raise ValueError(f"{name} must hold one array that could be the cube; choose one by variable= among: {said}")
    return next(iter(cubes))


def _wavelengths(arrays: dict[str, Any], dataset) -> dict[str, Any]:
    """Wavelengths, their units and the side that they belong to, if a list of them has the length of one side alone."""
    for key, item in arrays.items():
        unit = _text(item.attrs.get("units", item.attrs.get("Units", "")))
        if item.ndim != 1 or key.rsplit("/", 1)[-1].lower() not in WAVELENGTH_NAMES:
            continue
        fits = [axis for axis, side in enumerate(dataset.shape) if side == len(item)]
        if len(fits) == 1:
            values = np.asarray(item[...], float)
            known = unit if unit.lower() in UNITS else None
            return {"wavelengths": values, "units": wavelength_units(known, values), "axis": fits[0]}
    return {}


def _axes(dataset, band_axis: int | None, shape, name: str) -> tuple[int, int, int]:
    """The numbers of the sides of rows, columns and bands."""
    if shape is not None:
        orders = [
            (r, c, b) for r, c, b in permutations(range(3)) if (dataset.shape[r], dataset.shape[c]) == tuple(shape)
        ]
        fits = orders if len(orders) == 1 else [order for order in orders if order[0] < order[1]]
        if len(fits) == 1:
            return fits[0]
        raise ValueError(f"{name}: shape={tuple(shape)} does not tell rows and columns of an array of {dataset.shape}")
    labels = [dim.label or (dim[0].name.rsplit("/", 1)[-1] if len(dim) else "") for dim in dataset.dims]
    if all(labels):
        return sides(labels)
    if band_axis is not None:
        rows, columns = (axis for axis in range(3) if axis != band_axis)
        return rows, columns, band_axis
    raise ValueError(
        f"{name}: the sides of {dataset.name} ({' x '.join(map(str, dataset.shape))}) have no names, so rows, columns "
        "and bands cannot be told: give shape=(rows, columns) (--shape)"
    )


def _number(value) -> float | None:
    """The finite number in an attribute; None for anything else."""
    try:
        number = float(np.ravel(value)[0]) if np.size(value) == 1 else np.nan
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _text(value) -> str:
    value = value[0] if isinstance(value, np.ndarray) and value.size else value
    return value.decode(errors="replace").strip() if isinstance(value, bytes) else str(value).strip()
