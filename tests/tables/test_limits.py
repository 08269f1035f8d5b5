"""The memory budget holds while files are read: small files that unpack to much more are refused."""

import gzip
import tracemalloc
import zipfile

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from click.testing import CliRunner

from fisherem import FisherEM
from fisherem.cli import main
from fisherem.tables.errors import TableError
from fisherem.tables.opening import open_table
from fisherem.tables.parameters import check_number
from tests.tables.h5ad_files import write_h5ad

BUDGET = 2_000_000


def refused(path, match):
    """Opening is refused, and takes not much more than the budget."""
    tracemalloc.start()
    try:
        with pytest.raises(TableError, match=match) as caught:
            open_table(path, memory=BUDGET).named()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "increase memory" in str(caught.value)
    assert peak < 8 * BUDGET + 10_000_000


def corner(path):
    book = openpyxl.Workbook()
    sheet = book.active
    for place, value in {"A1": "a", "B1": "b", "A2": 1, "B2": 2, "XFD1048576": 3}.items():
        sheet[place] = value
    book.save(path)
    return path


def test_a_cell_in_the_last_corner_of_a_sheet(tmp_path):
    path = corner(tmp_path / "t.xlsx")
    assert path.stat().st_size < 10_000
    refused(path, "the first sheet .1,048,576 rows x 16,384 columns so far. takes")


def test_a_workbook_that_unpacks_to_more(tmp_path):
    path = corner(tmp_path / "t.xlsx")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/x.bin", bytes(50 * BUDGET))
    assert path.stat().st_size < BUDGET
    refused(path, "the unpacked file takes")


def test_a_sheet_of_many_cells(tmp_path):
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for _ in range(2000):
        sheet.append([1] * 40)
    path = tmp_path / "t.xlsx"
    book.save(path)
    refused(path, "takes")


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv"])
def test_text(tmp_path, name):
    path = tmp_path / name
    with gzip.open(path, "wb") if name.endswith("gz") else path.open("wb") as file:
        file.write(b"a,b\n")
        for _ in range(30):
            file.write(b"1,2\n" * 2**18)
    refused(path, "the text takes")


def test_npz(tmp_path):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.zeros((10**6, 4)))
    assert path.stat().st_size < BUDGET
    refused(path, "the unpacked file takes")


def test_row_groups_and_chunks(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.zeros(10**6), "b": np.zeros(10**6)}), path, row_group_size=10**6)
    assert path.stat().st_size < BUDGET
    refused(path, "rows are stored in groups of 1,000,000")
    zarr.open_array(tmp_path / "t.zarr", mode="w", shape=(10, 2), chunks=(10**9, 10**3), dtype="f8")
    refused(tmp_path / "t.zarr", "rows are stored in groups of 1,000,000,000")


def test_estimators_and_commands_respect_it(tmp_path):
    path = corner(tmp_path / "t.xlsx")
    with pytest.raises(TableError, match="exceeds the memory budget"):
        FisherEM(2, memory="2MB").fit(path)
    for words in ("fit {} -k 2 -o {}", "compare {} -k 2 -o {}.csv", "search {} -o {}"):
        result = CliRunner().invoke(main, [*words.format(path, tmp_path / "out").split(), "--memory", "2MB"])
        assert result.exit_code == 2, result.output
        assert "exceeds the memory budget (2 MB)" in result.output
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(10**5, 4)))
    result = CliRunner().invoke(main, ["compare", str(tmp_path / "t.npy"), "-k", "2", "--memory", "2MB"])
    assert result.exit_code == 2
    assert "compare needs all rows in memory" in result.output


def test_cells_of_a_sheet_are_as_before(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [[], [None, "id", "a", "b", "when"], [None, "007", 1.5, 3.0], [], [None, 8, "#N/A", 4]]:
        sheet.append(row)
    sheet["E3"] = pd.Timestamp("2020-02-02")
    path = tmp_path / "t.xlsx"
    book.save(path)
    table = open_table(path, id_column="id", drop=["when"], missing=True)
    assert list(table.ids) == ["007", None, 8]
    expected = pd.read_excel(path, header=1).iloc[:, 2:4].astype(float)
    np.testing.assert_array_equal(table.X.to_numpy(), expected.to_numpy())
    with pytest.raises(TableError, match="'when' holds dates"):
        open_table(path, id_column="id", missing=True)


def test_tables_too_wide_for_the_names_of_their_columns(tmp_path):
    zarr.open_array(tmp_path / "t.zarr", mode="w", shape=(10, 10**9), chunks=(10, 10**3), dtype="f8")
    refused(tmp_path / "t.zarr", "the names of 1,000,000,000 columns take")


def test_a_wide_npy_is_opened_without_reading_rows(tmp_path):
    path = tmp_path / "t.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (4, 10**8)})
        file.truncate(file.tell() + 32 * 10**8)
    refused(path, "the names of 100,000,000 columns take")


def test_rows_of_an_h5ad_with_more_values_than_columns(tmp_path):
    path = tmp_path / "t.h5ad"
    write_h5ad(path, n=6)
    with h5py.File(path, "a") as file:
        for name, dtype in (("data", "f8"), ("indices", "i4")):
            del file["X"][name]
            file["X"].create_dataset(name, (10**10,), dtype, chunks=(10**6,))
        del file["X/indptr"]
        file["X/indptr"] = np.linspace(0, 10**10, 7).astype(np.int64)
    with pytest.raises(TableError, match="its row pointers do not match its values"):
        open_table(path, memory=BUDGET)


def test_a_quote_that_is_not_closed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"' + "x" * 1_500_000)
    with pytest.raises(TableError, match="is a closing quote missing") as caught:
        open_table(path, memory=BUDGET)
    assert len(str(caught.value)) < 1000


def test_long_cells_are_shortened_in_errors(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "9" * 10_000 + ",1\n1,2\n")
    with pytest.raises(TableError, match=r"line 2, column 'a': '9{60}\.\.\.' is not a finite number"):
        open_table(path)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.int64, int])
def test_numbers_of_every_type_are_checked_without_a_warning(kind):
    check_number("ridge", kind(1), least=0)
    with pytest.raises(ValueError, match="ridge must be a number at least 2"):
        check_number("ridge", kind(1), least=2)
    with pytest.raises(ValueError, match="ridge must be a number"):
        check_number("ridge", 10**400)
