"""Tables with categories, checked and encoded: at the fit, where the encoding is learnt, and afterwards.

In: a frame with text, categories, booleans or ordered levels, or any table in memory with `categories=`. Out: the
numbers (n x q) of `encoding.Encoding`, with the encoding in the estimator's `encoding_`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from ..rows.blocks import check_finite
from .dask_table import DaskTable
from .encoding import Encoded, Encoding, encoding_of
from .file_table import FileTable
from .parameters import setting_of
from .sparse_table import SparseTable

__all__ = ["check_encoded", "learn_encoding", "takes_categories"]

_LEAST_ROWS = 2


def takes_categories(estimator: Any) -> bool:
    """Whether an estimator encodes categories."""
    return bool(getattr(estimator, "_takes_categories", False))


def learn_encoding(estimator: Any, X: Any) -> np.ndarray | None:
    """The numbers of an opened table with categories, whose encoding the estimator gets; None if it has none."""
    vars(estimator).pop("encoding_", None)
    if isinstance(X, Encoded):
        estimator.encoding_ = X.encoding
        estimator.n_features_in_ = len(X.encoding.names)
        return X.values
    if not takes_categories(estimator):
        return None
    categories = setting_of(estimator, "categories")
    if isinstance(X, (DaskTable, FileTable, SparseTable)):
        if categories is not None:
            raise ValueError("categories= needs a table in memory: sparse, streamed and dask rows hold numbers only")
        return None
    frame = _as_columns(X, categories)
    encoding = None if frame is None else encoding_of(frame, categories, named=isinstance(X, pd.DataFrame))
    if frame is None or encoding is None:
        return None
    validate_data(estimator, X, reset=True, skip_check_array=True)
    if len(frame) < _LEAST_ROWS:
        raise ValueError(f"Found a table with {len(frame)} rows where at least {_LEAST_ROWS} are required.")
    values = encoding.encode(frame).to_numpy()
    check_finite(values, encoding.column_names, missing=bool(get_tags(estimator).input_tags.allow_nan))
    estimator.encoding_ = encoding
    return values


def _as_columns(X: Any, categories: Any) -> pd.DataFrame | None:
    """X as a frame of columns, if it may have categories."""
    if isinstance(X, pd.DataFrame):
        return X
    if categories is None:
        return None
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead: X must be a table of rows x columns")
    return pd.DataFrame(array)


def check_encoded(estimator: Any, X: Any) -> pd.DataFrame:
    """The numbers of other rows, as a frame of q columns; of a frame with only some of the variables, those."""
    encoding: Encoding = estimator.encoding_
    if isinstance(X, Encoded):
        return pd.DataFrame(X.values, columns=encoding.column_names)
    if isinstance(X, (DaskTable, FileTable, SparseTable)):
        raise TypeError(
            f"{type(estimator).__name__} was fitted to a table with categories: it needs a frame in memory, not "
            f"{type(X).__name__}"
        )
    among = range(len(encoding.names))
    if isinstance(X, pd.DataFrame) and encoding.named:
        places = [v for v, name in enumerate(encoding.names) if name in X.columns]
        if len(places) < X.shape[1] or len(places) == len(encoding.names):
            validate_data(estimator, X, reset=False, skip_check_array=True)
        else:
            among = places  # type: ignore[assignment]
        frame = X[[encoding.names[v] for v in among]]
    else:
        frame = pd.DataFrame(np.asarray(X))
        validate_data(estimator, X, reset=False, skip_check_array=True)
    numbers = encoding.encode(frame, among)
    check_finite(numbers.to_numpy(), list(numbers.columns), missing=bool(get_tags(estimator).input_tags.allow_nan))
    return numbers
