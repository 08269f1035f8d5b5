"""NetCDF, HDF5, Zarr and SpyFile, written on the spot as their producers write them; clear errors for the others."""

import json

import h5netcdf
import h5py
import numpy as np
import pytest
import spectral
import xarray
import zarr
from click.testing import CliRunner

import fisherem.images.lines as lines
from fisherem.cli import main
from fisherem.images import as_cube, read, segment

from .files import write_envi


def write_emit(path, array, wavelengths, good, chunks=None):
    """As EMIT's level 2A: reflectance in sensor geometry, wavelengths and places in groups."""
    rows, columns, bands = array.shape
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"downtrack": rows, "crosstrack": columns, "bands": bands}
        file.attrs["geotransform"] = np.array([-115.9, 5.4e-4, 0, 33.4, 0, -5.4e-4])  # of the map grid, not of the cube
        cube = file.create_variable("reflectance", ("downtrack", "crosstrack", "bands"), "f4", fillvalue=-9999.0,
                                    chunks=chunks)  # fmt: skip
        cube[...] = array
        for name, values, unit in (("wavelengths", wavelengths, "nm"), ("fwhm", 0 * wavelengths + 8, "nm"),
                                   ("good_wavelengths", good, "unitless")):  # fmt: skip
            own = file.create_variable(f"sensor_band_parameters/{name}", ("bands",), np.asarray(values).dtype)
            own[...] = values
            own.attrs["units"] = unit
        file.create_variable("location/lon", ("downtrack", "crosstrack"), "f8")[...] = 1.0
    return path


def write_prisma(path, vnir, swir, vnir_waves, swir_waves, level="L2D", **attributes):
    """As PRISMA's products: rows x bands x columns, wavelengths in descending order, 0 for absent bands."""
    with h5py.File(path, "w") as file:
        fields = file.create_group(f"HDFEOS/SWATHS/PRS_{level}_HCO/Data Fields")
        for name, cube, waves in (("Vnir", vnir, vnir_waves), ("Swir", swir, swir_waves)):
            fields.create_dataset(f"{name.upper()}_Cube", data=cube.transpose(0, 2, 1))
            file.attrs[f"List_Cw_{name}"] = np.asarray(waves, np.float32)
            file.attrs[f"List_Cw_{name}_Flags"] = (np.asarray(waves) > 0).astype(np.uint8)
        for name, value in attributes.items():
            file.attrs[name] = value
    return path


def test_emit(tmp_path, plain, monkeypatch):
    array, waves, _ = plain
    array = array.copy()
    array[0, 0] = -9999
    good = (np.arange(24) != 3).astype(np.uint8)
    path = write_emit(tmp_path / "EMIT_L2A.nc", array, (1000 * waves).astype(np.float32), good, chunks=(4, 9, 24))
    cube = read(path)
    np.testing.assert_array_equal(cube.data, array)
    np.testing.assert_allclose(cube.wavelengths, 1000 * waves, rtol=1e-6)
    assert (cube.units, cube.fill_value) == ("nm", -9999)
    assert np.flatnonzero(cube.bad_bands).tolist() == [3]
    assert cube.georeference.transform is None
    assert "geometry of the sensor" in cube.remarks[0]
    found = segment(path, 2)
    assert found.labels[0, 0] == -1
    assert found.to_xarray()["labels"].dims == ("downtrack", "crosstrack")
    monkeypatch.setattr(lines, "READ_WHOLE_BYTES", 0)
    lazy = read(path)
    assert not isinstance(lazy.data, np.ndarray)
    np.testing.assert_array_equal(segment(lazy, 2).labels, found.labels)


def test_prisma(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    vnir, swir = (rng.integers(1, 60000, size=(6, 5, n)).astype(np.uint16) for n in (4, 3))
    vnir[0, 0] = swir[0, 0] = 0
    vnir[2, 2, 3] = 0  # a dark value within the swath
    scales = {"L2ScaleVnirMin": 0.0, "L2ScaleVnirMax": 0.8, "L2ScaleSwirMin": 0.1, "L2ScaleSwirMax": 0.5}
    corners = {
        "Epsg_Code": 32633, "Product_ULcorner_easting": 500015.0, "Product_ULcorner_northing": 4000000.0,
        "Product_LRcorner_easting": 500015.0 + 4 * 30, "Product_LRcorner_northing": 4000000.0 - 5 * 30,
    }  # fmt: skip
    path = tmp_path / "PRS_L2D.he5"
    write_prisma(path, vnir, swir, [0, 960, 700, 500], [2000, 950, 1500], **scales, **corners)
    cube = read(path)
    np.testing.assert_allclose(cube.wavelengths, [500, 700, 950, 960, 1500, 2000])
    assert cube.georeference.crs == "EPSG:32633"
    assert cube.georeference.transform == (30, 0, 500000, 0, -30, 4000015)
    np.testing.assert_allclose(cube.data[3, 1, 0], vnir[3, 1, 3] * 0.8 / 65535, rtol=1e-6)
    np.testing.assert_allclose(cube.data[3, 1, 2], 0.1 + swir[3, 1, 1] * 0.4 / 65535, rtol=1e-6)
    np.testing.assert_allclose(cube.data[5, 4, 5], 0.1 + swir[5, 4, 0] * 0.4 / 65535, rtol=1e-6)
    assert np.isnan(cube.data[0, 0]).all()
    assert cube.data[2, 2, 0] == 0
    monkeypatch.setattr(lines, "READ_WHOLE_BYTES", 0)
    np.testing.assert_array_equal(read(path).data[2:4], cube.data[2:4])
    first = {f"{what}_{name}": v for name in ("Vnir", "Swir") for what, v in (("ScaleFactor", 100.0), ("Offset", 2.0))}
    raw = read(write_prisma(tmp_path / "l1.he5", vnir, swir, [0, 960, 700, 500], [2000, 950, 1500], "L1", **first))
    np.testing.assert_allclose(np.asarray(raw.data)[3, 1, 0], vnir[3, 1, 3] / 100 - 2, rtol=1e-6)
    assert raw.georeference.crs is None
    assert "geometry of the sensor" in raw.remarks[0]
    with pytest.raises(ValueError, match="lacks the attribute L2ScaleVnirMin"):
        read(write_prisma(tmp_path / "bad.he5", vnir, swir, [0, 960, 700, 500], [2000, 950, 1500]))


def test_classic_netcdf_with_coordinates(tmp_path, plain):
    array, waves, _ = plain
    stored = xarray.Dataset(
        {"rho": (("band", "y", "x"), np.round(10000 * array).astype(np.int16).transpose(2, 0, 1),
                 {"scale_factor": 1e-4, "_FillValue": np.int16(-1)})},
        coords={"wavelength": ("band", waves, {"units": "um"}), "y": 100.0 - np.arange(12), "x": np.arange(9.0)},
    )  # fmt: skip
    path = tmp_path / "scene.nc"
    stored.to_netcdf(path, engine="scipy")
    cube = read(path)
    np.testing.assert_allclose(cube.pixels[0:5], array.reshape(-1, 24)[:5], atol=1e-4)
    assert (cube.fill_value, cube.units) == (-1, "um")
    assert cube.georeference.transform == (1, 0, -0.5, 0, -1, 100.5)


def test_hdf5_with_and_without_names(tmp_path, plain):
    array, waves, _ = plain
    path = tmp_path / "neon.h5"
    with h5py.File(path, "w") as file:  # as NEON: wavelengths elsewhere in the file tell the bands
        cube = file.create_dataset("SITE/Reflectance/Reflectance_Data", data=np.round(10000 * array).astype(np.int16))
        cube.attrs["Scale_Factor"], cube.attrs["Data_Ignore_Value"] = 10000.0, -9999.0
        file["SITE/Reflectance/Metadata/Spectral_Data/Wavelength"] = 1000 * waves
    cube = read(path)
    assert (cube.shape, cube.fill_value, cube.scale_factor, cube.units) == ((12, 9, 24), -9999, 10000, "nm")
    np.testing.assert_allclose(cube.pixels[3:5], array.reshape(-1, 24)[3:5], atol=1e-4)
    bare = tmp_path / "bare.h5"
    with h5py.File(bare, "w") as file:
        file["a"] = array.transpose(2, 0, 1)
    with pytest.raises(ValueError, match=r"24 x 12 x 9\) have no names.*--shape"):
        read(bare)
    np.testing.assert_array_equal(read(bare, shape=(12, 9)).data, array)
    with pytest.raises(ValueError, match="does not tell rows and columns"):
        read(bare, shape=(12, 12))
    with h5py.File(bare, "a") as file:
        for dim, name in zip(file["a"].dims, ("band", "y", "x"), strict=True):
            dim.label = name
        file["b"] = array
    with pytest.raises(ValueError, match=r"choose one by variable= among: a 24 x 12 x 9, b 12 x 9 x 24"):
        read(bare)
    np.testing.assert_array_equal(read(bare, variable="/a").data, array)
    with pytest.raises(ValueError, match="has no array 'c'"):
        read(bare, variable="c")


def test_zarr_arrays_and_groups(tmp_path, plain):
    array, waves, _ = plain
    zarr.create_array(str(tmp_path / "a.zarr"), data=array, chunks=(4, 9, 24))
    np.testing.assert_array_equal(read(tmp_path / "a.zarr").data, array)
    named = zarr.create_array(
        str(tmp_path / "n.zarr"), data=array.transpose(2, 0, 1), dimension_names=("band", "y", "x")
    )
    assert named.shape == (24, 12, 9)
    np.testing.assert_array_equal(read(tmp_path / "n.zarr").data, array)
    stored = xarray.Dataset(
        {"rho": (("wavelength", "y", "x"), array.transpose(2, 0, 1))}, coords={"wavelength": 1000 * waves}
    )
    stored.to_zarr(tmp_path / "g.zarr", consolidated=False)
    cube = read(tmp_path / "g.zarr")
    np.testing.assert_array_equal(cube.data, array)
    np.testing.assert_allclose(cube.wavelengths, 1000 * waves)
    result = CliRunner().invoke(
        main, ["segment", str(tmp_path / "g.zarr"), "-k", "2", "-o", str(tmp_path / "o"), "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["n_clusters"] == 2


def test_spyfile(tmp_path, plain):
    array, waves, _ = plain
    path = write_envi(tmp_path / "a.hdr", array, "bil", wavelength=waves, wavelength_units="um")
    image = spectral.open_image(str(path))
    cube = as_cube(image)
    np.testing.assert_array_equal(cube.data, array)
    np.testing.assert_allclose(cube.wavelengths, waves)
    np.testing.assert_array_equal(segment(image, 2).labels, segment(path, 2).labels)


def test_files_that_lead_elsewhere_or_hold_programs_are_refused(tmp_path, plain):
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["cube"] = plain[0]
    for name in ("x.h5", "x.nc"):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_group("deep")["cube"] = h5py.ExternalLink(str(other), "/cube")
        with pytest.raises(ValueError, match="'deep/cube' is a reference to data elsewhere"):
            read(tmp_path / name)
    store = tmp_path / "p.zarr"
    zarr.create_array(str(store), data=plain[0], zarr_format=2)
    said = json.loads((store / ".zarray").read_text())
    (store / ".zarray").write_text(json.dumps(said | {"filters": [{"id": "pickle"}]}))
    with pytest.raises(ValueError, match="pickled objects, which are not read"):
        read(store)


@pytest.mark.parametrize(
    ("name", "advice"),
    [("a.jp2", "gdal_translate"), ("a.zip", "unpack it"), ("a.csv", "`fisherem fit` clusters tables"),
     ("a.jpg", "no spectra")],
)  # fmt: skip
def test_other_formats_have_advice(tmp_path, name, advice):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ValueError, match=f"recognised by the ending.*{advice}"):
        read(tmp_path / name)
    for bad, what in (("b.nc", "is not a NetCDF file"), ("b.h5", "cannot be read as HDF5")):
        (tmp_path / bad).write_bytes(b"nothing of the kind")
        with pytest.raises(ValueError, match=what):
            read(tmp_path / bad)
    (tmp_path / "b.zarr").mkdir(exist_ok=True)
    with pytest.raises(ValueError, match="cannot be read as Zarr"):
        read(tmp_path / "b.zarr")
