import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from fisherem import FisherEM, SelectDiscriminative, SparseFisherEM, SparseKMeans
from fisherem.tables.checking import check_table
from fisherem.tables.errors import TableError
from fisherem.tables.file_table import FileTable
from fisherem.tables.opening import open_table
from fisherem.tables.readers import READERS, Reader, Sheet


def read_table(path, **options):
    """As the command line opens a table: every column with a name."""
    return open_table(path, **options).named()


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
    assert any("used as row names" in note for note in table.notes)
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
    refused(path, "a header line but no rows")
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
    refused(tmp_path / "t.npy", r"rows x columns; got shape \(4,\)")
    np.savez(tmp_path / "t.npz", a=np.zeros((2, 2)), b=np.zeros((2, 2)))
    refused(tmp_path / "t.npz", r"several arrays \(a, b\)")


# -- whole or streamed ---------------------------------------------------------------------------------------------


@pytest.fixture
def big(tmp_path):
    """A table of 400 x 6 (19.2 kB) in several kinds of files, with ids and classes where there are names."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6)) + 4 * rng.normal(size=(3, 6))[np.arange(400) % 3]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.insert(2, "who", [f"r{i}" for i in range(400)])
    frame["class"] = np.array(["x", "y", "z"])[np.arange(400) % 3]
    frame.to_parquet(tmp_path / "big.parquet", row_group_size=50)
    frame.drop(columns=["who", "class"]).to_csv(tmp_path / "plain.csv", index=False)
    np.save(tmp_path / "big.npy", X)
    return tmp_path, X


def test_a_table_is_streamed_when_it_does_not_fit_half_of_the_budget(big):
    folder, X = big
    roles = {"id_column": "who", "label_column": "class", "drop": ["b"]}
    whole = open_table(folder / "big.parquet", **roles).named()
    streamed = open_table(folder / "big.parquet", memory="20kB", **roles).named()
    assert isinstance(whole.X, pd.DataFrame)
    assert isinstance(streamed.X, FileTable)
    assert streamed.names == list(whole.X.columns) == ["a", "c", "d", "e", "f"]
    np.testing.assert_array_equal(streamed.ids, whole.ids)
    np.testing.assert_array_equal(streamed.labels, whole.labels)
    assert any("read in blocks" in note for note in streamed.notes)
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in streamed.X.blocks()]), whole.X.to_numpy())
    assert len(list(streamed.X.blocks())) > 2
    with pytest.raises(TableError, match=r"big\.parquet: columns must be numeric; 'who', 'class' hold text"):
        open_table(folder / "big.parquet")
    with pytest.raises(TableError, match="--drop names 'q', but the columns are 'a', 'b'"):
        open_table(folder / "big.parquet", drop=["q"])
    with pytest.raises(TableError, match=r"--drop names 'a, who', but .*; give --drop once for each column"):
        open_table(folder / "big.parquet", drop=["a, who"])
    nameless = open_table(folder / "big.npy", drop=["x2"], memory="20kB").named()
    assert nameless.names == ["x1", "x3", "x4", "x5", "x6"]
    np.testing.assert_array_equal(nameless.X.rows_at(np.array([7])), X[[7]][:, [0, 2, 3, 4, 5]])
    assert open_table(folder / "big.npy").ids == range(1, 401)
    np.savetxt(folder / "short.csv", np.sign(X), "%d", ",")
    text = open_table(folder / "short.csv", memory="20kB")
    assert any("always read whole" in note for note in text.notes)


def test_blocks_of_a_view_stay_within_the_budget(big):
    """One column of a scaled table: all columns of a block are in memory while it is read."""
    folder, X = big
    table = open_table(folder / "big.npy", memory="20kB").X.transformed(StandardScaler().fit(X)).select([2])
    blocks = [rows for _, rows in table.blocks()]
    assert max(map(len, blocks)) * 6 * 8 * 2 <= 20_000 / 8
    np.testing.assert_allclose(np.concatenate(blocks)[:, 0], StandardScaler().fit_transform(X)[:, 2])


def test_columns_of_a_model_are_found_by_name(big):
    folder, X = big
    for memory in ("1GB", "10kB"):
        table = open_table(folder / "big.parquet", only=["f", "a"], memory=memory).named().select(["f", "a"])
        assert table.names == ["f", "a"]
        rows = table.X.rows_at(np.arange(400)) if memory == "10kB" else table.X.to_numpy()
        np.testing.assert_array_equal(rows, X[:, [5, 0]])
        with pytest.raises(TableError, match="needs columns that are missing: 'g'"):
            table.select(["a", "g"])
        with pytest.raises(TableError, match=r"big\.parquet: the model needs columns that are missing: 'h', 'i'"):
            open_table(folder / "big.parquet", only=["i", "h"], memory=memory)


def test_estimators_accept_every_kind_of_file(big):
    folder, _ = big
    X = pd.read_csv(folder / "plain.csv")
    expected = FisherEM(3, random_state=0).fit(X)
    model = FisherEM(3, random_state=0).fit(folder / "plain.csv")
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert list(model.feature_names_in_) == list("abcdef")
    np.testing.assert_array_equal(model.predict(str(folder / "plain.csv")), expected.labels_)
    np.testing.assert_array_equal(
        SparseKMeans(3, bound=2.0, random_state=0).fit(folder / "plain.csv").labels_,
        SparseKMeans(3, bound=2.0, random_state=0).fit(X).labels_,
    )
    with pytest.raises(TableError, match=r"unknown kind of file '\.md'"):
        FisherEM(3).fit("readme.md")


def test_rows_that_must_be_in_memory_fit_the_budget_or_are_refused(big):
    folder, X = big
    model = FisherEM(3, random_state=0, n_init=1).fit(X)
    np.testing.assert_array_equal(check_table(model, folder / "big.npy", reset=False), X)
    np.testing.assert_array_equal(check_table(model, X, reset=False), X)
    model.set_params(memory="20kB")
    with pytest.raises(TableError, match=r"big\.npy: 400 rows x 6 columns \(0\.0192 MB\) .* budget \(0\.02 MB\)"):
        check_table(model, folder / "big.npy", reset=False)
    assert isinstance(check_table(model, folder / "big.npy", reset=False, elsewhere=True), FileTable)


@pytest.mark.parametrize("memory", ["1GB", "20kB"])
def test_a_selector_opens_its_file_once(big, memory):
    folder, X = big
    opened = []
    reader = READERS[".npy"]

    def counted(path):
        opened.append(path)
        return reader.streamed(path)

    path = folder / f"{memory}.counted"
    path.write_bytes((folder / "big.npy").read_bytes())
    selector = SelectDiscriminative(SparseFisherEM(3, sparsity=0.1, random_state=0, n_init=1, memory=memory))
    with READERS.having(".counted", Reader(streamed=counted)):
        selector.fit(path)
        assert len(opened) == 1
        support = selector.get_support()
        assert 0 < support.sum() < 6
        np.testing.assert_array_equal(selector.transform(path), X[:, support])


def test_a_new_reader_is_one_entry(big):
    _, X = big
    with READERS.having(".foo", Reader(whole=lambda path: Sheet(pd.read_json(path)))):
        path = big[0] / "x.foo"
        pd.DataFrame(X, columns=list("abcdef")).to_json(path, double_precision=15)
        assert open_table(path).X.shape == (400, 6)
        labels = FisherEM(3, random_state=0).fit(path).labels_
    np.testing.assert_array_equal(labels, FisherEM(3, random_state=0).fit(X).labels_)
    with pytest.raises(TypeError, match="a reader needs a function"):
        Reader()
