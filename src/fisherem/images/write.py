"""Maps on disk: ENVI classification, GeoTIFF, PNG and CSV. In rasters 0 is a masked pixel and k + 1 is group k.

`WRITERS` is the register of what `Segmentation.save` writes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from .._utils.extras import need_extra
from .._utils.register import Register
from ..plots.maps import class_colours
from .cube import Georeference

__all__ = [
    "WRITERS", "write_class_geotiff", "write_envi_classes", "write_geotiff", "write_pictures", "write_tables",
]  # fmt: skip


_PLACE = ("map info", "projection info", "coordinate system string")


def _codes(labels: np.ndarray) -> np.ndarray:
    if labels.max() >= 255:
        raise ValueError(f"class files hold at most 255 groups; got {labels.max() + 1}")
    return (labels + 1).astype(np.uint8)


def write_envi_classes(path: Path, labels, names, colours, georeference: Georeference) -> Path:
    """An ENVI classification file (header and data) of labels (rows x columns, from 0, -1 where masked).

    It carries the class names, their colours (K x 3, from 0 to 1) and the georeference. Returns the path.
    """
    envi = need_extra("spectral.io.envi", "writing ENVI files", "images")
    metadata = {"description": "groups found by fisherem; 0 is masked", **_envi_place(georeference)}
    shown = [(0, 0, 0), *(tuple(round(255 * c) for c in colour) for colour in colours)]
    envi.save_classification(
        str(path),
        _codes(labels)[:, :, None],
        class_names=["masked", *names],
        class_colors=shown,
        metadata=metadata,
        force=True,
        ext=".img",
        interleave="bsq",
    )
    return path


def _envi_place(georeference: Georeference) -> dict:
    """The header's map fields: those that came with an ENVI file, else those that GDAL writes for the same place."""
    if georeference.map_info is not None:
        own = {"map info": list(georeference.map_info)}
        if georeference.crs is not None and not georeference.crs.startswith("EPSG:"):
            own["coordinate system string"] = [georeference.crs]
        return _joined(own)
    if georeference.transform is None:
        return {}
    envi = need_extra("spectral.io.envi", "writing ENVI files", "images")
    with TemporaryDirectory() as folder:
        example = Path(folder) / "place.img"
        write_geotiff(example, np.ones((1, 1), np.uint8), georeference, nodata=None, driver="ENVI")
        header = envi.read_envi_header(str(example.with_suffix(".hdr")))
    return _joined({k: v for k, v in header.items() if k in _PLACE})


def _joined(fields: dict[str, list[str]]) -> dict[str, str]:
    """Lists as text: spectral puts blanks around the commas, and GDAL cannot read a coordinate system with them."""
    return {name: "{" + ",".join(values) + "}" for name, values in fields.items()}


def write_geotiff(
    path: Path, values, georeference: Georeference, *, nodata, names=None, colours=None, driver="GTiff"
) -> Path:
    """One band of values (rows x columns) with the georeference, and for class maps their names and colours.

    Returns the path.
    """
    rasterio = need_extra("rasterio", "writing GeoTIFF files", "images")
    place = {}
    if georeference.crs is not None:
        place["crs"] = rasterio.crs.CRS.from_user_input(georeference.crs)
    if georeference.transform is not None:
        place["transform"] = rasterio.Affine(*georeference.transform)
    rows, columns = values.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(
            path, "w", driver=driver, height=rows, width=columns, count=1, dtype=values.dtype.name, nodata=nodata,
            **place, **({"compress": "deflate"} if driver == "GTiff" else {}),
        ) as file:  # fmt: skip
            file.write(values, 1)
            if names is not None:
                file.update_tags(1, **{f"class_{k + 1}": name for k, name in enumerate(names)})
            if colours is not None:
                table = {k + 1: (*(round(255 * c) for c in colour), 255) for k, colour in enumerate(colours)}
                file.write_colormap(1, {0: (0, 0, 0, 0), **table})
    return path


def write_class_geotiff(path: Path, labels, names, colours, georeference: Georeference) -> Path:
    """A GeoTIFF of labels (rows x columns, from 0, -1 where masked) with class names and colours; returns the path."""
    return write_geotiff(path, _codes(labels), georeference, nodata=0, names=names, colours=colours)


def write_pictures(folder: Path, displays: dict) -> list[Path]:
    """One PNG per display, under its name; returns the paths."""
    import matplotlib.pyplot as plt

    paths = []
    for name, display in displays.items():
        figure = display.plot().ax_.figure
        figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
        plt.close(figure)
        paths.append(folder / f"{name}.png")
    return paths


def write_tables(folder: Path, spectra: pd.DataFrame, bands: pd.DataFrame) -> list[Path]:
    """spectra.csv and bands.csv of the two tables of a `Segmentation`; returns the paths."""
    spectra.to_csv(folder / "spectra.csv", index=False)
    bands.to_csv(folder / "bands.csv", index=False)
    return [folder / "spectra.csv", folder / "bands.csv"]


# -- what a segmentation writes ------------------------------------------------------------------------------------

# (segmentation, folder) -> the files written, in the order in which `Segmentation.save` returns them.
Writer = Callable[[Any, Path], list[Path]]
WRITERS: Register[Writer] = Register("writer of images")


@WRITERS.add("envi")
def _envi(found, folder: Path) -> list[Path]:
    colours = class_colours(found.n_clusters)
    place = found.cube.georeference
    return [write_envi_classes(folder / "labels.hdr", found.labels, found.group_names, colours, place)]


@WRITERS.add("geotiff")
def _geotiff(found, folder: Path) -> list[Path]:
    colours, place = class_colours(found.n_clusters), found.cube.georeference
    uncertainty = found.uncertainty.astype(np.float32)
    return [
        write_class_geotiff(folder / "labels.tif", found.labels, found.group_names, colours, place),
        write_geotiff(folder / "uncertainty.tif", uncertainty, place, nodata=float("nan")),
    ]


@WRITERS.add("pictures")
def _pictures(found, folder: Path) -> list[Path]:
    return write_pictures(folder, found.displays())


@WRITERS.add("tables")
def _tables(found, folder: Path) -> list[Path]:
    return write_tables(folder, found.spectra_table(), found.bands_table())


@WRITERS.add("truth")
def _truth(found, folder: Path) -> list[Path]:
    if found.comparison is None:
        return []
    found.truth_table().to_csv(folder / "truth.csv", index=False)
    return [folder / "truth.csv"]


@WRITERS.add("cleaning")
def _cleaning(found, folder: Path) -> list[Path]:
    path = folder / "cleaning.txt"
    choice = "" if found.normalisation is None else f"{found.normalisation}\n"
    path.write_text(f"{found.cleaning}\n{choice}" + "".join(f"{note}\n" for note in found.notes))
    return [path]


@WRITERS.add("report")
def _report(found, folder: Path) -> list[Path]:
    return [found.report(folder / "report.html")]


WRITERS.seal()
