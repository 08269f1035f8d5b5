"""noise_factors: how many factors the noise of a fit has, and the fit with them.

The fit without factors comes first, and those with m = 1, 2, 4, ... factors go on from its partition: started in the
metric of the total covariance they may remove the groups themselves. BIC compares the numbers of factors, as all
likelihoods are of the same rows. It does not arbitrate between distant partitions, where margins that are not Gaussian
decide more than the groups do: there C(K, S), which any covariance within the groups leaves unchanged, must agree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from ..em.dlm_family import DLMFamily, Subset
from ..em.family import Phase
from ..em.loop import Fit
from ..em.model_choice import Chosen, sample_problem
from ..em.multistart import NUMERICAL_ERRORS, Specification, continue_from
from ..em.problem import Problem
from ..em.starts import is_large
from ..model.criteria import bic
from .criterion import Partition, judge
from .forward_backward import select

__all__ = ["NOISE_AUTO", "factor_numbers", "with_factors"]

NOISE_AUTO = "auto"
# Numbers of factors to be tried: powers of two up to this, a tenth of the rows and half of the variables.
_MOST_FACTORS, _ROWS_PER_FACTOR = 16, 10
# A full covariance is tried from this many rows per variable on.
_ROWS_PER_VARIABLE_FULL = 3
# The rest is never quite spherical, and with enough rows BIC pays for factors that describe no more than different
# variances of the variables. The smallest number that has this share of the gain over no factors is taken.
_ENOUGH = 0.95
# Partitions that agree less than this (adjusted Rand index) are distant; more than the second, they are the same.
_DISTANT, _SAME = 0.7, 0.95


def factor_numbers(n: float, p: int) -> list[int]:
    """Numbers of factors that are tried for n rows of p variables."""
    most = min(_MOST_FACTORS, n // _ROWS_PER_FACTOR, p // 2)
    numbers = [0] + [2**i for i in range(5) if 2**i <= most]
    if n > _ROWS_PER_VARIABLE_FULL * p and p > 1:
        numbers.append(p - 1)
    return sorted(set(numbers))


def with_factors(problem: Problem, spec: Specification, chosen: Chosen, noise: int | str) -> Chosen:
    """The fit with factors of the noise in place of one without: m of them, or as many as BIC asks for ("auto")."""
    assert isinstance(spec.family, DLMFamily)
    if noise == 0 or not chosen.fit.whole:
        return chosen
    if isinstance(noise, str):
        noise, records = _choice(problem, spec, chosen)
        chosen = replace(chosen, noise=records)
        if not is_large(problem):
            fit = next(record.pop("fit") for record in records if record["kept"])
            for record in records:
                record.pop("fit", None)
            return replace(chosen, fit=fit)
    if noise == 0:
        return chosen
    fit = _fit(problem, spec, chosen, chosen.fit, int(noise))
    return chosen if fit is None else replace(chosen, fit=fit)


def _family(problem: Problem, spec: Specification, chosen: Chosen, m: int) -> DLMFamily:
    """The family of a fit, with m factors."""
    assert isinstance(spec.family, DLMFamily)
    axes, sparse = chosen.fit.solution.axes, spec.family.sparse
    family = replace(spec.family, model=chosen.model, n_factors=m)
    if problem.p > 1 and axes.d:
        family = replace(family, d=axes.d)
    if sparse is not None and sparse.sparsity is None:  # the variables were chosen
        support = None if axes.sparse is None else Subset(np.flatnonzero(axes.sparse.any(axis=1)))
        return replace(family, sparse=None, subset=support)
    return family


def _fit(problem: Problem, spec: Specification, chosen: Chosen, start: Fit, m: int) -> Fit | None:
    """The fit with m factors from another's partition; None if it failed or lost a group."""
    phase = Phase("noise", _family(problem, spec, chosen, m))
    start = replace(start, history=chosen.fit.history)
    try:
        with problem.rows.threads():
            fit = continue_from(problem, start, spec, phase)
    except NUMERICAL_ERRORS:
        return None
    return fit if fit.whole else None


def _choice(problem: Problem, spec: Specification, chosen: Chosen) -> tuple[int, list[dict]]:
    """(number of factors, a record of each number that was tried); on a sample of large data."""
    if not is_large(problem) or problem.rows is not problem.given:
        return _compare(problem, spec, chosen)
    small = sample_problem(problem, check_random_state(spec.random_state))
    moved = replace(chosen.fit, solution=chosen.fit.solution.moved(-small.centre), states=[], history=[])
    start = _fit(small, spec, replace(chosen, fit=moved), moved, 0)
    if start is None:
        return 0, [{"n_factors": 0, "kept": True, "reason": "the groups are not those of a sample"}]
    m, records = _compare(small, spec, replace(chosen, fit=start))
    for record in records:
        record.pop("fit", None)
    return m, records


def _compare(problem: Problem, spec: Specification, chosen: Chosen) -> tuple[int, list[dict]]:
    judged = _Judge(problem, spec.n_clusters)
    records = [_record(problem, spec, chosen, chosen.fit, 0)]
    base = judged.labels(chosen.fit)
    for m in factor_numbers(problem.weight, problem.p)[1:]:
        fit = _fit(problem, spec, chosen, chosen.fit, m)
        if fit is not None:
            records.append(_record(problem, spec, chosen, fit, m))
    best = _smallest_enough(records)
    # the start decides: the other numbers of factors get the partition of the best one, too
    labels = judged.labels(best["fit"])
    for i, record in enumerate(records):
        if record is not best and adjusted_rand_score(labels, judged.labels(record["fit"])) < _SAME:
            fit = _fit(problem, spec, chosen, best["fit"], record["n_factors"])
            if fit is not None:
                again = _record(problem, spec, chosen, fit, record["n_factors"])
                records[i] = max(record, again, key=lambda r: r["bic"])
    allowed = [r for r in records if not judged.worse(judged.labels(r["fit"]), base)]
    best = _smallest_enough(allowed)
    for record in records:
        near = any(record is one for one in allowed)
        reason = "bic" if record is best else ("" if near else "another partition, which C does not prefer")
        record |= {"kept": record is best, "reason": reason}
    return best["n_factors"], records


def _smallest_enough(records: list[dict]) -> dict:
    """The fewest factors that have most of what the best number gains over the first record."""
    first, best = records[0]["bic"], max(record["bic"] for record in records)
    return next(record for record in records if record["bic"] - first >= _ENOUGH * (best - first))


def _record(problem: Problem, spec: Specification, chosen: Chosen, fit: Fit, m: int) -> dict:
    parameters = _family(problem, spec, chosen, m).n_parameters(fit.solution, problem.p)
    value = float(bic(fit.log_likelihood, parameters, problem.weight))
    return {"n_factors": m, "log_likelihood": fit.log_likelihood, "n_parameters": parameters, "bic": value, "fit": fit}


class _Judge:
    """Whether another partition may take the place of the first one."""

    def __init__(self, problem: Problem, n_clusters: int):
        self.problem, self.n_clusters = problem, n_clusters

    def labels(self, fit: Fit) -> np.ndarray:
        return self.problem.rows.gather(fit.states, "labels")

    def worse(self, labels: np.ndarray, base: np.ndarray) -> bool:
        """Whether labels are far from the first ones, and worse by C."""
        if adjusted_rand_score(labels, base) >= _DISTANT:
            return False
        return self._value(labels) < self._value(base)

    def _value(self, labels: np.ndarray) -> float:
        partition = Partition.of_labels(self.problem, labels, self.n_clusters)
        if (partition.sizes <= 0).any():
            return -np.inf
        support = select(partition, np.zeros(0, int), self.n_clusters - 1)
        return judge(partition, support).value
