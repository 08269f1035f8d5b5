"""Say what a table is: the kind of object, what its columns hold, and whether it has gaps or holds counts.

Libraries are not imported to recognise their objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.wording import column_name, listed

__all__ = [
    "NUMBERS", "counts_text", "describe_refused", "has_gaps", "in_precision_of", "indicators_text", "is_anndata",
    "is_dask", "is_path", "is_sparse", "is_stored", "kind_of", "precision_of", "repeated", "sparse_frame",
    "stored_cells",
]  # fmt: skip

NUMBERS = "numbers"
# Prefixes of dtype names in any of the libraries, in lower case; the first match decides. Dates, durations and
# intervals precede the numbers because "interval" also starts with "int".
_BEGINNINGS = (
    ("dates", ("datetime", "timestamp", "date", "period")),
    ("durations", ("timedelta", "duration")),
    ("times of day", ("time",)),
    ("intervals", ("interval", "month")),
    ("categories", ("category", "categorical", "dictionary", "enum")),
    ("complex numbers", ("complex",)),
    ("lists", ("list", "array", "large_list", "fixed_size_list", "struct", "map")),
    (NUMBERS, ("int", "uint", "float", "double", "halffloat", "bool", "decimal", "null")),
)
# Whole numbers are counts where this share of them is 0 and some are larger than the levels of a short scale.
_LEAST_ZEROS, _LEAST_LARGEST = 0.5, 6
# Rows that are looked at first: most tables show there that they hold no counts.
_FIRST_LOOK = 50
# Columns that a sentence names.
_LISTED = 6


@lru_cache(maxsize=1024)  # a table may have a million columns of one dtype
def kind_of(dtype) -> str:
    """What a column of this dtype holds: "numbers", "dates", ...; unknown dtypes count as "text"."""
    name = str(dtype).lower().removeprefix("sparse[")
    for kind, beginnings in _BEGINNINGS:
        if name.startswith(beginnings):
            return kind
    return "text"


def describe_refused(columns: Iterable[tuple[str, str]]) -> str:
    """List non-numeric columns, given as (name, kind): "'a', 'b' hold text; 'day' holds dates"."""
    by_kind: dict[str, list[str]] = {}
    for name, kind in columns:
        by_kind.setdefault(kind, []).append(name)
    parts = [f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} {kind}" for kind, names in by_kind.items()]
    return "; ".join(parts)


def repeated(names: Iterable[str]) -> tuple[str, int, int] | None:
    """(name, first position, second position), counted from 1, of the first duplicate name; None if there is none."""
    seen: dict[str, int] = {}
    for j, name in enumerate(names, 1):
        if seen.setdefault(name, j) != j:
            return name, seen[name], j
    return None


def is_path(X: Any) -> bool:
    """Whether X is the path of a file rather than a table."""
    return isinstance(X, (str, os.PathLike))


def is_stored(X: Any) -> bool:
    """Whether X is a table on disk: a path, a two-dimensional memory map or a Zarr array. Does not import zarr."""
    if isinstance(X, np.memmap):
        return X.ndim == 2
    return is_path(X) or (type(X).__module__.partition(".")[0] == "zarr" and hasattr(X, "chunks"))


def is_dask(X: Any) -> bool:
    """Whether X is a dask array, data frame or series; dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_anndata(X: Any) -> bool:
    """Whether X is an AnnData object; anndata is not imported to find out."""
    return any(t.__module__.partition(".")[0] == "anndata" for t in type(X).__mro__) and hasattr(X, "obs_names")


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy.sparse matrix or array, or a frame whose columns are all sparse."""
    return sparse.issparse(X) or sparse_frame(X)


def sparse_frame(X: Any) -> bool:
    """Whether X is a pandas frame of sparse columns only."""
    return hasattr(X, "sparse") and hasattr(X, "columns") and all(hasattr(d, "subtype") for d in X.dtypes)


# -- what is in a checked table ----------------------------------------------------------------------------------------


def has_gaps(table: Any) -> bool:
    """Whether an array (n x p) contains NaN; reading a table that is not in memory raises an error for NaN."""
    if not isinstance(table, np.ndarray):
        return False
    # fast path: a sum is NaN if any term is. Overflow can also make it NaN, so every cell is then checked.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(table.sum(dtype=np.float64)) and np.isnan(table).any())


def precision_of(table: Any) -> np.dtype:
    """float32 for a table (or rows) of that type, float64 for every other."""
    return np.dtype(np.float32 if getattr(table, "dtype", None) == np.float32 else np.float64)


def in_precision_of(table: Any, values: np.ndarray) -> np.ndarray:
    """Values computed from a table in its precision; those beyond the largest number of it become that number."""
    dtype = precision_of(table)
    if values.dtype == dtype:
        return values
    most = np.finfo(dtype).max
    return np.clip(values, -most, most).astype(dtype)


def stored_cells(table: Any) -> np.ndarray | None:
    """The numbers that a table stores: all cells, or those of a sparse matrix that are not left out."""
    if isinstance(table, np.ndarray):
        return table
    return table.matrix.data if hasattr(table, "matrix") else None


def counts_text(table: Any) -> str:
    """A sentence that names a table (n x p) as counts and offers their logarithms; "" if it holds none."""
    cells = stored_cells(table)
    if cells is None or not cells.size or table.shape[1] < 2:
        return ""
    if not _whole(cells[:_FIRST_LOOK]) or not _whole(cells) or cells.max() < _LEAST_LARGEST:
        return ""
    zeros = 1 - np.count_nonzero(cells) / int(np.prod(table.shape))
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
