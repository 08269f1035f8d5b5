"""Frames of any library as pandas frames, and names for tables that have none.

narwhals recognises the frames (polars, pyarrow, modin, cuDF, ...), so that the rest of the package knows pandas only.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd

from .dask_table import DaskTable
from .encoding import Encoded
from .file_table import FileTable
from .kinds import NUMBERS, is_dask, is_sparse, is_stored, kind_of, repeated, sparse_frame
from .parameters import check_list
from .sparse_table import SparseTable

__all__ = ["as_frame", "with_names"]

# Names that one table may have; a genome has some 60,000 genes and a million probes.
_MOST_COLUMNS = 10**8
_AS_THEY_ARE = (np.ndarray, list, tuple, DaskTable, Encoded, FileTable, SparseTable)


def as_frame(X: Any) -> Any:
    """A frame of any library as a pandas frame with the same columns; everything else is returned unchanged.

    Names of pandas frames that are partly text become text, and sparse columns become dense where the frame as a whole
    is not a sparse matrix.
    """
    if isinstance(X, pd.DataFrame):
        return _with_text_names(_without_sparse_columns(X))
    if isinstance(X, _AS_THEY_ARE) or hasattr(X, "obs_names") or is_stored(X) or is_sparse(X) or is_dask(X):
        return X
    import narwhals as nw

    try:
        frame = nw.from_native(X, pass_through=True)
        if frame is X and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")):
            import pyarrow as pa  # what has this protocol comes from Arrow: a batch of records, for instance

            frame = nw.from_native(pa.table(X), pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise TypeError(f"X is a lazy frame ({type(X).__module__}): call collect() on it first")
        return _converted(frame) if isinstance(frame, nw.DataFrame) else X
    except nw.exceptions.DuplicateError as error:
        raise ValueError(
            f"two columns have the same name: rename or drop one ({' '.join(str(error).split())})"
        ) from None


def _converted(frame: Any) -> pd.DataFrame:
    """A narwhals frame as a pandas frame, column by column (polars' own conversion would need pyarrow)."""
    names = list(frame.columns)
    columns = {name: _column(frame[name]) for name in names}
    return pd.DataFrame(columns, columns=names, index=range(len(frame)))


def _column(series: Any) -> Any:
    """The values of a column: numbers as floats or integers, with NaN for missing ones; text, categories and dates."""
    import narwhals as nw

    kind = kind_of(series.dtype)
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if kind == NUMBERS:
        if series.dtype == nw.Boolean:
            return pd.array(series.to_list(), dtype="boolean" if series.null_count() else "bool")
        elif not (series.dtype.is_integer() or series.dtype.is_float()):  # decimals
            series = series.cast(nw.Float64)
        return series.to_numpy()
    if kind == "categories":
        levels = list(series.dtype.categories) if isinstance(series.dtype, nw.Enum) else None
        return pd.Categorical(series.to_list(), categories=levels, ordered=levels is not None)
    if kind in ("dates", "durations"):
        return series.to_numpy()
    return pd.Series(series.to_list(), dtype="string" if kind == "text" else object)


def _with_text_names(X: pd.DataFrame) -> pd.DataFrame:
    """Names as text if some of them are text; names that are all numbers stay, and count as no names."""
    exact = [type(name) is str for name in X.columns]
    if all(exact) or not any(isinstance(name, str) for name in X.columns):
        return X
    return X.set_axis([str(name) for name in X.columns], axis=1)


def _without_sparse_columns(X: pd.DataFrame) -> pd.DataFrame:
    """Sparse columns become dense, unless all of them are sparse with zeros left out."""
    thin = [dtype for dtype in X.dtypes if isinstance(dtype, pd.SparseDtype)]
    if not thin or (sparse_frame(X) and all(dtype.fill_value == 0 for dtype in thin)):
        return X
    each = [X.iloc[:, j] for j in range(X.shape[1])]
    columns = [pd.Series(np.asarray(one), one.index) if isinstance(one.dtype, pd.SparseDtype) else one for one in each]
    return pd.concat(columns, axis=1).set_axis(X.columns, axis=1)


def with_names(X: Any, feature_names: Any) -> Any:
    """An opened table with these names for its p columns; an error if it has others of its own."""
    if feature_names is None:
        return X
    names = [str(name) for name in check_list("feature_names", feature_names, _MOST_COLUMNS)]
    own = X.columns if isinstance(X, pd.DataFrame) else getattr(X, "names", None)
    if own is not None and any(isinstance(name, str) for name in own) and list(own) != names:
        raise ValueError("feature_names is for tables without names, but X has names: rename its columns instead")
    if (twice := repeated(names)) is not None:
        raise ValueError(f"feature_names has {twice[0]!r} twice, at {twice[1]} and {twice[2]}: names must be unique")
    p = X.p if isinstance(X, DaskTable) else np.shape(X)[1] if np.ndim(X) == 2 or hasattr(X, "rows_at") else len(names)
    if p != len(names):
        raise ValueError(f"feature_names must have one name per column ({p}); got {len(names)}")
    if isinstance(X, (DaskTable, FileTable, SparseTable)):
        named = copy.copy(X)
        named.names = names
        return named
    return X.set_axis(names, axis=1) if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X), columns=names)
