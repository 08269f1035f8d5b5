"""The Fisher-EM loop: F-step, M-step, E-step until the stopping rule holds. Two passes over the rows per iteration."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..model.dlm import DLM
from .f_step.between import Between, fisher_criterion
from .f_step.step import Axes, FStep
from .kernels import Projection, expect, project, split_group
from .m_step import Parameters, m_step
from .problem import Problem
from .stopping import STOPPING

__all__ = ["Fit", "Settings", "restore", "run"]

# A group with less than one observation (up to rounding of its posteriors) has collapsed.
_LEAST_OBSERVATIONS = 0.999
# The F-step maximises eq. (6), not the likelihood, and on some data (satimage; iris with `svd` axes) the iterates end
# in a cycle of 2 to 10 iterations. Two windows of this length, the second no better than the first, are taken as one.
_WINDOW = 20
# Mean-field sweeps that bring the posteriors of a restored fit with a spatial prior back to their fixed point: one
# sweep carries a pixel's neighbours one step further, and beyond some ten pixels nothing is felt.
_FIELD_SWEEPS = 10


@dataclass(frozen=True)
class Settings:
    """Frozen settings of the loop."""

    model: DLM
    max_iter: int
    tol: float
    stopping: str
    variance_floor: float  # relative to the mean variance


@dataclass
class Fit:
    """The result of one run."""

    axes: Axes
    parameters: Parameters
    means: np.ndarray  # K x r, relative to the centre, in the rows' coordinates
    states: Any  # as the engine keeps them; [] when they were given up
    log_likelihood: float
    entropy: float
    history: list[dict]
    converged: bool
    stop_reason: str

    @property
    def n_iter(self) -> int:
        return len(self.history)


def run(problem: Problem, states: Any, f_step: FStep, settings: Settings, *, phase: str = "") -> Fit:
    """Iterate from the posteriors in `states` (which are overwritten)."""
    with problem.rows.threads():
        return _run(problem, states, f_step, settings, phase)


def _run(problem: Problem, states: Any, f_step: FStep, settings: Settings, phase: str) -> Fit:
    stop: Callable[[float, float], bool] = STOPPING[settings.stopping](settings.tol)
    floor = settings.variance_floor * problem.floor_unit
    sums = problem.group_sums(states)
    history: list[dict] = []
    fit: Fit | None = None
    recent: deque[Fit] = deque(maxlen=_WINDOW)
    n_splits = 0
    event = ""
    while True:
        collapsed = np.flatnonzero(sums.weights < _LEAST_OBSERVATIONS * min(1.0, problem.lightest))
        if len(collapsed):
            if fit is None or n_splits >= len(sums.weights):
                return _give_up(fit, collapsed)
            sums, event = _refill(problem, states, fit, sums, int(collapsed[0]))
            n_splits += 1
            continue
        means = sums.sums / sums.weights[:, None]
        between = Between.of(sums.weights, means, problem.mean, problem.scatter)
        axes = f_step(between)
        if axes.d == 0 < f_step.d:
            raise FloatingPointError("the groups' means coincide: no discriminative axis can be found")
        projection = Projection.of(axes.rows, means)
        moments = problem.rows.fold(project, states, projection)
        parameters = m_step(sums.weights, projection.latent_means, moments, settings.model, problem.p, floor)
        fisher = fisher_criterion(between, axes.rows, _total(moments, projection, sums, problem))
        strength = _update_prior(problem, states, parameters)
        sums = problem.rows.fold(expect, states, parameters)
        if not np.isfinite(sums.log_likelihood):
            raise FloatingPointError(f"the log-likelihood became {sums.log_likelihood} in iteration {len(history) + 1}")
        history.append(
            {
                "iteration": len(history) + 1,
                "phase": phase,
                "log_likelihood": sums.log_likelihood,
                "fisher": fisher,
                "n_axes": axes.d,
                "dropped_axes": axes.dropped,
                "n_selected": axes.n_selected,
                "gap": axes.gap,
                "smallest_group": float(sums.weights.min()),
                "n_floored": parameters.n_floored,
                "event": event,
            }
            | strength
        )
        event = ""
        fit = Fit(axes, parameters, means, states, sums.log_likelihood, sums.entropy, history, False, "")
        recent.append(fit)
        if stop(sums.log_likelihood / problem.weight, fisher):
            fit.converged, fit.stop_reason = True, settings.stopping
            return fit
        if _cycles(history, settings.tol * problem.weight):
            return _return_to_best(problem, recent, "cycle")
        if len(history) >= settings.max_iter:
            return _return_to_best(problem, recent, "max_iter")


def _cycles(history: list[dict], tol: float) -> bool:
    """Whether the best log-likelihood of the last window is no better than that of the window before it."""
    if len(history) < 2 * _WINDOW:
        return False
    values = [record["log_likelihood"] for record in history[-2 * _WINDOW :]]
    return max(values[_WINDOW:]) <= max(values[:_WINDOW]) + tol


def _return_to_best(problem: Problem, recent: deque[Fit], reason: str) -> Fit:
    """Without convergence the last iterate is arbitrary: go back to the most likely one of the last window."""
    fit = max(recent, key=lambda f: f.log_likelihood)
    fit.stop_reason = reason
    return fit if fit is recent[-1] else restore(problem, fit)


def restore(problem: Problem, fit: Fit) -> Fit:
    """The fit with the states of its own posteriors, recomputed from its parameters."""
    states = problem.fresh_states()
    problem.rows.fold(project, states, Projection.of(fit.axes.rows, fit.means))
    problem.rows.fold(expect, states, fit.parameters, read=False)
    for _ in range(_FIELD_SWEEPS if problem.prior is not None else 0):
        _update_prior(problem, states, fit.parameters)
        problem.rows.fold(expect, states, fit.parameters, read=False)
    return replace(fit, states=states)


def _update_prior(problem: Problem, states: Any, parameters: Parameters) -> dict:
    """Put the prior that the last posteriors make into the states; its strength, for the history."""
    if problem.prior is None:
        return {}
    return {"spatial": problem.prior.update(problem.rows, states, parameters.proportions)}


def _total(moments, projection: Projection, sums, problem: Problem) -> np.ndarray:
    """U'SU from what the pass has summed: within plus between, plus the ridge that S carries in the F-step."""
    within = moments.covariances.sum(axis=0) / problem.weight
    centred = projection.latent_means - problem.mean @ projection.matrix[: within.shape[0]].T
    between = (centred.T * (sums.weights / problem.weight)) @ centred
    return within + between + problem.scatter.ridge * np.eye(len(within))


def _refill(problem: Problem, states, fit: Fit, sums, target: int):
    """An emptied group takes half of the largest one, cut across its longest latent direction."""
    source = int(np.argmax(sums.weights))
    longest = np.linalg.eigh(fit.parameters.covariances[source])[1][:, -1]
    threshold = float(longest @ fit.parameters.latent_means[source])
    sums = problem.rows.fold(split_group, states, source, target, fit.axes.rows @ longest, threshold)
    return sums, f"group {target} had emptied: refilled with half of group {source}"


def _give_up(fit: Fit | None, collapsed) -> Fit:
    names = ", ".join(map(str, collapsed))
    if fit is None:
        raise FloatingPointError(f"the start leaves group {names} with fewer than two observations")
    fit.stop_reason = f"collapsed (group {names})"
    return fit
