"""Whether a table has missing cells: one look at the data."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["has_gaps"]


def has_gaps(table: Any) -> bool:
    """Whether an array (n x p) has NaN; tables that are not in memory have none, as reading them refuses NaN."""
    if not isinstance(table, np.ndarray):
        return False
    # a sum is NaN if any term is; infinities of both signs that overflow makes are sorted out by the closer look
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(table.sum(dtype=np.float64)) and np.isnan(table).any())
