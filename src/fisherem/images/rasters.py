"""Rasters for a GIS: cloud-optimised GeoTIFF with overviews and attribute tables, and ENVI classification files.

0 is a masked pixel and k + 1 is group k.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .._utils.extras import need_extra
from .contained import check_crs
from .georeference import Georeference

__all__ = ["class_codes", "write_attribute_table", "write_envi_classes", "write_geotiff"]

_PLACE = ("map info", "projection info", "coordinate system string")
# Tiles of a size that viewers fetch at once.
_TILE = 256
# GDAL's codes of the columns of an attribute table: (name, type, usage); types are 0 integer, 2 text.
_COLUMNS = (("Value", 0, 5), ("Class", 2, 2), ("Count", 0, 1), ("Red", 0, 6), ("Green", 0, 7), ("Blue", 0, 8),
            ("Alpha", 0, 9))  # fmt: skip


def class_codes(labels: np.ndarray) -> np.ndarray:
    """Labels (from 0, -1 where masked) as the numbers in class files (uint8)."""
    if labels.max() >= 255:
        raise ValueError(f"class files hold at most 255 groups; got {labels.max() + 1}")
    return (labels + 1).astype(np.uint8)


def write_envi_classes(path: Path, labels, names, colours, georeference: Georeference) -> Path:
    """An ENVI classification file (header and data) of labels (rows x columns, from 0, -1 where masked).

    It carries the class names, their colours (K x 3, from 0 to 1), 0 as the value to ignore, and the georeference.
    Returns the path.
    """
    envi = need_extra("spectral.io.envi", "writing ENVI files", "images")
    metadata = {
        "description": "groups found by fisherem; 0 is masked",
        "data ignore value": 0,
        **_envi_place(georeference),
    }
    shown = [(0, 0, 0), *_bytes(colours)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "line buffering", RuntimeWarning)  # spectral's, for an image of one row
        envi.save_classification(
            str(path),
            class_codes(labels)[:, :, None],
            class_names=["masked", *names],
            class_colors=shown,
            metadata=metadata,
            force=True,
            ext=".img",
            interleave="bsq",
        )
    return path


def _bytes(colours) -> list[tuple[int, ...]]:
    return [tuple(round(255 * c) for c in colour) for colour in colours]


def _envi_place(georeference: Georeference) -> dict:
    """The map fields of the header: those that GDAL writes for the place, or where the coordinate system is not known
    those of the ENVI file that was read. GDAL would read those in feet, or turned about another pixel, elsewhere.
    """
    if georeference.crs is None and georeference.map_info is not None:
        return _joined({"map info": list(georeference.map_info)})
    if georeference.transform is None:
        return {}
    envi = need_extra("spectral.io.envi", "writing ENVI files", "images")
    with TemporaryDirectory() as folder:
        example = Path(folder) / "place.img"
        _write(example, np.ones((1, 1, 1), np.uint8), georeference, driver="ENVI")
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
        warnings.warn(f"the coordinate system is left out, as it cannot be read ({error})", UserWarning, stacklevel=4)
        return {}


def write_geotiff(path: Path, values, georeference: Georeference, *, nodata, names=None, colours=None) -> Path:
    """Values (rows x columns, or rows x columns x bands) as a GeoTIFF: tiled, compressed, with overviews (COG).

    `names` are those of the bands, or of the classes of a map with `colours` (K x 3). Returns the path.
    """
    values = np.asarray(values)
    stack = values[:, :, None] if values.ndim == 2 else values
    classes = colours is not None
    options = {
        "compress": "deflate", "blocksize": _TILE, "bigtiff": "if_safer",
        # the commonest class of four pixels, or their mean
        "overview_resampling": "mode" if classes else "average",
    }  # fmt: skip
    tags = {f"class_{k + 1}": name for k, name in enumerate(names or [])} if classes else {}
    table = None
    if classes:
        table = {0: (0, 0, 0, 0), **{k + 1: (*rgb, 255) for k, rgb in enumerate(_bytes(colours))}}
    shown = None if classes else names
    _write(path, stack, georeference, driver="COG", nodata=nodata, tags=tags, table=table, names=shown, **options)
    return path


def _write(
    path, stack, georeference: Georeference, *, driver, nodata=None, tags=None, table=None, names=None, **options
) -> None:
    """The bands (rows x columns x m) by one of rasterio's drivers."""
    rasterio = need_extra("rasterio", "writing GeoTIFF files", "images")
    place: dict[str, Any] = {}
    if georeference.crs is not None:
        place |= _crs(rasterio, georeference.crs)
    if georeference.transform is not None:
        place["transform"] = rasterio.Affine(*georeference.transform)
    rows, columns, count = stack.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(
            path, "w", driver=driver, height=rows, width=columns, count=count, dtype=stack.dtype.name, nodata=nodata,
            **place, **options,
        ) as file:  # fmt: skip
            for b in range(count):
                file.write(np.ascontiguousarray(stack[:, :, b]), b + 1)
            for b, name in enumerate(names or []):
                file.set_band_description(b + 1, name)
            if tags:
                file.update_tags(1, **tags)
            if table is not None:
                file.write_colormap(1, table)


def write_attribute_table(path: Path, labels, names, colours) -> Path:
    """The raster attribute table of a class map in `path`.aux.xml, where GDAL, QGIS and ArcGIS look for it: number,
    name, pixels and colour of each class. Returns the path of the table."""
    counts = np.bincount((labels + 1).ravel(), minlength=len(names) + 1)
    rows: list[tuple] = [(0, "masked", counts[0], 0, 0, 0, 0)]
    for k, (name, rgb) in enumerate(zip(names, _bytes(colours), strict=True)):
        rows.append((k + 1, name, counts[k + 1], *rgb, 255))
    root = ElementTree.Element("PAMDataset")
    band = ElementTree.SubElement(root, "PAMRasterBand", band="1")
    table = ElementTree.SubElement(band, "GDALRasterAttributeTable", tableType="thematic")
    for i, (name, kind, usage) in enumerate(_COLUMNS):
        column = ElementTree.SubElement(table, "FieldDefn", index=str(i))
        for tag, text in (("Name", name), ("Type", str(kind)), ("Usage", str(usage))):
            ElementTree.SubElement(column, tag).text = text
    for i, row in enumerate(rows):
        line = ElementTree.SubElement(table, "Row", index=str(i))
        for value in row:
            ElementTree.SubElement(line, "F").text = str(value)
    ElementTree.indent(root)
    out = Path(f"{path}.aux.xml")
    out.write_text(ElementTree.tostring(root, encoding="unicode") + "\n", encoding="utf-8")
    return out
