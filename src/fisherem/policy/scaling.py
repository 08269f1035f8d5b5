"""Whether columns are divided by their standard deviations: not where they share a unit.

Columns that share a unit (pixels, bands, the same measurement on many probes) have standard deviations of one size, and
those that vary more are meant to count for more. In a table of different units the largest column would decide alone.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._utils.wording import column_name, listed
from ..core.data.problem import Problem
from .decisions import Decision
from .thresholds import THRESHOLDS

__all__ = [
    "LARGE_COLUMNS", "RAW", "SCALES", "STANDARDISE", "divisors", "large_columns_text", "over_median", "scaling",
    "share_a_unit", "standard_deviations", "warn_of_constant_columns", "warn_of_large_columns",
]  # fmt: skip

RAW, STANDARDISE, AUTO = "none", "standardise", "auto"
SCALES = (AUTO, STANDARDISE, RAW)
# How the warning of large columns begins, so that callers recognise it and do not repeat it.
LARGE_COLUMNS = "without scaling"
_TINY = np.finfo(float).tiny


def standard_deviations(problem: Problem) -> np.ndarray:
    """Of the columns (p); 1 for constant ones."""
    variances = np.maximum(problem.scatter.variances(), 0)
    return np.where(problem.constant | (variances <= 0), 1.0, np.sqrt(variances))


def divisors(problem: Problem, scale: str) -> np.ndarray:
    """What the columns (p) are divided by: numbers by their standard deviations, or by nothing with scale "none".

    The indicators of a category are divided by the square root of its share, as in the factor analysis of mixed data
    (Pages 2004): an indicator then has the variance 1 less its share, and all of a category's directions have the
    variance 1, the weight of a standardised number.
    """
    found = np.ones(problem.p) if scale == RAW else standard_deviations(problem)
    if problem.blocks is None:
        return found
    shares = np.maximum(problem.centre, 0)
    return np.where(problem.blocks.indicators & (shares > 0), np.sqrt(np.maximum(shares, _TINY)), found)


def _ratios(problem: Problem) -> np.ndarray:
    """The standard deviations of the columns over the median of those that vary (p); 0 for constant ones."""
    return over_median(np.where(problem.constant, 0.0, standard_deviations(problem)))


def over_median(deviations: np.ndarray) -> np.ndarray:
    """Standard deviations (p) over the median of those that are not 0."""
    varying = deviations[deviations > 0]
    return deviations / np.median(varying) if len(varying) else np.zeros(len(deviations))


def share_a_unit(deviations: np.ndarray) -> bool:
    """Whether columns with these standard deviations (p) are likely to be measured in one unit.

    Of p columns in one unit the largest deviation is the larger, the more there are: that of p log-normal draws.
    """
    varying = deviations[deviations > 0]
    if not len(varying):
        return True
    largest = np.exp(THRESHOLDS.unit_spread * np.sqrt(2 * np.log(max(len(varying), 2))))
    low, high = np.quantile(varying, [0.25, 0.75])
    return bool(over_median(varying).max() <= largest and high <= THRESHOLDS.unit_quartiles * low)


def scaling(problem: Problem, wanted: str) -> tuple[str, Decision]:
    """("none" or "standardise", why) for columns as they were given and what the user asked for."""
    if wanted != AUTO:
        return wanted, Decision("scaling", wanted, "", "as given")
    if problem.blocks is not None:
        return STANDARDISE, Decision("scaling", STANDARDISE, "", "categories weigh as much as standardised numbers do")
    done = RAW if share_a_unit(np.where(problem.constant, 0.0, standard_deviations(problem))) else STANDARDISE
    how = "the columns share a unit" if done == RAW else "the columns differ in unit"
    ratio = f"{_ratios(problem).max():.3g}"
    return done, Decision("scaling", done, "", f"{how}: the largest standard deviation is {ratio} times the median one")


def large_columns_text(problem: Problem, names: Any) -> str:
    """Which columns dominate rows that were not scaled, and what to do; "" if none does."""
    ratios = _ratios(problem)
    columns = np.flatnonzero(ratios >= THRESHOLDS.dominates)
    if not len(columns):
        return ""
    shown = listed(column_name(int(j)) if names is None else names[j] for j in columns)
    times = float(ratios.max())
    one, ratio = len(columns) == 1, f"{times:,.0f}" if times < 1e6 else f"{times:.1e}"
    whose = f"column {shown} has a standard deviation" if one else f"columns {shown} have standard deviations up to"
    return (
        f"{LARGE_COLUMNS}, the largest columns dominate the groups: {whose} {ratio} times the median column's; give "
        "scale='auto' or scale='standardise' (on the command line leave out --no-scale)"
    )


def warn_of_large_columns(problem: Problem, names: Any) -> None:
    """Warn where columns dominate a fit that scales nothing."""
    if text := large_columns_text(problem, names):
        warnings.warn(text, stacklevel=5)


def warn_of_constant_columns(problem: Problem, names) -> None:
    """Warn about constant columns, which cannot be selected."""
    constant = np.flatnonzero(problem.constant)
    if len(constant):
        shown = listed(constant, quoted=False) if names is None else listed([names[j] for j in constant])
        warnings.warn(f"constant columns carry no information and are never selected: {shown}", stacklevel=4)
