"""Checks of what comes from outside: one clear error that says what was expected, what came and what to do."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import _num_samples, check_array, validate_data

from ..rows.finite import check_finite
from .dask_table import DaskTable, is_dask
from .file_table import DEFAULT_MEMORY, FileTable, as_file_table

__all__ = [
    "check_clusters",
    "check_finite",
    "check_init",
    "check_number",
    "check_one_of",
    "check_sparsity",
    "check_table",
    "check_weights",
]


def check_one_of(name: str, value, options) -> None:
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")


def check_number(name: str, value, *, integer=False, least=None, above=None, most=None, word=None) -> None:
    """A number within limits; or `word`, if one is given."""
    if word is not None and isinstance(value, str) and value == word:
        return
    kind = numbers.Integral if integer else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, (bool, np.bool_)) and math.isfinite(value)
    good = good and (least is None or value >= least) and (above is None or value > above)
    if not (good and (most is None or value <= most)):
        limits = [f"at least {least}"] * (least is not None) + [f"above {above}"] * (above is not None)
        limits += [f"at most {most}"] * (most is not None)
        noun = ("" if word is None else f"{word!r} or ") + ("a whole number" if integer else "a number")
        raise ValueError(f"{name} must be {' '.join([noun, ' and '.join(limits)]).strip()}; got {value!r}")


def _column_names(X):
    columns = getattr(X, "columns", None)
    return None if columns is None or callable(columns) else list(columns)


def _check_numeric(X) -> None:
    """Frames: name the columns that are not numbers, before NumPy says only that some string could not be converted."""
    names = _column_names(X)
    if names is None or not hasattr(X, "dtypes"):
        return
    dtypes = list(X.dtypes)
    bad = [str(n) for n, t in zip(names, dtypes, strict=True) if _is_text(t)]
    if bad:
        shown = ", ".join(map(repr, bad[:5])) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
        raise ValueError(f"columns must be numeric; {shown} hold text or categories: drop or encode them")


def _is_text(dtype) -> bool:
    is_numeric = getattr(dtype, "is_numeric", None)  # polars
    if callable(is_numeric):
        return not (is_numeric() or str(dtype) == "Boolean")
    kind = getattr(dtype, "kind", "O")
    if kind == "O" and str(dtype) == "object":
        return False  # may still be numbers: the conversion decides
    return kind not in "biuf"


def check_table(estimator, X, *, reset: bool, elsewhere: bool = False) -> Any:
    """A 2-D float array (float32 stays float32) with the estimator's feature names recorded or compared.

    With `elsewhere`, a file or a dask collection becomes a `FileTable` or `DaskTable`, whose values are looked at when
    they are read.
    """
    limits: dict[str, Any] = {"ensure_min_samples": 2 if reset else 1, "ensure_min_features": 2 if reset else 1}
    table = _table_elsewhere(estimator, X) if elsewhere else None
    if table is not None:
        names, p = table.names, (table.p if isinstance(table, DaskTable) else table.shape[1])
        # two empty rows with its columns: scikit-learn compares names and numbers as it does for arrays
        stub = np.zeros((2, p))
        validate_data(estimator, stub if names is None else pd.DataFrame(stub, columns=names), reset=reset, **limits)
        if isinstance(table, FileTable):
            check_rows(len(table), limits["ensure_min_samples"])
            whole = table.whole()
            return table if whole is None else whole
        if reset:
            check_rows(len(table), limits["ensure_min_samples"])
        return table
    if is_dask(X):
        raise TypeError(f"{type(estimator).__name__} needs its rows in memory: call compute() on the dask table first")
    _check_numeric(X)
    names = _column_names(X)
    array = validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False, **limits)
    check_finite(array, names)
    return array


def _table_elsewhere(estimator, X) -> DaskTable | FileTable | None:
    if not is_dask(X):
        return as_file_table(X, _memory(estimator))
    table = DaskTable(X)
    _check_numeric(X)
    return table


def _memory(estimator) -> Any:
    """The budget of an estimator, or of the one that it wraps."""
    while estimator is not None:
        if hasattr(estimator, "memory"):
            return estimator.memory
        estimator = getattr(estimator, "estimator", None)
    return DEFAULT_MEMORY


def check_rows(n: int, least: int) -> None:
    if n < least:
        raise ValueError(f"Found a table with {n} rows where at least {least} are required.")


def check_weights(sample_weight, X) -> np.ndarray | None:
    """Non-negative weights, one per row; None stays None."""
    if sample_weight is None:
        return None
    n = len(X) if hasattr(X, "rows_at") else _num_samples(X)
    if is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, float(sample_weight))  # type: ignore[arg-type]
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one value per row, shape ({n},); got {weights.shape}")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"sample_weight must not be negative; row {row} has {weights[row]:g}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: nothing to fit")
    return weights


def check_clusters(n_clusters, X, weights) -> None:
    """K < number of rows, and K distinct rows to be had."""
    n = len(X) if weights is None else int(np.count_nonzero(weights))
    counted = f"n_samples={n}" if weights is None else f"n_samples={n} with positive weight"
    if n_clusters >= n:
        raise ValueError(f"n_clusters={n_clusters} must be smaller than the number of rows ({counted})")
    seen: set[bytes] = set()
    read = getattr(X, "rows_at", lambda index: X[index[0] : index[-1] + 1])
    for start, stop in _growing(len(X)):
        for i, row in enumerate(read(np.arange(start, stop)), start):
            if weights is None or weights[i] > 0:
                seen.add(row.tobytes())
            if len(seen) >= n_clusters:
                return
    raise ValueError(f"X has only {len(seen)} distinct rows, fewer than n_clusters={n_clusters}: lower n_clusters")


def _growing(n: int, first: int = 64, most: int = 2**14):
    """Ranges over n rows: the first ones mostly tell."""
    start = 0
    while start < n:
        stop = min(n, start + first)
        yield start, stop
        start, first = stop, min(2 * first, most)


def check_init(init, n: int, n_clusters: int):
    """Labels become 0..K-1; posteriors are checked to be a n x K distribution per row."""
    start = check_array(init, ensure_2d=False, dtype=None, input_name="init")
    if start.ndim == 1:
        if len(start) != n:
            raise ValueError(f"init must have one label per row ({n}); got {len(start)}")
        values, labels = np.unique(start, return_inverse=True)
        if len(values) != n_clusters:
            raise ValueError(f"init must hold n_clusters={n_clusters} different labels; got {len(values)}")
        return labels
    posteriors = np.asarray(start, float)
    if posteriors.shape != (n, n_clusters):
        raise ValueError(f"init posteriors must have shape ({n}, {n_clusters}); got {posteriors.shape}")
    if (posteriors < 0).any() or not np.allclose(posteriors.sum(axis=1), 1, atol=1e-6):
        raise ValueError("init posteriors must be non-negative and sum to 1 in every row")
    return posteriors / posteriors.sum(axis=1, keepdims=True)


def check_sparsity(sparsity, d: int) -> np.ndarray:
    """One share in (0, 1] per axis, from one number or one per axis."""
    if isinstance(sparsity, str):
        raise ValueError(f"sparsity must be a number in (0, 1] or one per axis; got {sparsity!r}")
    shares = np.atleast_1d(np.asarray(sparsity, float))
    if shares.ndim != 1 or len(shares) not in (1, d):
        raise ValueError(f"sparsity must be one number or one per axis ({d} axes); got {sparsity!r}")
    if not (np.all(shares > 0) and np.all(shares <= 1)):
        raise ValueError(f"sparsity must lie in (0, 1], 1 meaning dense; got {sparsity!r}")
    return np.broadcast_to(shares, d).copy()
