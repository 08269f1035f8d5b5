"""What a GIS user expects of the files, and of the maps in a paper."""

import warnings
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
import rasterio
import spectral.io.envi as envi

from fisherem.images import Cube, Georeference, segment
from fisherem.images.colours import colour_bands
from fisherem.images.georeference import crs_name
from fisherem.images.rasters import write_envi_classes, write_geotiff
from fisherem.plots.places import MapPlace

UTM = Georeference("EPSG:32632", (30.0, 0.0, 500000.0, 0.0, -30.0, 5200000.0))


@pytest.fixture(scope="module")
def saved(plain_segmentation, tmp_path_factory):
    folder = tmp_path_factory.mktemp("products")
    found = replace(plain_segmentation, cube=replace(plain_segmentation.cube, georeference=UTM))
    found = found.named(["dust & ice", "mafic"])
    found.save(folder)
    return found, folder


@pytest.fixture(scope="module")
def plain_segmentation():
    rng = np.random.default_rng(3)
    array = np.full((12, 9, 24), 0.3) + 0.004 * rng.normal(size=(12, 9, 24))
    array[:, 5:, 10:13] -= 0.1
    array[0, 0] = np.nan
    return segment(Cube(array.astype(np.float32), np.linspace(0.5, 2.5, 24), "um"), 2)


def test_posteriors_are_a_raster_of_a_band_per_group(saved):
    found, folder = saved
    with rasterio.open(folder / "posteriors.tif") as file:
        np.testing.assert_allclose(file.read().transpose(1, 2, 0), found.posteriors, atol=1e-6)
        assert file.descriptions == ("dust & ice", "mafic")
        assert np.isnan(file.nodata)
        assert file.crs.to_epsg() == 32632


def test_rasters_are_tiled_compressed_and_have_overviews(tmp_path):
    labels = np.zeros((700, 520), np.uint8)
    labels[:, 260:] = 2
    labels[::4] = 1
    path = write_geotiff(tmp_path / "a.tif", labels, UTM, nodata=0, names=["a", "b"], colours=[(1, 0, 0), (0, 1, 0)])
    with rasterio.open(path) as file:
        assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert (file.profile["tiled"], file.profile["blockxsize"], file.profile["compress"]) == (True, 256, "deflate")
        assert file.overviews(1) == [2, 4]
    with rasterio.open(path, overview_level=0) as small:
        assert set(np.unique(small.read(1))) <= {0, 1, 2}  # classes, not means of them
    values = labels.astype(np.float32)
    values[0, 0] = np.nan
    write_geotiff(tmp_path / "b.tif", values, UTM, nodata=float("nan"))
    with rasterio.open(tmp_path / "b.tif", overview_level=0) as small:
        np.testing.assert_allclose(small.read(1)[0, 1], values[:2, 2:4].mean())


def test_the_attribute_table_has_names_pixels_and_colours(saved):
    found, folder = saved
    table = ElementTree.parse(folder / "labels.tif.aux.xml").getroot().find(".//GDALRasterAttributeTable")
    names = [column.findtext("Name") for column in table.iter("FieldDefn")]
    rows = [dict(zip(names, [f.text for f in row.iter("F")], strict=True)) for row in table.iter("Row")]
    assert [row["Class"] for row in rows] == ["masked", "dust & ice", "mafic"]
    assert [int(row["Count"]) for row in rows] == [1, *np.bincount(found.labels[found.labels >= 0])]
    assert (rows[1]["Red"], rows[1]["Green"], rows[1]["Blue"]) == ("0", "114", "178")
    with rasterio.open(folder / "labels.tif") as file:  # and GDAL reads the file with it
        assert file.colormap(1)[1] == (0, 114, 178, 255)


def test_envi_files_say_what_to_ignore(saved):
    header = envi.read_envi_header(str(saved[1] / "labels.hdr"))
    assert header["data ignore value"] == "0"
    with rasterio.open(saved[1] / "labels.img") as file:
        assert file.nodata == 0


def test_north_and_coordinates():
    place = MapPlace(UTM.transform, "x")
    assert place.north == (0, 1)
    assert place.at(9, 12) == (500270, 5199640)
    columns, rows = place.ticks((12, 9))
    assert columns == [(-0.5, "500000"), (100 / 30 - 0.5, "500100"), (200 / 30 - 0.5, "500200")]
    assert [text for _, text in rows] == ["5199700", "5199800", "5199900", "5200000"]
    assert rows[-1][0] == -0.5
    angle = np.deg2rad(30)  # rows run 30 degrees clockwise of east
    turned = MapPlace((np.cos(angle), -np.sin(angle), 0, -np.sin(angle), -np.cos(angle), 0))
    np.testing.assert_allclose(turned.north, (-np.sin(angle), np.cos(angle)), atol=1e-12)
    assert turned.ticks((5, 5)) == ([], [])
    assert turned.corners((1, 1)).startswith("upper left 0, 0, lower right 0.366")
    south_up = MapPlace((1, 0, 0, 0, 1, 0))
    np.testing.assert_allclose(south_up.north, (0, -1), atol=1e-12)


def test_maps_show_north_coordinates_and_scale(saved):
    found, folder = saved
    assert found.place.system == crs_name("EPSG:32632") == "WGS 84 / UTM zone 32N (EPSG:32632)"
    for name in ("labels", "colours", "uncertainty"):
        ax = found.displays()[name].plot().ax_
        texts = [text.get_text() for text in ax.texts]
        assert "N" in texts
        assert "50 m" in texts
        assert "WGS 84 / UTM zone 32N (EPSG:32632)" in texts
        assert [label.get_text() for label in ax.get_xticklabels()] == ["500000", "500100", "500200"]
        plt.close(ax.figure)
    page = (folder / "report.html").read_text()
    assert "upper left 500000, 5200000, lower right 500270, 5199640 (WGS 84 / UTM zone 32N (EPSG:32632))" in page
    assert "north is 0 degrees clockwise from up" in page


def test_maps_without_a_place_have_pixels(plain_segmentation):
    ax = plain_segmentation.displays()["labels"].plot().ax_
    assert [text.get_text() for text in ax.texts] == ["2 pixels"]
    assert len(ax.get_xticks()) == 0
    plt.close(ax.figure)


def test_the_view_is_of_the_default_bands_if_the_file_names_them(plain_segmentation):
    cube = replace(plain_segmentation.cube, default_bands=(20, 10, 5))
    assert colour_bands(cube, np.ones(24, bool)) == ((20, 10, 5), False)
    assert replace(plain_segmentation, cube=cube).colours.bands == (20, 10, 5)


def test_an_image_of_one_row_is_written_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = write_envi_classes(tmp_path / "x.hdr", np.array([[0, 1, -1]]), ["a", "b"], np.eye(3)[:2], Georeference())
    assert (tmp_path / "x.img").read_bytes() == bytes([1, 2, 0])
    assert path == tmp_path / "x.hdr"
