"""The loop of any family: place, update, expect until a stopping rule holds. Each iteration passes over the rows twice.

A run stops by Aitken's estimate of the final log-likelihood or by the change of Fisher's criterion (`STOPPING`). One
that cycles or reaches `max_iter` returns the most likely of its last iterates, unless its rule stands alone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from ..._utils.passes import ONLOOKER
from ..._utils.register import Register
from ..._utils.wording import group_name
from ...rows.base import States
from ..data.e_step import Pass
from ..data.kernels import Expectation, GroupSums, expect, split_group
from ..data.problem import Problem
from .family import Family, Solution

__all__ = ["STOPPING", "AitkenStop", "FisherStop", "Fit", "Run", "Settings", "Stop", "StopKind", "restore", "run"]

# A group with a total weight of less than one observation (up to rounding of its posteriors) has collapsed.
_LEAST_OBSERVATIONS = 0.999
# The F-step maximises eq. (6), not the likelihood, and on some data (satimage; iris with `svd` axes) the iterates end
# in a cycle of 2 to 10 iterations. It is detected by two windows of this length, the second no better than the first.
_WINDOW = 20
# The attributes of a state that the E-step of an extrapolated solution needs.
_STATE = ("weights", "first", "squared_norms", "log_prior")


class AitkenStop:
    """Stop when two successive Aitken estimates of the limit of the log-likelihood (per observation) agree.

    With a = (l2 - l1) / (l1 - l0), the limit of a geometric sequence is l1 + (l2 - l1) / (1 - a). The likelihood of
    Fisher-EM is not monotone. If a is not in [0, 1) the sequence is not geometric and the last value is used instead.
    """

    def __init__(self, tol: float):
        self.tol = tol
        self.values: list[float] = []
        self.limit = math.nan

    def __call__(self, mean_log_likelihood: float, fisher: float) -> bool:
        self.values.append(mean_log_likelihood)
        if len(self.values) < 3:
            return False
        l0, l1, l2 = self.values[-3:]
        last = self.limit
        change, before = l2 - l1, l1 - l0
        a = change / before if before else math.inf
        self.limit = l1 + change / (1 - a) if change and 0 <= a < 1 else l2
        return abs(self.limit - last) < self.tol  # False while `last` is nan


class AitkenAlone(AitkenStop):
    """Aitken's rule and no other: cycles are not looked for, and `max_iter` returns the last iterate."""

    alone = True


class FisherStop:
    """Stop when the criterion of eq. (6), which is between 0 and K - 1, changes by less than `tol`."""

    def __init__(self, tol: float):
        self.tol = tol
        self.last = math.nan

    def __call__(self, mean_log_likelihood: float, fisher: float) -> bool:
        change, self.last = abs(fisher - self.last), fisher
        return change < self.tol


# tol -> a rule, called once per iteration with the log-likelihood per observation and Fisher's criterion.
STOPPING: Register[Callable[[float], Callable[[float, float], bool]]] = Register(
    "stopping rule", {"aitken": AitkenStop, "fisher": FisherStop, "aitken-alone": AitkenAlone}
)


class StopKind(Enum):
    """How a run ended."""

    RUNNING = ""
    CONVERGED = "converged"
    CYCLE = "cycle"
    MAX_ITER = "max_iter"
    COLLAPSED = "collapsed"
    JOINED = "joined"  # another start had reached the same partition
    BEHIND = "behind"  # most of the other starts were more likely


@dataclass(frozen=True)
class Stop:
    """How a run ended: the kind, and the rule that was met or the groups that were lost."""

    kind: StopKind
    detail: str = ""

    def __str__(self) -> str:
        """The text of `stop_reason_`: the rule's name, "cycle", "max_iter" or "collapsed (group 2)"."""
        if self.kind is StopKind.CONVERGED:
            return self.detail
        return self.kind.value + (f" ({self.detail})" if self.detail else "")

    @classmethod
    def parse(cls, text: str) -> Stop:
        """The inverse of `str`, for checkpoints."""
        word, _, rest = text.partition(" (")
        if word in {kind.value for kind in (StopKind.CYCLE, StopKind.MAX_ITER, StopKind.COLLAPSED)}:
            return cls(StopKind(word), rest.removesuffix(")"))
        return cls(StopKind.CONVERGED, text)


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
    states: States  # as the engine keeps them; [] if they were discarded
    log_likelihood: float
    entropy: float
    history: list[dict]
    stop: Stop

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.history)

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met."""
        return self.stop.kind is StopKind.CONVERGED

    @property
    def given_up(self) -> bool:
        """Whether the run was stopped because it duplicated another start or most of them were more likely."""
        return self.stop.kind in (StopKind.JOINED, StopKind.BEHIND)

    @property
    def whole(self) -> bool:
        """Whether every group has rows."""
        return self.stop.kind is not StopKind.COLLAPSED

    def record(self) -> dict:
        """A row of `starts_`."""
        return {
            "log_likelihood": self.log_likelihood, "n_iter": self.n_iter, "converged": self.converged,
            "stop_reason": str(self.stop),
        }  # fmt: skip


def run(problem: Problem, states: States, family: Family, settings: Settings, *, phase: str = "") -> Fit:
    """Iterate from the posteriors in `states`, which are overwritten."""
    with problem.rows.threads():
        return Run(problem, states, family, settings, phase).until_stopped()


@dataclass
class Run:
    """One run: its inputs and the last iterates.

    `steps` yields the passes over the rows that each iteration needs, so that several runs can share them;
    `until_stopped` does them for this run alone.
    """

    problem: Problem
    states: States
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
        """Run to the end, one pass after the other."""
        steps, found = self.steps(), None
        try:
            while True:
                wanted = steps.send(found)
                found = self.problem.rows.fold(wanted.kernel, self.states, wanted.argument)
        except StopIteration as stopped:
            return stopped.value

    def steps(self) -> Generator[Pass, Any, Fit]:
        """Iterate until the stopping rule holds; yields passes, is sent their results, and returns the fit."""
        step = self.family.begin(self.problem)
        met: Callable[[float, float], bool] = STOPPING[self.settings.stopping](self.settings.tol)
        self._resume(met)
        sums: GroupSums | Expectation = self.problem.group_sums(self.states)
        while True:
            emptied = np.flatnonzero(sums.weights < _LEAST_OBSERVATIONS * min(1.0, self.problem.lightest))
            if len(emptied):
                if not self.recent or self.n_splits >= len(sums.weights):
                    return self._give_up(emptied)
                sums = self._refill(int(emptied[0]), sums)
                continue
            fit, sums = yield from self._iterate(step, sums)
            converged = met(fit.log_likelihood / self.problem.weight, fit.solution.separation)
            alone = getattr(met, "alone", False)
            cycles = not alone and _cycles(self.history, self.settings.tol * self.problem.weight)
            if converged or (cycles and self.family.monotone):
                fit.stop = Stop(StopKind.CONVERGED, self.settings.stopping)
                return fit
            if alone and len(self.history) >= self.settings.max_iter:
                fit.stop = Stop(StopKind.MAX_ITER)
                return fit
            if cycles or len(self.history) >= self.settings.max_iter:
                return self._best_of_recent(StopKind.CYCLE if cycles else StopKind.MAX_ITER)

    def _resume(self, met: Callable[[float, float], bool]) -> None:
        """Go on from the posteriors and the history of a checkpoint, if the observer has one."""
        who = ONLOOKER.get()
        found = None if who is None else who.resume(self.problem.rows.n, self.phase)
        if found is None:
            return
        posteriors, history = found
        self.problem.rows.spread(self.states, "posteriors", posteriors)
        self.history.extend(history)
        for record in history:
            met(record["log_likelihood"] / self.problem.weight, record.get("fisher", math.nan))

    def _iterate(self, step, sums) -> Generator[Pass, Any, tuple[Fit, Expectation]]:
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
        if (who := ONLOOKER.get()) is not None:
            rows, states = self.problem.rows, self.states
            who.passed(rows.n, self.phase, self.history, lambda: rows.gather(states, "posteriors"))
        return fit, after

    def _leapt(self, step, solution: Solution, after: Expectation) -> tuple[Solution, Expectation]:
        """Replace the iterate by the step's extrapolation, if it proposes one that is more likely."""
        leap = None if step.leap is None else step.leap(solution)
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
        """Give an empty group half of the largest one."""
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
        # a refill has changed the posteriors: recompute those of the parameters
        return restore(self.problem, fit) if self.event else fit

    def _best_of_recent(self, why: StopKind) -> Fit:
        """Without convergence the last iterate is arbitrary, so return the most likely one of the last window."""
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
    """The fit with states of its own posteriors, recomputed from its parameters."""
    states = problem.fresh_states()
    problem.e_step.restore(problem, states, fit.solution)
    return replace(fit, states=states)
