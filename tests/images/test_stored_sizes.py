"""Small image files that declare large arrays, or lead in circles: refused before anything is unpacked."""

import warnings

import h5py
import numpy as np
import pytest
import rasterio
import zarr
from scipy.io import savemat

import fisherem.images.lines as lines_module
from fisherem.images import as_cube, clean, read, read_mask, read_truth, segment
from fisherem.images.lines import ArrayLines
from fisherem.tables.opening import open_table
from tests.images.files import write_envi


def sparse_tiff(path, rows, columns, bands=1, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with rasterio.open(
            path, "w", driver="GTiff", height=rows, width=columns, count=bands, dtype="uint8", compress="deflate",
            SPARSE_OK=True, **options,
        ):  # fmt: skip
            return path


def test_masks_and_classes_of_another_size_are_not_read(tmp_path, monkeypatch):
    path = sparse_tiff(tmp_path / "x.tif", 40_000, 40_000, tiled=True)
    monkeypatch.setattr("fisherem.images.geotiff.RasterLines._read", lambda *given: pytest.fail("it was read"))
    with pytest.raises(ValueError, match=r"x.tif, the mask, must have the cube's rows x columns \(4, 5\)"):
        read_mask(path, (4, 5))
    with pytest.raises(ValueError, match=r"x.tif has 40000 x 40000 pixels, but the image has 4 x 5"):
        read_truth(path, (4, 5))


def test_a_tiff_of_very_many_bands(tmp_path):
    path = sparse_tiff(tmp_path / "x.tif", 2, 2, 10_001, interleave="pixel")
    with pytest.raises(ValueError, match=r"x.tif has 10,001 bands; at most 10,000"):
        read(path)


def test_a_mask_beside_a_tiff_that_is_too_large(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        path = sparse_tiff(tmp_path / "x.tif", 40_000, 40_000, tiled=True)
        sparse_tiff(tmp_path / "m.tif", 40_000, 40_000, tiled=True).rename(tmp_path / "x.tif.msk")
    with pytest.raises(ValueError, match=r"x.tif.msk: a mask of 40,000 x 40,000 pixels takes 1.6 GB"):
        read(path)


@pytest.mark.parametrize("open_it", [read, open_table])
def test_very_many_tiny_chunks_of_a_zarr_store(tmp_path, open_it):
    sides = (2000, 2000) if open_it is open_table else (2000, 2000, 1)
    path, chunks = tmp_path / "x.zarr", (10,) * 2 + (1,) * (len(sides) - 2)
    zarr.open_array(path, mode="w", shape=sides, chunks=chunks, dtype="f8")
    with pytest.raises(ValueError, match=r"x.zarr: stored in 40,000 chunks of 800 bytes.*: store it in larger chunks"):
        open_it(path)
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("inside/cube", shape=sides, chunks=chunks, dtype="f8")
    with pytest.raises(ValueError, match=r"g.zarr: stored in 40,000 chunks"):
        open_it(tmp_path / "g.zarr")
    if open_it is open_table:
        zarr.open_array(path, mode="w", shape=(1400, 1400), chunks=chunks, dtype="f8")
        open_it(path)  # 19,600 chunks


@pytest.mark.parametrize("kind", ["h5", "nc", "zarr"])
def test_blocks_that_are_too_large(tmp_path, kind):
    path, sides, chunks = tmp_path / f"x.{kind}", (4000, 3000, 60), (2000, 2000, 60)
    if kind == "zarr":
        zarr.open_array(path, mode="w", shape=sides, chunks=chunks, dtype="f8")
    else:
        with h5py.File(path, "w") as file:
            file.create_dataset("cube", sides, "f8", chunks=chunks, compression="gzip")
            file["wavelength"] = np.arange(60.0)
            if kind == "nc":
                for i, label in enumerate(("y", "x", "band")):
                    file["cube"].dims[i].label = label
                    file.create_dataset(label, (sides[i],), "f4").make_scale(label)
                    file["cube"].dims[i].attach_scale(file[label])
    with pytest.raises(ValueError, match=rf"x.{kind}: a block of 2,000 x 2,000 x 60 values takes 1.92 GB, too much"):
        read(path)


def test_matlab_files_that_unpack_to_more(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "x.mat", "w") as file:
        file.create_dataset("table", (400, 10**6), "f8", chunks=(4, 1000), compression="gzip")
    with pytest.raises(ValueError, match=r"x.mat: an array of 1,000,000 x 400 values takes 3.2 GB, too much"):
        read(tmp_path / "x.mat", shape=(1000, 1000))
    with pytest.raises(ValueError, match=r"x.mat: an array of 1,000,000 x 400 values takes 3.2 GB, too much"):
        read_truth(tmp_path / "x.mat", (1000, 1000), variable="table")
    savemat(tmp_path / "y.mat", {"cube": np.zeros((50, 40, 30))}, do_compression=True)
    monkeypatch.setattr("fisherem.images.matlab5._MOST_BYTES", 8 * 50 * 40 * 30 - 1)
    with pytest.raises(ValueError, match=r"y.mat is damaged or incomplete: 'cube' unpacks to more than 2 GB"):
        read(tmp_path / "y.mat")


def test_a_line_that_is_too_large(tmp_path):
    zarr.open_array(tmp_path / "x.zarr", mode="w", shape=(10, 10**7, 100), chunks=(1, 1000, 100), dtype="f8")
    with pytest.raises(ValueError, match=r"x.zarr: a line of 10,000,000 columns x 100 bands takes 8 GB"):
        read(tmp_path / "x.zarr")


def test_lines_of_large_blocks_are_read_in_parts(monkeypatch):
    """Whatever the sizes of blocks and groups, the lines are those of the array."""
    values = np.arange(60 * 4 * 3.0).reshape(60, 4, 3)
    for most, group, unit in ((96 * 5, 96, 20), (96, 10, 60), (10**6, 10**5, 7)):
        monkeypatch.setattr(lines_module, "_MOST_GROUP_BYTES", most)
        monkeypatch.setattr(lines_module, "_GROUP_BYTES", group)
        lines = ArrayLines(values, (0, 1, 2), unit=unit)
        assert lines._step * 96 <= max(most, 96)
        np.testing.assert_array_equal(lines[3:41], values[3:41])
        np.testing.assert_array_equal(lines[np.array([59, 0, 7]), np.array([0, 3, 1])], values[[59, 0, 7], [0, 3, 1]])
        assert len(lines._groups) <= lines._most_kept


def test_groups_that_contain_each_other(tmp_path):
    for make in (lambda file: file["/"], lambda file: file["a"]):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file["cube"] = np.ones((6, 5, 4))
            group = file.create_group("a")
            group["b"] = make(file)
        with pytest.raises(ValueError, match=r"x.h5: the groups 'a/b' and '\w?/?\w*' are the same"):
            read(tmp_path / "x.h5", shape=(6, 5))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["cube"] = np.ones((6, 5, 4))
        file.create_group("/".join("g" * 60))
    with pytest.raises(ValueError, match="nested more than 50 deep"):
        read(tmp_path / "x.h5", shape=(6, 5))


def test_attributes_that_are_no_numbers(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["cube"] = np.ones((6, 5, 4))
        file["cube"].attrs.update({"_FillValue": "none", "Scale_Factor": "x"})
    cube = read(tmp_path / "x.h5", shape=(6, 5))
    assert cube.fill_value is None
    assert cube.scale_factor == 1


def test_a_header_that_is_no_text(tmp_path):
    path = write_envi(tmp_path / "x.hdr", np.ones((4, 5, 3), np.uint8))
    with path.open("a") as file:
        file.write("description = {" + "x\n" * 600_000)
    with pytest.raises(ValueError, match=r"x.hdr is not an ENVI header: 1.2 MB"):
        read(path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("exponent", [-1000, -530, 530, 1000])
def test_scenes_in_any_unit(exponent):
    rng = np.random.default_rng(0)
    cube = rng.uniform(0.1, 1, (12, 10, 6))
    cube[:6, :, :3] *= 3
    for options in ({}, {"normalise": True}, {"normalise": False}):
        options |= {"method": None}
        expected = segment(cube, 2, **options)
        found = segment(np.ldexp(cube, exponent), 2, **options)
        np.testing.assert_array_equal(found.labels, expected.labels)
        if expected.normalisation is not None:
            assert found.normalisation.normalised == expected.normalisation.normalised
    with pytest.raises(ValueError, match="bands cannot be standardised, as their variances overflow or vanish"):
        segment(np.ldexp(cube, exponent), 2, standardise=True, normalise=False)


@pytest.mark.parametrize("exponent", [-600, 600])
def test_norms_with_missing_values_in_any_unit(exponent):
    """Pixels with gaps are divided by norms whose squares neither overflow nor vanish."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 1, (2, 5))[np.arange(60).reshape(6, 10) % 2] + 0.02 * rng.normal(size=(6, 10, 5))
    X[0, :3, 1] = X[4, 4:, 0] = np.nan
    plain, scaled = (clean(as_cube(Z), normalise=True, missing="model").rows for Z in (X, np.ldexp(X, exponent)))
    np.testing.assert_allclose(np.asarray(scaled[:]), np.asarray(plain[:]), rtol=1e-12)


def test_millions_of_small_chunks_of_a_zarr_store(tmp_path):
    path = tmp_path / "x.zarr"
    zarr.open_array(path, mode="w", shape=(20_000, 20_000, 400), chunks=(10, 10, 10), dtype="f8")
    with pytest.raises(ValueError, match="stored in 160,000,000 chunks of 8,000 bytes"):
        read(path)
    zarr.open_array(path, mode="w", shape=(2000, 2000, 200), chunks=(10, 10, 10), dtype="f8")
    assert read(path).pixels.shape == (4_000_000, 200)  # 800,000 chunks
