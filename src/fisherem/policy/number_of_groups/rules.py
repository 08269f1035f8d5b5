"""Rules that choose a number of groups: each gives a value per K and says which K it picks.

A rule is an entry of `RULES` and sees the evidence: the rows (`evidence.data`), the fit of every K and the fits to
halves. Every criterion of `CRITERIA` is a rule without being entered here. The columns of a search's results, the
verdict's table and the page ask `all_rules`. A rule has a vote if the verdict's own steps use it; the others are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._utils.register import Register
from ...model.criteria import CRITERIA
from ..thresholds import THRESHOLDS
from .evidence import Evidence

__all__ = ["RULES", "Rule", "all_rules", "largest", "largest_above"]

LIMITS = THRESHOLDS.number_of_groups

Values = dict[int, float]


@dataclass(frozen=True)
class Rule:
    """How a rule sees the numbers of groups.

    `values` gives a value per K (those without one are left out), `pick` the K that they speak for: None where they do
    not say.
    """

    name: str
    label: str
    says: str  # in words, for pages
    values: Callable[[Evidence], Values]
    pick: Callable[[Values], int | None]
    votes: bool = False


def largest(values: Values) -> int | None:
    """The number of groups with the largest value; the smaller one of equals."""
    known = {K: v for K, v in values.items() if np.isfinite(v)}
    return max(sorted(known), key=lambda K: known[K], default=None)


def largest_above(values: Values, least: float) -> int | None:
    """The largest number of groups whose value is at least `least`, else 1; None without values."""
    known = {K: v for K, v in values.items() if np.isfinite(v)}
    return max((K for K, v in known.items() if v >= least), default=1) if known else None


def _of_fits(name: str) -> Callable[[Evidence], Values]:
    def values(evidence: Evidence) -> Values:
        fits = {K: one for K, one in evidence.candidates.items() if not one.reason and name in one.values}
        return {K: fits[K].values[name] for K in sorted(fits)}

    return values


def _apart(values: Values) -> int | None:
    """The largest number of groups that are all apart."""
    return largest_above({K: -v for K, v in values.items()}, -LIMITS.apart)


def _one_group(evidence: Evidence) -> Values:
    return {1: evidence.one_group} if np.isfinite(evidence.one_group) else {}


_RULES = (
    Rule("score_gain", "gain on scores", "log-likelihood of overlapping groups without skew and tails, less that of "
         "one group and the price of the parameters, in nats", _of_fits("score_gain"), largest, votes=True),
    Rule("valley", "density between groups", "between the two groups that are least apart, as a share of the density "
         "inside them; picks the largest K whose groups are all apart", _of_fits("valley"), _apart, votes=True),
    Rule("agreement", "agreement of halves", "adjusted Rand index of fits to two halves of the rows",
         lambda evidence: {K: halves.agreement for K, halves in sorted(evidence.halves.items())}, largest, votes=True),
    Rule("strength", "prediction strength", "the largest K at which every group holds together on the other half",
         lambda evidence: {K: halves.strength for K, halves in sorted(evidence.halves.items())},
         lambda values: largest_above(values, LIMITS.strong), votes=True),
    Rule("one_group", "p-value of one group", "the share of tables of one group in which groups gain as much",
         _one_group, lambda values: (1 if values[1] > LIMITS.significant else None) if values else None, votes=True),
)  # fmt: skip
RULES: Register[Rule] = Register("rule", {rule.name: rule for rule in _RULES})


def all_rules() -> dict[str, Rule]:
    """Every rule by name: the entries of `RULES`, and a rule without a vote per criterion."""
    of_criteria = {
        name: Rule(name, one.label, one.formula, _of_fits(name), largest)
        for name, one in CRITERIA.items()
        if name not in RULES
    }
    return {**RULES, **of_criteria}
