"""Text files of every layout give the numbers that are written in them, or an error that says what to do."""

import gzip

import numpy as np
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.opening import open_table


@pytest.fixture
def opened(tmp_path):
    """Open a text as the command line does."""

    def open_text(text, **options):
        path = tmp_path / "t.csv"
        path.write_bytes(text.encode())
        return open_table(path, **options).named()

    return open_text


@pytest.fixture
def refused(opened):
    def check(text, match, **options):
        with pytest.raises(TableError, match=match) as error:
            opened(text, **options)
        assert "\n" not in str(error.value)

    return check


def table(text):
    return [[float(cell) for cell in row.split()] for row in text.split("/")]


# -- header --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["NA,2,3", "1,,3", ",2,3", "1,2,nan", "inf,2,3", "1,2,<NA>"])
def test_a_first_row_with_a_gap_is_no_header(refused, first):
    refused(f"{first}\n4.5,5,6\n7,8,9\n", "line 1, column 'x")


def test_a_first_row_that_may_be_a_header_or_not_is_asked_about(opened, refused):
    refused("5.1,n.d.,1.4,0.2\n4.9,3.0,1.4,0.2\n", "line 1: 'n.d.' is next to numbers: name every column")
    assert opened("label,400,410.5,420,430\n1,2,3,4,5\n").X.shape == (1, 5)  # wavelengths are in order
    assert opened("a,b,0.9\n1,2,3\n").X.shape == (1, 3)  # words are more
    assert opened("label,4000,3990\n1,2,3\n").X.shape == (1, 3)
    assert opened("who,7,3,9\nann,2,3,4\n", id_column="who").X.shape == (1, 3)


@pytest.mark.parametrize(
    ("text", "names", "ids"),
    [
        (",0,1\n0,4,5\n1,6,7\n", ["0", "1"], ["0", "1"]),  # as pandas writes an array with its index
        (",V1,V2\n1,4,5\n2,6,7\n", ["V1", "V2"], ["1", "2"]),  # as R does
        (",400,410.5\nr1,4,5\nr2,6,7\n", ["400", "410.5"], ["r1", "r2"]),
    ],
)
def test_numbers_as_names_after_an_empty_corner(opened, text, names, ids):
    found = opened(text)
    assert list(found.X.columns) == names
    assert list(found.ids) == ids
    np.testing.assert_array_equal(found.X, table("4 5 / 6 7"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a;b,c,d\n1,2,3\n4,5,6\n", ["a;b", "c", "d"]),
        ("a|b;c;d\n1;2;3\n4;5;6\n", ["a|b", "c", "d"]),
        ('"a\nb",c,d\n1,2,3\n4,5,6\n', ["a\nb", "c", "d"]),
        ("a\u0085b,c\u2028,d\x0b\n1,2,3\n4,5,6\n", ["a\u0085b", "c", "d"]),
        ('"a ""x""", c,d\n1,2,3\n4,5,6\n', ['a "x"', "c", "d"]),
        ('a,b 5",c\n1,2,3\n4,5,6\n', ["a", 'b 5"', "c"]),
        ("a,b,c\r1,2,3\r4,5,6", ["a", "b", "c"]),
    ],
)
def test_names_with_anything_in_them(opened, text, names):
    found = opened(text)
    assert list(found.X.columns) == names
    np.testing.assert_array_equal(found.X, table("1 2 3 / 4 5 6"))


def test_names_that_are_missing_or_repeated(refused):
    refused("a,b,a\n1,2,3\n", r"two columns are named 'a' \(1 and 3\)")
    refused("a,,\n1,2,3\n", "columns 2 and 3 have no name")


# -- lines ---------------------------------------------------------------------------------------------------------


def test_lines_are_counted_as_an_editor_counts_them(refused):
    refused("\n\na,b\n\n1,2\n\n3,x\n", "line 7, column 'b': 'x'")
    refused("\n\na,b\n\n1,2\n\n3\n", "line 7 has 1 field where the first line has 2")
    refused('"a\nb",c\n1,2\n3,x\n', "line 4, column 'c': 'x'")
    refused("a\tb\n1\t2\n\t\n3\t4\n", "line 3, column 'a': the cell is empty")
    refused('a,b\n1,2\n"3,4\n5,6\n', "line 3 has 1 field .* close its quote")
    refused('a\n1\n"3\n5\n', "line 3: a quote is opened but not closed")


def test_a_quote_may_come_late(opened):
    found = opened("a,b\n" + "1,2\n" * 1500 + '"3",4\n')
    assert found.X.shape == (1501, 2)
    assert found.X.iloc[-1].tolist() == [3, 4]


def test_blank_lines_are_no_rows(opened):
    np.testing.assert_array_equal(opened("a,b\n\n1,2\n  \n3,4\n\n").X, table("1 2 / 3 4"))


# -- commas --------------------------------------------------------------------------------------------------------

AMBIGUOUS = "a;b\n950;2\n1,200;3\n"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_commas_that_may_separate_thousands_are_asked_about(opened, refused, separator):
    text = AMBIGUOUS.replace(";", separator)
    refused(text, "line 3: '1,200' may have a thousands separator or a decimal comma.*--comma thousands or --comma")
    np.testing.assert_array_equal(opened(text, comma="thousands").X, table("950 2 / 1200 3"))
    np.testing.assert_array_equal(opened(text, comma="decimal").X, table("950 2 / 1.2 3"))


def test_commas_that_can_only_mean_one_thing(opened, refused):
    np.testing.assert_array_equal(opened("a;b\n0,123;2\n1,200;3\n").X, table("0.123 2 / 1.2 3"))
    np.testing.assert_array_equal(opened("a;b\n1,5;2\n1,200;3\n").X, table("1.5 2 / 1.2 3"))
    refused("a;b\n1,5;2\n1.5;3\n", r"decimal commas .*'1,5' in line 2\) and points .*'1.5' in line 3\) are mixed")


def test_thousands_are_groups_of_three(opened, refused):
    found = opened("a;b\n1,234,567.5;2\n-1,200;3\n", comma="thousands")
    np.testing.assert_array_equal(found.X, table("1234567.5 2 / -1200 3"))
    assert any("thousands" in note for note in found.notes)
    refused("a;b\n1,200;2\n1,5;3\n", "line 3, column 'a': '1,5' is not a finite number", comma="thousands")
    np.testing.assert_array_equal(opened('a,b\n"1,200",2\n950,3\n', comma="thousands").X, table("1200 2 / 950 3"))
    np.testing.assert_array_equal(opened('a,b\n"1,2",2\n"3,5",3\n', comma="decimal").X, table("1.2 2 / 3.5 3"))


def test_the_option_is_for_text(tmp_path, refused):
    refused("a,b\n1,2\n", "comma must be one of 'decimal', 'thousands'; got 'both'", comma="both")
    np.save(tmp_path / "t.npy", np.eye(3))
    with pytest.raises(
        TableError, match=r"t\.npy: comma .* text files only \(\.csv, \.tsv, \.txt\); leave it out for this kind"
    ):
        open_table(tmp_path / "t.npy", comma="decimal")


# -- ids -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";"])
def test_ids_are_text(opened, separator):
    rows = ["id,a,b", "000,1,2", "NA,3,4", "1e5,5,6", ",7,8", "007,9,9"]
    text = "\n".join(rows).replace(",", separator)
    expected = ["000", "NA", "1e5", "", "007"]
    assert list(opened(text, id_column="id").ids) == expected
    assert list(opened(text.removeprefix("id")).ids) == expected  # a first column without a name


# -- size and damage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quote", ["", '"'])
def test_twenty_thousand_columns(opened, quote):
    names = ",".join(f"{quote}gene {j}{quote}" for j in range(20_000))
    found = opened(f"{names}\n" + "\n".join(",".join(f"{i}.5" for _ in range(20_000)) for i in range(3)))
    assert found.X.shape == (3, 20_000)
    assert found.X.iloc[2, -1] == 2.5


def test_damaged_gzip_files_are_named(tmp_path):
    good = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(999)))
    path = tmp_path / "t.csv.gz"
    for damaged in (good[: len(good) // 2], good[:40] + b"\xff\xff\xff" + good[43:], good[:3] + b"\xff" + good[4:]):
        path.write_bytes(damaged)
        with pytest.raises(TableError, match=r"t\.csv\.gz: cannot be read \(.+\)"):
            open_table(path)


def test_description_without_a_table(refused):
    refused("!Series_title\tnothing\n", r"t\.csv: the file has only description lines \(starting with !\) and no table")


def test_tabs_between_quoted_cells_separate_them(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text('"id"\t"v|1"\t"a\tb"\n"x"\t"1"\t"2"\n"|y"\t"3"\t"4"\n')
    table = open_table(path, id_column="id")
    assert table.names == ["v|1", "a\tb"]
    assert list(table.ids) == ["x", "|y"]
    np.testing.assert_array_equal(table.X.to_numpy(), [[1, 2], [3, 4]])
