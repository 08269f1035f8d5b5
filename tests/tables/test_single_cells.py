""".h5ad files, 10x folders and .mtx files: what is read, that it stays sparse or on disk, and what is refused."""

import gzip
import pickle
import subprocess
import sys

import h5py
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.io import mmwrite

from fisherem import SparseFisherEM
from fisherem.cli import main
from fisherem.tables.annotated import unique_names
from fisherem.tables.errors import FileChangedError, TableError
from fisherem.tables.file_table import FileTable
from fisherem.tables.opening import open_table
from fisherem.tables.sparse_table import SparseTable
from tests.tables.h5ad_files import NAMES, cells, write_10x, write_h5ad, write_old

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, y = cells()


def dense(table):
    return table.X.to_numpy() if isinstance(table.X, pd.DataFrame) else np.asarray(table.X.rows_at(np.arange(len(X))))


@pytest.mark.parametrize("kind", ["csr", "csc", "dense"])
def test_the_matrix_of_a_file_with_its_annotation(tmp_path, kind):
    table = open_table(write_h5ad(tmp_path / "t.h5ad", kind), label_column="kind")
    assert isinstance(table.X, FileTable if kind == "dense" else SparseTable)
    np.testing.assert_array_equal(dense(table), X)
    assert table.names == NAMES
    assert list(table.ids[:2]) == ["cell0", "cell1"]
    assert list(table.labels) == [list("abc")[k] for k in y]
    np.testing.assert_array_equal(table.annotation["size"], X.sum(axis=1))
    assert table.X.dtype == np.float32


def test_the_layout_of_old_files(tmp_path):
    table = open_table(write_old(tmp_path / "t.h5ad"), label_column="kind")
    np.testing.assert_array_equal(dense(table), X)
    assert list(table.labels[:3]) == ["a", "b", "c"]
    assert table.names == NAMES


def test_marked_genes_take_part(tmp_path):
    path = write_h5ad(tmp_path / "t.h5ad", marked=[j < 6 for j in range(12)])
    table = open_table(path)
    assert table.names == NAMES[:6]
    assert any("6 of 12 genes take part" in note for note in table.notes)
    assert open_table(path, only=["gene7", "gene1"]).names == ["gene1", "gene7"]
    assert open_table(path, drop=["gene0"]).names == NAMES[1:6]


@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_what_does_not_fit_is_read_by_rows(tmp_path, kind):
    X, _ = cells(600)
    path = write_h5ad(tmp_path / "t.h5ad", kind, n=600)
    table = open_table(path, memory=40_000)
    assert isinstance(table.X, FileTable)
    assert not table.X.fits
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in table.X.blocks()]), X)
    np.testing.assert_array_equal(table.X.rows_at(np.array([3, 40, 59])), X[[3, 40, 59]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table.X.source)).read(5, 9), X[5:9])
    some = SparseFisherEM(3, scale="none", n_init=1, random_state=0, memory=40_000).fit(path)
    whole = SparseFisherEM(3, scale="none", n_init=1, random_state=0).fit(pd.DataFrame(X, columns=NAMES))
    np.testing.assert_array_equal(some.labels_, whole.labels_)
    assert list(some.feature_names_in_) == NAMES
    with path.open("ab") as file:
        file.write(bytes(8))
    with pytest.raises(FileChangedError):
        table.X.source.check_unchanged()


def test_columns_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"stored by columns.*tocsr"):
        open_table(write_h5ad(tmp_path / "t.h5ad", "csc"), memory=4000)


@pytest.mark.parametrize("packed", [True, False])
def test_a_10x_folder(tmp_path, packed):
    folder = write_10x(tmp_path / "filtered", packed)
    for path in (folder, folder / ("matrix.mtx.gz" if packed else "matrix.mtx")):
        table = open_table(path)
        assert isinstance(table.X, SparseTable)
        np.testing.assert_array_equal(dense(table), X)
        assert table.names == NAMES
        assert table.ids[0] == "ACGT-0"
        assert list(table.variables["gene_id"][:2]) == ["ENSG0", "ENSG1"]


def test_features_that_are_no_genes_and_names_that_repeat(tmp_path):
    lines = [f"E{j}\tgene\tGene Expression" for j in range(10)] + [
        "a\tCD3\tAntibody Capture",
        "b\tCD4\tAntibody Capture",
    ]
    table = open_table(write_10x(tmp_path / "f", features=lines))
    assert table.names == ["gene", *(f"gene-{i}" for i in range(1, 10))]
    np.testing.assert_array_equal(dense(table), X[:, :10])
    assert "2 features that are not genes were left out ('Antibody Capture')" in table.notes
    assert unique_names(["a", "a-1", "a", "a"]) == ["a", "a-1", "a-2", "a-3"]


def test_a_matrix_alone(tmp_path):
    mmwrite(tmp_path / "m.mtx", sparse.coo_matrix(X))
    table = open_table(tmp_path / "m.mtx")
    np.testing.assert_array_equal(dense(table), X)
    assert table.names[:2] == ["x1", "x2"]
    turned = open_table(tmp_path / "m.mtx", transpose=True)
    np.testing.assert_array_equal(turned.X.matrix.toarray(), X.T)
    assert turned.names[:2] == ["x1", "x2"]
    with pytest.raises(TableError, match="leave out --transpose"):
        open_table(write_h5ad(tmp_path / "t.h5ad"), transpose=True)


# -- what is refused -----------------------------------------------------------------------------------------------


def spoiled(path, change):
    with h5py.File(path, "a") as file:
        change(file)
    return path


def external(file):
    del file["X"]
    file["X"] = h5py.ExternalLink("other.h5ad", "/X")


def external_part(file):
    del file["X/data"]
    file["X/data"] = h5py.ExternalLink("other.h5ad", "/X/data")


def soft(file):
    del file["obs/size"]
    file["obs/size"] = h5py.SoftLink("/X/data")


def virtual(file):
    layout = h5py.VirtualLayout((60, 12), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "X", (60, 12))
    del file["X"]
    file.create_virtual_dataset("X", layout)


def raw_elsewhere(file):
    del file["X"]
    file.create_dataset("X", (60, 12), "f4", external=[("/etc/hostname", 0, h5py.h5f.UNLIMITED)])


@pytest.mark.parametrize("change", [external, external_part, soft, virtual, raw_elsewhere])
def test_references_to_other_places_are_refused(tmp_path, change):
    write_h5ad(tmp_path / "other.h5ad")
    path = spoiled(write_h5ad(tmp_path / "t.h5ad"), change)
    with pytest.raises(TableError, match=r"t\.h5ad: /.* is a reference to data elsewhere, which is not followed"):
        open_table(path)


def test_links_out_of_a_folder_are_refused(tmp_path):
    folder = write_10x(tmp_path / "f", packed=False)
    (folder / "genes.tsv").rename(tmp_path / "genes.tsv")
    (folder / "genes.tsv").symlink_to(tmp_path / "genes.tsv")
    with pytest.raises(TableError, match=r"genes\.tsv is a link to a place outside this folder"):
        open_table(folder)


def wrong_pointers(file):
    file["X/indptr"][3] = 10**6


def wrong_columns(file):
    file["X/indices"][0] = 99


def wrong_codes(file):
    file["obs/kind/codes"][0] = 7


def no_matrix(file):
    del file["X"]


def other_size(file):
    file["X"].attrs["shape"] = (60, 13)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (wrong_pointers, "damaged: its row pointers"), (wrong_columns, "values outside its 12 columns"),
        (wrong_codes, r"not a readable \.h5ad file"), (no_matrix, "there is no 'X'"),
        (other_size, "X is 60 x 13, but obs"),
    ],
)  # fmt: skip
def test_damaged_files(tmp_path, change, match):
    with pytest.raises(TableError, match=match):
        open_table(spoiled(write_h5ad(tmp_path / "t.h5ad"), change))


def test_files_that_are_something_else(tmp_path):
    (tmp_path / "t.h5ad").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"not a readable \.h5ad file"):
        open_table(tmp_path / "t.h5ad")
    for text, match in (
        ("hello\n1 2 3\n", "not a Matrix Market file"),
        ("%%MatrixMarket matrix coordinate real general\n900000000 900000000 900000000\n", "exceeds the memory budget"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n", "not a readable Matrix Market file"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "complex numbers"),
        ("%%MatrixMarket matrix coordinate real general\n", "has no sizes"),
    ):
        (tmp_path / "t.mtx").write_text(text)
        with pytest.raises(TableError, match=match):
            open_table(tmp_path / "t.mtx")
    folder = write_10x(tmp_path / "f", packed=False)
    (folder / "barcodes.tsv").write_text("A\nB\n")
    with pytest.raises(TableError, match="60 cells, but there are names of 12 genes and 2 cells"):
        open_table(folder)


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    path = write_h5ad(tmp_path / "t.h5ad")
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(ImportError, match=r"needs the package h5py: pip install 'fisherem\[single-cell\]'"):
        open_table(path)


# -- the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--scale"], ["--no-scale"], ["--memory", "40kB"]])
def test_the_command_line_reads_cells(tmp_path, options):
    path = write_h5ad(tmp_path / "t.h5ad", n=600)
    arguments = ["fit", str(path), "-k", "3", "--n-init", "1", "--label-column", "kind", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*arguments, *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    labels = pd.read_csv(tmp_path / "out/labels.csv")
    assert labels.iloc[0, 0] == "cell0"
    assert "known classes" in result.output
    again = ["predict", str(tmp_path / "out/model.skops"), str(path), "-o", str(tmp_path / "p"), *options[2:]]
    result = CliRunner().invoke(main, again, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_other_commands_read_cells(tmp_path):
    folder, path = write_10x(tmp_path / "f"), write_h5ad(tmp_path / "t.h5ad")
    for arguments in (
        ["explain", str(path), "--label-column", "kind", "-o", str(tmp_path / "e")],
        ["search", str(folder), "-k", "2:3", "--criterion", "bic", "--models", "AB", "--n-init", "1", "--jobs", "1",
         "-o", str(tmp_path / "s")],
    ):  # fmt: skip
        result = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output


BROKEN = """
import sys
from fisherem.tables.opening import open_table
for _ in range(20):
    try:
        open_table(sys.argv[1])
    except ValueError as error:
        said = str(error)
print(said)
"""


@pytest.mark.parametrize("name", ["t.mtx", "t.mtx.gz"])
def test_damaged_matrices_do_not_end_the_process(tmp_path, name):
    lines = ["%%MatrixMarket matrix coordinate real 0", "3 3 6", *(f"{i} {j} 1" for i in (1, 2, 3) for j in (1, 2))]
    path, content = tmp_path / name, ("\n".join(lines) + "\n" * 100).encode()
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    ended = subprocess.run([sys.executable, "-c", BROKEN, path], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert f"{name}: not a readable Matrix Market file" in ended.stdout


def test_sizes_below_zero(tmp_path):
    (tmp_path / "t.mtx").write_text("%%MatrixMarket matrix coordinate real general\n-3 4 1\n1 1 1\n")
    with pytest.raises(TableError, match="the file is damaged: its sizes are -3 x 4 x 1"):
        open_table(tmp_path / "t.mtx")
