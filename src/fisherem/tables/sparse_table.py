"""Sparse matrices as tables: counts, tf-idf, anything that is mostly zeros. They stay sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._utils.wording import column_name
from ..rows.sparse import SparseRows
from .errors import TableError

__all__ = ["SparseTable", "is_sparse", "sparse_frame"]

# The covariance of the variables, its factor and a working copy.
_SQUARES = 3


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy.sparse matrix or array, or a frame whose columns are all sparse."""
    return sparse.issparse(X) or sparse_frame(X)


def sparse_frame(X: Any) -> bool:
    """Whether X is a pandas frame of sparse columns only."""
    return hasattr(X, "sparse") and hasattr(X, "columns") and all(hasattr(d, "subtype") for d in X.dtypes)


class SparseTable:
    """n x p numbers of a sparse matrix: matrix (CSR), shape, dtype, names or None, and the engine.

    Indexing gives dense rows.
    """

    def __init__(self, X: Any, memory: int):
        self.names: list[str] | None = None
        if sparse_frame(X):
            self.names, X = list(X.columns), X.sparse.to_coo()
        if X.ndim != 2:
            raise ValueError(f"expected a table of rows x columns; got a sparse array with {X.ndim} dimensions")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"a sparse table must hold numbers; it holds {X.dtype}")
        self.memory = memory
        matrix = X.tocsr().astype(np.float32 if X.dtype == np.float32 else np.float64)
        matrix.sum_duplicates()
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype
        self._check_finite()

    @classmethod
    def of(cls, matrix: Any, names: list[str] | None, memory: int) -> SparseTable:
        """A table of a matrix that was checked already."""
        table = cls.__new__(cls)
        table.matrix, table.names, table.memory = matrix, names, memory
        table.shape, table.dtype = matrix.shape, matrix.dtype
        return table

    def _check_finite(self) -> None:
        bad = np.flatnonzero(~np.isfinite(self.matrix.data))
        if len(bad):
            row = int(np.searchsorted(self.matrix.indptr, bad[0], side="right")) - 1
            j = int(self.matrix.indices[bad[0]])
            column = column_name(j) if self.names is None else repr(self.names[j])
            what = "NaN" if np.isnan(self.matrix.data[bad[0]]) else "infinity"
            raise ValueError(
                f"Input X contains {what}: row {row}, column {column}; a sparse table may hold neither: remove such "
                "values, or give a dense table, whose missing cells the model handles"
            )

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index) -> np.ndarray:
        return self.matrix[index].toarray()

    def rows(self, weights, n_jobs) -> SparseRows:
        """The engine, with weights (n,) or None."""
        return SparseRows(self.matrix, weights, n_jobs=n_jobs)

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        """The rows of these numbers (ascending), dense."""
        return self[index]

    def divided(self, scales: np.ndarray) -> SparseTable:
        """Column j divided by scales[j]: zeros stay zeros."""
        factors = sparse.diags_array((1 / scales).astype(self.dtype))
        return SparseTable.of((self.matrix @ factors).tocsr(), self.names, self.memory)

    def whole(self) -> np.ndarray | None:
        """All rows as an array where there are fewer than columns: the row space is not sparse. An error if too many.

        None for more rows than columns: they stay sparse.
        """
        n, p = self.shape
        if n > p:
            needed = 8 * _SQUARES * p**2
            if needed > self.memory:
                self._refuse(f"the covariance of {p:,} columns takes {needed / 1e9:.2g} GB")
            return None
        needed = 8 * n * p
        if needed > self.memory:
            self._refuse(
                f"with fewer rows than columns ({n:,} x {p:,}) the rows are needed as an array, {needed / 1e9:.2g} GB"
            )
        return self.matrix.toarray()

    def _refuse(self, why: str) -> None:
        raise TableError(
            f"{why}, more than the memory budget ({self.memory / 1e9:.2g} GB): keep fewer columns (those with the "
            "largest variances, or a TruncatedSVD), or raise memory"
        )
