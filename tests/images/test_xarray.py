"""Cubes of xarray, Dask and Zarr: dimensions by name, wavelengths and coordinate system kept, results likewise."""

import dask.array
import numpy as np
import pytest
import rioxarray
import xarray
import zarr

from fisherem.images import as_cube, segment
from fisherem.images.sources import sides

from .files import write_tif

# rioxarray multiplies transforms in a way that affine 3 will not support
pytestmark = pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")


@pytest.fixture
def labelled(plain):
    """The plain cube as band, y, x with wavelengths and a coordinate system, as rioxarray makes it."""
    array = xarray.DataArray(
        plain[0].transpose(2, 0, 1), dims=("band", "y", "x"),
        coords={"wavelength": ("band", 1000 * plain[1], {"units": "nm"}),
                "y": 4000 - 20 * np.arange(12) - 10.0, "x": 500 + 30 * np.arange(9) + 15.0},
    )  # fmt: skip
    return array.rio.write_crs("EPSG:26911")


def test_dimensions_are_taken_by_name(labelled, plain):
    expected = segment(plain[0], 2)
    for order in (("band", "y", "x"), ("y", "x", "band"), ("x", "band", "y")):
        cube = as_cube(labelled.transpose(*order))
        np.testing.assert_array_equal(cube.data, plain[0])
        np.testing.assert_allclose(cube.wavelengths, 1000 * plain[1])
        assert cube.units == "nm"
        assert cube.georeference.transform == (30, 0, 500, 0, -20, 4000)
    found = segment(labelled, 2)
    assert found.labels.shape == (12, 9)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert segment(labelled.to_dataset(name="reflectance"), 2).labels.shape == (12, 9)


@pytest.mark.parametrize(
    ("dims", "places"),
    [(("lat", "lon", "wavelength"), (0, 1, 2)), (("bands", "Line", "Sample"), (1, 2, 0)),
     (("y", "x", "what"), (0, 1, 2)),
     (("downtrack", "crosstrack", "bands"), (0, 1, 2))],
)  # fmt: skip
def test_names_of_dimensions(dims, places):
    assert sides(dims) == places


@pytest.mark.parametrize("dims", [("a", "b", "band"), ("y", "x", "lat"), ("y", "x")])
def test_dimensions_that_are_not_known_are_refused(dims):
    with pytest.raises(ValueError, match="rename them to 'y', 'x' and 'band'"):
        as_cube(xarray.DataArray(np.ones((3,) * len(dims)), dims=dims))


def test_results_go_back_as_data_arrays(labelled):
    found = segment(labelled, 2)
    back = found.to_xarray()
    assert back["labels"].dims == ("y", "x")
    np.testing.assert_array_equal(back["labels"], found.labels)
    np.testing.assert_array_equal(back["posteriors"].transpose("y", "x", "group"), found.posteriors)
    np.testing.assert_array_equal(back["x"], labelled["x"])
    np.testing.assert_array_equal(back["selected"], found.support)
    np.testing.assert_array_equal(back["wavelength"], labelled["wavelength"])
    assert list(back["group"].values) == ["group 1", "group 2"]
    assert back["labels"].rio.crs.to_epsg() == 26911
    assert back["labels"].rio.transform() == labelled.rio.transform()


def test_files_give_data_arrays_with_their_place(tmp_path, plain):
    from rasterio import Affine

    path = write_tif(
        tmp_path / "a.tif", plain[0], names=[f"{1000 * w:.1f} nm" for w in plain[1]], crs="EPSG:32632",
        transform=Affine(3, 0, 10, 0, -3, 20), nodata=-1,
    )  # fmt: skip
    with rioxarray.open_rasterio(path) as opened:
        cube = as_cube(opened)
        np.testing.assert_array_equal(cube.data, plain[0])
        assert (cube.fill_value, cube.georeference.transform) == (-1, (3, 0, 10, 0, -3, 20))
        np.testing.assert_allclose(cube.wavelengths, 1000 * plain[1], atol=0.05)
    back = segment(path, 2).to_xarray()
    assert back["labels"].rio.crs.to_epsg() == 32632
    assert tuple(back["labels"].rio.transform())[:6] == (3, 0, 10, 0, -3, 20)
    assert back["wavelength"].attrs["units"] == "nm"


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_numbers_of_pixels_are_no_place(tmp_path, plain):
    with rioxarray.open_rasterio(write_tif(tmp_path / "a.tif", plain[0])) as opened:
        assert as_cube(opened).georeference.transform is None


def test_scales_and_fill_values_of_attributes(labelled, plain):
    stored = (10000 * labelled).astype(np.int16)
    stored.attrs = {"_FillValue": -99, "scale_factor": 1e-4}
    stored[:, 0, 0] = -99
    cube = as_cube(stored)
    assert cube.fill_value == -99
    np.testing.assert_allclose(cube.pixels[5:7], plain[0].reshape(-1, 24)[5:7], atol=1e-4)
    stored.attrs["add_offset"] = 0.5
    moved = as_cube(stored)
    assert np.isnan(moved.data[0, 0]).all()
    np.testing.assert_allclose(moved.data[3, 3], plain[0][3, 3] + 0.5, atol=1e-4)


@pytest.mark.parametrize("kind", ["dask", "xarray on dask", "zarr"])
def test_large_arrays_stay_where_they_are(plain, monkeypatch, kind, tmp_path):
    import fisherem.images.lines as lines

    expected = segment(plain[0], 2)
    monkeypatch.setattr(lines, "READ_WHOLE_BYTES", 0)
    monkeypatch.setattr(lines, "_GROUP_BYTES", 2500)
    read = []

    def block(values):
        read.append(values.shape)
        return values

    if kind == "zarr":
        source = zarr.create_array(str(tmp_path / "a.zarr"), data=plain[0], chunks=(4, 9, 24))
    else:
        source = dask.array.from_array(plain[0], chunks=(4, 9, 24)).map_blocks(
            block, dtype=np.float32, meta=plain[0][:0]
        )
        source = xarray.DataArray(source, dims=("y", "x", "band")) if kind != "dask" else source
    cube = as_cube(source)
    assert not isinstance(cube.data, np.ndarray)
    assert read == []
    found = segment(cube, 2)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert all(shape[0] == 4 for shape in read)
