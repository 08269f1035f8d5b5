"""Weights of rows that stand in a file: numbers from 0 on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .errors import TableError

__all__ = ["weights_of"]


def weights_of(cells: Sequence[Any] | np.ndarray, place: Callable[[int], str], name: str) -> np.ndarray:
    """The cells (n) as weights, or an error for the first that is none; `place(row)` says where it stands."""
    values = pd.to_numeric(pd.Series(list(cells), dtype=object), errors="coerce").to_numpy(float)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        i = int(np.argmax(bad))
        held = "is empty" if pd.isna(cells[i]) else f"is {str(cells[i])!r}"
        raise TableError(f"{place(i)}: the weight (--weight-column {name!r}) {held}; it must be a number from 0 on")
    return values
