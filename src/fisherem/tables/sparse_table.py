"""Sparse matrices as tables, such as counts or tf-idf; they are not converted to dense arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.wording import column_name
from ..rows.sparse import SparseRows
from .errors import TableError
from .kinds import sparse_frame

__all__ = ["SparseTable"]

# Squares of sparse values are corrected for the centre: differences below this share of the largest are rounding.
_ROUNDING = 1e-13
# Matrices of size p x p in memory: the covariance, its factor and a working copy.
_SQUARES = 3


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
        """A table for a matrix that has already been checked."""
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
                f"Input X contains {what}: row {row}, column {column}; sparse tables must be finite: remove such "
                "values, or pass a dense table, in which missing values are supported"
            )

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index) -> np.ndarray:
        return self.matrix[index].toarray()

    def rows(self, weights, n_jobs) -> SparseRows:
        """The engine, with weights (n,) or None."""
        return SparseRows(self.matrix, weights, n_jobs=n_jobs)

    def precise(self, least: float) -> SparseTable | np.ndarray:
        """The table; dense if squared distances as small as `least` are told apart only so, and it fits in memory."""
        largest = float(np.abs(self.matrix.data).max(initial=0.0))
        if np.sqrt(least) >= np.sqrt(_ROUNDING) * largest or 8 * self.shape[0] * self.shape[1] > self.memory:
            return self
        return self.matrix.toarray()

    def rows_at(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers (ascending), as a dense array."""
        return self[index]

    def select(self, columns: Sequence[int]) -> SparseTable:
        """The same rows with these columns only, in this order."""
        names = None if self.names is None else [self.names[j] for j in columns]
        return SparseTable.of(self.matrix[:, list(columns)], names, self.memory)

    def to_numpy(self) -> SparseTable:
        """The same rows without names, for models that were fitted to arrays (cf. `DataFrame.to_numpy`)."""
        return SparseTable.of(self.matrix, None, self.memory)

    def divided(self, scales: np.ndarray) -> SparseTable:
        """The table with column j divided by scales[j]; it stays sparse."""
        matrix = self.matrix.copy()
        with np.errstate(over="ignore"):  # division of the values: the inverse of a tiny scale would overflow
            matrix.data = matrix.data / scales.astype(self.dtype)[matrix.indices]
        return SparseTable.of(matrix, self.names, self.memory)

    def whole(self) -> np.ndarray | None:
        """All rows as a dense array if there are no more rows than columns, because the row space is not sparse.

        None if there are more rows than columns. An error if what is needed exceeds the memory budget.
        """
        n, p = self.shape
        needed, what = 8 * n * p, f"with fewer rows than columns ({n:,} x {p:,}) the rows are needed as a dense array,"
        if n > p:
            needed, what = 8 * _SQUARES * p**2, f"the covariance of {p:,} columns takes"
        if needed > self.memory:
            raise TableError(
                f"{what} {needed / 1e9:.2g} GB, more than the memory budget ({self.memory / 1e9:.2g} GB): keep fewer "
                "columns (those with the largest variances, or a TruncatedSVD), or increase memory"
            )
        return None if n > p else self.matrix.toarray()
