"""From a prepared data set and a specification to one fit: starts, the dense phase, the sparse phase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..rows.in_memory import ArrayRows
from .f_step.step import FStep
from .kernels import Projection, describe
from .loop import Fit, Settings, restore, run
from .problem import Problem, prepare
from .sampling import two_samples
from .starts import STARTS, is_large, sample_centres

__all__ = ["FitError", "Specification", "best_of", "dense_from", "fit", "fit_from", "sparse_from", "starting_points"]


class FitError(ValueError):
    """No start led to a fit; the message lists why."""


@dataclass(frozen=True)
class Specification:
    """Everything that determines a fit but the data."""

    n_clusters: int
    d: int
    discriminant: str
    settings: Settings
    init: str | np.ndarray
    n_init: int
    random_state: object
    method: str | None = None  # None: Fisher-EM
    sparsity: np.ndarray | None = None
    start: str = "fisher-em"
    scale_penalty: bool = False
    axis_weights: str = "equal"

    def dense_step(self) -> FStep:
        return FStep(self.discriminant, self.d)

    def sparse_step(self) -> FStep:
        return FStep(self.discriminant, self.d, self.method, self.sparsity, self.scale_penalty, self.axis_weights)


def starting_points(problem: Problem, spec: Specification) -> list[Any]:
    """Labels, posteriors, rules or a fit to start from."""
    if not isinstance(spec.init, str):
        return [spec.init]
    rng = check_random_state(spec.random_state)
    if spec.init == "kmeans" and spec.n_init > 1 and is_large(problem) and problem.rows is problem.given:
        return [chosen_start(problem, spec, rng)]
    return STARTS[spec.init](problem, spec.n_clusters, spec.n_init, rng)


def chosen_start(problem: Problem, spec: Specification, rng: np.random.RandomState) -> Any:
    """Large data: k-means starts and Fisher-EM from each on a sample, the choice by the likelihood of another sample.

    The start is the chosen fit, which the loop goes on from on all rows. Where no candidate led to a fit, it is the
    best k-means partition.
    """
    sample, other = two_samples(problem, rng)
    candidates = sample_centres(sample, spec.n_clusters, spec.n_init, rng)
    scatter = problem.scatter
    small = prepare(sample, ridge=scatter.ridge / scatter.mean_variance)
    best, most = None, (False, -np.inf)
    for candidate in candidates:
        try:
            states = small.start_states(replace(candidate, centres=candidate.centres - small.centre), spec.n_clusters)
            fit = run(small, states, spec.dense_step(), spec.settings)
        except (FloatingPointError, np.linalg.LinAlgError):
            continue
        rank = (_rank(fit)[0], _likelihood_of(other - small.centre, fit))
        if best is None or rank > most:
            best, most = fit, rank
    if best is None:
        return candidates[0]
    return replace(best, means=best.means + small.centre, states=[], history=[])


def _likelihood_of(Y: np.ndarray, fit: Fit) -> float:
    """The log-likelihood of rows that the fit has not seen (less the centre that its means are relative to)."""
    rows = ArrayRows(Y)
    projection = Projection.of(fit.axes.rows, fit.means)
    return rows.fold(describe, rows.states(), projection, fit.parameters, "").log_likelihood


def _states_from(problem: Problem, start: Any, n_clusters: int) -> Any:
    if not isinstance(start, Fit):
        return problem.start_states(start, n_clusters)
    return problem.states_of(start if start.states else restore(problem, start), "posteriors")


def dense_from(problem: Problem, start: Any, spec: Specification) -> Fit:
    """Fisher-EM from one starting point."""
    return run(problem, _states_from(problem, start, spec.n_clusters), spec.dense_step(), spec.settings, phase="dense")


def sparse_from(problem: Problem, start: Any, spec: Specification) -> Fit:
    """Sparse Fisher-EM from a fit's posteriors or from a starting point. The history of a fit goes on."""
    before = start.history if isinstance(start, Fit) else []
    states = _states_from(problem, start, spec.n_clusters)
    fit = run(problem, states, spec.sparse_step(), spec.settings, phase="sparse")
    fit.history = before + [{**record, "iteration": record["iteration"] + len(before)} for record in fit.history]
    return fit


def best_of(problem: Problem, starts, spec: Specification, one) -> tuple[Fit, list[dict]]:
    """The most likely of the fits `one(problem, start, spec)`, and a record of each start."""
    best: Fit | None = None
    records: list[dict] = []
    for start in starts:
        try:
            fit = one(problem, start, spec)
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            records.append({"log_likelihood": -np.inf, "n_iter": 0, "converged": False, "stop_reason": str(error)})
            continue
        records.append(
            {
                "log_likelihood": fit.log_likelihood,
                "n_iter": fit.n_iter,
                "converged": fit.converged,
                "stop_reason": fit.stop_reason,
            }
        )
        # a start that lost a group is kept only if there is nothing else
        if best is None or _rank(fit) > _rank(best):
            best = fit
    if best is None:
        reasons = "; ".join(sorted({r["stop_reason"] for r in records}))
        raise FitError(f"none of the {len(records)} starts led to a fit: {reasons}")
    return best, records


def _rank(fit: Fit) -> tuple[bool, float]:
    return (not fit.stop_reason.startswith("collapsed"), fit.log_likelihood)


def fit(problem: Problem, spec: Specification) -> tuple[Fit, list[dict]]:
    """The best fit over the starts, and a record of each start.

    Sparse with start="fisher-em": Fisher-EM from every start, then the sparse algorithm from the best of them
    (section 3.4). With start="cold": the sparse algorithm from every start.
    """
    starts = starting_points(problem, spec)
    with problem.rows.threads():
        return fit_from(problem, spec, starts)


def fit_from(problem: Problem, spec: Specification, starts) -> tuple[Fit, list[dict]]:
    """The best fit over given starts."""
    if spec.method is None or spec.start == "fisher-em":
        best, records = best_of(problem, starts, spec, dense_from)
        if spec.method is not None:
            best, more = best_of(problem, [best], spec, sparse_from)
            records = records + more
        return best, records
    return best_of(problem, starts, spec, sparse_from)
