"""Alternate (a) the variables that a partition prefers and (b) Fisher-EM on those variables alone.

Every fit starts from the labels of the one before it, with the axes on the subset and the rank that C(K, S) chose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..em.dlm_family import DLMFamily, Subset
from ..em.family import Phase
from ..em.latent_choice import roomy_model
from ..em.loop import Fit
from ..em.multistart import NUMERICAL_ERRORS, Specification, run_adapted
from ..em.problem import Problem
from ..model.dlm import MODELS
from .criterion import Partition, judge
from .forward_backward import relevant, select

__all__ = ["Candidate", "Climb", "alternate", "fit_subset"]

# Rounds end by themselves when C no longer rises: three or four on most tables.
_ROUNDS = 10
# All variables that differ settle faster, and what is wanted of them is a better partition, not a fixed point.
_RELEVANT_ROUNDS = 5
# With more variables than this and than a quarter of the rows the subset says nothing that all variables do not say.
_MANY = 50


@dataclass(frozen=True)
class Candidate:
    """A partition with the variables that make it, and what C says of them."""

    value: float
    rank: int
    support: np.ndarray  # indices
    labels: np.ndarray
    fit: Fit
    model: str
    partition: Partition

    @property
    def smallest(self) -> float:
        """Rows of the smallest group."""
        return float(self.partition.sizes.min())


def fit_subset(
    problem: Problem, spec: Specification, labels: np.ndarray, support: np.ndarray, d: int, model: str
) -> Fit | None:
    """Fisher-EM with loadings on `support` only, from labels; None if it failed or lost a group."""
    assert isinstance(spec.family, DLMFamily)
    d = max(1, min(d, spec.family.d, len(support), problem.p - 1))  # no more than `n_axes` either
    family = replace(spec.family, model=MODELS[model], sparse=None, subset=Subset(support), d=d)
    states = problem.start_states(labels, spec.n_clusters)
    try:
        fit = run_adapted(problem, states, spec, Phase("sparse", family))
    except NUMERICAL_ERRORS:
        return None
    return fit if fit.whole else None


def _candidate(problem: Problem, spec: Specification, fit: Fit, support: np.ndarray, model: str) -> Candidate | None:
    labels = problem.rows.gather(fit.states, "labels")
    partition = Partition.of_labels(problem, labels, spec.n_clusters)
    if (partition.sizes <= 0).any():
        return None
    judged = judge(partition, support)
    return Candidate(judged.value, judged.rank, support, labels, fit, model, partition)


def alternate(
    problem: Problem, spec: Specification, labels: np.ndarray, rank: int, model: str | None = None
) -> Candidate | None:
    """From a partition to the best C that the alternation reaches; `model` None takes one by the size of the groups."""
    best: Candidate | None = None
    support = np.zeros(0, int)
    for _ in range(_ROUNDS):
        partition = Partition.of_labels(problem, labels, spec.n_clusters)
        support = select(partition, support, rank)
        if not len(support):
            break
        rank = judge(partition, support).rank
        found = _step(problem, spec, partition, labels, support, rank, model)
        if found is None or (best is not None and found.value <= best.value + 1e-6):
            break
        best, labels = found, found.labels
    return best


@dataclass
class Climb:
    """The same with every variable that differs between the groups, not only those that suffice: round by round.

    `from_all`: the first ranks are seen on all variables, where there are rows enough for that.
    """

    problem: Problem
    spec: Specification
    labels: np.ndarray
    rank: int
    from_all: bool = False
    model: str | None = None
    best: Candidate | None = None  # where it stands
    ended: bool = False

    def __post_init__(self):
        self._support = np.arange(self.problem.p) if self.from_all else np.zeros(0, int)
        self._last: np.ndarray | None = None
        self._rounds = 0

    @property
    def value(self) -> float:
        """C of where it stands."""
        return -np.inf if self.best is None else self.best.value

    def round(self) -> None:
        """The variables that differ between the present groups, and the groups that those make."""
        if self.ended or self._rounds == _RELEVANT_ROUNDS:
            self.ended = True
            return
        self._rounds += 1
        partition = Partition.of_labels(self.problem, self.labels, self.spec.n_clusters)
        support = self._support = relevant(partition, self._support, self.rank)
        too_many = len(support) > _MANY and len(support) >= partition.n / 4
        same = self._last is not None and np.array_equal(support, self._last)
        found = None
        if len(support) and not too_many and not same:
            self._last = support
            found = _step(self.problem, self.spec, partition, self.labels, support, self.rank, self.model)
        if found is None:
            self.ended = True
        else:
            self.best, self.labels = replace(found, rank=self.rank), found.labels

    def to_the_end(self) -> Candidate | None:
        """All rounds; None if nothing could be fitted."""
        while not self.ended:
            self.round()
        return self.best


def _step(problem, spec, partition: Partition, labels, support, rank: int, model: str | None) -> Candidate | None:
    name = model or roomy_model(float(partition.sizes.min()))
    fit = fit_subset(problem, spec, labels, support, rank, name)
    return None if fit is None else _candidate(problem, spec, fit, support, name)
