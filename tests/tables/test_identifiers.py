"""Columns that name or describe the rows of a file are found before it is turned, and are never clustered."""

import time

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.identifiers import (
    as_names,
    describes_genes,
    is_running,
    looks_like_dates,
    names_genes,
    names_rows,
    odd_columns,
    whole_and_unique,
)
from fisherem.tables.opening import open_table


@pytest.mark.parametrize("name", ["id", "ID", "CustomerID", "PassengerId", "sample_id", "row.number", "ENTREZID"])
def test_names_of_identifiers(name):
    assert names_rows(name)


@pytest.mark.parametrize("name", ["acid", "ACID", "COVID", "width", "", "age", "solid", "identity", "number of rooms"])
def test_names_of_measurements(name):
    assert not names_rows(name)


def test_names_of_genes():
    assert all(map(names_genes, ["gene", "Gene Symbol", "geneName", "ID_REF", "probe_id", "ENTREZID", "Ensembl.ID"]))
    assert not any(map(names_genes, ["symbol", "generation", "x1", "progeny"]))
    assert all(map(describes_genes, ["Description", "Gene Title", "SYMBOL", "Chr", "gene_biotype", "GB_ACC"]))
    assert not any(map(describes_genes, ["GSM1", "heart", "s1", "title page"]))


def test_whole_numbers_that_differ():
    assert whole_and_unique(pd.Series([3, 1, 2]))
    assert whole_and_unique(pd.Series([3.0, 1.0]))
    others = [[1, 1], [1.5, 2], ["1", "2"], [1, None]]
    assert not any(whole_and_unique(pd.Series(cells)) for cells in others)
    assert is_running(pd.Series([1, 2, 3]))
    assert is_running(pd.Series(["0", "1"]))
    assert not is_running(pd.Series([2, 3, 4]))
    assert looks_like_dates(pd.Series([20240131, 19991201]))
    assert not looks_like_dates(pd.Series([20241301, 19991201]))
    assert looks_like_dates(pd.Series(["31.1.2024", "1/2/24"]))
    assert not looks_like_dates(pd.Series(["1.5.2", "x"]))
    assert as_names([7.0, 7, "007"]) == ["7", "7", "007"]


def test_four_rows_that_count_may_be_measurements():
    assert not odd_columns(pd.DataFrame({"a": [1, 2, 3, 4]}))
    assert "column 'a' holds" in odd_columns(pd.DataFrame({"a": [1, 2, 3, 4, 5]}))[0]


@pytest.fixture
def written(tmp_path):
    def write(text, **options):
        (tmp_path / "t.csv").write_text(text)
        return open_table(tmp_path / "t.csv", find_ids=True, **options).named()

    return write


def test_whole_numbers_that_are_called_ids_name_the_rows(written):
    table = written("a,CustomerID,b\n1.5,900,3\n2,17,4\n7,33,5\n")
    assert list(table.ids) == [900, 17, 33]
    assert table.names == ["a", "b"]
    assert any("column 'CustomerID' was used as row names (--id-column selects another)" in n for n in table.notes)
    assert written("a,CustomerID,b\n1.5,9,3\n2,9,4\n7,33,5\n").names == ["a", "CustomerID", "b"]  # not unique
    assert written("a,CustomerID,b\n1.5,9.5,3\n2,9,4\n7,33,5\n").names == ["a", "CustomerID", "b"]  # not whole
    table = written("id,CustomerID,b\n1,900,3\n2,17,4\n3,33,5\n")  # a running number is the poorer name
    assert list(table.ids) == [900, 17, 33]
    assert any("column 'id' names or describes the rows of the file and does not take part" in n for n in table.notes)


GENES = "ENTREZID,s1,s2,s3\n7157,1,2,3\n4609,4,5,6\n"


def test_numeric_identifiers_become_names_before_the_table_is_turned(written):
    table = written(GENES, transpose=True)
    assert table.names == ["7157", "4609"]
    assert list(table.ids) == ["s1", "s2", "s3"]
    np.testing.assert_array_equal(table.X, [[1, 4], [2, 5], [3, 6]])
    with pytest.raises(TableError, match="look like genes"):
        written(GENES)
    assert list(written(GENES, transpose=False).ids) == [7157, 4609]


def test_id_column_and_drop_speak_of_the_columns_of_the_file(written):
    text = "probe,name,s1,s2,s3\np1,TP53,1,2,3\np2,MYC,4,5,6\n"
    table = written(text, transpose=True, id_column="name", drop=["s2"])
    assert table.names == ["TP53", "MYC"]
    assert list(table.ids) == ["s1", "s3"]
    # what is no column of the file may be a row of it
    assert written(text, transpose=True, id_column="name", drop=["MYC"]).names == ["TP53"]
    with pytest.raises(TableError, match="--drop names 'sX', but the columns are 'probe', 'name', 's1', 's2', 's3'"):
        written(text, transpose=True, drop=["sX"])
    with pytest.raises(TableError, match="--id-column names 'TP53', but the columns are 'probe'"):
        written(text, transpose=True, id_column="TP53")
    with pytest.raises(TableError, match="'s1' is a column of the file, which is turned"):
        written(text, transpose=True, label_column="s1")


def test_what_a_model_needs_is_no_identifier(tmp_path):
    """A column that was no identifier in the table of the fit may look like one in a table of a few new rows."""
    (tmp_path / "new.csv").write_text("CustomerID,a\n4,1.5\n9,2.5\n")
    table = open_table(tmp_path / "new.csv", only=["CustomerID", "a"], find_ids=True)
    assert table.names == ["CustomerID", "a"]
    assert list(table.ids) == [1, 2]


def test_columns_of_parquet_files_that_are_called_ids(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.5, 2, 7], "sample_id": [33, 20, 21], "b": [1.0, 3, 2], "when": [20240131, 20240201, 19991231]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet", find_ids=True).named()
    assert table.names == ["a", "b", "when"]
    assert list(table.ids) == [33, 20, 21]
    assert any("column 'sample_id' was used as row names" in note for note in table.notes)
    assert "column 'when' holds dates written as numbers" in table.hints[0]


def test_odd_columns_are_found_among_very_many():
    """Without a pass of pandas over every column."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 200_000)))
    frame[7], frame[11] = range(6), [20240131 + i % 2 * 100 for i in range(6)]
    frame[13] = ["1", "2", "3", "4", "5", "6"]
    started = time.process_time()
    said = odd_columns(frame)
    assert time.process_time() - started < 10  # a minute, if every column is looked at
    assert "columns '7', '13' hold the numbers of the rows" in said[0]
    assert "column '11' holds dates written as numbers" in said[1]
