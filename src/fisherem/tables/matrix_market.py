"""Read sparse matrices from .mtx files (Matrix Market), alone or in a 10x folder with the names of cells and genes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .._utils.wording import column_name, listed
from .annotated import Annotated
from .contained import check_links
from .errors import TableError
from .hdf5 import reason_of
from .limits import NO_LIMIT, too_large
from .readers import FOLDER_10X, READERS, Reader, in_10x_folder

__all__ = ["read_10x", "read_mtx"]

# A value, a row and a column number of a matrix by coordinates, while it is read.
_ENTRY_BYTES = 24
# The name of a row or column, with its places in lists and indices.
_NAME_BYTES = 128
# The kind of rows in features.tsv that are genes; others are antibodies, guides and the like.
_GENES = "Gene Expression"


def read_mtx(path: Path, *, memory: int = NO_LIMIT) -> Annotated:
    """A matrix whose rows are the rows of the table; in a folder with barcodes and genes, the table of the folder."""
    if (folder := path.parent) and path.name.startswith("matrix.mtx") and in_10x_folder(folder):
        return read_10x(folder, memory=memory)
    X = _matrix(path, memory)
    obs = pd.DataFrame(index=pd.Index([str(i) for i in range(1, X.shape[0] + 1)]))
    var = pd.DataFrame(index=pd.Index([column_name(j) for j in range(X.shape[1])]))
    return Annotated(X, obs, var, ["read from .mtx", "columns are named x1, x2, ..."], turnable=True)


def read_10x(folder: Path, *, memory: int = NO_LIMIT) -> Annotated:
    """The table (cells x genes) in a folder of 10x Genomics: matrix.mtx, barcodes.tsv, features.tsv or genes.tsv."""
    check_links(folder)
    X = _matrix(_found(folder, "matrix.mtx"), memory).T.tocsr()
    cells = _lines(_found(folder, "barcodes.tsv"), memory)
    genes = _lines(_found(folder, "features.tsv", "genes.tsv"), memory)
    if X.shape != (len(cells), len(genes)):
        raise TableError(
            f"{folder}: matrix.mtx has {X.shape[1]:,} genes and {X.shape[0]:,} cells, but there are names of "
            f"{len(genes):,} genes and {len(cells):,} cells"
        )
    obs = pd.DataFrame(index=pd.Index([cell[0] for cell in cells]))
    var = pd.DataFrame({"gene_id": [gene[0] for gene in genes]}, index=[gene[min(1, len(gene) - 1)] for gene in genes])
    notes = ["read from a 10x folder"]
    kinds = [gene[2] if len(gene) > 2 else _GENES for gene in genes]
    if others := sorted(set(kinds) - {_GENES}):
        own = np.array([kind == _GENES for kind in kinds])
        if own.any():
            X, var = X[:, np.flatnonzero(own)], var[own]
            notes.append(f"{np.count_nonzero(~own):,} features that are not genes were left out ({listed(others)})")
    return Annotated(X, obs, var, notes)


def _found(folder: Path, *names: str) -> Path:
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise TableError(f"{folder}: there is no {' or '.join(names)} (or .gz) in the folder")


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


class _Forwards:
    """A file that can only be read on: scipy's parser goes back after an error, which may end the process."""

    def __init__(self, file: Any):
        self.read = file.read


def _matrix(path: Path, memory: int) -> sparse.csr_matrix:
    """The matrix of a .mtx or .mtx.gz file. Its size is read first, because a small file may declare a large one."""
    from scipy.io import mmread

    try:
        with _opened(path) as file:
            head = file.readline(200).decode("ascii", "replace").lower().split()
            line = file.readline(10_000)
            while line.startswith(b"%") or not line.strip():
                if not line:
                    raise TableError(f"{path}: the file has no sizes; is it complete?")
                line = file.readline(10_000)
            sizes = [int(size) for size in line.split()]
        if head[:2] != ["%%matrixmarket", "matrix"] or len(head) < 5 or len(sizes) not in (2, 3):
            raise TableError(f"{path}: not a Matrix Market file: its first line is {' '.join(head)!r:.60}")
        needed = _ENTRY_BYTES * sizes[2] if len(sizes) == 3 else 16 * sizes[0] * sizes[1]
        needed += _NAME_BYTES * (sizes[0] + sizes[1])
        if min(sizes) < 0:
            raise TableError(f"{path}: the file is damaged: its sizes are {' x '.join(map(str, sizes))}")
        if needed > memory:
            raise too_large(path, f"the matrix ({' x '.join(map(str, sizes))})", needed, memory)
        if head[3] == "complex":
            raise TableError(f"{path}: the matrix must hold numbers; it holds complex numbers")
        with _opened(path) as file:
            found = mmread(_Forwards(file))
    except TableError:
        raise
    except Exception as error:  # scipy's parser raises errors of many types
        raise TableError(f"{path}: not a readable Matrix Market file ({reason_of(error)})") from None
    return sparse.csr_matrix(found)


def _lines(path: Path, memory: int) -> list[list[str]]:
    """The fields of every line of a .tsv or .tsv.gz file, at most `memory` bytes of them."""
    try:
        with _opened(path) as file:
            text = file.read(memory + 1)
        if len(text) > memory:
            raise too_large(path, "the text", len(text), memory)
        return [line.split("\t") for line in text.decode("utf-8").replace("\r\n", "\n").split("\n") if line]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: not a readable text file ({reason_of(error)})") from None


READERS.provide(".mtx", Reader(annotated=read_mtx, packed=True))
READERS.provide(FOLDER_10X, Reader(annotated=read_10x))
