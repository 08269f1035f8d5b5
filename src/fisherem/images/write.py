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

from .._utils.extras import need_extra
from .._utils.register import Register
from .._utils.spreadsheets import write_csv
from ..persistence import save
from ..plots.maps import class_colours
from .contained import check_crs
from .georeference import Georeference

__all__ = ["FILES", "WRITERS", "write_envi_classes", "write_geotiff"]

# The files that the writers of this module can leave in a folder.
FILES = (
    "labels.hdr", "labels.img", "labels.tif", "uncertainty.tif", "labels.png", "colours.png", "uncertainty.png",
    "spectra.png", "other.png", "spectra.csv", "bands.csv", "truth.csv", "cleaning.txt", "model.skops", "report.html",
)  # fmt: skip
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
    """The map fields of the header: those of the ENVI file that was read, else those that GDAL writes for the place."""
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
    """Lists as text: spectral adds blanks around commas, with which GDAL cannot read a coordinate system."""
    return {name: "{" + ",".join(values) + "}" for name, values in fields.items()}


def _crs(rasterio, text: str) -> dict[str, Any]:
    """{"crs": the coordinate system}; a warning and nothing if GDAL does not know it."""
    try:
        check_crs(text, "the georeference")
        return {"crs": rasterio.crs.CRS.from_user_input(text)}
    except (ValueError, rasterio.errors.CRSError) as error:
        warnings.warn(f"the coordinate system is left out, as it cannot be read ({error})", UserWarning, stacklevel=3)
        return {}


def write_geotiff(
    path: Path, values, georeference: Georeference, *, nodata, names=None, colours=None, driver="GTiff"
) -> Path:
    """One band of values (rows x columns) with the georeference, and for class maps their names and colours.

    Returns the path.
    """
    rasterio = need_extra("rasterio", "writing GeoTIFF files", "images")
    place: dict[str, Any] = {}
    if georeference.crs is not None:
        place |= _crs(rasterio, georeference.crs)
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


# -- what a segmentation writes ------------------------------------------------------------------------------------

# (segmentation, folder) -> the files written, in the order in which `Segmentation.save` returns them.
Writer = Callable[[Any, Path], list[Path]]
WRITERS: Register[Writer] = Register("writer of images")


@WRITERS.add("envi")
def _envi(found, folder: Path) -> list[Path]:
    colours, place = class_colours(found.n_clusters), found.cube.georeference
    return [write_envi_classes(folder / "labels.hdr", found.labels, found.group_names, colours, place)]


@WRITERS.add("geotiff")
def _geotiff(found, folder: Path) -> list[Path]:
    colours, place = class_colours(found.n_clusters), found.cube.georeference
    classes = {"nodata": 0, "names": found.group_names, "colours": colours}
    uncertainty = found.uncertainty.astype(np.float32)
    return [
        write_geotiff(folder / "labels.tif", _codes(found.labels), place, **classes),
        write_geotiff(folder / "uncertainty.tif", uncertainty, place, nodata=float("nan")),
    ]


@WRITERS.add("pictures")
def _pictures(found, folder: Path) -> list[Path]:
    import matplotlib.pyplot as plt

    paths = []
    for name, display in found.displays().items():
        paths.append(folder / f"{name}.png")
        figure = display.plot().ax_.figure
        figure.savefig(paths[-1], dpi=150, metadata={"Software": None})
        plt.close(figure)
    return paths


@WRITERS.add("tables")
def _tables(found, folder: Path) -> list[Path]:
    tables = {"spectra.csv": found.spectra_table(), "bands.csv": found.bands_table()}
    for name, table in tables.items():
        write_csv(table, folder / name)
    return [folder / name for name in tables]


@WRITERS.add("truth")
def _truth(found, folder: Path) -> list[Path]:
    if found.comparison is None:
        return []
    write_csv(found.truth_table(), folder / "truth.csv")
    return [folder / "truth.csv"]


@WRITERS.add("cleaning")
def _cleaning(found, folder: Path) -> list[Path]:
    path = folder / "cleaning.txt"
    choice = "" if found.normalisation is None else f"{found.normalisation}\n"
    path.write_text(f"{found.cleaning}\n{choice}" + "".join(f"{note}\n" for note in found.notes))
    return [path]


@WRITERS.add("model")
def _model(found, folder: Path) -> list[Path]:
    return [] if found.scene_model is None else [save(found, folder / "model.skops")]


@WRITERS.add("report")
def _report(found, folder: Path) -> list[Path]:
    return [found.report(folder / "report.html")]


WRITERS.seal()
