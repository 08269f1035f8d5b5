"""A search with covariates: on rows less their effects, which are those of the groups that the search chooses.

The effects depend on the groups, and the number of groups on the effects. The search begins with the effects that
belong to the k-means partition of the largest C(K, S), and is repeated with those of the groups that it has found until
they no longer change. It never begins with one group: effects that are estimated without groups take out part of the
groups that are unbalanced over batches, and hide them, while groups that do not exist change the effects little.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.data.problem import Problem, prepare
from ..core.engine.loop import Fit
from ..estimators.covariates import (
    CovariateFit,
    Covariates,
    attach,
    fit_with_covariates,
    read_covariates,
    regression,
    sample_for_effects,
)
from ..estimators.fitting import adopt
from ..model.criteria import CRITERIA
from ..policy.covariates import distance_moved, first_effects, is_settled
from ..policy.criterion import Partition, judge
from ..policy.forward_backward import select
from ..tables.scaling import adjusted, in_unit

__all__ = ["search_with_covariates"]

# Searches at most; one is enough where the first effects are those of the groups.
_ROUNDS = 3
# Numbers of groups that the first effects are tried with, where the search tries more.
_MOST_GROUPS = 6

Search = Callable[[Any, Any, Any], tuple[Problem, Fit]]


def search_with_covariates(search, table, weights, covariates: Any, run: Search) -> None:
    """Search on a checked table with covariates by `run(search, rows, weights)`; sets the search's attributes."""
    numbers = sorted({2, *search._clusters()} - {1})
    found = read_covariates(covariates, table, weights, numbers[-1])
    effects = _first(search.estimator, table, weights, found, [K for K in numbers if K <= _MOST_GROUPS])
    for number in range(1, _ROUNDS + 1):
        with warnings.catch_warnings():
            if number > 1:  # the first round has warned already
                warnings.simplefilter("ignore")
            problem, fit = run(search, adjusted(table, found.Z, effects), weights)
        best = search.best_estimator_
        with problem.rows.closed_on_error():
            step = regression(problem, problem.rows.gather(fit.states, "posteriors"), found.Z, best.scales_)
        moved = distance_moved(step.effects / best.scales_, step, problem.scatter.variances(), problem.weight)
        settled = is_settled(moved)
        if settled or search.interrupted_:
            break
        effects = effects + step.effects
    kept = CovariateFit(effects, step, number, settled)
    if not settled and not search.interrupted_:  # the groups and their effects in turn, for the chosen number
        kept = fit_with_covariates(best, table, weights, found, effects)
        assert kept.fitted is not None
        problem = kept.fitted.problem
        adopt(best, kept.fitted)
    more = attach(best, found, kept, problem, best.scales_)
    _count(search, more, problem.weight)
    problem.rows.close()


def _first(estimator, table, weights, found: Covariates, numbers: list[int]) -> np.ndarray:
    """The effects that belong to the k-means partition with the largest C(K, S), among these numbers of groups."""
    best, highest = None, -np.inf
    values, Z, part, seed = sample_for_effects(estimator, table, weights, found, numbers[-1])
    for K in numbers:
        effects, labels = first_effects(values, Z, part, K, seed)
        if len(np.unique(labels)) < K:
            continue
        problem = prepare(values - Z @ effects, part, ridge="auto", rescale=in_unit)
        partition = Partition.of_labels(problem, labels, K)
        value = judge(partition, select(partition, np.zeros(0, int), K - 1)).value
        if value > highest:
            best, highest = effects, value
    return first_effects(values, Z, part, 1, seed)[0] if best is None else best


def _count(search, more: int, n: float) -> None:
    """Add the parameters of the effects to the criteria of every fit of a search by a criterion."""
    results = search.results_
    if "n_parameters" not in results:
        return
    results["n_parameters"] += more
    for name, criterion in CRITERIA.items():
        if criterion.of_partition is None and name in results:
            paid = criterion(0.0, more, n, 0.0)
            results[name] += paid
            if name == search.criterion_:
                search.best_score_ += paid
