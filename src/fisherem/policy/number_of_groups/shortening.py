"""The variables of the chosen fit: a shorter list, where C on columns without skew says that it is enough.

With C below 0 the estimator keeps every variable that differs between the groups. The number of groups is known here,
so the lists that the variants of C prefer for its partition can be tried: Fisher-EM on each of them, from that
partition, and C of what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.data.problem import Problem
from ...core.engine.loop import Fit
from ..alternation import Wanted, fit_subset
from .partition_values import PENALTIES, partition_c, without_skew
from .transforms import TRANSFORMS

__all__ = ["Shorter", "shorter"]

# A list is worth a change of the fit if it is this much better, in nats, or as good and shorter.
_AS_GOOD = 1.0
# What the fewest variables may cost: Kass and Raftery (1995) call 5 nats very strong evidence, and the best of several
# lists is better by chance alone.
_TOLERANCE = 10.0


@dataclass(frozen=True)
class Shorter:
    """A fit on a list of variables, and C of its partition on columns without skew."""

    value: float
    support: np.ndarray
    fit: Fit | None  # None: the fit as it was


def shorter(
    model, problem: Problem, rows: np.ndarray, values: np.ndarray, weights: np.ndarray, fewest: bool
) -> Shorter:
    """The best list of variables for the partition of a fitted estimator, or the fewest that are nearly as good.

    `values` (m x p) and `weights` (m) are the rows (numbers `rows`) that C is computed on.
    """
    labels = np.asarray(model.labels_, int)
    own = Shorter(_value(values, labels[rows], weights), np.flatnonzero(model.support_), None)
    found = [own, *_others(model, problem, rows, values, weights, labels)]
    best = max(one.value for one in found)
    near = [one for one in found if one.value >= best - (_TOLERANCE if fewest else _AS_GOOD)]
    return min(near, key=lambda one: (len(one.support), -one.value))


def _others(model, problem: Problem, rows, values, weights, labels):
    """Fits on the lists that the variants of C prefer, where all groups stay."""
    K = len(model.weights_)
    if len(np.unique(labels[rows])) < K:
        return
    spec = model._specification(problem.given.n, problem.p)
    spec = replace(spec, family=replace(spec.family, sparse=None))
    seen = {tuple(np.flatnonzero(model.support_))}
    for transform in TRANSFORMS.values():
        columns = transform.apply(values, labels[rows], weights)
        for c in PENALTIES:
            support = partition_c(columns, labels[rows], weights, c).support
            if tuple(support) in seen or len(support) < 2:
                continue
            seen.add(tuple(support))
            with problem.rows.threads():
                fit = fit_subset(problem, spec, Wanted(labels, support, K - 1, model.model_))
            if fit is None:
                continue
            new = problem.rows.gather(fit.states, "labels")
            if len(np.unique(new[rows])) == K:
                yield Shorter(_value(values, new[rows], weights), support, fit)


def _value(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """C without skew, of the groups that these rows show."""
    return without_skew(values, np.unique(labels, return_inverse=True)[1], weights)
