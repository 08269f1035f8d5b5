"""ENVI headers that are wrong, or that say more than the layout: used, or refused with what is wrong."""

from dataclasses import replace

import numpy as np
import pytest
import rasterio

from fisherem.datasets import mars_like
from fisherem.images import Cube, read, segment
from fisherem.images.layout import roughness
from fisherem.images.rasters import write_envi_classes

from .files import TYPES, write_envi

UTM = ["UTM", 1, 1, 500000, 4000000, 30, 20, 11, "North"]


@pytest.fixture(scope="module")
def smooth():
    """An image of 30 x 26 pixels and 20 bands, as int16 up to 10,000."""
    r, c, b = np.meshgrid(np.arange(30), np.arange(26), np.arange(20), indexing="ij")
    values = 4000 + 2500 * np.sin(r / 6) * np.cos(c / 5) + 1500 * np.sin(b / 4 + r / 20)
    return (values + np.random.default_rng(0).normal(0, 20, values.shape)).astype(np.int16)


@pytest.fixture(scope="module")
def maps(smooth):
    """A segmentation of the image, in no place."""
    return segment(Cube(smooth), 2)


@pytest.mark.parametrize("turned", [30.0, -12.5, 90.0])
@pytest.mark.parametrize("tie", [(1, 1), (3, 5)])
def test_rotated_map_info_is_gdals_transform(tmp_path, smooth, maps, turned, tie):
    info = ["UTM", *tie, 500000, 4000000, 30, 30, 11, "North", "WGS-84", "units=Meters", f"rotation={turned}"]
    path = write_envi(tmp_path / "a.hdr", smooth, map_info=info)
    place = read(path).georeference
    dx, dy = 30 * np.cos(np.deg2rad(turned)), 30 * np.sin(np.deg2rad(turned))
    assert place.transform[:2] + place.transform[3:5] == pytest.approx((dx, dy, dy, -dx))
    a, b, c, d, e, f = place.transform  # the tie point is where the header says
    col, row = tie[0] - 1, tie[1] - 1
    assert (a * col + b * row + c, d * col + e * row + f) == pytest.approx((500000, 4000000))
    if tie == (1, 1):
        with rasterio.open(path.with_suffix(".img")) as file:
            assert place.transform == pytest.approx(tuple(file.transform)[:6], abs=1e-6)
    found = replace(maps, cube=read(path))
    found.save(tmp_path / "out")
    for name in ("labels.tif", "labels.img"):
        with rasterio.open(tmp_path / "out" / name) as file:
            assert tuple(file.transform)[:6] == pytest.approx(place.transform)
            assert file.crs.to_epsg() == 32611
    assert found.pixel_size == (pytest.approx(30), "m")


@pytest.mark.parametrize(
    ("datum", "code"),
    [("North America 1983", 26911), ("North America 1927", 26711), ("WGS-72", 32211), ("WGS-84", 32611),
     ("ETRS89", 25833), ("European 1950", 23033)],
)  # fmt: skip
def test_datums_of_utm_keep_their_coordinate_system(tmp_path, smooth, datum, code):
    info = [*UTM[:7], code % 100, "North", datum, "units=Meters"]
    path = write_envi(tmp_path / "a.hdr", smooth, map_info=info)
    assert read(path).georeference.crs == f"EPSG:{code}"
    assert segment(path, 2).pixel_size == (30, "m")


def test_us_feet_are_feet(tmp_path, smooth):
    info = [*UTM, "North America 1983", "units=US Survey Feet"]
    place = read(write_envi(tmp_path / "a.hdr", smooth, map_info=info)).georeference
    foot = 1200 / 3937
    assert place.crs == "EPSG:26911"
    assert place.transform == pytest.approx((30 * foot, 0, 500000 * foot, 0, -20 * foot, 4000000 * foot))
    written = write_envi_classes(tmp_path / "labels.hdr", np.zeros((30, 26), int), ["one"], [(1, 0, 0)], place)
    with rasterio.open(written.with_suffix(".img")) as file:  # in metres, as the coordinate system is
        assert tuple(file.transform)[:6] == pytest.approx(place.transform)
        assert file.crs.to_epsg() == 26911
    wkt = rasterio.crs.CRS.from_epsg(2229).to_wkt()  # a zone of California in US feet
    path = write_envi(tmp_path / "b.hdr", smooth, map_info=["State Plane", *info[1:7], "units=Feet"],
                      coordinate_system_string=f"{{{wkt}}}")  # fmt: skip
    assert read(path).georeference.transform == (30, 0, 500000, 0, -20, 4000000)
    assert segment(path, 2).pixel_size == (pytest.approx(30 * foot), "m")
    path = write_envi(tmp_path / "c.hdr", smooth, map_info=["State Plane", *info[1:7], "units=Meters"],
                      coordinate_system_string=f"{{{wkt}}}")  # fmt: skip
    with pytest.raises(ValueError, match=r"c.hdr: 'map info' is in Meters, but the coordinate system in units of 0.30"):
        read(path)
    with pytest.raises(ValueError, match=r"unknown unit 'Cubits'"):
        read(write_envi(tmp_path / "d.hdr", smooth, map_info=[*UTM, "WGS-84", "units=Cubits"]))


def test_a_coordinate_system_that_is_not_known_is_said(tmp_path, smooth):
    path = write_envi(tmp_path / "a.hdr", smooth, map_info=[*UTM, "Tokyo mean"])
    found = segment(path, 2)
    assert any("UTM, 11, North, Tokyo mean) is not known by name" in note for note in found.notes)


def test_data_files_of_another_length(tmp_path, smooth):
    path = write_envi(tmp_path / "a.hdr", smooth)
    data = path.with_suffix(".img")
    whole = data.read_bytes()
    data.write_bytes(whole + whole[: 26 * 20 * 2 * 3])
    with pytest.raises(ValueError, match=r"a.img is longer than its header says: expected 31200 bytes .* lines = 33"):
        read(path)
    data.write_bytes(whole + b"xyz")
    with pytest.raises(ValueError, match=r"is longer than its header says.*got 31203; correct the header"):
        read(path)
    data.write_bytes(whole)
    header = path.read_text()
    path.write_text(header.replace("data type = 2", "data type = 1"))
    with pytest.raises(ValueError, match=r"longer than its header says.*size for data type 2 \(int16\) or 12"):
        read(path)
    path.write_text(header.replace("data type = 2", "data type = 4"))
    with pytest.raises(ValueError, match=r"shorter than its header says.*size for data type 2"):
        read(path)


def changed(path, old, new):
    path.write_text(path.read_text().replace(old, new))
    return path


def test_a_wrong_byte_order_shows(tmp_path, smooth):
    for kind in ("int16", "float32", "int32", "float64"):
        path = write_envi(tmp_path / "a.hdr", smooth.astype(kind))
        read(path)
        with pytest.raises(ValueError, match=r"byte order = 0"):
            read(changed(path, "byte order = 0", "byte order = 1"))


@pytest.mark.parametrize(
    ("right", "wrong"), [("bsq", "bil"), ("bsq", "bip"), ("bil", "bsq"), ("bil", "bip"), ("bip", "bsq"), ("bip", "bil")]
)
def test_a_wrong_interleave_shows(tmp_path, smooth, right, wrong):
    # of bil files that are said to be bsq half are found (`THRESHOLDS.bsq_rougher`), this one among them
    scene = smooth if right == "bil" else mars_like(30, 26, 40, seed=3).cube.data
    path = write_envi(tmp_path / "a.hdr", scene, right)
    read(path)
    with pytest.raises(ValueError, match=rf"a.img: the values do not fit its header: .*interleave = {right}, not"):
        read(changed(path, f"interleave = {right}", f"interleave = {wrong}"))


def test_scenes_that_repeat_themselves_are_read(tmp_path):
    scene = mars_like(40, 36, 40, seed=2).cube.data
    for interleave in ("bsq", "bil", "bip"):
        read(write_envi(tmp_path / "a.hdr", np.tile(scene, (3, 3, 1)), interleave))


@pytest.mark.parametrize(
    ("stored", "said", "message"),
    [("uint16", "int16", "data type = 12"), ("float32", "int32", r"as floats \(data type 4\) about"),
     ("int32", "float32", r"as integers \(data type 3\)"), ("float64", "float32", "longer than its header")],
)  # fmt: skip
def test_a_wrong_data_type_shows(tmp_path, smooth, stored, said, message):
    values = (8 * smooth.astype(np.int32) if stored == "uint16" else smooth).astype(stored)
    path = write_envi(tmp_path / "a.hdr", values)
    read(path)
    with pytest.raises(ValueError, match=message):
        read(changed(path, f"data type = {TYPES[stored]}", f"data type = {TYPES[said]}"))


def test_roughness_is_the_mean_difference_of_ranks():
    values = np.random.default_rng(1).integers(0, 30, size=(50, 4)).astype(float)
    flat = np.sort(values.ravel())
    rank = np.array([[np.mean([(v > o) + 0.5 * (v == o) for o in flat]) for v in row] for row in values])
    naive = sum(np.mean([abs(row[j] - row[0]) for row in rank]) for j in (1, 2, 3))
    assert roughness(values) == pytest.approx(naive)


def test_gains_and_offsets_are_applied(tmp_path, smooth):
    gains, offsets = np.linspace(0.5, 2, 20), np.linspace(-3, 3, 20)
    values = smooth.copy()
    values[2, 3] = -999
    path = write_envi(
        tmp_path / "a.hdr", values, "bil", data_gain_values=gains, data_offset_values=offsets, data_ignore_value=-999
    )
    cube = read(path)
    expected = smooth * gains + offsets
    expected[2, 3] = np.nan
    np.testing.assert_allclose(cube.data, expected)
    assert segment(path, 2).cleaning.not_finite_pixels == 1
    with pytest.raises(ValueError, match="'data gain values' must hold 20 numbers"):
        read(write_envi(tmp_path / "b.hdr", smooth, data_gain_values=[1, 2]))


def test_default_bands_are_the_colours(tmp_path, smooth):
    found = segment(write_envi(tmp_path / "a.hdr", smooth, default_bands=[9, 5, 2]), 2)
    assert found.colours.bands == (8, 4, 1)
    assert segment(found.cube, 2, rgb=(0, 1, 2)).colours.bands == (0, 1, 2)
    assert read(write_envi(tmp_path / "b.hdr", smooth, default_bands=[7])).default_bands == (6, 6, 6)
    natural = write_envi(tmp_path / "c.hdr", smooth, wavelength=np.linspace(450, 920, 20), default_bands=[9, 5, 1])
    assert segment(natural, 2).colours.natural
    for wrong in ([1, 2], [0, 1, 2], [1, 2, 21], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="'default bands' must be one or three numbers from 1 to 20"):
            read(write_envi(tmp_path / "d.hdr", smooth, default_bands=wrong))
