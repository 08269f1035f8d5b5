"""noise_factors: how many factors the noise of a fit has, and the fit with them.

The fit without factors comes first. BIC at its partition chooses the number of factors (the eigenvalues of the
covariance within the groups give BIC for every number at once), the fit with so many factors continues from there, and
BIC chooses again at its partition, until it chooses a number that has been fitted. Started in the metric of the total
covariance instead, factors may remove the groups themselves. BIC alone does not choose between distant partitions,
because non-Gaussian margins affect it more than the groups do: there C(K, S), which does not depend on the covariance
within the groups, must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from .._utils.wording import count
from ..core.data.noise_metric import factor_numbers, factor_values, fewest_factors
from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily, Means, Subset
from ..core.dlm.ridge_and_axes import GroupMeans, noise_covariance
from ..core.engine.family import Phase
from ..core.engine.loop import Fit
from ..core.engine.multistart import NUMERICAL_ERRORS, Specification, continue_from
from ..core.starts.partitions import adjusted_rand, distinct_rows
from ..model.criteria import bic
from .criterion import Partition, judge
from .decisions import Chosen, Decision
from .forward_backward import select
from .thresholds import THRESHOLDS

__all__ = [
    "NOISE_AUTO", "factor_numbers", "fit_with_factors", "noise_decision", "numbers_of_factors",
    "with_factors",
]  # fmt: skip

NOISE_AUTO = "auto"


def numbers_of_factors(problem: Problem) -> list[int]:
    """The numbers of factors that are tried: as many as the rows allow, a full covariance where it is affordable."""
    p = problem.n_varying
    return factor_numbers(problem.weight, p, full=problem.gaps is None or p <= THRESHOLDS.full_noise)


def with_factors(problem: Problem, spec: Specification, chosen: Chosen, noise: int | str) -> Chosen:
    """The fit with factors of the noise in place of one without: m of them, or as many as BIC asks for ("auto")."""
    if noise == 0 or not chosen.fit.whole:
        return chosen
    if isinstance(noise, str):
        if spec.family.means is Means.FULL:  # spherical noise, unless a number is asked for
            return chosen
        noise, records = _compare(problem, spec, chosen)
        fits = {record["n_factors"]: record.pop("fit") for record in records if "fit" in record}
        return replace(chosen, fit=fits[noise]).said(noise_decision(records))
    fit = fit_with_factors(problem, spec, chosen, chosen.fit, int(noise))
    return chosen if fit is None else replace(chosen, fit=fit)


def noise_decision(records: list[dict], by: str = "BIC (the fewest factors with nearly all of its gain)") -> Decision:
    """The number of factors that was kept, from a record of each that was tried."""
    kept = next(record["n_factors"] for record in records if record["kept"])
    tried = [f"{r['n_factors']} (BIC {r['bic']:.1f})" if "bic" in r else str(r["n_factors"]) for r in records]
    choice = count(kept, "common factor") if kept else "no common factors"
    return Decision("noise", choice, ", ".join(tried), by, tuple(records))


def _family(problem: Problem, spec: Specification, chosen: Chosen, m: int) -> DLMFamily:
    """The family of a fit, with m factors."""
    axes, sparse = chosen.fit.solution.axes, spec.family.sparse
    family = replace(spec.family, model=chosen.model, n_factors=m)
    if problem.p > 1 and axes.d:
        family = replace(family, d=axes.d)
    if sparse is not None and sparse.sparsity is None:  # the variables were chosen
        support = None if axes.sparse is None else Subset(np.flatnonzero(axes.sparse.any(axis=1)))
        return replace(family, sparse=None, subset=support)
    return family


def fit_with_factors(
    problem: Problem,
    spec: Specification,
    chosen: Chosen,
    start: Fit,
    m: int,
    name: str = "noise",
    refused: Callable[[Fit], bool] | None = None,
) -> Fit | None:
    """The fit with m factors, with the model, axes and variables that were chosen, from another fit's partition.

    None if it failed, lost a group or was refused. `name` is what the history calls the phase.
    """
    phase = Phase(name, _family(problem, spec, chosen, m))
    start = replace(start, history=chosen.fit.history)
    try:
        with problem.rows.threads():
            fit = continue_from(problem, start, spec, phase, refused)
    except NUMERICAL_ERRORS:
        return None
    return fit if fit.whole and not (refused is not None and refused(fit)) else None


def _compare(problem: Problem, spec: Specification, chosen: Chosen) -> tuple[int, list[dict]]:
    """(number of factors, a record of each): what BIC names at a partition is fitted, until it names no other."""
    judged = _Judge(problem, spec.n_clusters, spec.family.variance_floor * problem.floor_unit, chosen.fit)
    first = values = judged.values(chosen.fit)
    found: dict[int, dict] = {0: _record(problem, spec, chosen, chosen.fit, 0)}
    refused: set[int] = set()
    start, best = chosen.fit, 0
    while new := [m for m in _named(values) if m not in found and m not in refused]:
        for m in new:
            # a partition that is refused after the first round of its metric is not looked at any further
            fit = fit_with_factors(problem, spec, chosen, start, m, refused=judged.worse)
            if fit is None:
                refused.add(m)
            else:
                found[m] = _record(problem, spec, chosen, fit, m)
        best = fewest_factors({m: found[m]["bic"] for m in sorted(found)}, THRESHOLDS.factor_gain)
        # BIC depends on the partition: compute it for the one that these factors led to as well
        start = found[best]["fit"]
        values = judged.values(start)
    records: list[dict] = []
    for m, value in first.items():
        reason = "no fit, or another partition, which C does not prefer" if m in refused else ""
        reason = reason or ("" if np.isfinite(value) else "what they leave lies below variance_floor")
        record: dict = {"n_factors": m, "bic_at_partition": value, "kept": m == best, "reason": reason}
        records.append(record | found.get(m, {}))
    return best, records


def _named(values: dict[int, float]) -> list[int]:
    """The number of factors that BIC names, and the next smaller one.

    A partition that mixes groups has their difference in its noise, as one factor more.
    """
    best = fewest_factors(values, THRESHOLDS.factor_gain)
    return [m for m in values if m <= best][-2:]


def _record(problem: Problem, spec: Specification, chosen: Chosen, fit: Fit, m: int) -> dict:
    parameters = _family(problem, spec, chosen, m).n_parameters(fit.solution, problem.p)
    value = float(bic(fit.log_likelihood, parameters, problem.weight))
    return {"log_likelihood": fit.log_likelihood, "n_parameters": parameters, "bic": value, "fit": fit}


class _Judge:
    """Whether the partition of another fit may take the place of the first one's."""

    def __init__(self, problem: Problem, n_clusters: int, floor: float, first: Fit):
        self.problem, self.n_clusters, self.floor = problem, n_clusters, floor
        self.first = self.labels(first)

    def labels(self, fit: Fit) -> np.ndarray:
        return self.problem.rows.gather(fit.states, "labels")

    def values(self, fit: Fit) -> dict[int, float]:
        """BIC of every number of factors for the groups of a fit, up to what is the same for all of them.

        Where the rest lies below the floor of variances, directions with next to no variance raise the likelihood: on
        two of nine tables the fit then lost the groups. Such numbers are not considered.
        """
        problem = self.problem
        groups = GroupMeans.of(problem, problem.start_states(self.labels(fit), self.n_clusters))
        H = groups.between(problem).H
        e = np.maximum(np.linalg.eigvalsh(noise_covariance(problem, H, fit.solution.axes.rows))[::-1], 0)
        return factor_values(e, problem.weight, problem.n_varying, numbers_of_factors(problem), self.floor)

    def worse(self, fit: Fit) -> bool:
        """Whether the fit's labels are far from the first ones, and worse by C."""
        labels, rows = self.labels(fit), self._distinct
        if adjusted_rand(labels[rows], self.first[rows]) >= THRESHOLDS.distant:
            return False
        return self._value(labels) < self._first_value

    @cached_property
    def _distinct(self) -> np.ndarray:
        """The distinct rows: equal ones count once, so that weights and repetitions mean the same."""
        return distinct_rows(self.problem.given.everything(), self.problem.given.weights)[0]

    @cached_property
    def _first_value(self) -> float:
        return self._value(self.first)

    def _value(self, labels: np.ndarray) -> float:
        partition = Partition.of_labels(self.problem, labels, self.n_clusters)
        if (partition.sizes <= 0).any():
            return -np.inf
        support = select(partition, np.zeros(0, int), self.n_clusters - 1)
        return judge(partition, support).value
