"""Columns that are so much larger than the others that they dominate the groups, unless the columns are scaled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._utils.wording import column_name, listed
from ..core.data.problem import Problem

__all__ = ["LARGE_COLUMNS", "large_columns", "large_columns_text", "warn_of_large_columns"]

# Times the median of the columns' standard deviations. At 10 a column weighs a hundred times as much as half of the
# others. Tables in one unit stay below it (iris 2.2, usps358 1.2, satimage 1.3, lymphoma 4.8); the raw wines have 388.
_TIMES = 10.0
# How the warning begins: for those who have said it already.
LARGE_COLUMNS = "without scaling"


def large_columns(problem: Problem) -> tuple[np.ndarray, float]:
    """(numbers of the columns ten times as large as the median column, the largest ratio); constant ones do not count.

    "Large" is a column's standard deviation.
    """
    variances = np.asarray(problem.scatter.variances(), float)
    varying = np.flatnonzero(~problem.constant & (variances > 0))
    if not len(varying):
        return varying, 1.0
    sizes = np.sqrt(variances[varying])
    ratios = sizes / np.median(sizes)
    return varying[ratios >= _TIMES], float(ratios.max())


def large_columns_text(problem: Problem, names: Any) -> str:
    """Which columns dominate rows that were not scaled, and what to do; "" if none does."""
    columns, times = large_columns(problem)
    if not len(columns):
        return ""
    shown = listed(column_name(int(j)) if names is None else names[j] for j in columns)
    one, ratio = len(columns) == 1, f"{times:,.0f}" if times < 1e6 else f"{times:.1e}"
    whose = f"column {shown} has a standard deviation" if one else f"columns {shown} have standard deviations up to"
    return (
        f"{LARGE_COLUMNS}, the largest columns dominate the groups: {whose} {ratio} times the median column's; give "
        "scale='auto' or scale='standardise' (on the command line --auto-scale, or leave out --no-scale)"
    )


def warn_of_large_columns(problem: Problem, names: Any) -> None:
    """Warn where columns dominate a fit that scales nothing."""
    if text := large_columns_text(problem, names):
        warnings.warn(text, stacklevel=5)
