"""Several runs on the same rows, in lockstep: each pass over the rows serves all of them.

Passes of the same kind are done together, as one product with more columns, one reading of a file or one round trip to
a cluster. The result of a run does not depend on the others except for rounding. In a race of starts, runs that have
reached the same partition as another run or have fallen behind are stopped early.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.e_step import Pass
from ..data.kernels import expect
from ..data.problem import Problem
from ..starts.partitions import adjusted_rand
from .family import Family
from .loop import Fit, Run, Stop, StopKind

__all__ = ["NUMERICAL_ERRORS", "can_share", "run_together", "shares_of"]

# Errors of one start that other starts need not have.
NUMERICAL_ERRORS = (FloatingPointError, np.linalg.LinAlgError)
# Iterations before runs are compared for the first time, and between comparisons.
_FIRST_LOOK, _LOOK_EVERY = 10, 5
# Of the starts of a race, the most likely half continues after 15 iterations, a third after 20 and a quarter after 25,
# but at least three. Random starts stay on plateaus for ten or twenty iterations, and the order after ten predicts
# little: its rank correlation with the final order was -0.2 to 0.7, against 0.3 to 0.8 after 15 and 0.5 to 0.97 after
# 20. In 30 races of twenty starts (ten tables, three seeds) this rule needed the iterations of 11.5 starts and kept the
# winner in 23, the second or third in the others. It was chosen on 15 of them; on the other 15 the winner was kept in
# 12. Keeping a third after ten iterations kept it in 17 of 30, and the eighth at worst.
_GO_ON, _LEAST_STARTS = {15: 1 / 2, 20: 1 / 3, 25: 1 / 4}, 3
# Runs whose partitions agree by more than this (adjusted Rand index) and whose log-likelihoods differ by less than this
# are duplicates.
_SAME_PARTITION, _SAME_LIKELIHOOD = 0.999, 0.01


def can_share(problem: Problem, family: Family) -> bool:
    """Whether runs of a family on these rows can share passes."""
    return problem.e_step.shares_passes and family.rounds == 1


def shares_of(problem: Problem, n_clusters: int, n_runs: int) -> int:
    """How many runs can share passes, so that what they keep per row fits the memory for states."""
    per_run = 8 * problem.rows.n * (3 * n_clusters + 3)  # posteriors, placed rows, and temporary copies of both
    return int(max(1, min(n_runs, problem.rows.room_for_states // per_run)))


@dataclass
class _Entry:
    """A run with the pass it waits for, or its result."""

    run: Run
    steps: Generator[Pass, Any, Fit]
    wanted: Pass | None = None
    ended: Fit | Exception | None = None

    def send(self, found: Any) -> None:
        """Send the run the result of its pass; it yields the next one, or ends."""
        try:
            self.wanted = self.steps.send(found)
        except StopIteration as stopped:
            self.wanted, self.ended = None, stopped.value
        except NUMERICAL_ERRORS as error:
            self.wanted, self.ended = None, error

    def drop(self, why: StopKind) -> None:
        """Stop the run at its last iterate."""
        self.steps.close()
        fit = self.run.recent[-1]
        fit.stop = Stop(why)
        self.wanted, self.ended = None, fit

    @property
    def log_likelihood(self) -> float:
        return self.run.history[-1]["log_likelihood"]


def run_together(runs: Sequence[Run], *, races: Sequence[Any] | None = None) -> list[Fit | Exception]:
    """The fit of each run, or the numerical error that ended it.

    `races` gives the race of each run. Only the most likely fit of a race matters, so runs that duplicate another or
    are behind most others are stopped early.
    """
    entries = [_Entry(run, run.steps()) for run in runs]
    by_race: dict[Any, list[_Entry]] = {}
    for entry, race in zip(entries, races or [], strict=races is not None):
        by_race.setdefault(race, []).append(entry)
    running = [_Race(some) for some in by_race.values() if len(some) > 1]
    rows = runs[0].problem.rows
    with rows.threads():
        for entry in entries:
            entry.send(None)
        while active := [entry for entry in entries if entry.wanted is not None]:
            # runs that have refilled a group may be one pass behind the others, so kernels can differ
            kernel = active[0].wanted.kernel  # type: ignore[union-attr]
            same = [entry for entry in active if entry.wanted.kernel is kernel]  # type: ignore[union-attr]
            args = [(entry.wanted.argument,) for entry in same]  # type: ignore[union-attr]
            found = rows.fold_several(kernel, [entry.run.states for entry in same], args)
            for entry, result in zip(same, found, strict=True):
                entry.send(result)
            for race in running:
                race.look(rows)
    return [entry.ended for entry in entries]  # type: ignore[misc]


@dataclass
class _Race:
    """Runs of which only the most likely one is kept."""

    entries: list[_Entry]
    next_look: int = _FIRST_LOOK

    def look(self, rows) -> None:
        """Drop duplicates and runs that are behind, once all have done the iterations of the next comparison."""
        going = [entry for entry in self.entries if entry.wanted is not None]
        if min((len(entry.run.history) for entry in going), default=0) < self.next_look:
            return
        _drop_duplicates(rows, self.entries)
        if share := _GO_ON.get(self.next_look):
            _drop_behind(self.entries, max(_LEAST_STARTS, math.ceil(share * len(self.entries))))
        self.next_look += _LOOK_EVERY


def _ready(entries: list[_Entry]) -> list[_Entry]:
    """Runs between an E-step and the next M-step, whose states hold posteriors; most likely first.

    Likelihoods are rounded so that ties are broken by the order of the runs.
    """
    between = (e for e in entries if e.wanted is not None and e.wanted.kernel is not expect)
    return sorted(between, key=lambda e: -float(f"{e.log_likelihood:.9e}"))


def _drop_duplicates(rows, entries: list[_Entry]) -> None:
    """Drop runs that have reached the same partition as a more likely one."""
    kept: list[tuple[_Entry, np.ndarray]] = []
    for entry in _ready(entries):
        labels = rows.gather(entry.run.states, "labels")
        near = [other for e, other in kept if e.log_likelihood - entry.log_likelihood < _SAME_LIKELIHOOD]
        if any(adjusted_rand(labels, other) > _SAME_PARTITION for other in near):
            entry.drop(StopKind.JOINED)
        else:
            kept.append((entry, labels))


def _drop_behind(entries: list[_Entry], most: int) -> None:
    """Drop runs that at least `most` others, running or finished, are ahead of."""
    values = [e.log_likelihood for e in entries if e.wanted is not None]
    done = [e.ended for e in entries if isinstance(e.ended, Fit)]
    values += [fit.log_likelihood for fit in done if fit.whole and not fit.given_up]
    for entry in _ready(entries):
        if sum(value > entry.log_likelihood for value in values) >= most:
            entry.drop(StopKind.BEHIND)
