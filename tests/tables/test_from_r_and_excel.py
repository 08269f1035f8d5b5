"""Files as R and Excel leave them: headers with a name fewer or a line more, repeated symbols, sheets, dates."""

import datetime

import numpy as np
import openpyxl
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.headers import find_headers
from fisherem.tables.opening import open_table


@pytest.fixture
def opened(tmp_path):
    """Open a text as the command line does."""

    def open_text(text, name="t.txt", **options):
        path = tmp_path / name
        path.write_text(text)
        return open_table(path, find_ids=True, **options).named()

    return open_text


@pytest.fixture
def refused(opened):
    def check(text, match, **options):
        with pytest.raises(TableError, match=match) as error:
            opened(text, **options)
        assert "\n" not in str(error.value)

    return check


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


# -- R's write.table -----------------------------------------------------------------------------------------------

IRIS = '"Sepal.Length" "Sepal.Width" "Species"\n"1" 5.1 3.5 "setosa"\n"2" 4.9 3 "setosa"\n"10" 4.7 3.2 "virginica"\n'


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";"])
def test_the_header_of_write_table_has_one_name_fewer(opened, separator):
    table = opened(IRIS.replace(" ", separator), label_column="Species")
    assert table.names == ["Sepal.Length", "Sepal.Width"]
    assert list(table.ids) == ["1", "2", "10"]
    assert list(table.labels) == ["setosa", "setosa", "virginica"]
    np.testing.assert_array_equal(table.X, [[5.1, 3.5], [4.9, 3], [4.7, 3.2]])
    assert any("the first column has no name and was used as row names" in note for note in table.notes)


def test_names_with_blanks_and_quotes_between_blanks(opened):
    table = opened('"a b"   "c \\"d\\""\n"x y"  1   2\n"z"   3   NA\n', missing=True)
    assert table.names == ["a b", 'c "d"']
    assert list(table.ids) == ["x y", "z"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, np.nan]])
    assert any("separated by blanks" in note for note in table.notes)


def test_numbers_between_blanks_as_numpy_writes_them(opened, tmp_path):
    np.savetxt(tmp_path / "n.txt", np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(open_table(tmp_path / "n.txt").named().X, [[0, 1], [2, 3], [4, 5]])


def test_other_lines_with_a_cell_more_are_errors(refused):
    refused("a,b\n1,2,\n3,4,\n", "line 2 has 3 fields where the first line has 2")  # an empty column at the end
    refused("a,b\n1.5,2,3\n2.5,4,5\n", "line 2 has 3 fields")  # measurements are no row names
    refused("a,b\n1,2,3\n1,4,5\n", "line 2 has 3 fields")  # row names differ
    refused("1,2\n1,2,3\n", "line 2 has 3 fields")  # no header
    refused('"a" "b"\n"x" 1 2\n"y" 3\n', "line 3 has 2 fields where the lines before have 3")
    refused("a\n1 200\n2 500\n3 700\n", "column 'a' holds text")  # thousands


def test_lines_between_blanks_keep_their_numbers(refused):
    refused('"a" "b"\n\n"x" 1 2\n"y" 3 oops\n', "line 4, column 'b': 'oops' is not a finite number")


# -- probes, symbols, descriptions ---------------------------------------------------------------------------------

PROBES = (
    "ID,Gene Symbol,Description,Chr,GSM1,GSM2,GSM3\n1007_s_at,DDR1,discoidin,6,1,2,3\n1053_at,RFC2,,7,4,5,6\n"
    "117_at,HSPA6,heat shock,,7,8,9\n121_at,DDR1,again,6,3,6,9\n"
)


def test_columns_about_genes_are_no_samples(opened):
    table = opened(PROBES, "t.csv", transpose=True)
    assert table.names == ["1007_s_at", "1053_at", "117_at", "121_at"]
    assert list(table.ids) == ["GSM1", "GSM2", "GSM3"]
    assert list(table.variables.columns) == ["Gene Symbol", "Description", "Chr"]
    assert list(table.variables["Gene Symbol"]) == ["DDR1", "RFC2", "HSPA6", "DDR1"]
    assert any("columns 'Gene Symbol', 'Description', 'Chr' name or describe the rows" in note for note in table.notes)


@pytest.mark.parametrize(("how", "values"), [("first", [1, 2, 3]), ("mean", [2, 4, 6]), ("max", [3, 6, 9])])
def test_repeated_symbols_are_combined(opened, how, values):
    table = opened(PROBES, "t.csv", transpose=True, id_column="Gene Symbol", duplicates=how)
    assert table.names == ["DDR1", "RFC2", "HSPA6"]
    np.testing.assert_array_equal(table.X["DDR1"], values)
    np.testing.assert_array_equal(table.X["RFC2"], [4, 5, 6])
    assert len(table.variables) == 3
    assert any("4 variables became 3" in note for note in table.notes)


def test_repeated_symbols_are_refused_by_default(refused, opened):
    refused(PROBES, "line 2 and line 5 are both named 'DDR1'", name="t.csv", transpose=True, id_column="Gene Symbol")
    refused("a,b,a\n1,2,3\n", r"two columns are named 'a' \(1 and 3\).*--duplicates first, mean or max")
    table = opened("a,b,a\n1,2,3\n5,4,3\n", duplicates="mean")
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.X, [[2, 2], [4, 4]])


def test_genes_without_a_symbol_are_named_after_their_line(opened):
    text = "probe,symbol,s1,s2\np1,TP53,1,2\np2,---,3,4\np3,NA,5,6\n"
    table = opened(text, "t.csv", transpose=True, id_column="symbol")
    assert table.names == ["TP53", "line 3", "line 4"]
    assert any("2 rows of the file have no name in column 'symbol'" in note for note in table.notes)


# -- two header rows -----------------------------------------------------------------------------------------------


def test_a_line_of_units_is_no_row(opened, refused):
    text = "id,height,weight\n,cm,kg\na,180,80\nb,170,60\nc,160,55\n"
    table = opened(text)
    assert table.names == ["height", "weight"]
    assert list(table.ids) == ["a", "b", "c"]
    assert table.X.iloc[0].tolist() == [180, 80]
    assert list(table.variables["line 2"]) == ["cm", "kg"]
    assert any("line 2 is a second header ('cm', 'kg', ...)" in note for note in table.notes)
    refused(text.replace("170", "x"), "line 4, column 'height': 'x'")


def test_a_line_of_classes_is_known_of_the_samples(opened):
    text = "gene,s1,s2,s3\nclass,ALL,AML,ALL\nTP53,1,2,3\nMYC,4,5,6\nEGFR,7,8,8\n"
    table = opened(text, transpose=True, label_column="class")
    assert table.names == ["TP53", "MYC", "EGFR"]
    assert list(table.labels) == ["ALL", "AML", "ALL"]
    assert list(table.annotation["class"]) == ["ALL", "AML", "ALL"]


def test_words_above_several_columns(opened, tmp_path):
    above = [["", "before", None, "after", None], ["id", "a", "b", "c", "d"], ["r1", 1, 2, 3, 4], ["r2", 5, 6, 7, 8]]
    table = open_table(workbook(tmp_path / "t.xlsx", one=above), find_ids=True)
    assert table.names == ["a", "b", "c", "d"]
    assert list(table.variables["row 1"]) == ["before", "before", "after", "after"]
    np.testing.assert_array_equal(table.X, [[1, 2, 3, 4], [5, 6, 7, 8]])


def test_what_is_a_second_header():
    """Words above at least half of the numeric columns and above two of them, and no number among them."""
    below = [["1", "2", "3", "4"], ["5", "6", "7", "8"]]
    names = ["a", "b", "c", "d"]
    assert find_headers([names, ["x", "y", "", ""], *below]) == 2
    assert find_headers([names, ["x", "", "", ""], *below]) == 1
    assert find_headers([names, ["x", "y", "z", "1"], *below]) == 1
    assert find_headers([["a", "b"], ["cm", "kg"], ["1", "2"]]) == 2
    assert find_headers([["a"], ["cm"], ["1"]]) == 1
    assert find_headers([["a", "b", "c", "d", "e"], ["x", "y", "", "", ""], ["1"] * 5]) == 1
    assert find_headers([names, ["x", "y", "z", "w"]]) == 1
    assert find_headers([names, list("xyzw"), list("uvst"), list("qrop"), *below]) == 3


# -- Excel ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["--", "---", "#DIV/0!", "NULL", "#VALUE!", "#REF!", "#NUM!", "NA"])
def test_words_for_nothing(opened, refused, tmp_path, word):
    text = f"a,b\n1,2\n{word},4\n5,6\n"
    np.testing.assert_array_equal(opened(text, missing=True).X["a"], [1, np.nan, 5])
    refused(text, "line 3, column 'a': the cell is empty")
    path = workbook(tmp_path / "t.xlsx", one=[["a", "b"], [1, 2], [word, 4], [5, 6]])
    np.testing.assert_array_equal(open_table(path, missing=True).X["a"], [1, np.nan, 5])


def test_sheets(tmp_path):
    rows = [["a", "b"], [1, 2], [3, 4]]
    path = workbook(tmp_path / "t.xlsx", notes=[["see the next sheet"]], data=rows, more=[["c", "d"], [5, 6], [7, 8]])
    assert open_table(path, sheet="data").names == ["a", "b"]
    assert open_table(path, sheet="3").names == ["c", "d"]
    with pytest.raises(TableError, match=r"--sheet names 'raw', but the sheets are 'notes', 'data', 'more'"):
        open_table(path, sheet="raw")
    with pytest.raises(TableError, match=r"first sheet, 'notes', of 3 \('notes', 'data', 'more'; --sheet selects"):
        open_table(path)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"sheet \(--sheet\) applies to workbooks only \(\.xlsx, \.xls\)"):
        open_table(tmp_path / "t.csv", sheet="data")
    workbook(path, only=rows)
    assert open_table(path).notes[0] == "read the first sheet"


def test_symbols_that_excel_made_dates(opened, tmp_path):
    text = "gene,s1,s2\nTP53,1,2\n1-Mar,3,4\n2-Sep,5,6\n"
    table = opened(text, transpose=True)
    assert any(
        "the names '1-Mar', '2-Sep' are dates: Excel turns gene symbols such as MARCH1" in h for h in table.hints
    )
    day = datetime.datetime(2024, 3, 1)
    path = workbook(tmp_path / "t.xlsx", one=[["gene", "s1", "s2"], ["TP53", 1, 2], [day, 3, 4], ["MYC", 5, 6]])
    table = open_table(path, find_ids=True, transpose=True)
    assert table.names == ["TP53", "1-Mar", "MYC"]
    assert "'1-Mar'" in table.hints[0]
    with pytest.raises(TableError, match=r"both named '1-Mar'.*Excel turns gene symbols"):
        opened(text.replace("2-Sep", "1-Mar"), transpose=True)
    with pytest.raises(TableError, match=r"line 3, column 'b': '5-Mar' is not a finite number .did Excel turn"):
        opened("a,b\n1,2\n3,5-Mar\n4,4\n")


# -- series matrix -------------------------------------------------------------------------------------------------

SERIES = """!Series_title\t"Two kinds"
!Sample_title\t"one"\t"two"\t"three"
!Sample_geo_accession\t"GSM1"\t"GSM2"\t"GSM3"
!Sample_status\t"Public"\t"Public"\t"Public"
!Sample_characteristics_ch1\t"tissue: liver"\t"tissue: lung"\t"tissue: liver"
!Sample_characteristics_ch1\t"age: 61"\t"sex: f"\t"age: 50"
!Sample_characteristics_ch1\t"sex: m"\t""\t"sex: f"
!series_matrix_table_begin
"ID_REF"\t"GSM3"\t"GSM1"\t"GSM2"
"1007_s_at"\t1\t2\t3
"117_at"\t4\t5\t6
!series_matrix_table_end
"""


def test_a_series_matrix_keeps_what_it_says_of_its_samples(opened):
    table = opened(SERIES, label_column="tissue")
    assert list(table.ids) == ["GSM3", "GSM1", "GSM2"]
    assert list(table.annotation.columns) == ["title", "tissue", "age", "sex"]
    assert list(table.annotation["title"]) == ["three", "one", "two"]
    assert list(table.annotation["age"]) == ["50", "61", ""]
    assert list(table.annotation["sex"]) == ["f", "m", "f"]
    assert list(table.labels) == ["liver", "liver", "lung"]
    assert any("4 descriptions of the samples are kept, 1 that is the same for all left out" in n for n in table.notes)


def test_a_series_matrix_without_samples_described(opened):
    assert opened("\n".join(line for line in SERIES.splitlines() if "!Sample" not in line)).annotation is None
