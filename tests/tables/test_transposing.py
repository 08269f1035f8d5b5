"""Tables with variables in their rows: turned round where that is asked for or known, and hinted at elsewhere."""

import gzip

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.opening import open_table
from fisherem.tables.series_matrix import without_description
from fisherem.tables.transposing import hint_of_genes, is_turned

SERIES = """!Series_title\t"Two kinds of cells"
!Series_geo_accession\t"GSE1"

!Sample_title\t"one"\t"two"\t"three"
!series_matrix_table_begin
"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"
"1007_s_at"\t7.5\t6.25\t8
"117_at"\t-1\t0.5\t2
!series_matrix_table_end
"""


@pytest.fixture
def series(tmp_path):
    path = tmp_path / "GSE1_series_matrix.txt.gz"
    path.write_bytes(gzip.compress(SERIES.encode()))
    return path


def test_a_series_matrix_has_its_samples_as_rows(series):
    table = open_table(series, find_ids=True)
    assert list(table.ids) == ["GSM1", "GSM2", "GSM3"]
    assert table.names == ["1007_s_at", "117_at"]
    np.testing.assert_array_equal(table.X, [[7.5, -1], [6.25, 0.5], [8, 2]])
    said = " ".join(table.notes)
    assert "5 lines of description" in said
    assert "transposed (a series matrix has samples in columns)" in said
    kept = open_table(series, find_ids=True, transpose=False)
    assert list(kept.ids) == ["1007_s_at", "117_at"]
    assert kept.names == ["GSM1", "GSM2", "GSM3"]


def test_lines_keep_their_numbers(tmp_path):
    path = tmp_path / "gap_series_matrix.txt"
    path.write_text(SERIES.replace("6.25", "high"))
    with pytest.raises(TableError, match=r"line 7, column 'GSM2': 'high' is not a finite number"):
        open_table(path, find_ids=True, transpose=False)
    path.write_text(SERIES.replace("6.25", "null"))
    with pytest.raises(TableError, match=r"row 2, column '1007_s_at': the cell is empty; 1 of 6 cells"):
        open_table(path)


def test_description_without_marks_is_at_the_top_only():
    assert without_description("!about\n\na,b\n1,2\n!odd,3\n") == ("\n\na,b\n1,2\n!odd,3\n", 1)
    assert without_description("a,b\n!odd,3\n") == ("a,b\n!odd,3\n", 0)
    assert without_description("a,b\n1,2\n") == ("a,b\n1,2\n", 0)
    assert without_description("!only\n")[0].strip() == ""


@pytest.fixture(params=["csv", "parquet", "xlsx"])
def by_genes(request, tmp_path):
    """Three genes x four samples, in several kinds of files."""
    frame = pd.DataFrame({"gene": ["TP53", "MYC", "EGFR"]} | {f"s{i}": [i + 0.5, 2 * i, -i] for i in range(4)})
    path = tmp_path / f"genes.{request.param}"
    {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[request.param](path, index=False)
    return path, frame


def test_transposing_where_it_is_asked_for(by_genes):
    path, frame = by_genes
    table = open_table(path, transpose=True).named()
    assert list(table.ids) == ["s0", "s1", "s2", "s3"]
    assert table.names == ["TP53", "MYC", "EGFR"]
    np.testing.assert_array_equal(table.X, frame.iloc[:, 1:].to_numpy().T)
    assert any("as requested by --transpose" in note for note in table.notes)
    assert open_table(path, transpose=True, drop=["MYC"]).named().names == ["TP53", "EGFR"]


def test_numbers_without_names_are_transposed(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    table = open_table(tmp_path / "x.npy", transpose=True)
    assert table.names == ["x1", "x2"]
    assert table.X.shape == (3, 2)
    with pytest.raises(TableError, match="transposing needs all of them in memory: increase memory"):
        open_table(tmp_path / "x.npy", transpose=True, memory=50)


def test_a_row_of_classes_is_a_column_of_them(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,s1,s2,s3\nkind,a,b,a\nTP53,1.5,2,3\nMYC,4,5,6\n")
    table = open_table(path, transpose=True, label_column="kind")
    assert list(table.labels) == ["a", "b", "a"]
    np.testing.assert_array_equal(table.X, [[1.5, 4], [2, 5], [3, 6]])


def test_names_of_rows_must_differ_to_name_columns(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("gene,s1,s2\nTP53,1,2\nMYC,3,4\nTP53,5,6\n")
    with pytest.raises(TableError, match="rows 1 and 3 are both named 'TP53'"):
        open_table(path, transpose=True)


@pytest.mark.parametrize(
    "names",
    [
        ["1007_s_at", "117_at", "AFFX-BioB"], ["ENSG00000141510", "ENSMUSG00000059552.8"], ["ILMN_1343291"],
        ["TP53", "HLA-A", "BRCA1"], ["Trp53", "Cdkn2a", "C1orf112"], ["AT1G01010"], ["A_23_P117082"],
    ],
)  # fmt: skip
def test_a_hundred_times_more_rows_with_names_of_genes_get_a_hint(names):
    said = hint_of_genes(names * 400, (400 * len(names), 4))
    assert f"{400 * len(names):,} rows look like genes" in said
    assert "--transpose" in said
    assert names[0] in said
    assert not hint_of_genes(names * 400, (400 * len(names), 4 * len(names) + 1))  # not a hundred times more


def test_other_names_get_none(tmp_path):
    assert not hint_of_genes([f"customer {i}" for i in range(1000)], (1000, 3))
    assert not hint_of_genes(range(1000), (1000, 3))
    assert not hint_of_genes([f"C{i:05}" for i in range(1000)], (1000, 3))
    assert not hint_of_genes([f"2024-01-{i}" for i in range(1000)], (1000, 3))
    path = tmp_path / "genes.csv"
    path.write_text("gene,a,b\n" + "\n".join(f"{i}_at,{i},{-i}" for i in range(250)))
    assert open_table(path, find_ids=True).hint
    assert not open_table(path, transpose=True).hint


def test_a_table_whose_rows_are_the_columns_of_a_model():
    assert is_turned(["a", "b", "c"], ["s1", "s2"], np.array(["a", "b", "c", "d"]))
    assert not is_turned(["a", "b", "c"], ["a", "b"], np.array(["a", "b", "c"]))
    assert not is_turned(["a", "b", "c"], ["s1"], np.array(["x", "y"]))
    assert not is_turned(["a"], ["s1"], range(1, 4))


# -- ids -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_first_column_of_text_names_the_rows_if_its_cells_differ(tmp_path, kind):
    def written(first):
        frame = pd.DataFrame({"who": first, "a": [1.0, 2, 3], "b": [4.0, 5, 7]})
        (frame.to_csv if kind == "csv" else frame.to_parquet)(tmp_path / f"x.{kind}", index=False)
        return tmp_path / f"x.{kind}"

    table = open_table(written(["u1", "u2", "u3"]), find_ids=True).named()
    assert list(table.ids) == ["u1", "u2", "u3"]
    assert table.names == ["a", "b"]
    assert any("'who', was used as row names (--id-column selects another)" in note for note in table.notes)
    labelled = open_table(written(["u1", "u2", "u3"]), find_ids=True, label_column="who").named()
    assert list(labelled.labels) == ["u1", "u2", "u3"]
    assert list(labelled.ids) == [1, 2, 3]
    with pytest.raises(TableError, match="'who' holds text"):
        open_table(written(["u1", "u2", "u3"])).named()
    with pytest.raises(TableError, match="'who' holds text"):
        open_table(written(["u1", "u2", "u1"]), find_ids=True).named()
    # numbers are measurements, however different they are
    assert open_table(written([1.5, 2.5, 3.5]), find_ids=True).named().names == ["who", "a", "b"]


def test_one_bad_cell_does_not_make_a_column_of_names(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\nx,3\n4,5\n")
    with pytest.raises(TableError, match="line 3, column 'a': 'x'"):
        open_table(path, find_ids=True)
