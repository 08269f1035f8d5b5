"""Which of several models: two fits are compared by BIC or by Fisher's criterion.

The likelihood compares models if the data fit the models' assumptions. Real data mostly do not: their noise outside the
latent space is correlated or has heavy tails. The likelihood takes its p - d coordinates as independent and gives them
too much weight, so BIC prefers the model that follows the noise. Fisher's criterion (eq. 6), which the F-step
maximises, depends on the partition alone and is the same measure for all models of a data set. So BIC decides where
the noise fits the assumption, and Fisher's criterion elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.data.problem import Problem
from ..core.dlm.f_step.step import Between
from ..core.dlm.projection import NoiseMoments, noise_moments
from ..core.engine import multistart
from ..core.engine.loop import Fit
from ..core.engine.multistart import FitError, Specification
from ..model.criteria import bic
from ..model.dlm import DLM
from .decisions import Chosen, Decision, model_decision
from .thresholds import THRESHOLDS

__all__ = ["dispersion", "fit_best", "separation"]

# Squared distances below this share of the mean variance are treated as rounding errors.
_NO_NOISE = 1e-12


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
    """One of the two, and why. The dispersion of the more flexible one says whether BIC is reliable."""
    lost = [one for one in (compact, flexible) if not one[0].fit.whole]
    if len(lost) == 1:
        return (flexible if lost[0] is compact else compact), "the other lost a group"
    old, new = compact[1], flexible[1]
    if new["dispersion"] <= THRESHOLDS.dispersion:
        return (flexible if new["bic"] > old["bic"] else compact), "bic"
    return (flexible if new["fisher"] > (1 + THRESHOLDS.flexible_gain) * old["fisher"] else compact), "fisher"
