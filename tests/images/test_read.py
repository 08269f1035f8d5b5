"""Every format gives the same cube; bad files give one clear error each."""

import sys
from importlib import import_module

import numpy as np
import pytest
import rasterio
import scipy.io
from rasterio import Affine

from fisherem.images import Cube, clean, read, segment

from .files import write_envi, write_mat73, write_tif

LAYOUTS = [(i, o) for i in ("bsq", "bil", "bip") for o in (0, 1)]


@pytest.mark.parametrize(("interleave", "byte_order"), LAYOUTS)
@pytest.mark.parametrize("kind", ["uint8", "int16", "uint16", "int32", "float32", "float64"])
def test_envi_layouts_and_types_give_the_stored_values(tmp_path, interleave, byte_order, kind):
    array = np.random.default_rng(0).integers(0, 200, size=(5, 4, 3)).astype(kind)
    cube = read(write_envi(tmp_path / "a.hdr", array, interleave, byte_order, offset=7))
    assert cube.shape == (5, 4, 3)
    np.testing.assert_array_equal(cube.data, array)
    np.testing.assert_array_equal(cube.pixels[3:11], array.reshape(-1, 3)[3:11])
    np.testing.assert_array_equal(cube.pixels[np.array([19, 0, 7])], array.reshape(-1, 3)[[19, 0, 7]])
    assert cube.pixels[:2].dtype.isnative


def test_envi_data_stay_on_disk(tmp_path, plain):
    for interleave in ("bsq", "bil", "bip"):
        cube = read(write_envi(tmp_path / "a.hdr", plain[0], interleave))
        base = cube.data
        while base.base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap) or type(base).__name__ == "mmap"


def test_envi_header_fields(tmp_path, plain):
    array, wavelengths, _ = plain
    path = write_envi(
        tmp_path / "a.hdr", (10000 * array).astype(np.int16),
        wavelength=1000 * wavelengths, wavelength_units="Nanometers",
        bbl=[0] + 23 * [1], band_names=[f"b{j}" for j in range(24)], data_ignore_value=-999,
        reflectance_scale_factor=10000, map_info=["UTM", 1, 1, 500000, 4000000, 30, 30, 32, "North", "WGS-84"],
    )  # fmt: skip
    cube = read(path)
    np.testing.assert_allclose(cube.wavelengths, 1000 * wavelengths)
    assert (cube.units, cube.fill_value, cube.scale_factor) == ("nm", -999, 10000)
    assert cube.bad_bands.nonzero()[0].tolist() == [0]
    assert cube.names()[:2] == ["b0", "b1"]
    assert cube.georeference.crs == "EPSG:32632"
    assert cube.georeference.transform == (30, 0, 500000, 0, -30, 4000000)
    np.testing.assert_allclose(cube.pixels[:4], array.reshape(-1, 24)[:4], atol=1e-4)


def test_geotiff_fields(tmp_path, plain):
    array, wavelengths, _ = plain
    names = [f"{1000 * w:.1f} nm" for w in wavelengths]
    path = write_tif(
        tmp_path / "a.tif", array, names=names, nodata=65535, crs="EPSG:32632", transform=Affine(3, 0, 10, 0, -3, 20)
    )
    cube = read(path)
    np.testing.assert_array_equal(cube.data, array)
    assert cube.fill_value == 65535
    np.testing.assert_allclose(cube.wavelengths, 1000 * wavelengths, atol=0.05)
    assert cube.units == "nm"
    assert cube.georeference.transform == (3, 0, 10, 0, -3, 20)


def test_tables_of_pixels_fold_as_matlab_and_as_numpy_count(tmp_path, plain):
    array = plain[0]
    down = array.transpose(2, 1, 0).reshape(24, -1)  # bands x pixels, down the columns
    scipy.io.savemat(tmp_path / "a.mat", {"V": down, "n": 3.0})
    np.testing.assert_array_equal(read(tmp_path / "a.mat", shape=(12, 9)).data, array)
    write_mat73(tmp_path / "b.mat", V=down)
    np.testing.assert_array_equal(read(tmp_path / "b.mat", shape=(12, 9)).data, array)
    np.save(tmp_path / "c.npy", array.reshape(-1, 24))
    np.testing.assert_array_equal(read(tmp_path / "c.npy", shape=(12, 9)).data, array)


def test_every_format_gives_the_identical_map(tmp_path, plain):
    array, wavelengths, truth = plain
    expected = segment(array, 2)
    assert len(np.unique(expected.labels[truth == 0])) == len(np.unique(expected.labels[truth == 1])) == 1
    scipy.io.savemat(tmp_path / "v5.mat", {"cube": array})
    np.save(tmp_path / "a.npy", array)
    paths = [
        *(write_envi(tmp_path / f"{i}{o}.hdr", array, i, o, wavelength=wavelengths) for i, o in LAYOUTS),
        write_tif(tmp_path / "a.tif", array, crs="EPSG:32632", transform=Affine(1, 0, 5, 0, -1, 5)),
        tmp_path / "v5.mat",
        write_mat73(tmp_path / "v73.mat", cube=array),
        tmp_path / "a.npy",
    ]
    for path in paths:
        found = segment(path, 2)
        np.testing.assert_allclose(found.posteriors, expected.posteriors, atol=1e-9, err_msg=path.name)
        np.testing.assert_array_equal(found.support, expected.support)


@pytest.fixture
def all_large(monkeypatch):
    """As if every file were too large to be read at once, in groups of few lines."""
    for name in ("lines", "arrays"):
        monkeypatch.setattr(import_module(f"fisherem.images.{name}"), "READ_WHOLE_BYTES", 0)
    lines = import_module("fisherem.images.lines")
    monkeypatch.setattr(lines, "_GROUP_BYTES", 2500)
    monkeypatch.setattr(lines, "_KEPT", 2)
    return lines.LazyLines


LAYOUTS_TIF = {
    "strips": {},
    "tiles": {"tiled": True, "blockxsize": 16, "blockysize": 16},
    "packed": {"compress": "lzw"},
}


@pytest.mark.parametrize("layout", LAYOUTS_TIF)
def test_large_geotiffs_stay_on_disk(tmp_path, all_large, layout):
    array = np.random.default_rng(0).integers(0, 999, size=(37, 21, 6)).astype(np.uint16)
    path = write_tif(tmp_path / "a.tif", array, transform=Affine(1, 0, 5, 0, -1, 5), **LAYOUTS_TIF[layout])
    _assert_lazy(read(path), array, all_large)


def test_large_geotiffs_with_scales_of_their_own(tmp_path, all_large):
    import rasterio

    array = np.random.default_rng(0).integers(1, 999, size=(37, 21, 3)).astype(np.int16)
    array[3, 4, 1] = -5
    path = write_tif(tmp_path / "a.tif", array, nodata=-5, transform=Affine(1, 0, 5, 0, -1, 5))
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = (1.0, 0.5, 2.0), (0.0, 0.0, 7.0)
    expected = array * [1.0, 0.5, 2.0] + [0.0, 0.0, 7.0]
    expected[3, 4, 1] = np.nan
    _assert_lazy(read(path), expected, all_large)


def test_large_matlab_files_stay_on_disk(tmp_path, all_large):
    import h5py

    array = np.random.default_rng(0).normal(size=(37, 21, 6))
    _assert_lazy(read(write_mat73(tmp_path / "a.mat", cube=array)), array, all_large)
    with h5py.File(tmp_path / "b.mat", "w") as file:
        file.create_dataset("cube", data=array.T, chunks=(2, 5, 8), compression="gzip")
    _assert_lazy(read(tmp_path / "b.mat"), array, all_large)
    with pytest.raises(ValueError, match=r"shape=\(3, 4\) was asked for; the array has \(37, 21\)"):
        read(tmp_path / "b.mat", shape=(3, 4), variable="cube")


def _assert_lazy(cube, array, kind):
    assert isinstance(cube.data, kind)
    flat = array.reshape(-1, array.shape[2])
    np.testing.assert_array_equal(cube.data, array)
    for key in (slice(0, 0), slice(3, 11), slice(20, 700), slice(500, None), np.array([776, 0, 5, 5])):
        np.testing.assert_array_equal(cube.pixels[key], flat[key])
    assert len(cube.data._groups) <= 2
    with pytest.raises(IndexError, match="step of 1"):
        cube.data[::2]


def test_lazy_files_give_the_identical_map(tmp_path, plain, all_large):
    array = plain[0]
    expected = segment(array, 2)
    write_tif(tmp_path / "a.tif", array, transform=Affine(1, 0, 5, 0, -1, 5))
    for path in (tmp_path / "a.tif", write_mat73(tmp_path / "v73.mat", cube=array)):
        found = segment(path, 2)
        assert isinstance(found.cube.data, all_large)
        np.testing.assert_allclose(found.posteriors, expected.posteriors, atol=1e-9)
        np.testing.assert_array_equal(found.support, expected.support)


# -- bad files ---------------------------------------------------------------------------------------------------------


def _short(path):
    path.with_suffix(".img").write_bytes(path.with_suffix(".img").read_bytes()[:-10])


def _edit(old, new):
    return lambda path: path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (lambda p: p.with_suffix(".img").unlink(), FileNotFoundError, "no data file"),
        (_short, ValueError, "shorter than its header says: expected 10368 bytes"),
        (_edit("data type = 4", "data type = 77"), ValueError, "data type 77 is unknown"),
        (_edit("data type = 4", "data type = 6"), ValueError, "data type 6 is unknown or not real"),
        (_edit("interleave = bsq", "interleave = bsx"), ValueError, "interleave must be"),
        (_edit("lines = 12", "lines = many"), ValueError, "'lines' must be a whole number"),
        (_edit("bands = 24\n", ""), ValueError, "'bands' must be a whole number; it is missing"),
        (_edit("ENVI\n", "nonsense\n"), ValueError, "not an ENVI header"),
        (_edit("samples = 9", "samples = 0"), ValueError, "must be at least 1"),
        (_edit("lines = 12", "lines = -12"), ValueError, "must be at least 1"),
        (_edit("byte order = 0", "byte order = 7"), ValueError, "byte order must be 0 or 1"),
        (_edit("byte order = 0", "wavelength = { 1, x }"), ValueError, "a.hdr: 'wavelength' must be numbers"),
        (_edit("byte order = 0", "data ignore value = none"), ValueError, "'data ignore value' must be numbers"),
        (_edit("byte order = 0", "reflectance scale factor = 0"), ValueError, "must be above 0"),
        (_edit("byte order = 0", "reflectance scale factor = inf"), ValueError, "must be finite"),
        (_edit("byte order = 0", "wavelength = 0.5"), ValueError, "a.hdr: 'wavelength' must hold 24 numbers.*holds 1"),
        (_edit("byte order = 0", "bbl = { 1 }"), ValueError, "a.hdr: 'bbl' must hold 24 numbers, one per band"),
        (_edit("byte order = 0", "bbl = 1"), ValueError, "a.hdr: 'bbl' must hold 24 numbers, one per band"),
        (_edit("byte order = 0", "band names = Red"), ValueError, "'band names' must hold 24 names.*it holds 1"),
        (_edit("byte order = 0", "data ignore value = { 1, 2 }"), ValueError, "must hold one number; it holds 2"),
        (_edit("header offset = 0", "header offset = -4"), ValueError, "'header offset' must be at least 0"),
        (_edit("lines = 12", f"lines = {10**30}"), ValueError, "shorter than its header says"),
        (_edit("byte order = 0", "map info = { UTM, 1, 1, east, 4, 5, 6, 33, North, WGS-84 }"), ValueError,
         "a.hdr: 'map info' must hold a projection, six numbers and the zone of UTM .*'east'"),
        (_edit("byte order = 0", "map info = { UTM, 1 }"), ValueError,
         r"a.hdr: 'map info' must hold .*it holds \['UTM', '1'\]"),
        (_edit("byte order = 0", "map info = UTM"), ValueError, "a.hdr: 'map info' must hold .*it holds 'UTM'"),
        (_edit("byte order = 0", "map info = { UTM, 1, 1, 3, 4, 5, 6, 99, North, WGS-84 }"), ValueError,
         "a.hdr: 'map info' .*zone 99"),
        (_edit("byte order = 0", "map info = { UTM, 1, 1, nan, 4, 5, 6, 33, North, WGS-84 }"), ValueError,
         "a.hdr: 'map info' must hold finite numbers"),
        (lambda p: p.unlink(), FileNotFoundError, "there is no"),
    ],
)  # fmt: skip
def test_bad_envi_files(tmp_path, plain, damage, error, message):
    path = write_envi(tmp_path / "a.hdr", plain[0])
    damage(path)
    with pytest.raises(error, match=message):
        read(path)


def test_bad_matlab_files(tmp_path, plain):
    array = plain[0]
    scipy.io.savemat(tmp_path / "none.mat", {"V": array[0], "name": "x"})
    with pytest.raises(ValueError, match=r"no 3-D array; it has: V 9 x 24; .*shape="):
        read(tmp_path / "none.mat")
    with pytest.raises(ValueError, match="no array with 3 x 5 pixels"):
        read(tmp_path / "none.mat", shape=(3, 5))
    scipy.io.savemat(tmp_path / "two.mat", {"first": array, "second": array[:, :, :5]})
    with pytest.raises(ValueError, match=r"variable= among first 12 x 9 x 24, second 12 x 9 x 5"):
        read(tmp_path / "two.mat")
    assert read(tmp_path / "two.mat", variable="second").shape == (12, 9, 5)
    with pytest.raises(ValueError, match="no array 'third'"):
        read(tmp_path / "two.mat", variable="third")
    write_mat73(tmp_path / "two73.mat", first=array, second=array)
    with pytest.raises(ValueError, match="variable= among first 12 x 9 x 24, second"):
        read(tmp_path / "two73.mat")
    (tmp_path / "text.mat").write_text("not a matlab file at all, only text " * 10)
    with pytest.raises(ValueError, match="cannot be read as a MATLAB file"):
        read(tmp_path / "text.mat")


@pytest.mark.parametrize("kind", ["v5", "v5 packed", "v7.3"])
def test_damaged_matlab_files_are_named(tmp_path, plain, kind):
    path = tmp_path / "a.mat"
    if kind == "v7.3":
        write_mat73(path, cube=plain[0])
    else:
        scipy.io.savemat(path, {"cube": plain[0]}, do_compression=kind != "v5")
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(good[: rng.choice([len(good), rng.integers(128, len(good))])])
        for place in rng.integers(120, min(3000, len(damaged)), 5) if len(damaged) > 121 else []:
            damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found = read(path)
        except ValueError as error:
            message = str(error)
            assert message.startswith("a.mat")
            assert "\n" not in message
        else:  # damage to the values themselves leaves a cube of real numbers
            assert found.data.ndim == 3
            assert found.data.dtype.kind in "iuf"
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(ValueError, match=r"a\.mat (is damaged or incomplete|cannot be read as a MATLAB)"):
        read(path)


def test_bad_ranges_and_tags(tmp_path, plain):
    array, wavelengths, _ = plain
    for bands in ("1..2-3um", "1-2..um", "-", "1-2-3", ".-1", "1.5-2parsec"):
        with pytest.raises(ValueError, match=f"bands must read like .* got '{bands}'"):
            clean(Cube(array, wavelengths, "um"), bands=bands)
    path = write_tif(tmp_path / "a.tif", array[:, :, :2], transform=Affine(1, 0, 5, 0, -1, 5))
    with rasterio.open(path, "r+") as file:
        file.update_tags(1, wavelength="0.5 um")
        file.update_tags(2, wavelength="1..2")
    with pytest.raises(ValueError, match=r"a\.tif: the tag 'wavelength' of band 2 must be a number; it says '1\.\.2'"):
        read(path)


def test_other_bad_files(tmp_path, plain):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(tmp_path / "none.tif")
    (tmp_path / "a.tif").write_text("text")
    with pytest.raises(ValueError, match=r"a.tif is not a TIFF file"):
        read(tmp_path / "a.tif")
    (tmp_path / "a.xyz").write_text("text")
    with pytest.raises(ValueError, match="recognised by the ending"):
        read(tmp_path / "a.xyz")
    np.save(tmp_path / "a.npy", plain[0][0])
    with pytest.raises(ValueError, match="expected rows x columns x bands"):
        read(tmp_path / "a.npy")
    np.save(tmp_path / "c.npy", plain[0].astype(complex))
    with pytest.raises(ValueError, match="real numbers"):
        read(tmp_path / "c.npy")
    path = write_envi(tmp_path / "a.hdr", plain[0])
    with pytest.raises(ValueError, match="the mask must have the cube's rows x columns"):
        read(path, mask=np.ones((3, 3)))
    with pytest.raises(ValueError, match="not used for"):
        read(path, variable="x")


def test_mask_from_files(tmp_path, plain):
    use = np.zeros((12, 9), np.uint8)
    use[2:5] = 1
    np.save(tmp_path / "cube.npy", plain[0])
    np.save(tmp_path / "mask.npy", use)
    write_envi(tmp_path / "mask.hdr", use[:, :, None])
    write_tif(tmp_path / "mask.tif", use[:, :, None], transform=Affine(1, 0, 5, 0, -1, 5))
    for name in ("mask.npy", "mask.hdr", "mask.tif"):
        np.testing.assert_array_equal(read(tmp_path / "cube.npy", mask=tmp_path / name).mask, use == 1)


def test_missing_extras_are_named(tmp_path, plain, monkeypatch):
    path = write_envi(tmp_path / "a.hdr", plain[0])
    monkeypatch.setitem(sys.modules, "spectral.io.envi", None)  # as if it were not installed
    with pytest.raises(
        ImportError, match=r"reading ENVI files needs the package spectral: pip install 'fisherem\[images"
    ):
        read(path)
