"""From a prepared data set and a specification to one fit: the starts, then the phases of the family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from ..._utils.wording import group_name
from ...rows.base import ArrayRows, States
from ..data.e_step import evaluate
from ..data.problem import Problem, prepare
from ..data.sampling import two_samples
from ..starts.partitions import is_large, start_of
from .concurrent_runs import NUMERICAL_ERRORS, can_share, run_together, shares_of
from .family import Family, Phase
from .loop import Fit, Run, Settings, Stop, StopKind, restore, run

__all__ = [
    "NUMERICAL_ERRORS", "FitError", "Specification", "best_of", "best_of_each", "continue_from", "failed_record", "fit",
    "fit_from", "fits_from", "is_better", "joined", "no_fit", "run_adapted", "side_by_side", "starting_points",
]  # fmt: skip

# Likelihoods that differ by less than this share, or by less than these nats in any unit of the columns, are ties,
# broken by the order of the starts, so that rounding affects neither the choice of the start nor the numbering of the
# groups.
_ROUNDING, _NATS = 1e-12, 1e-8


class FitError(ValueError):
    """No start led to a fit; the message lists the reasons."""


F = TypeVar("F", bound=Family)


@dataclass(frozen=True)
class Specification(Generic[F]):
    """Everything that determines a fit except the data."""

    family: F
    settings: Settings
    init: str | np.ndarray
    n_init: int
    random_state: object
    first_start: bool = False  # take the first start that leads to a fit, not the most likely fit

    @property
    def n_clusters(self) -> int:
        """The number of groups."""
        return self.family.n_clusters

    def at_most(self, iterations: int) -> Specification[F]:
        """The same with no more iterations than these."""
        return replace(self, settings=replace(self.settings, max_iter=min(iterations, self.settings.max_iter)))

    def looser(self, times: float) -> Specification[F]:
        """The same with so many times the tolerance."""
        return replace(self, settings=replace(self.settings, tol=times * self.settings.tol))


def starting_points(problem: Problem, spec: Specification) -> list[Any]:
    """The starting points: labels, posteriors, rules or a fit."""
    if not isinstance(spec.init, str):
        return [spec.init]
    rng, start = check_random_state(spec.random_state), start_of(spec.init)
    many = spec.n_init > 1 and not spec.first_start
    if start.of_sample is not None and many and is_large(problem) and problem.rows is problem.given:
        return [chosen_start(problem, spec, start.of_sample, rng)]
    return start(problem, spec.n_clusters, spec.n_init, rng)


def chosen_start(problem: Problem, spec: Specification, of_sample: Callable, rng: np.random.RandomState) -> Any:
    """The start for large data: a fit to a sample from one of several starts, such as those of k-means.

    It is chosen by the likelihood of a second sample, and the loop continues from it on all rows. If no candidate leads
    to a fit, the start is the best k-means partition.
    """
    sample, other = two_samples(problem, rng)
    candidates = of_sample(sample, spec.n_clusters, spec.n_init, rng)
    scatter = problem.scatter
    small = spec.family.prepared(prepare(sample, ridge=scatter.ridge / scatter.mean_variance))
    family = spec.family.phases()[0].family
    best, most = None, (False, -np.inf)
    for candidate in candidates:
        try:
            states = small.start_states(replace(candidate, centres=candidate.centres - small.centre), spec.n_clusters)
            fit = run(*_adapted(family, small, states), spec.settings)
        except NUMERICAL_ERRORS:
            continue
        rank = (fit.whole, _likelihood_of(other - small.centre, fit))
        if best is None or rank > most:
            best, most = fit, rank
    if best is None:
        return candidates[0]
    return replace(best, solution=best.solution.moved(small.centre), states=[], history=[])


def _adapted(family: Family, problem: Problem, states: States) -> tuple[Problem, Any, Family]:
    problem, family = family.adapt(problem, states)
    return problem, states, family


def _likelihood_of(Y: np.ndarray, fit: Fit) -> float:
    """The log-likelihood of other rows, relative to the centre of the fit's means."""
    rows = ArrayRows(Y)
    return evaluate(rows, rows.states(), fit.solution, ()).log_likelihood


def _states_from(problem: Problem, start: Any, n_clusters: int) -> States:
    if not isinstance(start, Fit):
        return problem.start_states(start, n_clusters)
    return problem.states_of(start if start.states else restore(problem, start), "posteriors")


def continue_from(
    problem: Problem, start: Any, spec: Specification, phase: Phase, refused: Callable[[Fit], bool] | None = None
) -> Fit:
    """One phase from a starting point or from a fit, whose history is continued."""
    before = start.history if isinstance(start, Fit) else []
    fit = run_adapted(problem, _states_from(problem, start, spec.n_clusters), spec, phase, refused)
    fit.history = joined(before, fit.history)
    return _checked(problem, fit, phase)


def _checked(problem: Problem, fit: Fit, phase: Phase) -> Fit:
    """The fit, marked as collapsed if its family may merge groups and a group is no row's most probable one."""
    if phase.family.merges and fit.whole and not fit.given_up:
        sizes = np.bincount(problem.rows.gather(fit.states, "labels"), minlength=phase.family.n_clusters)
        if not sizes.all():
            fit.stop = Stop(StopKind.COLLAPSED, ", ".join(group_name(int(k)) for k in np.flatnonzero(sizes == 0)))
    return fit


def joined(before: list[dict], after: list[dict]) -> list[dict]:
    """Concatenate two histories."""
    return before + [{**record, "iteration": record["iteration"] + len(before)} for record in after]


def run_adapted(
    problem: Problem, states: States, spec: Specification, phase: Phase, refused: Callable[[Fit], bool] | None = None
) -> Fit:
    """Run a phase from the posteriors in the states, with the family adapted to them.

    A family with more rounds (whose noise metric depends on a partition) is adapted again to the result of each round,
    as long as the likelihood increases and `refused` does not reject the fit.
    """
    settings, family = spec.settings, phase.family
    fit = run(*_adapted(family, problem, states), settings, phase=phase.name)
    for _ in range(family.rounds - 1):
        if not fit.whole or (refused is not None and refused(fit)):
            break
        try:
            again = run(
                *_adapted(family, problem, problem.states_of(fit, "posteriors", "log_prior")),
                settings,
                phase=phase.name,
            )
        except NUMERICAL_ERRORS:
            break
        better = again.whole and again.log_likelihood > fit.log_likelihood
        enough = again.log_likelihood <= fit.log_likelihood + settings.tol * problem.weight
        if better:
            again.history = joined(fit.history, again.history)
            fit = again
        if enough:
            break
    return fit


def is_better(one: Fit, other: Fit | None) -> bool:
    """Whether a fit is more likely by more than rounding. A fit without empty groups is always better than one with."""
    if other is None or one.whole != other.whole:
        return other is None or one.whole
    return one.log_likelihood > other.log_likelihood + max(_NATS, _ROUNDING * abs(other.log_likelihood))


def best_of(problem: Problem, starts, spec: Specification, phase: Phase) -> tuple[Fit, list[dict]]:
    """The most likely fit of one phase over the starts, and a record of each start."""
    return _best(fits_from(problem, list(starts), spec, phase), spec)


def best_of_each(
    problem: Problem, starts: list, wanted: list[tuple[Specification, Phase]]
) -> list[tuple[Fit, list[dict]] | FitError]:
    """`best_of` for several specifications from the same starts, with shared passes, for rows that are slow to read.

    All have the same number of groups. A specification without a fit gets its error instead.
    """
    if len(wanted) < 2 or not all(can_share(problem, phase.family) for _, phase in wanted):
        return [_best_or_error(fits_from(problem, starts, spec, phase), spec) for spec, phase in wanted]
    tried = [starts[:1] if spec.first_start else starts for spec, _ in wanted]
    cells = [(start, spec, phase) for some, (spec, phase) in zip(tried, wanted, strict=True) for start in some]
    races = [i for i, some in enumerate(tried) for _ in some]
    fits = list(side_by_side(problem, cells, races=races))
    found = []
    for some, (spec, phase) in zip(tried, wanted, strict=True):
        own, fits = fits[: len(some)], fits[len(some) :]
        # if none of these led to a fit, try the other starts and those that fell behind
        again = len(starts) > 1 and not any(isinstance(fit, Fit) and fit.whole and not fit.given_up for fit in own)
        found.append(_best_or_error(fits_from(problem, starts, spec, phase) if again else iter(own), spec))
    return found


def _best_or_error(fits: Iterator[Fit | Exception], spec: Specification) -> tuple[Fit, list[dict]] | FitError:
    try:
        return _best(fits, spec)
    except FitError as error:
        return error


def _best(fits: Iterator[Fit | Exception], spec: Specification) -> tuple[Fit, list[dict]]:
    best: Fit | None = None
    records: list[dict] = []
    for fit in fits:
        if isinstance(fit, Exception):
            records.append(failed_record(fit))
            continue
        records.append(fit.record())
        if not fit.given_up and is_better(fit, best):
            best = fit
        if spec.first_start and fit.whole:
            break
    if best is None:
        raise no_fit(records)
    return best, records


def failed_record(error: Exception) -> dict:
    """The record of a start that ended with an error."""
    return {"log_likelihood": -np.inf, "n_iter": 0, "converged": False, "stop_reason": str(error)}


def no_fit(records: list[dict]) -> FitError:
    """The error for starts none of which led to a fit."""
    reasons = "; ".join(sorted({record["stop_reason"] for record in records}))
    return FitError(f"none of the {len(records)} starts led to a fit: {reasons}")


def fits_from(problem: Problem, starts: list, spec: Specification, phase: Phase) -> Iterator[Fit | Exception]:
    """A fit or a numerical error for each start, in order, with shared passes if possible.

    Runs that duplicate another or fall behind are stopped early, because only the most likely fit is needed. If no
    other run leads to a fit, those that fell behind are run to the end and come last.
    """
    if spec.first_start or len(starts) < 2 or not can_share(problem, phase.family):
        for start in starts:
            try:
                yield continue_from(problem, start, spec, phase)
            except NUMERICAL_ERRORS as error:
                yield error
        return
    found, behind = False, []
    cells = [(start, spec, phase) for start in starts]
    for cell, fit in zip(cells, side_by_side(problem, cells, races=[0] * len(cells)), strict=True):
        found |= isinstance(fit, Fit) and fit.whole and not fit.given_up
        if isinstance(fit, Fit) and fit.stop.kind is StopKind.BEHIND:
            behind.append(cell)
        yield fit
    if behind and not found:
        yield from side_by_side(problem, behind)


def side_by_side(problem: Problem, cells: list, *, races: Sequence[Any] | None = None) -> Iterator[Fit | Exception]:
    """The fits of several (start, specification, phase) with shared passes, or their numerical errors.

    All have the same number of groups, and families that can share passes (`can_share`). `races` gives the race of each
    cell; only the most likely fit of a race is needed.
    """
    size = shares_of(problem, cells[0][1].n_clusters, len(cells))
    for first in range(0, len(cells), size):
        some = slice(first, first + size)
        yield from _batch(problem, cells[some], None if races is None else races[some])


def _batch(problem: Problem, cells: list, races: Sequence[Any] | None) -> list[Fit | Exception]:
    found: list[Any] = []
    for start, spec, phase in cells:
        try:
            states = _states_from(problem, start, spec.n_clusters)
            adapted, states, family = _adapted(phase.family, problem, states)
            found.append(Run(adapted, states, family, spec.settings, phase.name))
        except NUMERICAL_ERRORS as error:
            found.append(error)
    runs = [one for one in found if isinstance(one, Run)]
    racing = None if races is None else [race for race, one in zip(races, found, strict=True) if isinstance(one, Run)]
    fits = iter(run_together(runs, races=racing) if runs else [])
    found = [next(fits) if isinstance(one, Run) else one for one in found]
    for fit, (start, _, phase) in zip(found, cells, strict=True):
        if isinstance(fit, Fit):
            fit.history = joined(start.history, fit.history) if isinstance(start, Fit) else fit.history
            _checked(problem, fit, phase)
    return found


def fit(problem: Problem, spec: Specification) -> tuple[Fit, list[dict]]:
    """The best fit over the specification's own starts, and a record of each start."""
    starts = starting_points(problem, spec)
    with problem.rows.threads():
        return fit_from(problem, spec, starts)


def fit_from(problem: Problem, spec: Specification, starts) -> tuple[Fit, list[dict]]:
    """The best fit over given starts: all go through the first phase, only the best through the others."""
    first, *others = spec.family.phases()
    records: list[dict] = []
    if first.prepares:
        starts, records = _ranked(problem, list(starts), spec, first)
        first, *others = others
        spec = replace(spec, first_start=True)
    best, more = best_of(problem, starts, spec, first)
    records = records + more
    for phase in others:
        best, more = best_of(problem, [best], spec, phase)
        records = records + more
    return best, records


def _ranked(problem: Problem, starts: list, spec: Specification, phase: Phase) -> tuple[list[Fit], list[dict]]:
    """Each start after a phase of its own, the most likely first, and a record of each."""
    fits, records = [], []
    for start in starts:
        try:
            fits.append(continue_from(problem, start, spec, phase))
            records.append(fits[-1].record())
        except NUMERICAL_ERRORS as error:
            records.append(failed_record(error))
    if not fits:
        raise no_fit(records)
    # rounded, so that ties are broken by the order of the starts
    return sorted(fits, key=lambda fit: (not fit.whole, -float(f"{fit.log_likelihood:.9e}"))), records
