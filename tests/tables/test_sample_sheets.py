"""A sample sheet is joined by its ids: annotation, classes to compare with, and weights."""

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.opening import open_table

GENES = "gene,s1,s2,s3\nTP53,1,2,3\nMYC,4,5,6\n"
SHEET = "sample,class,w,batch\ns3,b,2,x\ns1,a,1,y\ns2,,0.5,x\ns9,c,1,z\n"


@pytest.fixture
def opened(tmp_path):
    def open_both(sheet=SHEET, table=GENES, transpose=True, **options):
        (tmp_path / "genes.csv").write_text(table)
        (tmp_path / "sheet.csv").write_text(sheet)
        samples = tmp_path / "sheet.csv"
        return open_table(tmp_path / "genes.csv", find_ids=True, transpose=transpose, samples=samples, **options)

    return open_both


def test_rows_are_matched_by_their_ids(opened):
    table = opened(label_column="class", weight_column="w")
    assert list(table.ids) == ["s1", "s2", "s3"]
    assert list(table.annotation.columns) == ["class", "w", "batch"]
    assert list(table.annotation["batch"]) == ["y", "x", "x"]
    assert table.labels[0] == "a"
    assert pd.isna(table.labels[1])
    np.testing.assert_array_equal(table.weights, [1, 0.5, 2])
    said = "the sample sheet sheet.csv was joined by its column 'sample'; 1 row of it is not in the table"
    assert said in table.notes
    kept = table.keep_rows(np.array([True, False, True]))
    assert list(kept.annotation["batch"]) == ["y", "x"]
    np.testing.assert_array_equal(kept.weights, [1, 2])
    labels = table.annotated(pd.DataFrame({"id": table.ids, "class": 1}))
    assert list(labels.columns) == ["id", "class", "class (sample)", "w", "batch"]


def test_ids_as_they_are_written_or_as_numbers(opened):
    table = opened("who,kind\n007,a\n010,b\n", "id,x,y\n010,1,2\n007,3,4\n", transpose=False)
    assert list(table.annotation["kind"]) == ["b", "a"]
    table = opened("who,kind\n007,a\n010,b\n", "id,x,y\n010,1,2\n007,3,4\n", transpose=False, id_column="id")
    assert list(table.ids) == ["010", "007"]
    assert list(table.annotation["kind"]) == ["b", "a"]


def test_sheets_that_do_not_fit(opened):
    with pytest.raises(TableError, match=r"no column of the sample sheet \('who', 'kind'\) holds the ids of the rows"):
        opened("who,kind\nann,a\nbob,b\n")
    with pytest.raises(TableError, match="line 2 and line 4 of the sample sheet are both for 's3'; keep one"):
        opened("who,kind\ns3,a\ns2,b\ns3,c\n")
    with pytest.raises(TableError, match="--label-column names 'kind', but the columns are 'class', 'w', 'batch'"):
        opened(label_column="kind")
    table = opened("who,kind\ns3,a\n")
    assert any("it lacks 2 rows of the table ('s1', 's2')" in note for note in table.notes)
    with pytest.raises(TableError, match=r"sheet\.csv: no row for 's1': the weight .* is empty"):
        opened("who,w\ns3,1\n", weight_column="w")
    with pytest.raises(TableError, match=r"sheet\.csv: line 3: the weight \(--weight-column 'w'\) is '-1'"):
        opened("who,w\ns3,1\ns1,-1\ns2,1\n", weight_column="w")
    with pytest.raises(TableError, match="no such file"):
        open_table("x.csv", samples="nowhere.csv")


def test_weights_in_the_table_itself(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,w\n1,2,1\n3,4,0\n5,6,2\n")
    table = open_table(path, weight_column="w")
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.weights, [1, 0, 2])
    path.write_text("a,b,w\n1,2,1\n3,4,much\n5,6,2\n")
    with pytest.raises(TableError, match=r"line 3, column 'w': the weight .* is 'much'; it must be a number from 0 on"):
        open_table(path, weight_column="w")
    pd.DataFrame({"a": [1.0, 2], "b": [3.0, 5], "w": [1.0, -2]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="row 2, column 'w': the weight"):
        open_table(tmp_path / "t.parquet", weight_column="w")
    path.write_text("gene,s1,s2\nTP53,1,2\nMYC,3,4\nw,1,no\n")
    with pytest.raises(TableError, match="line 4, column 's2': the weight"):
        open_table(path, transpose=True, weight_column="w")
