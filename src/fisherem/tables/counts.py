"""Logarithms of counts after dividing them by size factors.

    z_ij = log(1 + x_ij / s_i),   s_i = total of row i / median total

Zeros stay zeros, so that sparse rows stay sparse. The median total is that of the rows of the fit, for new rows, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.wording import column_name
from .kinds import stored_cells
from .sparse_table import SparseTable

__all__ = ["LOG_COUNTS", "check_counts", "log_counts", "logarithms", "median_total"]

LOG_COUNTS = "log-counts"


def check_counts(table: Any, names: Any = None) -> None:
    """Raise an error for a table that has no logarithms of counts: negative or missing cells, or rows elsewhere."""
    cells = stored_cells(table)
    if cells is None:
        raise ValueError("transformation='log-counts' needs rows in memory (an array, a frame or a sparse matrix)")
    if np.isnan(cells).any():
        raise ValueError(
            "transformation='log-counts' takes no missing cells: fill in the counts, or leave out the rows"
        )
    if (cells < 0).any():
        i, j = np.argwhere(np.asarray(table) < 0)[0] if isinstance(table, np.ndarray) else _place(table)
        name = repr(column_name(int(j)) if names is None else str(names[j]))
        raise ValueError(f"counts must not be negative; row {i}, column {name} is: use transformation='none'")


def _place(table: SparseTable) -> tuple[int, int]:
    found = (table.matrix < 0).tocoo()
    return int(found.row[0]), int(found.col[0])


def _totals(table: Any) -> np.ndarray:
    matrix = table.matrix if isinstance(table, SparseTable) else table
    return np.asarray(matrix.sum(axis=1), float).ravel()


def median_total(table: Any) -> float:
    """The median of the totals of the rows that have any count."""
    totals = _totals(table)
    if not (totals > 0).any():
        raise ValueError("every count is 0: there is nothing to cluster")
    return float(np.median(totals[totals > 0]))


def log_counts(table: Any, total: float) -> Any:
    """log(1 + x / s) of a checked table (n x p), in its precision; a sparse table stays sparse."""
    totals = _totals(table)
    factors = np.where(totals > 0, totals / total, 1.0)
    if not isinstance(table, SparseTable):
        return np.log1p(table / factors[:, None].astype(table.dtype))
    matrix = table.matrix.copy()
    matrix.data = np.log1p(matrix.data / np.repeat(factors, np.diff(matrix.indptr)).astype(table.dtype))
    return SparseTable.of(matrix, table.names, table.memory)


def logarithms(estimator: Any, table: Any, names: Any = None) -> Any:
    """`log_counts` of the checked table of a fit, whose median total the estimator gets as `count_total_`."""
    if hasattr(estimator, "encoding_"):
        raise ValueError("transformation='log-counts' takes counts only, and this table has categories: use 'none'")
    check_counts(table, names)
    estimator.count_total_ = median_total(table)
    return log_counts(table, estimator.count_total_)
