"""The loop of any family: place, update, expect until the stopping rule holds. Two passes over the rows each time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._utils.wording import group_name
from ..data.e_step import Algebra, Pass
from ..data.kernels import Expectation, GroupSums, expect, split_group
from ..data.problem import Problem
from .family import Family, Solution
from .stopping import STOPPING, Stop, StopKind

__all__ = ["Fit", "Run", "Settings", "restore", "run"]

# A group with less than one observation (up to rounding of its posteriors) has collapsed.
_LEAST_OBSERVATIONS = 0.999
# The F-step maximises eq. (6), not the likelihood, and on some data (satimage; iris with `svd` axes) the iterates end
# in a cycle of 2 to 10 iterations. Two windows of this length, the second no better than the first, are taken as one.
_WINDOW = 20
# What a leap's E-step needs of a state.
_STATE = ("weights", "first", "squared_norms", "log_prior")


@dataclass(frozen=True)
class Settings:
    """When to stop."""

    max_iter: int
    tol: float
    stopping: str


@dataclass
class Fit:
    """The result of one run."""

    solution: Any  # the family's `Solution`
    states: Any  # as the engine keeps them; [] when they were given up
    log_likelihood: float
    entropy: float
    history: list[dict]
    stop: Stop

    @property
    def n_iter(self) -> int:
        """Iterations that were done."""
        return len(self.history)

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met."""
        return self.stop.kind is StopKind.CONVERGED

    @property
    def given_up(self) -> bool:
        """Whether another start had met the same partition, or most of them were more likely."""
        return self.stop.kind in (StopKind.JOINED, StopKind.BEHIND)

    @property
    def whole(self) -> bool:
        """Whether every group has rows."""
        return self.stop.kind is not StopKind.COLLAPSED


def run(problem: Problem, states: Any, family: Family, settings: Settings, *, phase: str = "") -> Fit:
    """Iterate from the posteriors in `states` (which are overwritten)."""
    with problem.rows.threads():
        return Run(problem, states, family, settings, phase).until_stopped()


@dataclass
class Run:
    """One run: its inputs, the present sums and the last iterates.

    `steps` asks for the passes over the rows and for the small algebra of each iteration instead of doing them, so that
    several runs can share both; `until_stopped` does them for this run alone.
    """

    problem: Problem
    states: Any
    family: Family
    settings: Settings
    phase: str
    history: list[dict] = field(default_factory=list)
    recent: deque[Fit] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    n_splits: int = 0
    event: str = ""

    def __post_init__(self):
        self.passes = self.problem.e_step.begin(self.problem)

    def until_stopped(self) -> Fit:
        """Do everything that is asked for."""
        steps, found = self.steps(), None
        try:
            while True:
                found = steps.send(found).alone(self.problem.rows, self.states)
        except StopIteration as stopped:
            return stopped.value

    def steps(self) -> Generator[Pass | Algebra, Any, Fit]:
        """Iterate until the stopping rule holds; yields what is to be done, is sent the result, and returns the fit."""
        step = self.family.begin(self.problem)
        met: Callable[[float, float], bool] = STOPPING[self.settings.stopping](self.settings.tol)
        sums: GroupSums | Expectation = self.problem.group_sums(self.states)
        while True:
            emptied = np.flatnonzero(sums.weights < _LEAST_OBSERVATIONS * min(1.0, self.problem.lightest))
            if len(emptied):
                if not self.recent or self.n_splits >= len(sums.weights):
                    return self._give_up(emptied)
                sums = self._refill(int(emptied[0]), sums)
                continue
            fit, sums = yield from self._iterate(step, sums)
            if met(fit.log_likelihood / self.problem.weight, fit.solution.separation):
                fit.stop = Stop(StopKind.CONVERGED, self.settings.stopping)
                return fit
            if _cycles(self.history, self.settings.tol * self.problem.weight):
                if self.family.monotone:
                    fit.stop = Stop(StopKind.CONVERGED, self.settings.stopping)
                    return fit
                return self._best_of_recent(StopKind.CYCLE)
            if len(self.history) >= self.settings.max_iter:
                return self._best_of_recent(StopKind.MAX_ITER)

    def _iterate(self, step, sums) -> Generator[Pass | Algebra, Any, tuple[Fit, Expectation]]:
        """One iteration, with its record."""
        solution, after, record_of_prior = yield from self.passes.iterate(step, self.states, sums)
        solution, after = self._leapt(step, solution, after)
        number = len(self.history) + 1
        if not np.isfinite(after.log_likelihood):
            raise FloatingPointError(f"the log-likelihood became {after.log_likelihood} in iteration {number}")
        record = {
            "iteration": number,
            "phase": self.phase,
            "log_likelihood": after.log_likelihood,
            "smallest_group": float(after.weights.min()),
            "event": self.event,
        }
        self.history.append(record | solution.record() | record_of_prior)
        self.event = ""
        stop = Stop(StopKind.RUNNING)
        fit = Fit(solution, self.states, after.log_likelihood, after.entropy, self.history, stop)
        self.recent.append(fit)
        return fit, after

    def _leapt(self, step, solution: Solution, after: Expectation) -> tuple[Solution, Expectation]:
        """Where the step proposes a leap ahead that is more likely, that one in place of the iterate."""
        leap = step.leap(solution)
        if leap is None:
            return solution, after
        rows = self.problem.rows
        states = rows.derive(self.states, _STATE)
        tried = rows.fold(expect, states, leap.density, read=True)
        if not tried.log_likelihood > after.log_likelihood:
            return solution, after
        self.states = states
        step.landed(leap)
        return leap, tried

    def _refill(self, target: int, sums) -> GroupSums:
        """An emptied group takes half of the largest one."""
        source = int(np.argmax(sums.weights))
        direction, threshold = self.recent[-1].solution.halves(source)
        self.event = f"{group_name(target)} had emptied: refilled with half of {group_name(source)}"
        self.n_splits += 1
        self.passes.restart()
        return self.problem.rows.fold(split_group, self.states, source, target, direction, threshold)

    def _give_up(self, emptied: np.ndarray) -> Fit:
        names = ", ".join(map(group_name, emptied))
        if not self.recent:
            raise FloatingPointError(f"the start leaves {names} with fewer than two observations")
        fit = self.recent[-1]
        fit.stop = Stop(StopKind.COLLAPSED, names)
        # a refill has changed the posteriors since: those of the parameters are wanted
        return restore(self.problem, fit) if self.event else fit

    def _best_of_recent(self, why: StopKind) -> Fit:
        """Without convergence the last iterate is arbitrary: go back to the most likely one of the last window."""
        fit = max(self.recent, key=lambda f: f.log_likelihood)
        fit.stop = Stop(why)
        return fit if fit is self.recent[-1] else restore(self.problem, fit)


def _cycles(history: list[dict], tol: float) -> bool:
    """Whether the best log-likelihood of the last window is no better than that of the window before it."""
    if len(history) < 2 * _WINDOW:
        return False
    values = [record["log_likelihood"] for record in history[-2 * _WINDOW :]]
    return max(values[_WINDOW:]) <= max(values[:_WINDOW]) + tol


def restore(problem: Problem, fit: Fit) -> Fit:
    """The fit with the states of its own posteriors, recomputed from its parameters."""
    states = problem.fresh_states()
    problem.e_step.restore(problem, states, fit.solution)
    return replace(fit, states=states)
