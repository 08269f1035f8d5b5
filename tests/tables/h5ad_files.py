"""Write .h5ad files and 10x folders with h5py and text alone, as anndata, old and new, and 10x lay them out."""

import gzip

import h5py
import numpy as np
from scipy import sparse


def cells(n=60, p=12, seed=0):
    """Counts of three kinds of cells, mostly zeros: (X, kinds)."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    rates = np.full((3, p), 0.3)
    for k in range(3):
        rates[k, 2 * k : 2 * k + 2] = 6
    return rng.poisson(rates[y]).astype(np.float32), y


NAMES = [f"gene{j}" for j in range(12)]


def write_matrix(group, key, X, kind="csr"):
    if kind == "dense":
        group.create_dataset(key, data=X, chunks=(16, X.shape[1]))
        return
    thin = sparse.csr_matrix(X) if kind == "csr" else sparse.csc_matrix(X)
    inner = group.create_group(key)
    inner.attrs["encoding-type"], inner.attrs["shape"] = f"{kind}_matrix", X.shape
    for part in ("data", "indices", "indptr"):
        inner.create_dataset(part, data=getattr(thin, part))


def write_frame(file, key, names, columns=()):
    group = file.create_group(key)
    group.attrs["_index"], group.attrs["column-order"] = "_index", [name for name, _ in columns]
    group.create_dataset("_index", data=np.array(names, object), dtype=h5py.string_dtype())
    for name, values in columns:
        if isinstance(values, tuple):  # categories
            inner = group.create_group(name)
            inner.attrs["encoding-type"], inner.attrs["ordered"] = "categorical", False
            inner.create_dataset("codes", data=values[0])
            inner.create_dataset("categories", data=np.array(values[1], object), dtype=h5py.string_dtype())
        else:
            group.create_dataset(name, data=values)


def write_h5ad(path, kind="csr", marked=None, n=60, names=NAMES):
    X, y = cells(n)
    with h5py.File(path, "w") as file:
        write_matrix(file, "X", X, kind)
        write_frame(
            file, "obs", [f"cell{i}" for i in range(len(X))], [("kind", (y, ["a", "b", "c"])), ("size", X.sum(1))]
        )
        write_frame(file, "var", names, [] if marked is None else [("highly_variable", np.asarray(marked, bool))])
    return path


def write_old(path):
    """The layout of anndata 0.6: compound datasets, categories in uns, other attributes of sparse matrices."""
    X, y = cells()
    with h5py.File(path, "w") as file:
        write_matrix(file, "X", X)
        file["X"].attrs["h5sparse_format"], file["X"].attrs["h5sparse_shape"] = "csr", X.shape
        del file["X"].attrs["encoding-type"], file["X"].attrs["shape"]
        obs = np.array([(f"cell{i}".encode(), k) for i, k in enumerate(y)], [("index", "S8"), ("kind", "i1")])
        file.create_dataset("obs", data=obs)
        file.create_dataset("var", data=np.array([(name.encode(),) for name in NAMES], [("index", "S8")]))
        file.create_dataset("uns/kind_categories", data=np.array([b"a", b"b", b"c"]))
    return path


def write_10x(folder, packed=True, features=None):
    X, _ = cells()
    folder.mkdir()
    thin = sparse.coo_matrix(X.T)
    entries = [f"{i + 1} {j + 1} {int(v)}" for i, j, v in zip(thin.row, thin.col, thin.data, strict=True)]
    head = ["%%MatrixMarket matrix coordinate integer general", "%", f"{X.shape[1]} {X.shape[0]} {thin.nnz}"]
    lines = features or [f"ENSG{j}\t{name}\tGene Expression" for j, name in enumerate(NAMES)]
    texts = {"matrix.mtx": [*head, *entries], "barcodes.tsv": [f"ACGT-{i}" for i in range(len(X))],
             "features.tsv" if packed else "genes.tsv": lines}  # fmt: skip
    for name, content in texts.items():
        text = "\n".join(content) + "\n"
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text)
    return folder
