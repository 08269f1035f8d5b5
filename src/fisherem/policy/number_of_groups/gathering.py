"""Gather the evidence, in the order in which it can decide, and no more of it than that takes.

1. fits of 1 to 4 groups, and of more while the largest number gains most
2. single columns, joint tails; tables of one group to compare with where the best gain is close to 0
3. one split of the rows for every number that can be chosen
4. further splits for the number that leads, until it is the same with all of them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import clone

from ..._utils.parallel import run_tasks
from ...core.engine.checkpoints import Store
from ..columns import columns_of
from ..halves import split_rows
from ..thresholds import THRESHOLDS
from .candidates import Data, fit_candidate, kept
from .evidence import Evidence
from .halves import Halves, Split, half_labels
from .one_group import column_gain, flatness, inner_gain, joint_tails, one_group_p_value
from .verdict import apart, decide, much_more

__all__ = ["Plan", "gains_most", "gather"]

LIMITS = THRESHOLDS.number_of_groups

# "auto" begins with these numbers, and goes on while the largest usable one gains most.
_FIRST, _MOST = 4, 12
# A given range whose end is best goes on by this many, once.
_WIDER = 3
# Numbers of groups that halves are fitted with where no groups are apart, or besides those that are.
_ASKED = 3


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


def gather(plan: Plan, data: Data, store: Store, bar, evidence: Evidence) -> Iterator[Evidence]:
    """Fill the evidence; yields it whenever there is more of it, so that an interrupted search keeps what is done."""
    for numbers in _waves(plan, evidence, len(data.values)):
        bar.add(len(numbers))
        tasks = [(plan.single, K, plan.seed) for K in sorted(numbers, reverse=True)]  # the longest work goes first
        for _, found in run_tasks(partial(fit_candidate, data, store), tasks, plan.n_jobs):
            evidence.candidates[found.n_clusters] = found
            bar.step(f"fitted K={found.n_clusters}")
            yield evidence
    asked = _asked(evidence)
    bar.add(2 * (len(asked) + plan.n_splits - 1))
    yield from _about_one_group(plan, data, store, evidence)
    yield from _split(plan, data, store, bar, evidence, asked, range(1))
    while (leading := _leading(evidence)) is not None:
        yield from _split(plan, data, store, bar, evidence, [leading], range(1, plan.n_splits))
        bar.add(2 * (plan.n_splits - 1))  # another number may lead now
    bar.add(-2 * (plan.n_splits - 1))
    if (K := decide(evidence).n_clusters) > 1:
        evidence.inside[K] = inner_gain(data, evidence.candidates[K].labels)
        yield evidence


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
        last += 1
        yield [last]
        if evidence.best(last) is None and evidence.best(last - 1) is None:
            return


def _best_number(evidence: Evidence) -> int:
    """The number of groups that gains most, one group included."""
    gains = {K: evidence.gain(K) for K in evidence.numbers if evidence.best(K) is not None}
    return max(gains, key=lambda K: gains[K], default=1)


def gains_most(evidence: Evidence, K: int) -> bool:
    """Whether a number of groups gains clearly more than all others."""
    others = [evidence.gain(other) for other in evidence.numbers if other != K]
    return evidence.gain(K) > max(others, default=np.inf) + LIMITS.close


def _asked(evidence: Evidence) -> list[int]:
    """The numbers of groups that halves are fitted with: those that can be chosen, or else the best two or one."""
    ordered = sorted(evidence.usable, key=lambda K: -evidence.gain(K))
    gaining = [K for K in ordered if evidence.gain(K) > 0]
    separate = [K for K in gaining if apart(evidence, K)]
    return [*separate, *_rivals(evidence, gaining, separate)] or gaining[:_ASKED] or ordered[:1]


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


def _about_one_group(plan: Plan, data: Data, store: Store, evidence: Evidence) -> Iterator[Evidence]:
    evidence.judged = data.encoding is not None or not (data.problem.constant | columns_of(data.problem).spiked).all()
    evidence.column, evidence.joint_tails = column_gain(data), joint_tails(data)
    evidence.flatness = flatness(data)
    yield evidence
    best = max((evidence.gain(K) for K in evidence.usable), default=-np.inf)
    if data.judge.wide or abs(best) <= LIMITS.close:
        record = kept(store, f"one group {plan.seed}", lambda: {"p_value": one_group_p_value(data, plan.seed)})
        evidence.one_group = record["p_value"]
        yield evidence


def _split(
    plan: Plan, data: Data, store: Store, bar, evidence: Evidence, numbers: list[int], splits: range
) -> Iterator[Evidence]:
    """Fits to both halves of some splits of the rows, for some numbers of groups."""
    halves = split_rows(len(data.values), plan.n_splits, plan.seed)
    cells = [(K, i, side) for i in splits for K in sorted(numbers, reverse=True) for side in (0, 1)]
    tasks = [(plan.single, K, halves[i][side], plan.seed + i) for K, i, side in cells]
    labels: dict[tuple[int, int], dict[int, np.ndarray]] = {}
    done: dict[int, dict[int, Split]] = {K: {} for K in numbers}
    before = dict(evidence.halves)
    for index, found in run_tasks(partial(half_labels, data, store), tasks, plan.n_jobs):
        K, i, side = cells[index]
        both = labels.setdefault((K, i), {})
        both[side] = found
        bar.step(f"halves of the rows, K={K}")
        if len(both) == 2:
            done[K][i] = Split(halves[i], (both[0], both[1]))
            ordered = tuple(done[K][i] for i in sorted(done[K]))
            evidence.halves[K] = Halves(before.get(K, Halves()).splits + ordered)
            yield evidence
