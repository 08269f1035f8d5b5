"""Validate parameters, weights and numbers of rows; errors say what was expected and what was given."""

from __future__ import annotations

import numbers
import os
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_array

from .._utils.wording import count
from .kinds import is_dask
from .masked import unmasked

__all__ = [
    "DEFAULT_MEMORY", "MOST_REPEATS", "check_clusters", "check_flag", "check_init", "check_list", "check_number",
    "check_one_of", "check_path", "check_rows", "check_sparsity", "check_weights", "named_errors", "parse_memory",
    "setting_of",
]  # fmt: skip

# Upper limit for numbers of starts, refits or draws: a larger value is a mistake and would run for days.
MOST_REPEATS = 100_000
# Upper limit for the entries of a list argument, for the same reason.
_MOST_ENTRIES = 10_000
# Python integers are unbounded; parameters must be convertible to double.
_LARGEST = int(np.finfo(float).max)
# Largest weight: weighted sums of squares, and their squares, must not overflow a double.
_HEAVIEST = 1e60
DEFAULT_MEMORY = "1GB"
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def setting_of(estimator: Any, name: str, default: Any = None) -> Any:
    """A parameter of an estimator, or of the estimator that it wraps."""
    while estimator is not None:
        if hasattr(estimator, name):
            return getattr(estimator, name)
        estimator = getattr(estimator, "estimator", None)
    return default


def check_one_of(name: str, value, options) -> None:
    """Check that `value` is one of `options`, a register or a sequence."""
    if not StrOptions(set(options)).is_satisfied_by(value):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")


def check_flag(name: str, value, word: str | None = None) -> None:
    """Check that `value` is True, False or `word`, if one is given."""
    if isinstance(value, (bool, np.bool_)) or (word is not None and isinstance(value, str) and value == word):
        return
    raise ValueError(f"{name} must be True{'' if word is None else ', False'} or {word or False!r}; got {value!r}")


@contextmanager
def named_errors(name: str):
    """Convert errors raised while a value is converted to TypeError or ValueError with the name of the argument."""
    try:
        yield
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        if name in str(error) and not isinstance(error, (OverflowError, MemoryError)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {str(error) or 'it is too large'}") from None


def check_path(name: str, value) -> None:
    """Check that `value` is a path: a string or an object that `os.fspath` accepts."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be the path of a file or folder; got {value!r}")


def check_list(name: str, value, most: int = _MOST_ENTRIES) -> list:
    """The entries of a sequence; an error for other values and for endless iterators."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        raise ValueError(f"{name} must be a list or another sequence; got {value!r}")
    entries = list(islice(value, most + 1))
    if len(entries) > most:
        raise ValueError(f"{name} must have at most {most:,} entries; got more")
    return entries


def check_number(name: str, value, *, integer=False, least=None, above=None, most=None, word=None) -> None:
    """Check that `value` is a finite number within limits, or `word` if one is given."""
    if word is not None and StrOptions({word}).is_satisfied_by(value):
        return
    # scikit-learn's Interval accepts True as 1
    if isinstance(value, (bool, np.bool_)) or not (
        all(limit.is_satisfied_by(value) for limit in _intervals(integer, least, above, most))
        and not (isinstance(value, numbers.Integral) and abs(int(value)) > _LARGEST)
    ):
        limits = [f"at least {least}"] * (least is not None) + [f"above {above}"] * (above is not None)
        limits += [f"at most {most}"] * (most is not None)
        noun = ("" if word is None else f"{word!r} or ") + ("a whole number" if integer else "a number")
        raise ValueError(f"{name} must be {' '.join([noun, ' and '.join(limits)]).strip()}; got {value!r}")


def _intervals(integer: bool, least, above, most) -> list[Interval]:
    """One interval per limit: `least` and `most` may be equal, which a single Interval does not allow."""
    kind = numbers.Integral if integer else numbers.Real
    below = Interval(kind, above if least is None else least, None, closed="neither" if least is None else "left")
    return [below] if most is None else [below, Interval(kind, None, most, closed="right")]


def check_init(init, n: int, n_clusters: int):
    """Convert labels to 0..K-1, or check that posteriors (n x K) are a distribution in every row."""
    if np.ma.isMaskedArray(init):
        init = unmasked(init)
    with named_errors("init"):
        start = check_array(init, ensure_2d=False, dtype=None, input_name="init")
    if start.ndim == 1:
        if len(start) != n:
            raise ValueError(f"init must have one label per row ({n}); got {len(start)}")
        values, labels = np.unique(start, return_inverse=True)
        if len(values) != n_clusters:
            raise ValueError(f"init must hold n_clusters={n_clusters} different labels; got {len(values)}")
        return labels
    with named_errors("init"):
        posteriors = np.asarray(start, float)
    if posteriors.shape != (n, n_clusters):
        raise ValueError(f"init posteriors must have shape ({n}, {n_clusters}); got {posteriors.shape}")
    if (posteriors < 0).any() or not np.allclose(posteriors.sum(axis=1), 1, atol=1e-6):
        raise ValueError("init posteriors must be non-negative and sum to 1 in every row")
    return posteriors / posteriors.sum(axis=1, keepdims=True)


def check_sparsity(sparsity, d: int, name: str = "sparsity") -> np.ndarray:
    """One share in (0, 1] per axis, from one number or one per axis."""
    if isinstance(sparsity, (str, dict, set)):
        raise ValueError(f"{name} must be a number in (0, 1] or one per axis; got {sparsity!r}")
    with named_errors(name):
        shares = np.atleast_1d(np.asarray(sparsity, float))
    if shares.ndim != 1 or len(shares) not in (1, d):
        raise ValueError(f"{name} must be one number or one per axis ({d} axes); got {sparsity!r}")
    if not (np.all(shares > 0) and np.all(shares <= 1)):
        raise ValueError(f"{name} must lie in (0, 1], 1 meaning dense; got {sparsity!r}")
    return np.broadcast_to(shares, d).copy()


def parse_memory(memory: Any) -> int:
    """The number of bytes in a budget such as "1GB", "500 MB", "2GiB" or 10**9."""
    size: float = np.nan
    if isinstance(memory, str):
        text = memory.strip().upper()
        number = text.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        try:
            size = float(number) * _UNITS[text[len(number) :].strip() or "B"]
        except (ValueError, KeyError):
            size = np.nan
    elif isinstance(memory, (int, float, np.integer)) and not isinstance(memory, bool):
        size = float(memory) if -(2**63) < memory < 2**63 else np.nan
    if not 0 < size < np.inf:
        raise ValueError(f"memory must be a budget like '1GB' or '500MB', or a number of bytes; got {memory!r}")
    return int(size)


def check_rows(n: int, least: int) -> None:
    """Raise an error if there are fewer than `least` rows."""
    if n < least:
        raise ValueError(f"Found a table with {n} rows where at least {least} are required.")


def check_weights(sample_weight, X) -> np.ndarray | None:
    """Check that weights are non-negative, one per row; None is returned unchanged."""
    if sample_weight is None:
        return None
    n = len(X) if hasattr(X, "rows_at") else _num_samples(X)
    if is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    with named_errors("sample_weight"):
        if isinstance(sample_weight, numbers.Number):
            sample_weight = np.full(n, float(sample_weight))  # type: ignore[arg-type]
        if np.ma.isMaskedArray(sample_weight):
            sample_weight = unmasked(sample_weight)
        weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one value per row, shape ({n},); got {weights.shape}")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"sample_weight must not be negative; row {row} has {weights[row]:g}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: nothing to fit")
    odd = (weights > _HEAVIEST) | ((weights < 1 / _HEAVIEST) & (weights > 0))
    if odd.any():
        row = int(np.argmax(odd))
        raise ValueError(
            f"sample_weight must be 0 or lie between {1 / _HEAVIEST:g} and {_HEAVIEST:g}; row {row} has "
            f"{weights[row]:g}: a weight of 2 is equivalent to repeating the row"
        )
    return weights


def check_clusters(n_clusters, X, weights) -> None:
    """Check that K is less than the number of rows and that there are at least K distinct rows."""
    n = len(X) if weights is None else int(np.count_nonzero(weights))
    counted = f"n_samples={n}" if weights is None else f"n_samples={n} with positive weight"
    if n_clusters >= n:
        raise ValueError(f"n_clusters={n_clusters} must be smaller than the number of rows ({counted})")
    seen: set[bytes] = set()
    read = getattr(X, "rows_at", lambda index: X[index[0] : index[-1] + 1])
    for start, stop in _growing(len(X)):
        for i, row in enumerate(read(np.arange(start, stop)), start):
            if weights is None or weights[i] > 0:
                seen.add((row + 0.0).tobytes())  # -0.0 equals 0.0, but its bytes differ
            if len(seen) >= n_clusters:
                return
    found = count(len(seen), "distinct row")
    raise ValueError(f"X has only {found}, fewer than n_clusters={n_clusters}: lower n_clusters")


def _growing(n: int):
    """Ranges over n rows, from 64 to 16,384 of them: usually the first few rows suffice."""
    start, size = 0, 64
    while start < n:
        stop = min(n, start + size)
        yield start, stop
        start, size = stop, min(2 * size, 2**14)
