"""Which of several models: two fits compared by what can be trusted of them.

The likelihood compares models if the data fit the models' assumptions. Real data mostly do not: their noise outside the
latent space is correlated or has heavy tails, so that p - d "independent" coordinates count for more than they know,
and BIC prefers whatever follows that noise. Fisher's criterion (eq. 6), which the F-step maximises, looks at the
partition alone and is the same measure for all models of a data set. So BIC decides where the noise fits the
assumption, and Fisher's criterion elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.data.problem import Problem, prepare
from ..core.data.sampling import SAMPLE_ROWS, one_sample
from ..core.dlm.f_step.dense import Between
from ..core.dlm.projection import NoiseMoments, noise_moments
from ..core.engine import multistart
from ..core.engine.loop import Fit
from ..core.engine.multistart import FitError, Specification
from ..model.criteria import bic
from ..model.dlm import DLM
from .decisions import Decision
from .thresholds import THRESHOLDS

__all__ = ["Chosen", "dispersion", "few_rows", "fit_best", "model_decision", "sample_problem", "separation"]

# Squared distances below this share of the mean variance are rounding.
_NO_NOISE = 1e-12


@dataclass
class Chosen:
    """The fit that was kept, its model, and how both were decided."""

    fit: Fit
    starts: list[dict]
    model: DLM
    decisions: list[Decision] = field(default_factory=list)
    moved: bool = True  # False: the iterations ended after the first, which kept the groups of the start
    fewest: np.ndarray | None = None  # indices of the fewest variables that C(K, S) names; None: no choice was made

    def about(self, name: str) -> Decision | None:
        """The decision of that name, if it was made."""
        return next((one for one in self.decisions if one.decision == name), None)

    def said(self, decision: Decision) -> Chosen:
        """The same fit with one decision more; it replaces an earlier one about the same."""
        others = [one for one in self.decisions if one.decision != decision.decision]
        return replace(self, decisions=[*others, decision])

    def first(self, decision: Decision) -> Chosen:
        """The same fit with a decision that was made before all others."""
        return replace(self, decisions=[decision, *self.decisions])


# What a model chosen by model="auto" can be compared by, and how its values are printed.
_COMPARED_BY = {
    "fisher": ("Fisher's criterion", ".3f"),
    "bic": ("BIC", ".1f"),
    "value": ("the penalised likelihood inside the axes", ".1f"),
}


def model_decision(records: list[dict]) -> Decision:
    """The choice among models from a record of each: its values, whether it was kept, and why."""
    kept = next(record for record in records if record["kept"])
    key = kept["reason"]
    compared = [record for record in records if key in record]
    if key not in _COMPARED_BY or len(compared) < 2:
        return Decision(
            "model", kept["model"], "", "no other candidate" if key in _COMPARED_BY else key, tuple(records)
        )
    by, digits = _COMPARED_BY[key]
    if better := [record["model"] for record in compared if record[key] > kept[key]]:  # but not by enough
        by += f", by which {better[0]} is only slightly better,"
    values = ", ".join(f"{record['model']} {record[key]:{digits}}" for record in compared)
    return Decision("model", kept["model"], values, by, tuple(records))


def separation(problem: Problem, fit: Fit) -> float:
    """trace(S^-1 S_B): Fisher's criterion of the groups, over all axes (the maximum of eq. 6)."""
    solution = fit.solution
    between = Between.of(solution.density.proportions, solution.means, problem.mean, problem.scatter)
    return float(np.trace(between.M))


def dispersion(problem: Problem, fit: Fit) -> float:
    """The variance of |Q (y - m_k)|^2 within groups over what independent normal noise has, 2 (p - d) beta_k^2.

    About 1 where the noise is independent and normal, larger where it is correlated or has heavy tails.
    """
    moments: NoiseMoments = problem.rows.fold(noise_moments, fit.states, fit.solution.placing)
    there = moments.weights > 0
    weights, first, second = (part[there] for part in (moments.weights, moments.first, moments.second))
    mean = first / weights
    if mean.min() <= _NO_NOISE * problem.floor_unit:
        return np.inf  # a group of equal rows, say
    variance = second / weights - mean**2
    return float(weights @ (variance / (2 * mean**2 / (problem.p - fit.solution.axes.d))) / weights.sum())


def fit_best(problem: Problem, spec: Specification, models: tuple[DLM, ...]) -> Chosen:
    """Fit the models, most compact first, and keep one."""
    if len(models) == 1:
        return _fit_one(problem, spec, models[0])
    if spec.n_clusters == 1 or problem.weight < THRESHOLDS.rows_per_variable * problem.p:
        why = "one group" if spec.n_clusters == 1 else f"fewer than {THRESHOLDS.rows_per_variable} rows per variable"
        return _fit_one(problem, spec, models[0]).said(Decision("model", models[0].name, "", why))
    return _fit_all(problem, spec, models)


def _with_model(spec: Specification, model: DLM) -> Specification:
    return replace(spec, family=replace(spec.family, model=model))  # type: ignore[type-var]


def _fit_one(problem: Problem, spec: Specification, model: DLM) -> Chosen:
    return Chosen(*multistart.fit(problem, _with_model(spec, model)), model)


def sample_problem(problem: Problem, rng: np.random.RandomState) -> Problem:
    """Some of the rows of large data, prepared with the same ridge: enough to choose a model on."""
    size = min(SAMPLE_ROWS, max(THRESHOLDS.sample_rows, THRESHOLDS.sample_rows_per_variable * problem.p))
    scatter = problem.scatter
    sample = prepare(one_sample(problem, rng, size), ridge=scatter.ridge / scatter.mean_variance)
    return replace(sample, blocks=problem.blocks)


def few_rows(problem: Problem, rng: np.random.RandomState) -> tuple[np.ndarray, Problem]:
    """(numbers of rows, these rows in memory): few enough to be looked at many times."""
    rows, size = problem.rows, max(THRESHOLDS.few_rows, THRESHOLDS.few_rows_per_variable * problem.p)
    if rows.n <= size and (rows.portable or rows is not problem.given):
        return np.arange(rows.n), problem
    counting = np.arange(rows.n) if rows.weights is None else np.flatnonzero(rows.weights)
    numbers = counting if len(counting) <= size else np.sort(rng.choice(counting, size, replace=False))
    weights = None if rows.weights is None else rows.weights[numbers]
    share = problem.scatter.ridge / problem.scatter.mean_variance
    few = prepare(problem.given.take(numbers) - problem.given.centre, weights, ridge=share)
    return numbers, replace(few, blocks=problem.blocks)


_Found = tuple[Chosen, dict[str, Any]]  # a fit, and what it is compared by


def _fit_all(problem: Problem, spec: Specification, models: tuple[DLM, ...]) -> Chosen:
    """The models from the same starts, each with a record of what is compared, and the one to keep."""
    starts = multistart.starting_points(problem, spec)
    found: list[_Found] = []
    failures: list[dict] = []
    with problem.rows.threads():
        for model in models:
            try:
                fit, tried = multistart.fit_from(problem, _with_model(spec, model), starts)
            except FitError as error:
                failures.append({"model": model.name, "kept": False, "reason": str(error)})
                continue
            found.append((Chosen(fit, tried, model), _record(problem, fit, spec, model)))
    if not found:
        raise FitError("; ".join(dict.fromkeys(failure["reason"] for failure in failures)))
    best, reason = found[0], "no other model could be fitted"
    for other in found[1:]:
        best, reason = _better(best, other)
    records = [one[1] | {"kept": one is best, "reason": reason if one is best else ""} for one in found]
    return best[0].said(model_decision(records + failures))


def _record(problem: Problem, fit: Fit, spec: Specification, model: DLM) -> dict:
    n_parameters = _with_model(spec, model).family.n_parameters(fit.solution, problem.p)
    return {
        "model": model.name,
        "fisher": separation(problem, fit),
        "bic": float(bic(fit.log_likelihood, n_parameters, problem.weight)),
        "dispersion": dispersion(problem, fit),
    }


def _better(compact: _Found, flexible: _Found) -> tuple[_Found, str]:
    """One of the two, and why. The dispersion of the more flexible one says whether BIC may be believed."""
    lost = [one for one in (compact, flexible) if not one[0].fit.whole]
    if len(lost) == 1:
        return (flexible if lost[0] is compact else compact), "the other lost a group"
    old, new = compact[1], flexible[1]
    if new["dispersion"] <= THRESHOLDS.dispersion:
        return (flexible if new["bic"] > old["bic"] else compact), "bic"
    return (flexible if new["fisher"] > (1 + THRESHOLDS.flexible_gain) * old["fisher"] else compact), "fisher"
