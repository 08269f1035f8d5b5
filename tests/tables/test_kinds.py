"""Dates, durations, masked cells and repeated names are never clustered as if they were numbers."""

import datetime

import dask.array as da
import dask.dataframe as dd
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fisherem import FisherEM, SparseKMeans
from fisherem.tables.checking import check_init, check_table, check_weights, open_rows
from fisherem.tables.errors import TableError
from fisherem.tables.kinds import describe_refused, kind_of
from fisherem.tables.opening import open_table

X = np.random.default_rng(0).normal(size=(12, 3))
DAYS = pd.Series(pd.date_range("2020-01-01", periods=12))


@pytest.fixture
def frame():
    return pd.DataFrame(X, columns=["a", "b", "c"])


def refused(rows, match):
    for estimator in (FisherEM(2), SparseKMeans(2, bound=1.5)):
        with pytest.raises((TypeError, ValueError), match=match):
            estimator.fit(rows)


# -- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (np.dtype("f4"), "numbers"), (np.dtype(bool), "numbers"), (pd.Int64Dtype(), "numbers"),
        (pl.Decimal(3, 1), "numbers"), (pa.decimal128(3, 1), "numbers"), (pa.float16(), "numbers"),
        (np.dtype("M8[ns]"), "dates"), (pd.DatetimeTZDtype(tz="UTC"), "dates"), (pa.timestamp("us"), "dates"),
        (pa.date32(), "dates"), (pl.Datetime("ns"), "dates"), (pd.PeriodDtype("D"), "dates"),
        (pd.SparseDtype("datetime64[ns]"), "dates"), (np.dtype("m8[s]"), "durations"), (pl.Duration(), "durations"),
        (pa.duration("s"), "durations"), (pa.time64("us"), "times of day"), (pd.IntervalDtype(), "intervals"),
        (pd.CategoricalDtype(), "categories"), (pa.dictionary(pa.int8(), pa.string()), "categories"),
        (pl.String(), "text"), (pd.StringDtype(), "text"), (pa.binary(), "text"), (pl.List(pl.Int8), "lists"),
        (np.dtype(complex), "complex numbers"),
    ],
)  # fmt: skip
def test_what_a_type_holds(dtype, kind):
    assert kind_of(dtype) == kind


def test_refused_columns_in_plain_words():
    assert describe_refused([("a", "text"), ("b", "dates"), ("c", "text")]) == "'a', 'c' hold text; 'b' holds dates"


# -- frames and arrays ---------------------------------------------------------------------------------------------


def test_dates_in_frames_and_arrays(frame):
    refused(frame.assign(day=DAYS), "columns must be numeric; 'day' holds dates: drop or encode")
    refused(frame.assign(took=DAYS - DAYS[0]), "'took' holds durations")
    refused(pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "day": DAYS.to_list()}), "'day' holds dates")
    refused(frame.assign(day=DAYS.astype(object)), "row 0, column 'day' holds '2020-01-01 00:00:00'")
    refused(np.column_stack([DAYS.to_numpy()] * 2), "X must hold numbers; it holds dates")
    refused(np.column_stack([(DAYS - DAYS[0]).to_numpy()] * 2), "X must hold numbers; it holds durations")


def test_cells_that_are_no_numbers_are_named(frame):
    frame["d"] = pd.Series([1.0] * 11 + ["n.d."], dtype=object)
    refused(frame, "row 11, column 'd' holds 'n.d.' .*: fix the cell")
    refused(frame.to_numpy(), "row 11, column 3 holds 'n.d.'")
    refused(frame.to_numpy().tolist(), "row 11, column 3 holds 'n.d.'")


def test_names_that_two_columns_share(frame):
    frame.columns = ["a", "b", "a"]
    refused(frame, "two columns are named 'a': rename or drop one")
    with pytest.raises(ValueError, match="two columns are named 'a'"):
        FisherEM(2).fit(dd.from_pandas(frame, npartitions=2))


def test_masked_cells_are_missing():
    masked = np.ma.masked_array(X.copy(), mask=np.zeros(X.shape, bool))
    masked[4, 2] = 1e6
    masked[4, 2] = np.ma.masked
    gap = X.copy()
    gap[4, 2] = np.nan
    filled = FisherEM(2, n_init=1, random_state=0).fit(gap)  # what a NaN in the same cell gives
    for table in (masked, masked.astype(np.float32), (10 * masked).astype(int)):
        assert FisherEM(2, n_init=1, random_state=0).fit(table).n_missing_ == filled.n_missing_ == 1
    np.testing.assert_array_equal(FisherEM(2, n_init=1, random_state=0).fit(masked).means_, filled.means_)
    np.testing.assert_array_equal(filled.predict(masked), filled.predict(gap))
    with pytest.raises(ValueError, match="contains NaN: row 4, column 2"):
        FisherEM(2).fit(da.from_array(masked, chunks=(6, 3)))
    with pytest.raises(ValueError, match="contains NaN: row 4, column 2"):
        SparseKMeans(2).fit(masked)
    assert np.isnan(open_rows(None, masked)[4, 2])
    whole = np.ma.masked_array(X, mask=False)
    np.testing.assert_array_equal(check_table(FisherEM(), whole, reset=True), X)
    with pytest.raises(ValueError, match="init contains NaN"):
        check_init(np.ma.masked_array(np.arange(12) % 2, mask=np.arange(12) == 3), 12, 2)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        check_weights(np.ma.masked_array(np.ones(12), mask=np.arange(12) == 3), X)


# -- files ---------------------------------------------------------------------------------------------------------


def file_refused(path, match, **options):
    with pytest.raises(TableError, match=match) as error:
        open_table(path, **options)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("kind", ["parquet", "excel"])
def test_dates_in_files(frame, tmp_path, kind):
    path = tmp_path / {"parquet": "t.parquet", "excel": "t.xlsx"}[kind]
    gaps = DAYS.copy()
    gaps[3] = pd.NaT
    for days in (DAYS, gaps, DAYS.dt.date, gaps.dt.date.where(gaps.notna(), None)):
        getattr(frame.assign(day=days), f"to_{kind}")(path, index=False)
        file_refused(path, "'day' holds dates")
        assert open_table(path, drop=["day"]).named().X.shape == (12, 3)


def test_files_of_a_folder_that_differ_in_their_types(frame, tmp_path):
    folder = tmp_path / "t.parquet"
    folder.mkdir()
    frame.to_parquet(folder / "1.parquet")
    frame.assign(b=DAYS).to_parquet(folder / "2.parquet")
    with pytest.raises(TableError, match=r"2\.parquet: column 'b' holds dates, but in 1\.parquet it holds numbers"):
        open_table(folder)


def workbook(path, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_workbooks_keep_what_their_cells_hold(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["id", "a", "b"], ["000", 1, 2.5], ["NA", 3, "4"], [7, 5, 6])
    found = open_table(path, id_column="id")
    assert list(found.ids) == ["000", "NA", 7]
    np.testing.assert_array_equal(found.X, [[1, 2.5], [3, 4], [5, 6]])
    file_refused(workbook(path, ["a", "b", "a"], [1, 2, 3]), r"two columns are named 'a' \(A and C\)")
    file_refused(workbook(path, ["a", None, None], [1, 2, 3]), "columns B and C have no name")
    file_refused(workbook(path, [], [None, "a", None, None], [None, 1, 2, 3]), "columns C and D have no name")
    file_refused(workbook(path, ["a", "b"], [1, 2], [None, 3]), "row 3, column 'a': the cell is empty")
    file_refused(workbook(path, ["a", "b"], [1, 2], ["NA", 3]), "row 3, column 'a': the cell is empty")
    file_refused(workbook(path, ["a", "b"], [1, 2], ["n.d.", 3]), r"row 3, column 'a': 'n\.d\.' is not a finite number")
    file_refused(workbook(path, ["a", "b"], [1, 2], [3, datetime.time(9, 30)]), "column 'b' holds dates")
    file_refused(workbook(path, ["a", "b"]), "a header line but no rows")
    file_refused(workbook(path), "the first sheet is empty")


def test_empty_rows_and_columns_around_a_sheet(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [], [None, "a", "b"], [None, 1, 2], [None, 3, 4])
    found = open_table(path)
    assert list(found.X.columns) == ["a", "b"]
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])
    file_refused(workbook(path, [], [None, "a", "b"], [None, 1, 2], [None, "x", 4]), "row 4, column 'a'")


def test_labels_of_a_workbook_keep_their_type(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a", "class"], [1, 2], [3, 5])
    assert open_table(path, label_column="class").labels.dtype.kind == "i"


def test_damaged_archives_of_arrays(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=X)
    good = path.read_bytes()
    for damaged in (good[: len(good) // 2], good[:-30], good[:70] + b"\0\0\0\0" + good[74:], b"", b"PK"):
        path.write_bytes(damaged)
        file_refused(path, r"not a readable NumPy archive \(.+\)")
    np.savez(path)
    file_refused(path, "the archive contains no arrays")
    with path.open("wb") as file:
        np.save(file, X)
    file_refused(path, "a single array, not an archive of arrays; rename the file to .npy")
    np.savez(path, X=np.column_stack([DAYS.to_numpy()] * 2))
    file_refused(path, "must hold numbers; its data type is datetime64")
