"""Several runs on the same rows, side by side: each pass over the rows serves them all.

Every run asks for its passes and its small algebra (`Run.steps`); those of one kind are done together: a pass as one
product with more columns, one reading of a file, one round trip to a cluster, and the algebra as stacks of small
matrices. What a run gets does not depend on the others but for rounding. In a
race of starts, those that have met another's partition or have fallen behind are dropped on the way.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.agreement import adjusted_rand
from ..data.e_step import Algebra, Pass
from ..data.problem import Problem
from .family import Family
from .loop import Fit, Run
from .stopping import Stop, StopKind

__all__ = ["NUMERICAL_ERRORS", "can_share", "run_together", "shares_of"]

# What a fit may fail with that says nothing about the next start.
NUMERICAL_ERRORS = (FloatingPointError, np.linalg.LinAlgError)
# The race is looked at after this many iterations, and every so many from there on.
_FIRST_LOOK, _LOOK_EVERY = 10, 5
# Of the starts of a race, the most likely half goes on after 15 iterations, a third after 20 and a quarter after 25,
# but at least three. Random starts rest on plateaus for ten or twenty iterations, and who leads after ten says little:
# the rank correlation with the end was -0.2 to 0.7 then, 0.3 to 0.8 after 15, 0.5 to 0.97 after 20. In 30 races of
# twenty starts (ten tables, three seeds) this rule did 11.5 of 20 starts' iterations and kept the winner in 23, the
# second or third in the others. It was chosen on 15 of them; on the other 15 the winner was kept in 12. Keeping a third
# after ten iterations kept it in 17 of 30, and the eighth at worst.
_GO_ON, _LEAST_STARTS = {15: 1 / 2, 20: 1 / 3, 25: 1 / 4}, 3
# Runs whose partitions agree by this (adjusted Rand index) and whose likelihoods differ by less than this many nats are
# one run from there on.
_SAME_PARTITION, _SAME_LIKELIHOOD = 0.999, 0.01


def can_share(problem: Problem, family: Family) -> bool:
    """Whether runs of a family on these rows can share passes."""
    return problem.e_step.shares_passes and family.rounds == 1


def shares_of(problem: Problem, n_clusters: int, n_runs: int) -> int:
    """How many runs go side by side, so that what they keep per row stays within what the engine has room for."""
    per_run = 8 * problem.rows.n * (3 * n_clusters + 3)  # posteriors, where rows are placed, and both for a moment
    return int(max(1, min(n_runs, problem.rows.room_for_states // per_run)))


@dataclass
class _Entry:
    """One run in the race: what it asks for, or how it ended."""

    run: Run
    steps: Generator[Pass | Algebra, Any, Fit]
    wanted: Pass | Algebra | None = None
    ended: Fit | Exception | None = None

    @property
    def kind(self) -> Any:
        """What can be done together: a kernel, or the name of a piece of algebra."""
        wanted = self.wanted
        return wanted.kernel if isinstance(wanted, Pass) else None if wanted is None else wanted.name

    def send(self, found: Any) -> None:
        """Give the run what it asked for; it asks for the next thing, or ends."""
        try:
            self.wanted = self.steps.throw(found) if isinstance(found, Exception) else self.steps.send(found)
        except StopIteration as stopped:
            self.wanted, self.ended = None, stopped.value
        except NUMERICAL_ERRORS as error:
            self.wanted, self.ended = None, error

    def drop(self, why: StopKind) -> None:
        """Take the run out of the race, with its last iterate."""
        self.steps.close()
        fit = self.run.recent[-1]
        fit.stop = Stop(why)
        self.wanted, self.ended = None, fit

    @property
    def log_likelihood(self) -> float:
        return self.run.history[-1]["log_likelihood"]


def run_together(runs: Sequence[Run], *, races: Sequence[Any] | None = None) -> list[Fit | Exception]:
    """The fit of each run, or the numerical error that it ended with.

    `races` names the race of each run. Of a race only the most likely fit is wanted: starts that have met another's
    partition, or that most others are ahead of, are given up.
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
            # runs that have just refilled a group may be one pass behind: what can be done together goes in turn
            same = [entry for entry in active if entry.kind == active[0].kind]
            for entry, found in zip(same, _done_together(rows, same), strict=True):
                entry.send(found)
            for race in running:
                race.look(rows)
    return [entry.ended for entry in entries]  # type: ignore[misc]


@dataclass
class _Race:
    """Runs of which only the most likely one is wanted."""

    entries: list[_Entry]
    next_look: int = _FIRST_LOOK

    def look(self, rows) -> None:
        """Drop those that have met or fallen behind, when all have done as many iterations as the next look asks."""
        going = [entry for entry in self.entries if entry.wanted is not None]
        if min((len(entry.run.history) for entry in going), default=0) < self.next_look:
            return
        _thin_out(rows, self.entries)
        if share := _GO_ON.get(self.next_look):
            _drop_behind(self.entries, max(_LEAST_STARTS, math.ceil(share * len(self.entries))))
        self.next_look += _LOOK_EVERY


def _done_together(rows, entries: list[_Entry]) -> list[Any]:
    """What these runs, which ask for the same kind of thing, asked for; a numerical error in place of its result."""
    wanted = [entry.wanted for entry in entries]
    if isinstance(wanted[0], Pass):
        states, args = [entry.run.states for entry in entries], [(one.argument,) for one in wanted]  # type: ignore[union-attr]
        return rows.fold_several(wanted[0].kernel, states, args)
    steps, pieces = [one.step for one in wanted], [one.args for one in wanted]  # type: ignore[union-attr]
    if len(steps) > 1 and len({type(step) for step in steps}) == 1:
        found = type(steps[0]).several(wanted[0].name, steps, pieces)  # type: ignore[union-attr]
        if found is not None:
            return found
    return [_result_or_error(entry) for entry in entries]


def _result_or_error(entry: _Entry) -> Any:
    try:
        return entry.wanted.alone(entry.run.problem.rows, entry.run.states)  # type: ignore[union-attr]
    except NUMERICAL_ERRORS as error:
        return error


def _ready(entries: list[_Entry]) -> list[_Entry]:
    """Runs after an E-step and before the next F-step, most likely first: those in between have no posteriors.

    Among equals the first one leads: rounding must not decide.
    """
    return sorted((e for e in entries if e.kind == "place"), key=lambda e: -float(f"{e.log_likelihood:.9e}"))


def _thin_out(rows, entries: list[_Entry]) -> None:
    """Drop runs that have met another's partition."""
    kept: list[tuple[_Entry, np.ndarray]] = []
    for entry in _ready(entries):
        labels = rows.gather(entry.run.states, "labels")
        near = [other for e, other in kept if e.log_likelihood - entry.log_likelihood < _SAME_LIKELIHOOD]
        if any(adjusted_rand(labels, other) > _SAME_PARTITION for other in near):
            entry.drop(StopKind.JOINED)
        else:
            kept.append((entry, labels))


def _drop_behind(entries: list[_Entry], most: int) -> None:
    """Drop runs that at least `most` others, running or done, are ahead of."""
    values = [e.log_likelihood for e in entries if e.wanted is not None]
    done = [e.ended for e in entries if isinstance(e.ended, Fit)]
    values += [fit.log_likelihood for fit in done if fit.whole and not fit.given_up]
    for entry in _ready(entries):
        if sum(value > entry.log_likelihood for value in values) >= most:
            entry.drop(StopKind.BEHIND)
