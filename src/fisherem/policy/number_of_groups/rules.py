"""Rules that choose a number of groups: each gives a value per K and says which K it picks.

A rule is an entry of `RULES`. The columns of a search's results, the verdict's table, the report and the benchmark ask
that register.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._utils.register import Register
from ...model.criteria import CRITERIA
from .evidence import Evidence
from .partition_values import PENALTIES
from .transforms import TRANSFORMS

__all__ = ["RULES", "Rule", "largest", "largest_above"]

Values = dict[int, float]
# Tibshirani and Walther (2005) take the largest K with a prediction strength of at least this.
_STRONG = 0.8
# One group is refused at this p-value, the smallest that nineteen draws can give.
_SIGNIFICANT = 0.05
# A line through fewer points says nothing of its slope.
_LEAST_POINTS = 4


@dataclass(frozen=True)
class Rule:
    """How a rule sees the numbers of groups.

    `values` gives a value per K (those without one are left out), `pick` the K that they speak for: None where they
    do not say. `kind` is "likelihood" (of the estimator's fit), "partition" or "rows" (do groups come back).
    """

    name: str
    label: str
    says: str  # in words, for pages
    kind: str
    values: Callable[[Evidence], Values]
    pick: Callable[[Values], int | None]


def largest(values: Values) -> int | None:
    """The number of groups with the largest value; the smaller one of equals."""
    known = {K: v for K, v in values.items() if np.isfinite(v)}
    return max(sorted(known), key=lambda K: known[K], default=None)


def largest_above(values: Values, least: float, otherwise: int = 1) -> int | None:
    """The largest number of groups whose value is at least `least`, else `otherwise`; None without values."""
    known = {K: v for K, v in values.items() if np.isfinite(v)}
    return max((K for K, v in known.items() if v >= least), default=otherwise) if known else None


def _of_fit(name: str) -> Callable[[Evidence], Values]:
    def values(evidence: Evidence) -> Values:
        owns = {K: evidence.own(K) for K in evidence.numbers}
        return {K: own.values[name] for K, own in owns.items() if own is not None and name in own.values}

    return values


def _of_partition(name: str) -> Callable[[Evidence], Values]:
    def values(evidence: Evidence) -> Values:
        bests = {K: evidence.best(K) for K in evidence.numbers}
        return {K: best.values[name] for K, best in bests.items() if best is not None}

    return values


def _groups_at_all(evidence: Evidence) -> Values:
    """The mixture's gain over one group on normal scores or after a power transformation, whichever is less."""
    scores, power = _of_partition("mixture_scores")(evidence), _of_partition("mixture_power")(evidence)
    return {K: min(scores[K], power[K]) for K in scores}


def _slope(evidence: Evidence) -> Values:
    """Log-likelihood less twice the slope of its line against the parameters (Theil and Sen: the median of slopes).

    The line is that of the larger half of the models, where more groups only follow noise.
    """
    likelihoods, parameters = _of_fit("log_likelihood")(evidence), _of_fit("n_parameters")(evidence)
    numbers = sorted(likelihoods)
    large = numbers[len(numbers) // 2 :]
    if len(numbers) < _LEAST_POINTS:
        return {}
    pairs = [(a, b) for a in large for b in large if parameters[b] > parameters[a]]
    slopes = [(likelihoods[b] - likelihoods[a]) / (parameters[b] - parameters[a]) for a, b in pairs]
    slope = max(float(np.median(slopes)), 0.0) if slopes else 0.0
    return {K: likelihoods[K] - 2 * slope * parameters[K] for K in numbers}


def _one_or_two(evidence: Evidence) -> Values:
    p_value = evidence.one_group
    return {1: p_value, 2: 1 - p_value} if np.isfinite(p_value) else {}


def _agreement(evidence: Evidence) -> Values:
    return {K: halves.agreement for K, halves in evidence.halves.items()}


def _strength(evidence: Evidence) -> Values:
    return {K: halves.strength for K, halves in evidence.halves.items()}


def _c_label(transformed: str, c: int) -> str:
    return " ".join(filter(None, ("C", transformed, f"(c = {c})")))


def _rules() -> list[Rule]:
    likelihoods = [
        Rule(name, CRITERIA[name].label, CRITERIA[name].formula, "likelihood", _of_fit(name), largest)
        for name in ("bic", "icl", "aic")
    ]
    slope = Rule("slope", "slope heuristic", "log-likelihood less twice its slope against the parameters", "likelihood",
                 _slope, largest)  # fmt: skip
    partitions = [
        Rule(f"c{c}_{name}", _c_label(one.label, c), f"{_c_label(one.label, c)}: a penalty of {c} times BIC's",
             "partition", _of_partition(f"c{c}_{name}"), largest)
        for name, one in TRANSFORMS.items() for c in PENALTIES
    ]  # fmt: skip
    return [
        *likelihoods,
        slope,
        *partitions,
        Rule("micl", "MICL", "integrated complete likelihood of independent variables", "partition",
             _of_partition("micl"), largest),
        Rule("groups", "gain over one group", "of overlapping groups without skew; at most 0 where one group is enough",
             "partition", _groups_at_all, largest),
        Rule("one_or_two", "one group against two", "p-value of one Gaussian group, from tables drawn from it", "rows",
             _one_or_two, lambda values: (2 if values[1] <= _SIGNIFICANT else 1) if values else None),
        Rule("agreement", "agreement of halves", "adjusted Rand index of fits to two halves of the rows", "rows",
             _agreement, largest),
        Rule("strength", "prediction strength", "the largest K at which every group holds together on the other half",
             "rows", _strength, lambda values: largest_above(values, _STRONG)),
    ]  # fmt: skip


RULES: Register[Rule] = Register("rule", {rule.name: rule for rule in _rules()})
