"""A file that is written to during a fit is an error: its passes would see different rows."""

import os

import numpy as np
import pandas as pd
import pytest

from fisherem import FisherEM
from fisherem._utils.passes import looking_on
from fisherem.tables.errors import FileChangedError
from fisherem.tables.opening import open_table
from fisherem.tables.parquet import ParquetSource
from tests.passing import AtPass

MEMORY = "60kB"


@pytest.fixture
def path(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    return tmp_path / "rows.npy"


def overwrite(path, rows):
    """Write other rows into the same file, and leave no doubt about the time."""
    with path.open("r+b") as file:
        np.save(file, rows)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))


def test_a_fit_ends_when_its_file_is_overwritten(rows, path):
    watch = AtPass(2, lambda: overwrite(path, rows[::-1]))
    with looking_on(watch), pytest.raises(FileChangedError, match=r"rows\.npy was written to while it was being read"):
        FisherEM(3, n_init=1, random_state=0, memory=MEMORY).fit(path)
    assert watch.passes == 2


@pytest.mark.parametrize("view", [lambda table: table, lambda table: table.select([1, 0])])
def test_size_time_and_a_sample_are_compared(rows, path, view):
    table = view(open_table(path, memory=MEMORY).X)
    table.source.check_unchanged()
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(FileChangedError, match="written to"):
        list(table.blocks())
    table = view(open_table(path, memory=MEMORY).X)
    before = path.stat()
    overwrite(path, -rows)
    os.truncate(path, before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # only the rows tell
    with pytest.raises(FileChangedError, match="written to"):
        list(table.blocks())


def test_a_file_that_is_replaced_or_deleted_is_still_read(rows, path, tmp_path):
    table = open_table(path, memory=MEMORY).X
    np.save(tmp_path / "other.npy", -rows)
    os.replace(tmp_path / "other.npy", path)
    np.testing.assert_array_equal(np.concatenate([block for _, block in table.blocks()]), rows)
    table = open_table(path, memory=MEMORY).X
    path.unlink()
    np.testing.assert_array_equal(np.concatenate([block for _, block in table.blocks()]), -rows)


def test_parquet_files_are_watched(rows, tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame(rows).add_prefix("v").to_parquet(path, row_group_size=100)
    source = ParquetSource(path)
    source.check_unchanged()
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))
    with pytest.raises(FileChangedError, match=r"rows\.parquet was written to"):
        source.select([0, 2]).check_unchanged()


def test_labels_are_of_one_type_wherever_the_rows_are(rows, path):
    arguments = {"n_init": 1, "random_state": 0}
    in_memory = FisherEM(3, **arguments).fit(rows)
    on_disk = FisherEM(3, memory=MEMORY, **arguments).fit(path)
    assert on_disk.labels_.dtype == in_memory.labels_.dtype == np.int64
    assert on_disk.predict(path).dtype == np.int64
