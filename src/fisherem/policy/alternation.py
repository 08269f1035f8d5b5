"""Alternate (a) the variables that a partition prefers and (b) Fisher-EM on those variables alone.

Every fit starts from the labels of the one before it, with the axes on the subset and the rank that C(K, S) chose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.data.problem import Problem
from ..core.dlm.family import Subset
from ..core.engine.concurrent_runs import can_share
from ..core.engine.family import Phase
from ..core.engine.loop import Fit
from ..core.engine.multistart import NUMERICAL_ERRORS, Specification, run_adapted, side_by_side
from ..core.starts.partitions import adjusted_rand
from ..model.dlm import MODELS
from .criterion import Partition, judge
from .forward_backward import relevant, select
from .latent_model import roomy_model
from .thresholds import THRESHOLDS

__all__ = ["Alternation", "FittedSubset", "Climb", "Wanted", "alternate", "candidate_of", "fit_subset", "round_of"]

# Rounds end by themselves when C no longer rises: three or four on most tables.
_ROUNDS = 10
# A climb is there to find a better start and need not converge; with all variables that differ it changes less, too.
_RELEVANT_ROUNDS = 2
# The first round of a climb only shows whether to continue it, so its fit need not converge: with this many iterations
# a search from some forty starts took three quarters of the time, and on nine kinds of tables with added noise (five
# draws each) it kept the same partition except in two draws, one better and one worse.
_FIRST_ITERATIONS = 10


@dataclass(frozen=True)
class FittedSubset:
    """A partition with the variables that make it, and what C says of them."""

    value: float
    rank: int
    support: np.ndarray  # indices
    labels: np.ndarray
    fit: Fit
    model: str
    partition: Partition

    @property
    def n_variables(self) -> int:
        """How many variables the columns of the support are."""
        return len(self.partition.widths(self.support))

    @property
    def smallest(self) -> float:
        """Rows of the smallest group."""
        return float(self.partition.sizes.min())


@dataclass(frozen=True)
class Wanted:
    """A fit with loadings on `support` only, from labels, with at most `rank` axes and a model."""

    labels: np.ndarray
    support: np.ndarray
    rank: int
    model: str

    most: int | None = None  # iterations, at most

    def phase(self, problem: Problem, spec: Specification) -> Phase:
        """The phase of a fit that is to be run."""
        d = max(1, min(self.rank, spec.family.d, len(self.support), problem.p - 1))  # no more than `n_axes` either
        family = replace(spec.family, model=MODELS[self.model], sparse=None, subset=Subset(self.support), d=d)
        return Phase("sparse", family)


def _limited(spec: Specification, wanted: Wanted) -> Specification:
    return spec if wanted.most is None else spec.at_most(wanted.most)


def fit_subset(problem: Problem, spec: Specification, wanted: Wanted) -> Fit | None:
    """Fisher-EM on some of the variables; None if it failed or lost a group."""
    states = problem.start_states(wanted.labels, spec.n_clusters)
    try:
        fit = run_adapted(problem, states, _limited(spec, wanted), wanted.phase(problem, spec))
    except NUMERICAL_ERRORS:
        return None
    return fit if fit.whole else None


def fit_subsets(problem: Problem, spec: Specification, wanted: list[Wanted]) -> list[Fit | None]:
    """Several of them, side by side where they can share passes over the rows."""
    phases = [one.phase(problem, spec) for one in wanted]
    if len(wanted) < 2 or not all(can_share(problem, phase.family) for phase in phases):
        return [fit_subset(problem, spec, one) for one in wanted]
    specs = [_limited(spec, one) for one in wanted]
    cells = [(one.labels, own, phase) for one, own, phase in zip(wanted, specs, phases, strict=True)]
    fits = list(side_by_side(problem, cells))
    return [None if isinstance(fit, Exception) or not fit.whole else fit for fit in fits]


def candidate_of(
    problem: Problem, spec: Specification, fit: Fit, support: np.ndarray, model: str
) -> FittedSubset | None:
    """A fit on some of the variables as a candidate; None if a group has no rows."""
    labels = problem.rows.gather(fit.states, "labels")
    partition = Partition.of_labels(problem, labels, spec.n_clusters)
    if (partition.sizes <= 0).any():
        return None
    judged = judge(partition, support)
    return FittedSubset(judged.value, judged.rank, support, labels, fit, model, partition)


@dataclass
class Rounds(ABC):
    """From a partition to variables, from those to a better partition, round by round."""

    problem: Problem
    spec: Specification
    labels: np.ndarray
    rank: int
    model: str | None = None  # None: one by the size of the groups
    best: FittedSubset | None = None  # the present candidate
    ended: bool = False

    def __post_init__(self):
        self._support = np.zeros(0, int)
        self._rounds = 0

    @property
    def value(self) -> float:
        """C of the present candidate; -inf before the first."""
        return -np.inf if self.best is None else self.best.value

    @abstractmethod
    def wanted(self) -> Wanted | None:
        """The next fit to be made; None at the end."""

    @abstractmethod
    def take(self, found: FittedSubset) -> None:
        """Continue from the fit that was asked for."""

    def _on(self, partition: Partition, support: np.ndarray) -> Wanted:
        return Wanted(self.labels, support, self.rank, self.model or roomy_model(float(partition.sizes.min())))

    def to_the_end(self) -> FittedSubset | None:
        """All rounds; None if nothing could be fitted."""
        while not self.ended:
            round_of([self])
        return self.best


@dataclass
class Alternation(Rounds):
    """With the variables that suffice, to the best C that is reached."""

    most_rounds: int = _ROUNDS

    def wanted(self) -> Wanted | None:
        """On the variables that the present groups prefer."""
        self._rounds += 1
        partition = Partition.of_labels(self.problem, self.labels, self.spec.n_clusters)
        self._support = select(partition, self._support, self.rank)
        self.ended = self._rounds > self.most_rounds or not len(self._support)
        if self.ended:
            return None
        self.rank = judge(partition, self._support).rank
        return self._on(partition, self._support)

    def take(self, found: FittedSubset) -> None:
        """Accept it if C rises; otherwise the rounds end."""
        self.ended = found.value <= self.value + 1e-6
        if not self.ended:
            self.best, self.labels = found, found.labels


@dataclass
class Climb(Rounds):
    """With every variable that differs between the groups, not only those that suffice.

    `from_all`: the first ranks are seen on all variables, where there are rows enough for that.
    """

    from_all: bool = False

    def __post_init__(self):
        super().__post_init__()
        self._last: np.ndarray | None = None
        if self.from_all:
            self._support = np.arange(self.problem.p)

    def wanted(self) -> Wanted | None:
        """On the variables that differ between the present groups."""
        self._rounds += 1
        partition = Partition.of_labels(self.problem, self.labels, self.spec.n_clusters)
        support = self._support = relevant(partition, self._support, self.rank)
        most = THRESHOLDS.climb_variables
        too_many = len(support) > most and THRESHOLDS.climb_rows_per_variable * len(support) >= partition.n
        same = self._last is not None and np.array_equal(support, self._last)
        self.ended = self._rounds > _RELEVANT_ROUNDS or not len(support) or too_many or same
        self._last = support
        if self.ended:
            return None
        return replace(self._on(partition, support), most=_FIRST_ITERATIONS if self._rounds == 1 else None)

    def take(self, found: FittedSubset) -> None:
        """Accept it, whatever its C; a climb that no longer moves has ended."""
        self.ended = adjusted_rand(found.labels, self.labels) > THRESHOLDS.same_groups
        self.best, self.labels = replace(found, rank=self.rank), found.labels


def round_of(some: Sequence[Rounds]) -> None:
    """The next round of several, on the same rows."""
    pairs = [(one, wanted) for one in some if (wanted := one.wanted()) is not None]
    if not pairs:
        return
    problem, spec = some[0].problem, some[0].spec
    for (one, wanted), fit in zip(pairs, fit_subsets(problem, spec, [w for _, w in pairs]), strict=True):
        found = None if fit is None else candidate_of(problem, spec, fit, wanted.support, wanted.model)
        one.ended = found is None
        if found is not None:
            one.take(found)


def alternate(
    problem: Problem,
    spec: Specification,
    labels: np.ndarray,
    rank: int,
    model: str | None = None,
    rounds: int = _ROUNDS,
) -> FittedSubset | None:
    """From a partition to the best C that the alternation reaches; `model` None takes one by the size of the groups."""
    return Alternation(problem, spec, labels, rank, model, most_rounds=rounds).to_the_end()
