"""What is to be computed next: fits, halves and tables of one group that the verdict needs for sure.

A task is named here once nothing that is still to come can make it needless, so the same tasks are done whatever the
number of processes, and none of them in vain.

1. fits of 1 to 4 groups, and of more, two at a time, while the largest number gains most
2. tables of one group where the best gain is close to 0, and in wide tables; one split of the rows for the numbers that
   can be chosen, in the order of their gains
3. further splits for the number that leads, until it is the same with all of them, and a look into each of its groups
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ..thresholds import THRESHOLDS
from .evidence import Evidence
from .one_group import Compared, draws_needed
from .verdict import apart, decide, leading, much_more, reproducible

__all__ = ["Agenda", "Plan", "Task", "gains_most"]

LIMITS = THRESHOLDS.number_of_groups

# "auto" begins with these numbers, and goes on by two while the largest usable one gains most.
_FIRST, _MORE, _MOST = 4, 2, 12
# A given range whose end is best goes on by this many, once.
_WIDER = 3
# Numbers of groups that halves are fitted with where no groups are apart, or besides those that are.
_ASKED = 3

# A method of `gathering.Work` and its numbers: ("candidate", K), ("look",), ("half", K, split, side), ("draw", table,
# K), ("inside", K, *labels).
Task = tuple


@dataclass(frozen=True)
class Plan:
    """What to try: `numbers` of groups (None: as many as the evidence asks for), and how."""

    estimator: object
    numbers: Sequence[int] | None
    min_size: int
    n_splits: int
    seed: int
    n_jobs: int

    @property
    def single(self):
        """The estimator with one thread where fits run side by side."""
        return clone(self.estimator).set_params(n_jobs=1) if self.n_jobs > 1 else self.estimator


class Agenda:
    """The tasks of a search, in the order in which they become necessary; `gains` are those of tables by number."""

    def __init__(self, plan: Plan, evidence: Evidence):
        self.plan, self.evidence = plan, evidence
        self.begun: list[Task] = []
        self.done = 0
        self.gains: dict[int, float] = {}
        self._numbers: list[int] = []
        self._waves = _waves(plan, evidence, evidence.n)
        self._compared = Compared.of(evidence.data.seen) is not None

    def due(self) -> list[Task]:
        """Tasks that are needed for sure and were not named before."""
        new = [task for task in self._needed() if task not in self.begun]
        self.begun += new
        return new

    def left(self) -> int:
        """Tasks that are not done, as far as can be said: halves of one number are expected until they are named."""
        known = len(self.begun) - self.done
        splits = [task[2] for task in self.begun if task[0] == "half"]
        first, others = 0 if splits else 2, 0 if any(splits) else 2 * (self.plan.n_splits - 1)
        return known + first + others if known else 0

    def _needed(self) -> Iterator[Task]:
        while all(K in self.evidence.candidates for K in self._numbers):
            if (wave := next(self._waves, None)) is None:
                break
            self._numbers += wave
        first, *others = sorted(self._numbers, reverse=True)  # the longest work goes first
        yield from (("candidate", first), ("look",), *(("candidate", K) for K in others))
        if not all(K in self.evidence.candidates for K in self._numbers):
            return
        asked = _asked(self.evidence, self.plan.n_splits)
        yield from (("half", K, 0, side) for K in sorted(asked, reverse=True) for side in (0, 1))
        best = leading(self.evidence)
        if self._compared and best is not None and self._close(best):
            compared = 2 if self.evidence.data.judge.wide else best  # in wide tables the gain grows with every group
            yield from (("draw", number, compared) for number in draws_needed(self.gains))
        if self.done < len(self.begun):
            return
        if all(K in self.evidence.halves for K in asked) and (K := decide(self.evidence).n_clusters) > 1:
            yield ("inside", K, *self.evidence.candidates[K].labels.tolist())
        if (leads := _leading(self.evidence)) is not None:
            yield from (("half", leads, i, side) for i in range(1, self.plan.n_splits) for side in (0, 1))

    def _close(self, K: int) -> bool:
        """Whether tables of one group can change the verdict."""
        return self.evidence.data.judge.wide or abs(self.evidence.gain(K)) <= LIMITS.close


def _waves(plan: Plan, evidence: Evidence, n: int) -> Iterator[list[int]]:
    """Numbers of groups to fit next, given what was found so far."""
    most = max(1, n // max(plan.min_size, 2))  # more groups than that cannot all be large enough
    if plan.numbers is not None:
        given = sorted({1, *plan.numbers})
        yield given
        if len(given) > 2 and _best_number(evidence) == given[-1]:
            yield list(range(given[-1] + 1, min(given[-1] + _WIDER, n - 1) + 1))
        return
    last = min(_FIRST, most)
    yield list(range(1, last + 1))
    while last < min(_MOST, most) and _best_number(evidence) == max(evidence.usable, default=0):
        wave = list(range(last + 1, min(last + _MORE, _MOST, most) + 1))
        yield wave
        last = wave[-1]
        if all(evidence.best(K) is None for K in wave):
            return


def _best_number(evidence: Evidence) -> int:
    """The number of groups that gains most, one group included."""
    gains = {K: evidence.gain(K) for K in evidence.numbers if evidence.best(K) is not None}
    return max(gains, key=lambda K: gains[K], default=1)


def gains_most(evidence: Evidence, K: int) -> bool:
    """Whether a number of groups gains clearly more than all others."""
    others = [evidence.gain(other) for other in evidence.numbers if other != K]
    return evidence.gain(K) > max(others, default=np.inf) + LIMITS.close


def _asked(evidence: Evidence, n_splits: int) -> list[int]:
    """The numbers of groups that halves are fitted with: those that can be chosen, or else the best two or one.

    Of numbers whose groups are apart, in the order of their gains: until one is reproducible, and larger ones.
    """
    ordered = sorted(evidence.usable, key=lambda K: -evidence.gain(K))
    gaining = [K for K in ordered if evidence.gain(K) > 0]
    separate = [K for K in gaining if apart(evidence, K)]
    rivals = _rivals(evidence, gaining, separate)
    if separate and not evidence.data.judge.wide:
        first = next((i for i, K in enumerate(separate) if not _failed(evidence, K, n_splits)), len(separate) - 1)
        least = evidence.gain(separate[first]) - LIMITS.close
        separate = [K for i, K in enumerate(separate) if i <= first or separate[first] < K or evidence.gain(K) > least]
    return [*separate, *rivals] or gaining[:_ASKED] or ordered[:1]


def _failed(evidence: Evidence, K: int, n_splits: int) -> bool:
    """Whether K groups are not reproducible, and no further split can change that."""
    done = len(evidence.halves[K].splits) if K in evidence.halves else 0
    hopeless = done > 0 and not evidence.agreement(K) >= LIMITS.hopeless
    return hopeless or (done == n_splits and not reproducible(evidence, K))


def _rivals(evidence: Evidence, gaining: list[int], separate: list[int]) -> list[int]:
    """The best few of those that could replace groups that are apart, whichever of these are reproducible."""
    found = much_more(evidence, gaining, separate[-1]) if separate else []
    return [K for K in found if K not in separate][:_ASKED]


def _leading(evidence: Evidence) -> int | None:
    """The number of groups that leads on a single split, if others could change that."""
    found = decide(evidence)
    K = found.n_clusters if found.n_clusters > 1 else max(evidence.halves, key=evidence.gain, default=1)
    again = K in evidence.halves and len(evidence.halves[K].splits) == 1
    return K if again and evidence.agreement(K) >= LIMITS.hopeless else None
