"""Every threshold of an automatic decision, with where it comes from.

`tests/policy/test_thresholds.py` has a test for each of them that fails when it moves.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["THRESHOLDS", "Thresholds"]


@dataclass(frozen=True)
class Thresholds:
    """What the decisions compare with."""

    # -- columns ---------------------------------------------------------------------------------------------------

    # Columns share a unit, and stay as they are, if the largest standard deviation is no further above the median
    # than that of as many log-normal draws with this spread of the logarithm (twice the median for 4 columns, six
    # times for 4,000), and if the quartiles of the standard deviations are within this factor. On 27 tables, all of
    # which were looked at, standardising lost where both hold (usps358: 0.80 to 0.23, lymphoma 0.95 to 0.43) and
    # gained where one does not (diabetes, body, oils, segment, wine).
    unit_spread: float = 0.45
    unit_quartiles: float = 4.0
    # Where nothing is to be scaled, columns this many times the median one are warned of: they weigh a hundred times as
    # much as half of the others. Tables in one unit stay below it (lymphoma 4.8), the raw wines have 388.
    dominates: float = 10.0
    # Columns whose spacing of values has more than this share of their variance are of few values, and keep them.
    few_valued: float = 1e-3

    # A Gaussian density cannot judge a column in which one value has more than this share of the rows (zeros of counts,
    # saturated pixels, yes and no): with 0.2 the judge left the right groups of usps358 for worse ones.
    spike: float = 0.25

    # -- groups ----------------------------------------------------------------------------------------------------

    # Differences in gain below this share of log K, in nats per row, or below this share of a large gain, say nothing:
    # on breast cancer partitions within 0.02 nats per row have an adjusted Rand index with the classes of 0.45 to 0.86.
    tie: float = 0.05
    # Groups that another start than k-means led to must gain more by this share. Between 0.1 and 0.2 it makes no
    # difference on the 44 tables that were looked at; with 0.05 the oils are left for worse groups.
    move: float = 0.1
    # From this many columns per row on, few variables cannot be told from chance, and all are judged together.
    # With 1.5 to 3 columns per row (wine with noise columns) few variables are still the better judge.
    columns_per_row: float = 4.0
    # Groups with fewer rows than this share, or than this number, are outliers: no partition with them is moved to.
    small_share: float = 0.05
    small_rows: int = 10
    # Partitions that agree more than this (adjusted Rand index) are one.
    same_partition: float = 0.95

    # -- variables -------------------------------------------------------------------------------------------------

    # A selection is enough if the groups that it makes agree this much (adjusted Rand index) with those it is made for.
    gives_back: float = 0.8

    # -- rows ------------------------------------------------------------------------------------------------------

    # A row is outside all groups if a member of its nearest group would be as far away with less than this probability:
    # one row in a thousand is, by chance. Fits to half of the rows put 0 to 0.002 of these rows outside on seven
    # tables, and of the other half none of usps358 and satimage, 0.03 of iris, 0.06 of the wines (89 rows of 13
    # variables).
    outside: float = 1e-3


THRESHOLDS = Thresholds()
