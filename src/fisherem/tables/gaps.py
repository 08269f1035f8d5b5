"""Whether a table has missing cells, which is one look at the data, and what the command line does about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._utils.register import Register
from .._utils.wording import count
from .errors import TableError

__all__ = ["REFUSE", "TREATMENTS", "has_gaps", "treated"]


def has_gaps(table: Any) -> bool:
    """Whether an array (n x p) has NaN; tables that are not in memory have none, as reading them refuses NaN."""
    if not isinstance(table, np.ndarray):
        return False
    # a sum is NaN if any term is; infinities of both signs that overflow makes are sorted out by the closer look
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(table.sum(dtype=np.float64)) and np.isnan(table).any())


def _all_kept(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(len(gaps), bool), np.ones(gaps.shape[1], bool)


def _whole_rows(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(~gaps.any(axis=1)), np.ones(gaps.shape[1], bool)


def _whole_columns(gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(len(gaps), bool), np.asarray(~gaps.any(axis=0))


# What is done about the missing cells of a table, bool n x p: (rows to keep, columns to keep) of each treatment.
TREATMENTS: Register[Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = Register(
    "treatment of missing values",
    {"model": _all_kept, "refuse": _all_kept, "drop-rows": _whole_rows, "drop-columns": _whole_columns},
)
REFUSE = "refuse"


def treated(gaps: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray, str]:
    """(rows to keep (n), columns to keep (p), what was done, in words) for missing cells, bool n x p."""
    rows, columns = TREATMENTS.find(how)(gaps)
    if not rows.any() or not columns.any():
        what = "row" if not rows.any() else "column"
        raise TableError(f"every {what} has missing cells: --missing model keeps them all")
    found = f"{gaps.sum():,} of {count(gaps.size, 'cell')} are missing, in {count(int(gaps.any(axis=1).sum()), 'row')}"
    found += f" and {count(int(gaps.any(axis=0).sum()), 'column')}: "
    dropped = [count(int((~rows).sum()), "row")] if not rows.all() else []
    dropped += [count(int((~columns).sum()), "column")] if not columns.all() else []
    done = f"{' and '.join(dropped)} left out" if dropped else "the model uses the observed cells of each row"
    return rows, columns, f"{found}{done} (--missing {how})"
