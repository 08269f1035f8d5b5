"""Columns that are so much larger than the others that they alone make the groups, unless the columns are scaled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._utils.wording import column_name, listed
from ..em.problem import Problem

__all__ = ["LARGE_COLUMNS", "large_columns", "warn_of_large_columns"]

# Times the standard deviation of all other columns. A column ten times larger may be meant so, and the raw wines have
# one that is twenty times larger; from a thousand on, the squares of the others are one in a million of its own.
_TIMES = 1000.0
# How the warning begins: for those who have said it already.
LARGE_COLUMNS = "without scaling"


def large_columns(problem: Problem) -> tuple[np.ndarray, float]:
    """(numbers of the columns that are a thousand times larger than all others, by how much); none if no column is.

    They are at most half of the columns: where most are large, it is the others that are small.
    """
    variances = np.asarray(problem.scatter.variances(), float)
    varying = np.flatnonzero(~problem.constant & (variances > 0))
    order = varying[np.argsort(-variances[varying], kind="stable")]
    sizes = np.sqrt(variances[order])
    half = len(order) // 2
    ratios = sizes[:half] / sizes[1 : half + 1]
    found = np.flatnonzero(ratios >= _TIMES)
    if not len(found):
        return order[:0], 1.0
    return np.sort(order[: found[0] + 1]), float(ratios[found[0]])


def warn_of_large_columns(problem: Problem, names: Any) -> None:
    """Say which columns make the groups by their size alone, and what to do, for a fit that scales nothing."""
    columns, times = large_columns(problem)
    if not len(columns):
        return
    shown = listed(column_name(int(j)) if names is None else names[j] for j in columns)
    one, ratio = len(columns) == 1, f"{times:,.0f}" if times < 1e6 else f"{times:.1e}"
    whose = f"column {shown} has a standard deviation" if one else f"columns {shown} have standard deviations"
    warnings.warn(
        f"{LARGE_COLUMNS}, the largest columns alone make the groups: {whose} {ratio} times as large as all "
        "others; give scale='auto' or scale='standardise' (on the command line --auto-scale, or leave out --no-scale)",
        stacklevel=5,
    )
