"""What a segmentation leaves on disk: rasters (see `rasters`), PNG, CSV, the model and the page.

`WRITERS` is the register of what `Segmentation.save` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.register import Register
from .._utils.spreadsheets import write_csv
from ..persistence import save
from ..plots.maps import class_colours
from .rasters import class_codes, write_attribute_table, write_envi_classes, write_geotiff

__all__ = ["FILES", "WRITERS"]

# The files that the writers of this module can leave in a folder.
FILES = (
    "labels.hdr", "labels.img", "labels.tif", "labels.tif.aux.xml", "posteriors.tif", "uncertainty.tif",
    "agreement.tif", "labels.png", "colours.png",
    "uncertainty.png", "spectra.png", "continuum.png", "other.png", "spectra.csv",
    "bands.csv", "features.csv", "library.csv", "truth.csv",
    "cleaning.txt", "model.skops", "report.html",
)  # fmt: skip


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
    names, empty = found.group_names, float("nan")
    labels = folder / "labels.tif"
    agreement = (
        []
        if found.agreement is None
        else [write_geotiff(folder / "agreement.tif", found.agreement, place, nodata=empty)]
    )
    return [
        *agreement,
        write_geotiff(labels, class_codes(found.labels), place, nodata=0, names=names, colours=colours),
        write_attribute_table(labels, found.labels, names, colours),
        write_geotiff(folder / "posteriors.tif", found.posteriors.astype(np.float32), place, nodata=empty, names=names),
        write_geotiff(folder / "uncertainty.tif", found.uncertainty.astype(np.float32), place, nodata=empty),
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
    tables = {
        "spectra.csv": found.spectra_table(), "bands.csv": found.bands_table(), "features.csv": found.features_table(),
    }  # fmt: skip
    if found.identified is not None:
        tables["library.csv"] = found.identified.table()
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
