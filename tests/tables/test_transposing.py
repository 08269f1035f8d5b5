"""Tables with variables in their rows: turned round where that is asked for or known, and hinted at elsewhere."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.opening import open_table
from fisherem.tables.series_matrix import without_description
from fisherem.tables.transposing import is_turned, question_of_genes

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
    with pytest.raises(TableError, match=r"line 7, column 'GSM2': the cell is empty \(it contains 'null'\); 1 of 6"):
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
    np.save(tmp_path / "long.npy", np.zeros((200, 3)))
    with pytest.raises(TableError, match="transposing needs all of them in memory: increase memory"):
        open_table(tmp_path / "long.npy", transpose=True, memory=1000)


def test_a_row_of_classes_is_a_column_of_them(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,s1,s2,s3\nkind,a,b,a\nTP53,1.5,2,3\nMYC,4,5,6\n")
    table = open_table(path, transpose=True, label_column="kind")
    assert list(table.labels) == ["a", "b", "a"]
    np.testing.assert_array_equal(table.X, [[1.5, 4], [2, 5], [3, 6]])


def test_names_of_rows_must_differ_to_name_columns(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("gene,s1,s2\nTP53,1,2\nMYC,3,4\nTP53,5,6\n")
    with pytest.raises(TableError, match=r"line 2 and line 4 are both named 'TP53'.*--duplicates first, mean or max"):
        open_table(path, transpose=True)


KINDS = (".csv", ".csv.gz", ".npz")
SAMPLES = [f"s{i}" for i in range(1, 7)]


@pytest.mark.parametrize(
    "names",
    [
        ["1007_s_at", "117_at", "AFFX-BioB"], ["ENSG00000141510", "ENSMUSG00000059552.8"], ["ILMN_1343291"],
        ["TP53", "HLA-A", "BRCA1"], ["Trp53", "Cdkn2a", "C1orf112"], ["AT1G01010"], ["A_23_P117082"],
        ["GENE3950X", "GENE17X"], ["AFFX-HUM/HSAC07/X00351_M_at", "A28102_at"], ["cg00000029"],
    ],
)  # fmt: skip
def test_names_of_genes_are_asked_about(names):
    said = question_of_genes(names * 10, "", SAMPLES, 10 * len(names))
    assert f"{10 * len(names):,} rows" in said
    assert "look like genes" in said
    assert "--transpose clusters the columns" in said
    assert "--no-transpose the rows" in said
    assert names[0] in said


def test_a_header_for_genes_is_enough_and_symbols_need_samples():
    numbers = list(range(10_000, 10_400))
    assert question_of_genes(numbers, "ENTREZID", ["heart", "liver"], 400)
    assert not question_of_genes(numbers, "customer", ["age", "income"], 400)
    countries = ["FRA", "USA", "GER", "ITA", "ESP", "POL"]
    assert not question_of_genes(countries, "country", ["population", "income"], 6)
    assert question_of_genes(countries, "symbol", [f"GSM{i}" for i in range(5)], 6)


@pytest.mark.parametrize(
    ("n", "p", "asked"), [(1000, 20, True), (999, 20, False), (1000, 101, False), (1010, 101, True)]
)
def test_long_tables_of_samples_are_asked_about(n, p, asked):
    """From 1,000 rows on, ten times as long as wide, columns named like samples are enough; numbered ones need ids."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(letters[np.random.default_rng(i).integers(26, size=8)]) for i in range(n)]
    assert bool(question_of_genes(range(1, n + 1), "", [f"patient_{j}" for j in range(p)], n)) == asked
    assert bool(question_of_genes(words, "what", [f"AB.{j}" for j in range(p)], n)) == asked
    assert not question_of_genes(range(1, n + 1), "", [f"V{j}" for j in range(p)], n)
    assert not question_of_genes([f"pixel {i}" for i in range(n)], "what", [f"band{j}" for j in range(p)], n)


def test_four_of_five_names_are_enough():
    genes = [f"{i}_at" for i in range(8)]
    assert question_of_genes([*genes, "one", "two"], "", ["a", "b"], 10)
    assert not question_of_genes([*genes[:7], "one", "two", "three"], "", ["a", "b"], 10)


def test_symbols_have_many_beginnings_and_samples_few():
    """Customer numbers (one stem) are no symbols; numbered columns with eleven different words are measurements."""
    symbols = [f"{letter}A{i}" for letter in "BCDEFGHIJ" for i in range(3)]  # 9 stems of 27: a third
    assert question_of_genes(symbols, "", SAMPLES, len(symbols))
    assert not question_of_genes([*symbols, "BA3", "BA4", "BA5", "BA6"], "", SAMPLES, 31)  # 9 of 31: 0.29
    words = ["".join(pair) for pair in zip("abcdefghijk", "lmnopqrstuv", strict=True)]
    ids = [f"{'abcdefghij'[i // 110]}-{'klmnopqrstu'[i % 11]}{'vwxyzabcde'[i // 11 % 10]}" for i in range(1100)]
    assert question_of_genes(ids, "", [f"{word}{i}" for word in words[:10] for i in range(2)], 1100)
    assert not question_of_genes(ids, "", [f"{word}{i}" for word in words for i in range(2)], 1100)


def test_tables_of_measurements_are_not_asked_about():
    assert not question_of_genes([f"customer {i}" for i in range(1000)], "who", ["age", "height", "b12"], 1000)
    assert not question_of_genes(range(1, 4436), "", [f"x{i}" for i in range(1, 37)], 4435)  # satimage
    assert not question_of_genes(range(1, 1757), "", [f"V{i}" for i in range(1, 257)], 1756)  # usps
    assert not question_of_genes([f"C{i:05}" for i in range(5000)], "sample", [str(w) for w in range(400, 700)], 5000)
    assert not question_of_genes([f"2024-01-{i}" for i in range(1000)], "day", ["t1", "t2", "t3"], 1000)


def test_no_table_at_hand_is_asked_about():
    root = os.environ.get("FISHEREM_DATA")
    if not root:
        pytest.skip("FISHEREM_DATA is not set")
    found = [p for p in Path(root).rglob("*") if "".join(p.suffixes) in KINDS and "omega" not in p.name]
    assert len(found) > 20
    for path in found:
        header = [] if path.suffix == ".npz" else list(pd.read_csv(path, nrows=1).columns)
        label = next((name for name in header if name.lower() == "class"), None)
        table = open_table(path, find_ids=True, label_column=label).named()
        assert not table.hints, path
        assert isinstance(table.ids, range), path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_golub_is_asked_about_and_both_answers_work(tmp_path, kind):
    n, p = 7129, 72
    X = np.random.default_rng(0).normal(size=(n, p))
    frame = pd.DataFrame(X, columns=[f"{'ALL' if j < 47 else 'AML'}_{j}" for j in range(p)])
    path = tmp_path / f"golub.{kind}"
    (frame.to_csv if kind == "csv" else frame.to_parquet)(path, index=False)
    with pytest.raises(
        TableError, match=r"7,129 rows look like genes and the 72 columns .*--transpose .*--no-transpose"
    ):
        open_table(path, find_ids=True)
    assert open_table(path, find_ids=True, transpose=True).named().X.shape == (p, n)
    assert open_table(path, find_ids=True, transpose=False).named().X.shape == (n, p)
    frame.insert(0, "probe", [f"{i}_at" for i in range(n)])
    (frame.to_csv if kind == "csv" else frame.to_parquet)(path, index=False)
    with pytest.raises(TableError, match="'0_at', '1_at'"):
        open_table(path, find_ids=True)


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
