"""How the command line treats missing cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from .._utils.register import Register
from .._utils.wording import count
from .errors import TableError

__all__ = ["REFUSE", "TREATMENTS", "treated"]


def _kept(gaps: np.ndarray, drop: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(rows to keep, columns to keep): all of them, or only the complete ones along the axis `drop`."""
    kept = [np.ones(size, bool) for size in gaps.shape]
    if drop is not None:
        kept[drop] = np.asarray(~gaps.any(axis=1 - drop))
    return kept[0], kept[1]


# Each treatment maps the missing cells of a table (bool, n x p) to (rows to keep, columns to keep).
TREATMENTS: Register[Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = Register(
    "treatment of missing values",
    {"model": _kept, "refuse": _kept, "drop-rows": partial(_kept, drop=0), "drop-columns": partial(_kept, drop=1)},
)
REFUSE = "refuse"


def treated(gaps: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray, str]:
    """(rows to keep (n), columns to keep (p), a note on what was done) for missing cells (bool, n x p)."""
    rows, columns = TREATMENTS.find(how)(gaps)
    counted = [("row", rows, gaps.any(axis=1)), ("column", columns, gaps.any(axis=0))]
    for what, kept, _ in counted:
        if not kept.any():
            raise TableError(f"every {what} has missing cells: --missing model keeps them all")
    where = " and ".join(count(int(affected.sum()), what) for what, _, affected in counted)
    dropped = " and ".join(count(int((~kept).sum()), what) for what, kept, _ in counted if not kept.all())
    done = f"{dropped} left out" if dropped else "the model uses the observed cells of each row"
    return (
        rows,
        columns,
        f"{gaps.sum():,} of {count(gaps.size, 'cell')} are missing, in {where}: {done} (--missing {how})",
    )
