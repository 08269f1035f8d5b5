"""Matrices in HDF5 files, dense or by compressed rows, read a range of rows at a time.

HDF5 files can refer to others (external links, virtual datasets, raw storage elsewhere); such references are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._utils.extras import need_extra
from .errors import TableError
from .sources import Source, check_shape, float_type
from .watch import Watch

__all__ = ["MatrixSource", "inside", "matrix_kind", "matrix_of", "reason_of", "stored_bytes", "text_of"]

# Rows that `take` looks for at a time.
_TAKE_ROWS = 4096
# What the attribute of a group calls compressed rows and columns, in files of today and of before 2020.
_KINDS = {"csr_matrix": "csr", "csc_matrix": "csc", "csr": "csr", "csc": "csc"}


def inside(parent: Any, key: str, path: Any) -> Any:
    """The item `key` of an HDF5 group; an error if there is none, or if it lies in another file."""
    h5py = need_extra("h5py", "reading HDF5 files", "single-cell")
    link = parent.get(key, getlink=True)
    if link is None:
        raise TableError(f"{path}: there is no {key!r} in {parent.name}")
    item = parent[key] if isinstance(link, h5py.HardLink) else None
    if item is None or (isinstance(item, h5py.Dataset) and (item.is_virtual or bool(item.external))):
        raise TableError(
            f"{path}: {parent.name.rstrip('/')}/{key} is a reference to data elsewhere, which is not followed: copy "
            "the data into the file"
        )
    return item


def reason_of(error: Exception) -> str:
    """The message of an error on one line, or its type."""
    return " ".join(str(error).split()) or type(error).__name__


def text_of(value: Any) -> str:
    """Text that may be stored as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def matrix_kind(item: Any) -> str:
    """ "dense", "csr" or "csc"; "" for a group that is no matrix."""
    if hasattr(item, "dtype"):
        return "dense"
    found = item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", ""))
    return _KINDS.get(text_of(found), "")


def stored_bytes(item: Any) -> int:
    """The bytes that a matrix takes as it is stored."""
    if matrix_kind(item) == "dense":
        return int(item.size) * item.dtype.itemsize
    return sum(int(item[key].size) * item[key].dtype.itemsize for key in ("data", "indices", "indptr"))


class MatrixSource(Source):
    """n x p numbers of a dataset (dense) or of a group with compressed rows, in an open HDF5 file."""

    def __init__(self, item: Any, path: Any, names: list[str] | None = None):
        self.path, self.names, self._key = path, names, item.name
        self._kind = matrix_kind(item)
        if self._kind not in ("dense", "csr"):
            raise TableError(f"{path}: {item.name} cannot be read by rows")
        self._open(item)
        shape = item.shape if self._kind == "dense" else _shape(item)
        self.shape = check_shape(tuple(shape), f"{path}: {item.name}")
        values = item if self._kind == "dense" else self._parts["data"]
        self.dtype = float_type(values.dtype, f"{path}: {item.name}")
        chunks = getattr(item, "chunks", None)
        self.row_step = int(chunks[0]) if chunks else 1
        self.step_bytes = self.row_step * self.shape[1] * self.dtype.itemsize
        self._watch = Watch([path])
        if self._kind == "csr":
            self._read_ends(item)

    def _open(self, item: Any) -> None:
        self._item = item
        if self._kind == "csr":
            self._parts = {key: inside(item, key, self.path) for key in ("data", "indices", "indptr")}

    def _read_ends(self, item: Any) -> None:
        n, stored = self.shape[0], self._parts["data"].size
        self._ends = ends = self._parts["indptr"][()].astype(np.int64)
        fits = len(ends) == n + 1 and ends[0] == 0 and ends[-1] == stored == self._parts["indices"].size
        counts = np.diff(ends)  # values of a row: at most one per column
        if not fits or (counts < 0).any() or (counts > self.shape[1]).any():
            raise TableError(f"{self.path}: {item.name} is damaged: its row pointers do not match its values")

    def __getstate__(self):
        return {key: value for key, value in vars(self).items() if key not in ("_item", "_parts")}

    def __setstate__(self, state):
        h5py = need_extra("h5py", "reading HDF5 files", "single-cell")
        self.__dict__.update(state)
        self._open(h5py.File(self.path, "r")[self._key])

    def matrix(self, start: int, stop: int) -> sparse.csr_matrix:
        """Compressed rows start..stop as they are stored."""
        first, last = int(self._ends[start]), int(self._ends[stop])
        try:
            data, indices = self._parts["data"][first:last], self._parts["indices"][first:last]
        except (OSError, RuntimeError, ValueError) as error:  # h5py's, by what is damaged
            raise TableError(f"{self.path} is damaged or incomplete: {reason_of(error)}") from None
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.shape[1]:
            raise TableError(
                f"{self.path}: {self._key} is damaged: it has values outside its {self.shape[1]:,} columns"
            )
        ends = self._ends[start : stop + 1] - first
        found = sparse.csr_matrix((data.astype(self.dtype), indices, ends), shape=(stop - start, self.shape[1]))
        found.sum_duplicates()
        return found

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop as a dense array."""
        if self._kind == "csr":
            return self.matrix(start, stop).toarray()
        try:
            return np.ascontiguousarray(self._item[start:stop], self.dtype)
        except (OSError, RuntimeError, ValueError) as error:
            raise TableError(f"{self.path} is damaged or incomplete: {reason_of(error)}") from None

    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers (ascending)."""
        out = np.empty((len(index), self.shape[1]), self.dtype)
        begin = 0
        while begin < len(index):
            end = int(np.searchsorted(index, index[begin] + _TAKE_ROWS))
            first, last = int(index[begin]), int(index[end - 1])
            out[begin:end] = self.read(first, last + 1)[np.asarray(index[begin:end]) - first]
            begin = end
        return out

    def check_unchanged(self) -> None:
        """Raise a FileChangedError if the file was written to since it was opened."""
        self._watch.check()


def _shape(item: Any) -> tuple[int, ...]:
    found = item.attrs.get("shape", item.attrs.get("h5sparse_shape", ()))
    return tuple(int(size) for size in np.asarray(found).ravel())


def _read_columns(item: Any, path: Any, memory: int) -> sparse.csr_matrix:
    """A matrix of compressed columns, which cannot be read by rows, as compressed rows."""
    parts = {key: inside(item, key, path) for key in ("data", "indices", "indptr")}
    if 2 * stored_bytes(item) > memory:
        raise TableError(
            f"{path}: {item.name} is stored by columns ({stored_bytes(item) / 1e6:,.3g} MB), so that all of it must be "
            f"read, which exceeds the memory budget ({memory / 1e6:,.3g} MB): increase memory (--memory), or store it "
            "by rows (adata.X = adata.X.tocsr())"
        )
    found = sparse.csc_matrix((parts["data"][()], parts["indices"][()], parts["indptr"][()]), shape=_shape(item))
    found.check_format(full_check=True)
    return found.tocsr()


def matrix_of(item: Any, path: Any, memory: int) -> Any:
    """A matrix in an open HDF5 file: compressed rows in memory where they take at most half of it, else a source."""
    kind = matrix_kind(item)
    if not kind:
        raise TableError(f"{path}: {item.name} is neither an array nor a sparse matrix")
    if kind == "csc":
        return _read_columns(item, path, memory)
    source = MatrixSource(item, path)
    return source.matrix(0, source.shape[0]) if kind == "csr" and 2 * stored_bytes(item) <= memory else source
