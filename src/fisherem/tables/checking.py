"""Validate the rows that users pass; errors say what was expected, what was given and what to do.

In: a path, a memory map, a Zarr array, a dask collection, a sparse matrix, an array or a frame. Out: an array (n x p)
of float32 or float64, or a `FileTable`, `DaskTable` or `SparseTable` for rows that are not converted to an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from ..rows.blocks import check_finite
from .anndata_object import anndata_rows, genes_of
from .dask_table import DaskTable
from .encoding import Encoded
from .errors import TableError
from .file_table import FileTable
from .frames import as_frame, with_names
from .kinds import NUMBERS, describe_refused, is_anndata, is_dask, is_path, is_sparse, is_stored, kind_of, repeated
from .masked import unmasked
from .mixed import learn_encoding, takes_categories
from .parameters import (
    DEFAULT_MEMORY,
    MOST_REPEATS,
    check_clusters,
    check_flag,
    check_init,
    check_list,
    check_number,
    check_one_of,
    check_path,
    check_rows,
    check_sparsity,
    check_weights,
    parse_memory,
    setting_of,
)  # fmt: skip
from .sparse_table import SparseTable

__all__ = [
    "MOST_REPEATS", "check_clusters", "check_finite", "check_flag", "check_init", "check_list", "check_number",
    "check_one_of", "check_path", "check_rows", "check_sparsity", "check_table", "check_weights", "open_rows",
    "takes_gaps",
]  # fmt: skip

# Words that identify those of scikit-learn's errors that already say what is wrong with a table.
_SAYS_WHAT = ("feature", "sample(s)", "2D array", "sparse", "Complex data", "X ")


def check_table(estimator, X, *, reset: bool, elsewhere: bool = False, feature_names=None) -> Any:
    """A 2-D float array (float32 is kept), with the estimator's feature names recorded or compared.

    `feature_names` are names for the columns of a table that has none.

    A table with categories becomes the numbers of its encoding, for estimators that take them (`mixed`).

    With `elsewhere`, files that do not fit the estimator's memory budget and dask collections are returned as a
    `FileTable` or a `DaskTable`, whose values are checked when they are read. Without it, they raise an error.
    """
    if type(X) is np.ndarray and feature_names is None and setting_of(estimator, "categories") is None:
        if reset:
            vars(estimator).pop("encoding_", None)
        return _check_in_memory(estimator, X, reset)
    if is_anndata(X):
        X = _of_anndata(estimator, X, None if reset else getattr(estimator, "feature_names_in_", None))
    if not elsewhere:
        return _check_in_memory(estimator, _loaded(estimator, as_frame(X)), reset)
    opened = with_names(open_rows(estimator, X), feature_names)
    if reset and (encoded := learn_encoding(estimator, opened)) is not None:
        return encoded
    if isinstance(opened, (DaskTable, FileTable, SparseTable)):
        return _check_elsewhere(estimator, opened, reset)
    return _check_in_memory(estimator, opened, reset)


def open_rows(estimator, X) -> Any:
    """Open X once, so that it can be passed to several estimators and to `check_table`.

    Files, memory maps and Zarr arrays become a frame or a `FileTable`, dask collections a `DaskTable`, frames of other
    libraries pandas frames; everything else is returned unchanged.
    """
    if type(X) is np.ndarray or isinstance(X, (DaskTable, Encoded, FileTable, SparseTable)):
        return X
    X = as_frame(X)
    opener = next((opener for matches, opener in _OPENERS if matches(X)), None)
    return X if opener is None else opener(estimator, X)


def _of_anndata(estimator, X, names=None) -> Any:
    """The genes of an AnnData object that take part, or those named, as a frame or a table with their names."""
    matrix, found = anndata_rows(X, parse_memory(_memory(estimator)), genes_of(X, names))
    return with_names(open_rows(estimator, matrix), found)


def _opened(estimator, X) -> Any:
    """A path, a memory map or a Zarr array as a frame or a `FileTable`."""
    from .opening import open_table

    mixed = takes_categories(estimator)
    return open_table(X, memory=_memory(estimator), missing=takes_gaps(estimator), mixed=mixed).X


def _dask_table(estimator, X) -> DaskTable:
    table = DaskTable(X)
    _check_numeric(X)
    return table


# (whether rows are of a kind, how they are opened); the first that matches. Plain arrays and frames need no opening.
_OPENERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Any], Any]], ...] = (
    (is_anndata, _of_anndata),
    (np.ma.isMaskedArray, lambda estimator, X: unmasked(X)),
    (is_sparse, lambda estimator, X: SparseTable(X, parse_memory(_memory(estimator)))),
    (is_dask, _dask_table),
    (is_stored, _opened),
)


def _loaded(estimator, X) -> Any:
    """X as something in memory: an array, a frame, or a `FileTable` that fits its budget."""
    if is_sparse(X) or isinstance(X, SparseTable):
        raise TypeError(
            f"{type(estimator).__name__} needs dense rows here, but got sparse ones: call toarray() if they fit in "
            "memory; FisherEM and SparseFisherEM fit and predict on sparse rows directly"
        )
    if isinstance(X, DaskTable) or is_dask(X):
        raise TypeError(f"{type(estimator).__name__} needs its rows in memory: call compute() on the dask table first")
    if np.ma.isMaskedArray(X):
        return unmasked(X)
    if is_path(X):  # scikit-learn accepts memory maps and Zarr arrays as arrays
        X = _opened(estimator, X)
    if isinstance(X, FileTable) and not X.fits:
        n, p = X.shape
        raise TableError(
            f"{X.source.path or 'the table'}: {n:,} rows x {p:,} columns ({n * p * X.dtype.itemsize / 1e6:,.3g} MB) "
            f"take more than half of the memory budget ({X.memory / 1e6:,.3g} MB), but must be in memory here: "
            "increase memory, or pass a sample of the rows as an array"
        )
    return X


def _check_in_memory(estimator, X, reset: bool) -> np.ndarray:
    if isinstance(X, FileTable):
        return _check_elsewhere(estimator, X, reset)
    _check_numeric(X)
    limits: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": False, **_limits(reset)}
    try:
        array = validate_data(estimator, _nan_for_na(X), reset=reset, **limits)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        if not isinstance(error, MemoryError):
            _name_the_cell(X)
        if any(word in str(error) for word in _SAYS_WHAT):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"X must be a table of numbers, rows x columns: {error or 'it is too large'}") from None
    check_finite(array, _column_names(X), missing=takes_gaps(estimator))
    return array


def takes_gaps(estimator) -> bool:
    """Whether an estimator accepts missing values, according to its tags."""
    return hasattr(estimator, "__sklearn_tags__") and bool(get_tags(estimator).input_tags.allow_nan)


def _nan_for_na(X: Any) -> Any:
    """X with NaN in place of pd.NA in columns of dtype object, which NumPy cannot convert to a number."""
    if isinstance(X, pd.DataFrame) and any(dtype == "object" for dtype in set(X.dtypes)):
        return X.mask(X.isna().to_numpy(), np.nan)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and (gaps := pd.isna(X)).any():
        return np.where(gaps, np.nan, X)
    return X


def _check_elsewhere(estimator, table: DaskTable | FileTable | SparseTable, reset: bool) -> Any:
    """The table, or an array of its rows if they fit in memory, after its columns and number of rows are checked."""
    limits = _limits(reset)
    p = table.p if isinstance(table, DaskTable) else table.shape[1]
    # let scikit-learn check the names and the number of columns on a stub with two rows
    stub, names = np.zeros((2, p)), table.names
    if names is None and isinstance(table, SparseTable) and not reset and p == getattr(estimator, "n_features_in_", 0):
        names = getattr(estimator, "feature_names_in_", None)  # a scipy matrix cannot have names
    columns = stub if names is None else pd.DataFrame(stub, columns=names)
    validate_data(estimator, columns, reset=reset, **limits)
    if reset or not isinstance(table, DaskTable):  # counting the rows of a dask table may trigger its computation
        check_rows(len(table), limits["ensure_min_samples"])
    if isinstance(table, DaskTable) or (isinstance(table, SparseTable) and not reset):
        return table
    whole = table.whole()
    return table if whole is None else whole


def _limits(reset: bool) -> dict[str, Any]:
    least = 2 if reset else 1
    return {"ensure_min_samples": least, "ensure_min_features": least}


def _memory(estimator) -> Any:
    """The memory budget of an estimator, or of the estimator that it wraps."""
    return setting_of(estimator, "memory", DEFAULT_MEMORY)


def _column_names(X):
    columns = getattr(X, "columns", None)
    return None if columns is None else list(columns)


def _check_numeric(X) -> None:
    """Raise an error for columns that are not numeric, and for duplicate column names."""
    names = _column_names(X)
    if names is None or not hasattr(X, "dtypes"):
        kind = kind_of(getattr(X, "dtype", "float"))
        if kind in ("dates", "durations"):  # NumPy would convert them to numbers, and NaT to -9.2e18
            raise ValueError(f"X must hold numbers; it holds {kind}: encode them as numbers")
        return
    if (twice := repeated(names)) is not None:
        raise ValueError(f"two columns are named {twice[0]!r}: rename or drop one")
    # columns of dtype object may hold numbers: the conversion decides
    kinds = {dtype: NUMBERS if str(dtype) == "object" else kind_of(dtype) for dtype in set(X.dtypes)}
    if bad := [(n, kinds[dtype]) for n, dtype in zip(names, X.dtypes, strict=True) if kinds[dtype] != NUMBERS]:
        raise ValueError(f"columns must be numeric; {describe_refused(bad)}: drop or encode them")


def _name_the_cell(X) -> None:
    """Raise an error that locates the first cell of a table of objects that is not a number, if there is one.

    NumPy's own error only says that a string cannot be converted.
    """
    names = _column_names(X)
    kinds = {np.dtype(dtype).kind for dtype in [getattr(X, "dtype", object)] if isinstance(dtype, (type, np.dtype))}
    cells = np.asarray(X, dtype=object) if kinds & set("OSU") else np.empty(0)
    for (i, *rest), cell in np.ndenumerate(cells) if cells.ndim == 2 else ():
        try:
            float(np.nan if cell is None or cell is pd.NA else cell)
        except (TypeError, ValueError) as error:
            column = f"column {rest[0]}" if names is None else f"column {names[rest[0]]!r}"
            raise type(error)(
                f"columns must be numeric; row {i}, {column} holds {str(cell)!r} ({error}): fix the cell, or drop or "
                "encode the column"
            ) from None
