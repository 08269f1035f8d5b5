"""A segmentation as an xarray.Dataset, in the coordinates of what was segmented."""

from __future__ import annotations

import numpy as np

from .._utils.extras import need_extra
from .cube import Cube
from .georeference import known_crs
from .sources import sides

__all__ = ["dataset_of"]


def dataset_of(found):
    """The Dataset of a Segmentation: see `Segmentation.to_xarray`."""
    xarray = need_extra("xarray", "results as DataArrays", "xarray")
    cube = found.cube
    rows, columns, bands = _dimensions(cube)
    coordinates = _coordinates(xarray, cube, rows, columns, bands)
    coordinates["group"] = found.group_names
    place = {"grid_mapping": "spatial_ref"} if "spatial_ref" in coordinates else {}
    names = np.array(found.group_names, dtype=object)
    dataset = xarray.Dataset(
        {
            "labels": ((rows, columns), found.labels, {"long_name": "group, from 0; -1 where masked"}),
            "posteriors": (("group", rows, columns), np.moveaxis(found.posteriors, 2, 0), {}),
            "uncertainty": ((rows, columns), found.uncertainty, {"long_name": "1 - the largest posterior"}),
            **_agreement(found, rows, columns),
            "mean_spectra": (("group", bands), found.mean_spectra, {}),
            "selected": ((bands,), found.support, {"long_name": "bands that make the groups"}),
        },
        coords=coordinates | {"group": names.astype(str)},
    )
    for name in {"labels", "posteriors", "uncertainty", "agreement"} & set(dataset):
        dataset[name].encoding.update(place)
    dataset["labels"].attrs["_FillValue"] = -1
    return dataset


def _agreement(found, rows: str, columns: str) -> dict:
    if found.agreement is None:
        return {}
    return {"agreement": ((rows, columns), found.agreement, {"long_name": "share of the refits with the same group"})}


def _dimensions(cube: Cube) -> tuple[str, str, str]:
    if cube.labelled is None:
        return "y", "x", "band"
    rows, columns, bands = (str(cube.labelled.dims[axis]) for axis in sides(cube.labelled.dims))
    return rows, columns, bands


def _coordinates(xarray, cube: Cube, rows: str, columns: str, bands: str) -> dict:
    """Those of the DataArray along its dimensions; otherwise the centres of pixels and the wavelengths."""
    if cube.labelled is not None:
        return dict(cube.labelled.coords)
    found: dict = {}
    place = cube.georeference
    if place.transform is not None and not (place.transform[1] or place.transform[3]):
        a, _, c, _, e, f = place.transform
        found[columns], found[rows] = c + a * (np.arange(cube.shape[1]) + 0.5), f + e * (np.arange(cube.shape[0]) + 0.5)
    if cube.wavelengths is not None:
        found["wavelength"] = (bands, np.asarray(cube.wavelengths, float), {"units": cube.units})
    if place.transform is not None or place.crs is not None:
        attributes = {}
        if (system := known_crs(place.crs)) is not None:
            attributes["crs_wkt"] = attributes["spatial_ref"] = system.to_wkt()
        if place.transform is not None:
            a, b, c, d, e, f = place.transform
            attributes["GeoTransform"] = f"{c!r} {a!r} {b!r} {f!r} {d!r} {e!r}"
        found["spatial_ref"] = xarray.Variable((), 0, attributes)
    return found
