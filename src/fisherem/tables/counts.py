"""Counts: recognise them, and take logarithms after dividing by size factors.

    z_ij = log(1 + x_ij / s_i),   s_i = total of row i / median total

Zeros stay zeros, so that sparse rows stay sparse. The median total is that of the rows of the fit, for new rows, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._utils.wording import column_name, listed
from .sparse_table import SparseTable

__all__ = ["LOG_COUNTS", "check_counts", "counts_text", "indicators_text", "log_counts", "median_total"]

LOG_COUNTS = "log-counts"
# Whole numbers are counts where this share of them is 0 and some are larger than the levels of a short scale.
_LEAST_ZEROS, _LEAST_LARGEST = 0.5, 6
# Rows that are looked at first: most tables are no counts, and show it there.
_FIRST_LOOK = 50
# Columns that a sentence names.
_LISTED = 6


def _cells(table: Any) -> np.ndarray | None:
    """The numbers that a table stores: all cells, or those of a sparse matrix that are not left out."""
    if isinstance(table, SparseTable):
        return table.matrix.data
    return table if isinstance(table, np.ndarray) else None


def _shape(table: Any) -> int:
    return int(np.prod(table.shape))


def counts_text(table: Any) -> str:
    """A sentence that names a table (n x p) as counts and offers their logarithms; "" if it holds none."""
    cells = _cells(table)
    if cells is None or not cells.size or table.shape[1] < 2:
        return ""
    if not _whole(cells[:_FIRST_LOOK]) or not _whole(cells) or cells.max() < _LEAST_LARGEST:
        return ""
    zeros = 1 - np.count_nonzero(cells) / _shape(table)
    if zeros < _LEAST_ZEROS:
        return ""
    return (
        f"the table holds counts (whole numbers, {zeros:.0%} of them 0), whose rows differ by their totals and whose "
        "variances grow with their means: transformation='log-counts' (on the command line --counts) divides by size "
        "factors and takes log(1 + x)"
    )


def _whole(cells: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):
        return bool((cells >= 0).all() and (cells == np.floor(cells)).all() and np.isfinite(cells).all())


def check_counts(table: Any, names: Any = None) -> None:
    """Raise an error for a table that has no logarithms of counts: negative or missing cells, or rows elsewhere."""
    cells = _cells(table)
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


def indicators_text(table: Any, names: Any = None) -> str:
    """A sentence that names neighbouring columns of 0 and 1 that add up to one in every row; "" if there are none."""
    if not isinstance(table, np.ndarray) or table.shape[1] < 2 or not len(table):
        return ""
    binary = ((table == 0) | (table == 1)).all(axis=0)
    found, j = [], 0
    while j < table.shape[1]:
        total, end = np.zeros(len(table)), j
        while end < table.shape[1] and binary[end] and (total <= 1).all():
            total += table[:, end]
            end += 1
            if (total == 1).all():
                break
        if end - j > 1 and (total == 1).all():
            found.append(range(j, end))
            j = end
        else:
            j += 1
    if not found:
        return ""
    shown = [column_name(k) if names is None else str(names[k]) for k in found[0]]
    more = f" (and {len(found) - 1} more such blocks)" if len(found) > 1 else ""
    return (
        f"columns {listed(shown, _LISTED)} are 0 or 1 and add up to one in every row{more}: they look like one "
        "category in indicators, of which each counts as a variable of its own here; give the category as one column "
        "(of text, of the dtype category, or named in categories=)"
    )
