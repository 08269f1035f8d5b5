"""Every threshold of the decision about the number of groups, with where it comes from.

They were chosen on the draws of `benchmarks/how_many.py --first 0`, revised after those of `--first 100000` and
`--first 300000`, and checked on those of `--first 500000`.
`tests/search/how_many/test_verdict.py` has a test for each of them that fails when it moves.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LIMITS", "Limits"]


@dataclass(frozen=True)
class Limits:
    """What the decision about the number of groups compares with."""

    # A gain that is closer to 0 than this, in nats, is compared with tables of one group. The best of 1 to 5 groups of
    # pure noise of nine kinds gained -1 at most in 60 tables, and more than -10 in a quarter of them.
    close: float = 10.0
    # The p-value at which one group is called unlikely: the smallest that nineteen draws can give.
    significant: float = 0.05
    # Groups are apart if the density between any two of them is at most this share of that inside. Groups 3 standard
    # deviations apart have 0.76 or more (`valleys`), groups cut from one cloud 0.6 to 1.
    apart: float = 0.6
    # Nothing more is clear: groups 3.5 to 4 standard deviations apart.
    clearly_apart: float = 0.5
    # A larger number of groups that are nearly apart, and gain as much or are reproducible, keeps a smaller one from
    # being clear: four groups at 4 standard deviations with tails had 0.61.
    nearly_apart: float = 0.8
    # Reproducible groups that are only nearly apart are preferred to groups that are apart if they gain this many times
    # as much: 1.5 on five phonemes, at most 1.24 where too many groups followed the shape of the right ones.
    much_more: float = 1.25
    # Of numbers that gain the same (within `close`) the larger one is taken if its smallest group has this share of the
    # rows: groups with heavy tails lose a few nats against two of them taken together, outlying rows are no group.
    share: float = 0.1
    # Where few variables cannot be told from chance (wide tables), the gain grows with every group, and the largest
    # number with this prediction strength is taken, as Tibshirani and Walther (2005) do.
    strong: float = 0.8
    # Groups are reproducible if fits to halves agree by this (adjusted Rand index) and half of the pairs of rows in
    # every group stay together. Cuts along a common factor of the noise reach 0.7: this alone is no evidence.
    reproducible: float = 0.6
    holds_together: float = 0.5
    # Nothing less is clear.
    clearly_reproducible: float = 0.75
    # Below this agreement on the first split no other split is made. Halves of pure noise agree by less, unless it has
    # common factors: with more, one group is not clear.
    hopeless: float = 0.3
    # A larger number that is nearly apart and gains less by at most this share, or by `close` where that is more, keeps
    # another one from being clear.
    less: float = 0.03
    # Joint tails beyond this many standard errors: groups that differ in spread alone reach 10, noise of nine kinds 3.
    tails: float = 5.0
    # A single column that gains this much, in nats, shows groups. The best of a hundred uniform columns reaches 6, two
    # groups 6 standard deviations apart 70 (250 rows).
    column: float = 8.0
    # A column whose kurtosis is this many standard errors below that of a Gaussian one is flat: several groups that
    # overlap look like that, and so does a uniform column. The flattest of 50 Gaussian columns has 2.4.
    flat: float = 2.5
    # With fewer rows, or fewer rows per column, one group is never clear: groups on few columns stay hidden then.
    rows: int = 300
    rows_per_column: float = 4.0


LIMITS = Limits()
