"""Files of cells and genes and sample sheets that contradict themselves: the values that were written, or an error."""

import h5py
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from scipy import sparse

from fisherem.tables.opening import open_table

from .changes import changed, changes
from .outcomes import Case, attack

N, P = 12, 5
ROWS = np.random.default_rng(0).poisson(1.0, (N, P)).astype(float) + np.eye(N, P)
MEMORY = 5_000_000


def _as_array(X) -> np.ndarray:
    """The values of whatever a table is opened as."""
    return X.matrix.toarray() if hasattr(X, "matrix") else X.to_numpy()


def _opened(path, **options) -> np.ndarray:
    return _as_array(open_table(path, memory=MEMORY, **options).named().X)


# -- .h5ad ---------------------------------------------------------------------------------------------------------


def _frame(file, name: str, size: int, column) -> None:
    group = file.create_group(name)
    group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
    group.attrs["column-order"] = np.array(["kind"], dtype=h5py.string_dtype())
    group["_index"] = np.array([f"{name}{i}" for i in range(size)], dtype=object)
    group["kind"] = np.asarray(column)


def write_h5ad(path, kind: str):
    """A file as anndata writes it, with X as compressed rows or columns, or dense."""
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        if kind == "array":
            file.create_dataset("X", data=ROWS, chunks=(4, P)).attrs["encoding-type"] = "array"
        else:
            stored = getattr(sparse, f"{kind}_matrix")(ROWS)
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{kind}_matrix", "encoding-version": "0.1.0", "shape": ROWS.shape})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(stored, part)
        _frame(file, "obs", N, np.arange(N) % 2)
        _frame(file, "var", P, np.arange(P))
    return path


def _bomb(size: int):
    return lambda parent, name: parent.create_dataset(name, (size,), "f8", chunks=(10**6,))


# What is put in the place of an array or an attribute.
INSTEAD = {
    "nothing": None, "text": np.array([b"a", b"b"]), "empty": np.zeros(0), "negative": -np.arange(20),
    "large": np.full(20, 10**12), "NaN": np.full(20, np.nan), "number": 3.0, "square": np.ones((3, 3)),
    "bomb": _bomb(10**10),
}  # fmt: skip
PLACES = (
    "X", "X/data", "X/indices", "X/indptr", "obs", "obs/_index", "obs/kind", "var", "var/_index", "var/kind",
    "X@shape", "X@encoding-type", "obs@_index", "obs@column-order", "var@_index", "@encoding-type", "X/link",
)  # fmt: skip


def _damage(file, place: str, instead: str) -> None:
    item, _, attribute = place.partition("@")
    value = INSTEAD[instead]
    if attribute:
        where = file[item] if item else file
        if value is None:
            where.attrs.pop(attribute, None)
        elif not callable(value):
            where.attrs[attribute] = value
        return
    parent, name = file[item.rpartition("/")[0] or "/"], item.rpartition("/")[2]
    if name in parent:
        del parent[name]
    if name == "link":
        del file["X"]
        file["X"] = h5py.ExternalLink("/etc/hosts", "/X")
    elif callable(value):
        value(parent, name)
    elif value is not None:
        parent[name] = value


def _root(edit) -> str:
    """X, obs or var: what has become a link cannot be looked into again."""
    return edit[0].partition("@")[0].partition("/")[0]


def test_h5ad(tmp_path):
    path = tmp_path / "x.h5ad"

    def case_of(drawn) -> Case:
        kind, edits, label = drawn
        write_h5ad(path, kind)
        intact = not edits
        with h5py.File(path, "a") as file:
            for place, instead in edits:
                parent = place.partition("@")[0].rpartition("/")[0]
                if (parent or "/") in file and isinstance(file[parent or "/"], h5py.Group):
                    item = place.partition("@")[0]
                    if "@" not in place or not item or item in file:
                        _damage(file, place, instead)

        def check(values):
            assert np.isfinite(values).all()
            if intact:
                np.testing.assert_array_equal(values, ROWS)

        run = lambda: _opened(path, label_column="kind" if label else None)  # noqa: E731
        return Case(run, ("x.h5ad", "row ", "column"), check, True if intact else None)

    edits = st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(sorted(INSTEAD))), max_size=2, unique_by=_root)
    attack("h5ad", st.tuples(st.sampled_from(["csr", "csc", "array"]), edits, st.booleans()), case_of, default=40)


def test_h5ad_bytes(tmp_path):
    contents = {kind: write_h5ad(tmp_path / "good.h5ad", kind).read_bytes() for kind in ("csr", "csc", "array")}
    path = tmp_path / "x.h5ad"

    def case_of(drawn) -> Case:
        kind, edits = drawn
        path.write_bytes(changed(contents[kind], edits))
        return Case(lambda: _opened(path), ("x.h5ad", "row ", "column"), lambda values: _finite(values))

    drawn = st.sampled_from(sorted(contents)).flatmap(
        lambda kind: st.tuples(st.just(kind), changes(len(contents[kind])))
    )
    attack("h5ad bytes", drawn, case_of, default=40)


def _finite(values) -> None:
    assert values.ndim == 2
    assert np.isfinite(values).all()


# -- .mtx and folders ----------------------------------------------------------------------------------------------

HEAD = "%%MatrixMarket matrix coordinate real general\n"
WORDS = st.sampled_from(["1", "2", "0", "-1", "99", "1e9", "10000000000", "1.5", "nan", "inf", "x", "", "%", "1 1"])


def _matrix(rows: np.ndarray) -> str:
    found = sparse.coo_matrix(rows)
    lines = [f"{i + 1} {j + 1} {v:g}" for i, j, v in zip(found.row, found.col, found.data, strict=True)]
    return HEAD + f"{rows.shape[0]} {rows.shape[1]} {len(lines)}\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_matrix_market(tmp_path, folder):
    place = tmp_path / "cells"
    place.mkdir()
    path = place / "matrix.mtx" if folder else tmp_path / "x.mtx"
    good = {
        path: _matrix(ROWS.T if folder else ROWS),
        place / "barcodes.tsv": "".join(f"cell{i}\n" for i in range(N)),
        place / "features.tsv": "".join(f"id{j}\tgene{j}\tGene Expression\n" for j in range(P)),
    }

    def case_of(edits) -> Case:
        texts = {name: text.split("\n") for name, text in good.items()}
        for which, at, what, word in edits:
            lines = texts[list(good)[which % (3 if folder else 1)]]
            at %= len(lines)
            cells = lines[at].split(" ")
            if what == "line":
                lines[at] = word
            elif what == "cell":
                lines[at] = " ".join([*cells[:-1], word])
            else:
                del lines[at]
        for name, lines in texts.items():
            name.write_text("\n".join(lines))

        def check(values):
            _finite(values)
            if not edits:
                np.testing.assert_array_equal(values, ROWS)

        source = place if folder else path
        return Case(lambda: _opened(source), (str(source), "row ", "column"), check, None if edits else True)

    edit = st.tuples(st.integers(0, 2), st.integers(0, 80), st.sampled_from(["line", "cell", "gone"]), WORDS)
    attack("10x folder" if folder else "mtx", st.lists(edit, max_size=2), case_of, default=30)


# -- sample sheets -------------------------------------------------------------------------------------------------


def test_sample_sheets(tmp_path):
    table, sheet = tmp_path / "t.csv", tmp_path / "s.csv"
    pd.DataFrame(ROWS, columns=[f"g{j}" for j in range(P)], index=[f"s{i}" for i in range(N)]).to_csv(
        table, index_label="id"
    )
    word = st.sampled_from(["s0", "s1", "s11", "007", "7", "", "NA", "=1+1", "x,y", "-1", "2.5", "id", "é", "inf", '"'])

    name = word.filter(lambda name: name not in ("id", "", "NA"))

    def case_of(drawn) -> Case:
        order, columns, cells, weight, label = drawn
        known = [f"s{i}" for i in order]
        values = {"id": known} | {
            name: [cells[(i + j) % len(cells)] for i in range(len(known))] for j, name in enumerate(columns)
        }
        pd.DataFrame(values).to_csv(sheet, index=False)
        options = {"weight_column": columns[0] if weight and columns else None}
        options["label_column"] = columns[-1] if label and columns else None

        def run():
            return open_table(table, id_column="id", samples=sheet, **options)

        def check(found):
            np.testing.assert_array_equal(_as_array(found.named().X), ROWS)
            assert len(found.annotation) == N
            for i, name in enumerate(found.ids):
                if name not in known and "id" not in found.annotation:  # else another column was the key
                    assert found.annotation.iloc[i].isna().all()
            if weight and columns:
                assert (np.asarray(found.weights) >= 0).all()

        return Case(run, ("s.csv", "t.csv"), check)

    drawn = st.tuples(
        st.lists(st.integers(0, N + 3), min_size=1, max_size=N + 3), st.lists(name, max_size=3, unique=True),
        st.lists(word, min_size=1, max_size=4), st.booleans(), st.booleans(),
    )  # fmt: skip
    attack("sample sheets", drawn, case_of, default=40)
