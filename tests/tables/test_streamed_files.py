"""Files give the rows that are in them, whatever their layout."""

import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import zarr
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from fisherem.tables import opening  # noqa: F401 (registers every reader)
from fisherem.tables.sources import Transformed
from fisherem.tables.streamed_files import FileChangedError, ParquetSource, open_source

ROWS = np.random.default_rng(0).normal(size=(53, 4))


def same(source, expected):
    assert source.shape == expected.shape
    buffer = np.empty(20 * 4 * 8, np.uint8)
    for start, stop in ((0, 20), (20, 40), (40, 53), (7, 8)):
        got = source.read(start, stop, buffer)
        assert got.dtype == source.dtype
        np.testing.assert_array_equal(got, expected[start:stop].astype(source.dtype))
    index = np.array([0, 3, 19, 20, 52])
    np.testing.assert_array_equal(source.take(index), expected[index].astype(source.dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int16", ">f4", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, dtype, order):
    rows = np.asarray(ROWS * 10, dtype, order=order)
    np.save(tmp_path / "rows.npy", rows)
    source = open_source(tmp_path / "rows.npy")
    assert source.dtype == (np.float32 if dtype in ("float32", ">f4") else np.float64)
    same(source, rows)
    same(open_source(np.load(tmp_path / "rows.npy", mmap_mode="r")), rows)


def test_parts_of_maps_are_those_parts(tmp_path):
    big = np.random.default_rng(1).normal(size=(900, 8))
    np.save(tmp_path / "rows.npy", big)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    same(open_source(rows[700:753][:, 2:6]), big[700:753, 2:6])
    same(open_source(rows[:106:2, :4]), big[:106:2, :4])
    part = rows[600:653]
    np.testing.assert_array_equal(open_source(part).read(5, 20), big[605:620])
    offset = np.memmap(tmp_path / "rows.npy", np.float64, "r", offset=128 + 8 * 8 * 100, shape=(53, 8))
    np.testing.assert_array_equal(open_source(offset).read(5, 20), big[105:120])


def test_private_changes_of_a_map_count(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="c")
    rows[3] = 7
    assert (open_source(rows).read(3, 4) == 7).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_zarr(tmp_path, dtype):
    rows = (ROWS * 10).astype(dtype)
    array = zarr.create_array(str(tmp_path / "rows.zarr"), shape=rows.shape, chunks=(9, 2), dtype=dtype)
    array[:] = rows
    same(open_source(tmp_path / "rows.zarr"), rows)
    same(open_source(array), rows)


def test_parquet(tmp_path):
    frame = pd.DataFrame(ROWS, columns=list("abcd"), index=[f"r{i}" for i in range(53)])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=10)
    source = open_source(tmp_path / "rows.parquet")
    assert source.names == list("abcd")  # the index is none of them
    assert source.row_step == 10
    same(source, ROWS)
    (tmp_path / "many.parquet").mkdir()
    frame[:30].to_parquet(tmp_path / "many.parquet" / "part-0.parquet")
    frame[30:].astype("float64").to_parquet(tmp_path / "many.parquet" / "part-1.parquet")
    same(open_source(tmp_path / "many.parquet"), ROWS)
    frame.astype("float32").to_parquet(tmp_path / "single.pq")
    assert open_source(tmp_path / "single.pq").dtype == np.float32


def test_columns_of_any_source(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    frame["name"] = [f"r{i}" for i in range(53)]
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=10)
    parquet = ParquetSource(tmp_path / "rows.parquet")
    assert parquet.text_columns == {"name": "text"}
    assert list(parquet.column(4)[:2]) == ["r0", "r1"]
    for source in (open_source(tmp_path / "rows.npy"), parquet):
        np.testing.assert_array_equal(source.column(1), ROWS[:, 1])
        same(source.select([3, 0]), ROWS[:, [3, 0]])
    assert parquet.select([3, 0]).names == ["d", "a"]
    assert parquet.names == [*"abcd", "name"]  # the source itself is as it was


def test_rows_are_transformed_as_they_are_read(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    source = open_source(tmp_path / "rows.npy")
    scaler = StandardScaler().fit(ROWS)
    same(Transformed(source, scaler, None), scaler.transform(ROWS))
    pca = PCA(2).fit(ROWS)
    fewer = Transformed(source, pca, None)
    assert fewer.shape == (53, 2)
    np.testing.assert_allclose(fewer.read(3, 30), pca.transform(ROWS)[3:30])


def test_files_that_are_no_tables(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"]})
    frame.to_parquet(tmp_path / "text.parquet")
    with pytest.raises(ValueError, match="columns must be numeric; 'name' holds text"):
        open_source(tmp_path / "text.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="not a readable Parquet file"):
        open_source(tmp_path / "broken.parquet")
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="table of rows x columns"):
        open_source(tmp_path / "cube.npy")
    (tmp_path / "short.npy").write_bytes((tmp_path / "cube.npy").read_bytes()[:200])
    with pytest.raises(ValueError, match="not a readable NumPy file"):
        open_source(tmp_path / "short.npy")
    with pytest.raises(ValueError, match=r"unknown kind of file '\.xyz'; tables are read from .*\.npy"):
        open_source(tmp_path / "rows.xyz")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"streamed from \.npy, \.zarr, \.parquet, \.pq; this kind .* whole"):
        open_source(tmp_path / "rows.csv")
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_source(tmp_path / "rows.npy")
    zarr.open_group(str(tmp_path / "group.zarr"), mode="w").create_array("inner", shape=(2, 2), dtype="f8")
    with pytest.raises(ValueError, match=r"a Zarr group; open one of its arrays \(inner\)"):
        open_source(tmp_path / "group.zarr")
    assert pq.ParquetFile(tmp_path / "text.parquet").metadata.num_rows == 2


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_that_has_become_shorter(tmp_path, order):
    np.save(tmp_path / "rows.npy", np.asarray(ROWS, order=order))
    source = open_source(tmp_path / "rows.npy")
    with (tmp_path / "rows.npy").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(FileChangedError, match="has become shorter while it was being read: it has 1000 bytes"):
        source.read(40, 53)
    with pytest.raises(FileChangedError, match="has become shorter"):
        source.take(np.array([50]))


@pytest.mark.parametrize(
    ("module", "file", "extra"), [("zarr", "a.zarr", "dask"), ("pyarrow.parquet", "a.pq", "tables")]
)
def test_what_is_missing_is_named(tmp_path, monkeypatch, module, file, extra):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / file).touch()
    with pytest.raises(ImportError, match=rf"pip install 'fisherem\[{extra}\]'"):
        open_source(tmp_path / file)
