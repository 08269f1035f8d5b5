"""Starts for mixtures of factor models: many short runs, of which the best are continued (Biernacki et al. 2003).

Their likelihood has many local maxima. Which one is reached depends on the initial loadings and on small differences
between partitions: wine27 with MFA ends between -5085 and -5172 from k-means runs that agree in 99% of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ...solvers.kmeans_runs import kmeans_runs
from ..data.problem import Problem
from ..engine.loop import Fit, run
from ..engine.multistart import (
    NUMERICAL_ERRORS,
    Specification,
    failed_record,
    fit_from,
    is_better,
    joined,
    no_fit,
    run_adapted,
    starting_points,
)  # fmt: skip
from ..starts.partitions import (
    STARTS,
    adjusted_rand,
    distinct_rows,
    is_large,
    kmeans_starts,
    random_starts,
    ward_starts,
)

__all__ = ["MIXED", "fit_short_then_long", "mixed_starts", "short_runs"]

MIXED = "mixed"
# Iterations of a short run, after which the order of the candidates is mostly final. Runs that are compared with the
# best fit get a few more.
_SHORT, _SECOND = 7, 10
# Short runs that are continued.
_LONG = 3
# The tolerance of runs that are compared, in units of the final tolerance.
_NEAR = 100.0
# Other initial loadings that are tried for the partition of the best run, and the limit on such rounds.
_OTHERS, _ROUNDS = 4, 2
# The limit on continuations of a converged run.
_POLISHED = 20
# Iterations on a sample of large data, from each of its starts.
_ON_SAMPLE = 20
# Adjusted Rand index of identical partitions, up to rounding.
_SAME = 1 - 1e-9


@dataclass(frozen=True)
class VariedStart:
    """A starting point and the variant of the initial loadings."""

    start: Any
    variant: int


def _candidates(starts: list[Any], n_init: int) -> list[VariedStart]:
    """Every start with principal axes, then a third as many again with other loadings."""
    plain = [VariedStart(start, 0) for start in starts]
    more = n_init // 3
    return plain + [VariedStart(starts[i % len(starts)], 1 + i) for i in range(more)]


def mixed_starts(problem: Problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """Distinct partitions of k-means, Ward's, and random ones up to `n_init`, of which at least a third are random.

    On large data all starts are k-means runs on a sample.
    """
    if is_large(problem):
        return kmeans_starts(problem, n_clusters, n_init, rng)
    guided = _guided_starts(problem, n_clusters, n_init, rng)
    return guided + random_starts(problem, n_clusters, n_init - len(guided), rng)


def _guided_starts(problem: Problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """Those of `mixed_starts` that are not random."""
    most = max(1, (2 * n_init) // 3 - 1)
    rows = problem.rows
    chosen, weights, index = distinct_rows(problem.given.everything(), rows.weights)
    values = rows.everything()[chosen] - rows.centre
    found: list[np.ndarray] = []
    for one in kmeans_runs(values, n_clusters, rng.randint(np.iinfo(np.int32).max, size=n_init), weights):
        if all(adjusted_rand(one.labels, other) < _SAME for other in found):
            found.append(one.labels)
        if len(found) == most:
            break
    starts = [np.where(index >= 0, labels[index], 0) for labels in found]
    return starts + (ward_starts(problem, n_clusters, 1, rng) if n_init > 1 else [])


STARTS.add(MIXED, mixed_starts)
STARTS.seal()


def _varied(spec: Specification, variant: int) -> Specification:
    return replace(spec, family=replace(spec.family, variant=variant))  # type: ignore[type-var]


def short_runs(
    problem: Problem, spec: Specification, candidates: list[VariedStart], iterations: int = _SHORT
) -> tuple[list[Fit], list[dict]]:
    """The fits of the short runs, the best first, and a record of each run."""
    short = spec.at_most(iterations)
    fits: list[Fit] = []
    records = []
    for candidate in candidates:
        varied, start = _varied(short, candidate.variant), candidate.start
        try:
            if isinstance(start, Fit):
                states = problem.states_of(start, "posteriors")
            else:
                states = problem.start_states(start, spec.n_clusters)
            fit = run_adapted(problem, states, varied, varied.family.phases()[0])
        except NUMERICAL_ERRORS as error:
            records.append(failed_record(error))
            continue
        records.append(fit.record())
        fits.append(fit)
    return _in_order(fits), records


def _in_order(fits: list[Fit]) -> list[Fit]:
    """Fits without empty groups first, then by likelihood."""
    return sorted(fits, key=lambda fit: (not fit.whole, -fit.log_likelihood))


def fit_short_then_long(problem: Problem, spec: Specification) -> tuple[Fit, list[dict]]:
    """The best fit over the specification's starts, and a record of each run, the short ones first."""
    if is_large(problem):
        return _fit_large(problem, spec)
    if spec.n_clusters == 1:
        spec = replace(
            spec, n_init=min(spec.n_init, 2), init=np.zeros(problem.rows.n, int)
        )  # there is only one partition
    rng = check_random_state(spec.random_state)
    mixed = isinstance(spec.init, str) and spec.init == MIXED
    guided = _guided_starts(problem, spec.n_clusters, spec.n_init, rng) if mixed else starting_points(problem, spec)
    with problem.rows.threads():
        if spec.n_init == 1 or any(isinstance(start, Fit) for start in guided):
            return fit_from(problem, spec, guided)
        fits, records = short_runs(problem, spec, _candidates(guided, spec.n_init))
        others = random_starts(problem, spec.n_clusters, spec.n_init - len(guided), rng) if mixed else []
        strangers, more = short_runs(problem, spec, [VariedStart(start, 2 + i) for i, start in enumerate(others)])
        records += more
        if not fits and not strangers:
            raise no_fit(records)
        if spec.family.wanders:  # type: ignore[attr-defined]
            chosen = _distinct(fits)[:_LONG] + strangers[:_LONG]
        else:
            chosen = _distinct(_in_order(fits + strangers))[:_LONG]
        best = _longest(problem, spec, chosen, records)
        best = _with_other_loadings(problem, spec, best, records)
        best = _settled(problem, spec, best)
        nudged = _nudged(problem, spec, best, records)
        return (best if nudged is best else _settled(problem, spec, nudged)), records


def _fit_large(problem: Problem, spec: Specification) -> tuple[Fit, list[dict]]:
    """Large data: short runs from k-means on a sample, chosen by the likelihood of another sample."""
    if isinstance(spec.init, str) and spec.init == MIXED:
        spec = replace(spec, init="kmeans")
    near = spec.looser(_NEAR)
    starts = starting_points(problem, near.at_most(_ON_SAMPLE))
    with problem.rows.threads():
        return fit_from(problem, near, starts)


def _settled(problem: Problem, spec: Specification, fit: Fit) -> Fit:
    """Continue a converged fit while it gains more than the tolerance: plateaus look like convergence."""
    for _ in range(_POLISHED):
        if not fit.converged or fit.n_iter >= spec.settings.max_iter:
            break
        longer = _continued(problem, spec, fit)
        if not is_better(longer, fit):
            break
        gain, fit = longer.log_likelihood - fit.log_likelihood, longer
        if gain <= spec.settings.tol * problem.weight:
            break
    return fit


def _with_other_loadings(problem: Problem, spec: Specification, best: Fit, records: list[dict]) -> Fit:
    """The best fit, or a better one from its partition with other initial loadings or one noise reduced."""
    for first in range(1, 1 + _ROUNDS * _OTHERS, _OTHERS):
        candidates = [VariedStart(best, variant) for variant in range(first, first + _OTHERS)]
        fits, more = short_runs(problem, spec, candidates, _SECOND)
        records += more
        found = _better(problem, spec, best, fits, records)
        found = _nudged(problem, spec, found, records)
        if found is best:
            break
        best = found
    return best


def _nudged(problem: Problem, spec: Specification, best: Fit, records: list[dict]) -> Fit:
    """The best fit, or a better one from its parameters with one noise reduced."""
    short = spec.at_most(_SECOND).settings
    fits = []
    for family in spec.family.nudged(best.solution, _OTHERS):  # type: ignore[attr-defined]
        try:
            fits.append(run(problem, problem.states_of(best, "posteriors"), family, short))
            records.append(fits[-1].record())
        except NUMERICAL_ERRORS as error:
            records.append(failed_record(error))
    return _better(problem, spec, best, fits, records)


def _better(problem: Problem, spec: Specification, best: Fit, fits: list[Fit], records: list[dict]) -> Fit:
    """Continue the most likely short run if it is clearly above the best fit; returns the better of both."""
    enough = best.log_likelihood + _NEAR * spec.settings.tol * problem.weight
    passed = [fit for fit in fits if is_better(fit, best) and fit.log_likelihood > enough]
    if not passed:
        return best
    found = _longest(problem, spec, _in_order(passed)[:1], records)
    return found if is_better(found, best) else best


def _longest(problem: Problem, spec: Specification, fits: list[Fit], records: list[dict]) -> Fit:
    """The best of short runs after they are continued with a loose tolerance."""
    near = spec.looser(_NEAR)
    best: Fit | None = None
    for fit in fits:
        longer = _continued(problem, near, fit)
        records.append(longer.record())
        if is_better(longer, best):
            best = longer
    assert best is not None
    return best


def _distinct(fits: list[Fit]) -> list[Fit]:
    """Drop runs with the same likelihood as a better one."""
    kept: list[Fit] = []
    for fit in fits:
        if all(abs(fit.log_likelihood - other.log_likelihood) > 1e-6 * abs(other.log_likelihood) for other in kept):
            kept.append(fit)
    return kept


def _continued(problem: Problem, spec: Specification, fit: Fit) -> Fit:
    """Continue a run from its own parameters; the run itself if that ends in a numerical error."""
    family = spec.family.continuing(fit.solution)  # type: ignore[attr-defined]
    try:
        longer = run(problem, problem.states_of(fit, "posteriors"), family, spec.settings)
    except NUMERICAL_ERRORS:
        return fit
    longer.history = joined(fit.history, longer.history)
    return longer
