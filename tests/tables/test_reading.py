import gzip

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.reading import TableError, read_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(30, 3)).round(4), columns=["Mg", "Al 2", "K"])


def refused(path, match, **options):
    with pytest.raises(TableError, match=match) as error:
        read_table(path, **options)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ".")]
)
def test_separator_and_decimal_are_found(frame, tmp_path, separator, decimal):
    path = tmp_path / "table.csv"
    frame.to_csv(path, sep=separator, decimal=decimal, index=False)
    table = read_table(path)
    pd.testing.assert_frame_equal(table.X, frame)
    assert repr(separator) in table.notes[0]
    np.testing.assert_array_equal(table.ids, np.arange(1, 31))
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    pd.testing.assert_frame_equal(read_table(packed).X, frame)


def test_other_kinds(frame, tmp_path):
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    np.save(tmp_path / "t.npy", frame.to_numpy())
    np.savez(tmp_path / "t.npz", X=frame.to_numpy(), y=np.zeros(30))
    for name in ("t.parquet", "t.xlsx"):
        pd.testing.assert_frame_equal(read_table(tmp_path / name).X, frame)
    for name in ("t.npy", "t.npz"):
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.X.to_numpy(), frame.to_numpy())
        assert list(table.X.columns) == ["x1", "x2", "x3"]


def test_columns_with_a_role(frame, tmp_path):
    frame.insert(0, "name", [f"row{i}" for i in range(30)])
    frame["class"] = ["a", "b", "c"] * 10
    frame["note"] = "text"
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    table = read_table(path, id_column="name", label_column="class", drop=["note"])
    assert list(table.X.columns) == ["Mg", "Al 2", "K"]
    assert table.ids[3] == "row3"
    assert list(table.labels[:3]) == ["a", "b", "c"]
    refused(path, "column 'name' holds text .*--drop, --id-column or --label-column")
    refused(path, "--label-column names 'kind', but the columns are 'name', 'Mg'", label_column="kind")
    only = read_table(path, only=["K", "Mg"])
    assert list(only.X.columns) == ["Mg", "K"]


def test_quotes_headless_and_encodings(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"a, b",c\n1,2\n3,4\n')
    assert list(read_table(path).X.columns) == ["a, b", "c"]
    path.write_text("1.5,2\n3,4\n5,6\n")
    table = read_table(path)
    assert table.X.shape == (3, 2)
    assert any("no header" in n for n in table.notes)
    path.write_bytes("größe,b\n1,2\n".encode("latin-1"))
    assert list(read_table(path).X.columns) == ["größe", "b"]
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert list(read_table(path).X.columns) == ["a", "b"]


def test_names_of_rows_as_r_and_pandas_write_them(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.index = [f"r{i}" for i in range(30)]
    frame.to_csv(path)
    table = read_table(path)
    assert list(table.X.columns) == ["Mg", "Al 2", "K"]
    assert table.ids[3] == "r3"
    assert any("taken as the names of the rows" in note for note in table.notes)
    frame.to_excel(tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").ids[3] == "r3"
    assert read_table(path, id_column="K", drop=["(row)"]).X.shape == (30, 2)


def test_unicode_text_of_spreadsheets(frame, tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(frame.to_csv(sep="\t", index=False).encode("utf-16"))
    pd.testing.assert_frame_equal(read_table(path).X, frame)


def test_numbers_too_large_are_shown_as_they_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n1e400,3\n")
    refused(path, "line 3, column 'a': 'inf' is not a finite number")


def test_files_that_are_not_what_they_say(frame, tmp_path):
    path = tmp_path / "t.csv"
    refused(path, "no such file")
    path.write_text("")
    refused(path, "the file is empty")
    path.write_text("a,b,c\n")
    refused(path, "only a header line")
    path.write_text("a,b,c\n1,2,3\n1,2\n")
    refused(path, "line 3 has 2 fields where the first line has 3")
    path.write_text("a,b,c\n1,2,3\n1,2,3,4\n")
    refused(path, "line 3 has 4 fields")
    path.write_text("a;b\n1,5;2\n1.5;3\n")
    refused(path, "decimal commas .* and points .* are mixed")
    path.write_text("a,b,a\n1,2,3\n")
    refused(path, "two columns are named 'a'")
    frame.astype(object).to_csv(path, index=False)
    lines = path.read_text().splitlines()
    lines[17] = "n.d.," + lines[17].split(",", 1)[1]
    path.write_text("\n".join(lines))
    refused(path, "line 18, column 'Mg': 'n.d.' is not a finite number")
    lines[17] = "," + lines[17].split(",", 1)[1]
    path.write_text("\n".join(lines))
    refused(path, "line 18, column 'Mg': the cell is empty")
    lines[17] = "inf," + lines[17].split(",", 1)[1]
    path.write_text("\n".join(lines))
    refused(path, "line 18, column 'Mg'")
    other = tmp_path / "t.dat"
    other.write_text("1")
    refused(other, r"unknown kind of file '\.dat'")
    bad = tmp_path / "t.csv.gz"
    bad.write_bytes(b"not gzip")
    refused(bad, "cannot be read")


def test_cut_binaries(frame, tmp_path):
    for name, write in (("t.parquet", frame.to_parquet), ("t.xlsx", frame.to_excel)):
        write(tmp_path / name)
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
        refused(tmp_path / name, "not a")
    np.save(tmp_path / "t.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    refused(tmp_path / "t.npy", "not a readable NumPy file")
    np.save(tmp_path / "t.npy", np.zeros(4))
    refused(tmp_path / "t.npy", r"got shape \(4,\)")
    np.savez(tmp_path / "t.npz", a=np.zeros((2, 2)), b=np.zeros((2, 2)))
    refused(tmp_path / "t.npz", r"several arrays \(a, b\)")
