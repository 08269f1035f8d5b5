"""Refuses NaN and infinite values, and says where they are."""

from __future__ import annotations

import numpy as np

__all__ = ["check_finite"]


def check_finite(X: np.ndarray, names=None, *, first: int = 0, where: str = "", missing: bool = False) -> None:
    """Raise on the first NaN or infinite value, by row (counted from `first`) and column; `missing`: NaN may be."""
    # a sum is not finite if any term is not (or if it overflows, which the closer look below tells apart)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return
    for start in range(0, len(X), 4096):
        block = X[start : start + 4096]
        bad = np.isinf(block) if missing else ~np.isfinite(block)
        if bad.any():
            i, j = np.argwhere(bad)[0]
            what = "NaN" if np.isnan(block[i, j]) else "infinity"
            more = int(bad.sum()) - 1
            column = f"column {j}" if names is None else f"column {names[j]!r}"
            raise ValueError(
                f"Input X contains {what}: row {first + start + i}, {column}{where}"
                + (f" (and {more} more in nearby rows)" if more else "")
                + "; remove or impute such values first"
                + (" (FisherEM and SparseFisherEM fit around missing values in memory)" if what == "NaN" else "")
            )
