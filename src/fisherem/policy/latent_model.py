"""The default call with the means inside the axes: which axes separate the groups, and which model fits inside them.

Among the models with a common noise the posteriors depend on the coordinates inside the axes alone, so models can be
compared there. Each candidate's mixture is fitted inside the axes of the most compact model, which are the same for
all of them, and

    log-likelihood - log n * (parameters of the covariances)

decides: twice the penalty of BIC, because the partition that the axes separate was fitted, too. Fits with axes of their
own cannot be compared like that, as each model moves the axes to where its own likelihood is large. A few iterations of
each are enough to compare; the kept model is then fitted from the start. Models with a noise per group are no
candidates: with them the size of the residual, over all variables, affects the posteriors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily
from ..core.dlm.ridge_and_axes import GroupMeans, useful_axes
from ..core.engine.loop import Fit, run
from ..core.engine.multistart import NUMERICAL_ERRORS, FitError, Specification, best_of, starting_points
from ..model.dlm import MODELS
from .decisions import Chosen, Decision, model_decision
from .thresholds import THRESHOLDS

__all__ = ["COMPACT", "fit_latent", "model_candidates", "naming_axes", "roomy_model"]

COMPACT, ROOMY = "AB", "AkB"
# Iterations of the fits that are only compared.
_LOOK = 10


def roomy_model(smallest_group: float) -> str:
    """The model for groups of this size where there is nothing to choose by."""
    return ROOMY if smallest_group >= THRESHOLDS.own_variance_rows else COMPACT


def model_candidates(smallest_group: float, d: int) -> list[str]:
    """The models that are compared for groups of this size or larger and d axes, fewest parameters first.

    Every registered model that says so (`DLM.candidate`) is among them. Those that hold more than a variance per group
    need rows for it.
    """
    names = [COMPACT] if smallest_group < THRESHOLDS.own_variance_rows else []
    names.append(ROOMY)
    if d > 1 and smallest_group >= THRESHOLDS.rows_per_axis * d:
        names += [name for name, model in MODELS.items() if model.candidate and name not in (COMPACT, ROOMY)]
    return names


def fit_latent(problem: Problem, spec: Specification) -> Chosen:
    """Fit with the model chosen, from the specification's own starts."""
    if spec.n_clusters == 1:
        fit, records = _fit(problem, spec, starting_points(problem, spec))
        return Chosen(fit, records, MODELS[COMPACT]).said(Decision("model", COMPACT, "", "one group"))
    return _choose(problem, spec, starting_points(problem, spec))


def _kept(reason: str) -> dict:
    return {"model": COMPACT, "kept": True, "reason": reason}


def _family(spec: Specification, **changes) -> DLMFamily:
    return replace(spec.family, **changes)


def _fit(
    problem: Problem, spec: Specification, starts: list[Any], model: str = COMPACT, d: int | None = None
) -> tuple[Fit, list[dict]]:
    """(the fit of one model from the starts, a record of each start), with at most d axes."""
    family = _family(spec, model=MODELS[model])
    phase = (family if d is None else replace(family, d=min(d, family.d))).phases()[0]
    with problem.rows.threads():
        return best_of(problem, starts, spec, phase)


def _choose(problem: Problem, spec: Specification, starts: list[Any]) -> Chosen:
    # which of several starts is best is known only after convergence
    look = spec.at_most(_LOOK) if spec.first_start or len(starts) == 1 else spec
    compact, records = _fit(problem, look, starts)
    d = _axes_of(problem, spec, compact)
    if d < compact.solution.axes.d:  # some axes do not separate the groups of this partition
        compact, records = _fit(problem, look, starts, d=d)
    d = compact.solution.axes.d
    if not compact.whole:
        return Chosen(compact, records, MODELS[COMPACT]).said(Decision("model", COMPACT, "", "a group was lost"))
    candidates = _compare(problem, spec.at_most(_LOOK), compact)
    kept = next(record["model"] for record in candidates if record["kept"])
    if kept != COMPACT:
        try:
            fit, records = _fit(problem, spec, starts, kept, d)
        except FitError:
            fit = compact
        if fit.whole and fit is not compact:
            return Chosen(fit, records, MODELS[kept]).said(model_decision(candidates))
        kept = COMPACT
        candidates = [record | {"kept": False} for record in candidates] + [_kept("the others lost a group")]
    if look is not spec:
        compact, records = _fit(problem, spec, starts, d=d)
    return Chosen(compact, records, MODELS[kept]).said(model_decision(candidates))


def naming_axes(spec: Specification, chosen: Chosen) -> Chosen:
    """Fewer axes than groups less one, as a decision of the record; none if all axes are kept or they were given."""
    d, most, least = chosen.fit.solution.axes.d, spec.family.d, spec.family.least_separation
    if least is None or d >= most:
        return chosen
    reason = f"the others separate the groups less than {least:g} times as much as chance"
    if chosen.fewest is not None:
        reason = "C(K, S) of the selected variables is largest with so many"
    return chosen.said(Decision("axes", f"{d} of {most}", "", reason))


def _axes_of(problem: Problem, spec: Specification, fit: Fit) -> int:
    """How many axes the fit's own partition asks for."""
    family, d = _family(spec), fit.solution.axes.d
    if family.least_separation is None or d == 1:
        return d
    labels = problem.rows.gather(fit.states, "labels")
    states = problem.start_states(labels, spec.n_clusters)
    groups = GroupMeans.of(problem, states)
    if not groups.whole:
        return d
    between = groups.between(family.adapt(problem, states)[0])
    return useful_axes(between, problem.weight, d, family.least_separation)


def _compare(problem: Problem, spec: Specification, compact: Fit) -> list[dict]:
    """A record per candidate: its value inside the compact fit's axes, and which is kept."""
    d, smallest = compact.solution.axes.d, problem.weight * compact.solution.density.proportions.min()
    records: list[dict[str, Any]] = []
    for name in model_candidates(smallest, d):
        family = _family(spec, model=MODELS[name], sparse=None, d=d, frozen=compact.solution.axes)
        try:
            fit = run(problem, problem.states_of(compact, "posteriors", "log_prior"), family, spec.settings)
        except NUMERICAL_ERRORS:
            continue
        count = MODELS[name].covariance.count(spec.n_clusters, d)
        value = fit.log_likelihood - np.log(problem.weight) * count
        # a variance at the floor is a group of nearly equal rows, whose likelihood is arbitrary
        sound = fit.whole and not fit.solution.density.n_floored
        records.append({"model": name, "value": float(value) if sound else -np.inf})
    if not records or max(record["value"] for record in records) == -np.inf:
        return [_kept("no other model could be fitted")]
    best = max(records, key=lambda record: record["value"])
    return [record | {"kept": record is best, "reason": "value" if record is best else ""} for record in records]
