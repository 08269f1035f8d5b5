"""Results in the precision of the rows: single for rows in single precision, double for all others."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["in_precision_of", "precision_of"]


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
