"""Gather the evidence: the tasks that the agenda names, in this process and others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._utils.parallel import run_as_they_come
from ...core.engine.checkpoints import Store
from ..columns import columns_of
from ..halves import split_rows
from .agenda import Agenda, Plan, Task
from .candidates import Candidate, Data, fit_candidate, kept
from .evidence import Evidence
from .halves import Halves, Split, half_labels
from .one_group import Compared, column_gain, flatness, inner_gain, joint_tails, p_value

__all__ = ["Work", "gather"]

# Tasks of a search that stops early, for the estimate of how long it will take.
_USUAL = 12
_WORDS = {
    "candidate": "fits",
    "half": "halves of the rows",
    "draw": "tables of one group",
    "look": "single columns",
    "inside": "columns inside groups",
}
# Searches in tables with so many values may take seconds: workers are started at once. Where a search takes less, as it
# does in tables of 200 x 200, it is not slower (1.1 s with or without).
_LARGE = 30_000


@dataclass(frozen=True)
class Work:
    """What tasks compute; a task is the name of a method and its numbers. It can be sent to other processes."""

    data: Data
    store: Store
    estimator: Any
    halves: list[tuple[np.ndarray, np.ndarray]]
    seed: int

    def __call__(self, kind: str, *numbers: int):
        return getattr(self, kind)(*numbers)

    def candidate(self, K: int) -> Candidate:
        """The fit with K groups."""
        return fit_candidate(self.data, self.store, self.estimator, K, self.seed)

    def half(self, K: int, i: int, side: int) -> np.ndarray:
        """Labels of all rows by a fit with K groups to one side of a split."""
        return half_labels(self.data, self.store, self.estimator, K, self.halves[i][side], self.seed + i)

    def draw(self, number: int, K: int) -> float:
        """What K groups gain in a table of one group."""

        def compute() -> dict:
            assert self._compared is not None  # the agenda has asked
            return {"gain": self._compared.gain(number, K, self.seed)}

        return kept(self.store, f"draw {number} {K} {self.seed}", compute)["gain"]

    def look(self) -> dict[str, Any]:
        """What can be said of the columns without a fit, as attributes of the evidence."""
        data = self.data.seen
        judged = data.encoding is not None or not (data.problem.constant | columns_of(data.problem).spiked).all()
        return {
            "judged": bool(judged),
            "on_components": data is not self.data,
            "column": column_gain(data),
            "joint_tails": joint_tails(data),
            "flatness": flatness(data),
        }

    def inside(self, K: int, *labels: int) -> float:
        """What groups inside one of K groups gain."""
        return inner_gain(self.data.seen, np.array(labels))

    @cached_property
    def _compared(self) -> Compared | None:
        return Compared.of(self.data.seen)


def gather(plan: Plan, data: Data, store: Store, bar, evidence: Evidence) -> Iterator[Evidence]:
    """Fill the evidence; yields it whenever there is more of it, so that an interrupted search keeps what is done."""
    halves = split_rows(len(data.values), plan.n_splits, plan.seed)
    work, agenda = Work(data, store, plan.single, halves, plan.seed), Agenda(plan, evidence)
    collect, shown = _Collector(agenda, halves), 0

    def due() -> list[Task]:
        nonlocal shown
        new = agenda.due()
        bar.add(agenda.done + agenda.left() - shown)
        shown = agenda.done + agenda.left()
        return new

    large = data.values.size >= _LARGE
    for index, found in run_as_they_come(work, due, plan.n_jobs, expected=_USUAL, at_once=large):
        kind, *numbers = agenda.begun[index]
        getattr(collect, kind)(found, *numbers)
        agenda.done += 1
        bar.step(f"{_WORDS[kind]}{f', K={numbers[0]}' if kind in ('candidate', 'half') else ''}")
        yield evidence


class _Collector:
    """Puts what tasks have computed into the evidence, by methods of the same names."""

    def __init__(self, agenda: Agenda, halves: list[tuple[np.ndarray, np.ndarray]]):
        self._agenda, self._evidence, self._halves = agenda, agenda.evidence, halves
        self._labels: dict[tuple[int, int], dict[int, np.ndarray]] = {}

    def candidate(self, found: Candidate, K: int) -> None:
        self._evidence.candidates[K] = found

    def look(self, found: dict[str, Any]) -> None:
        for name, value in found.items():
            setattr(self._evidence, name, value)

    def inside(self, gain: float, K: int, *_) -> None:
        self._evidence.inside[K] = gain

    def draw(self, gain: float, number: int, K: int) -> None:
        self._agenda.gains[number] = gain
        self._evidence.compared = K
        self._evidence.one_group = p_value(self._agenda.gains)

    def half(self, labels: np.ndarray, K: int, i: int, side: int) -> None:
        self._labels.setdefault((K, i), {})[side] = labels
        both = [(j, self._labels.get((K, j), {})) for j in range(len(self._halves))]
        splits = [Split(self._halves[j], (two[0], two[1])) for j, two in both if len(two) == 2]
        if splits:
            self._evidence.halves[K] = Halves(tuple(splits))
