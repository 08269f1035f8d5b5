"""A family of mixtures as the loop sees it: the seam between what is fitted and how it is fitted.

The loop, the starts, the engines (memory, file, Dask), the search, `predict` and the files know nothing of a mixture
but what stands here. With T the posteriors (n x K) and Y the rows less their centre, one iteration is

    sums                                   n_k and T'Y, from the start or from the last E-step
    placing  = step.place(sums)            how rows are placed next (for the DLM: the F-step, axes and means)
    moments  = fold(placing.kernel)        rows are placed; statistics that merge with + come back
    solution = step.update(...)            the M-step: parameters from the sums and the moments
    sums     = fold(expect, density)       log joint densities, posteriors, likelihood, and T'Y again

Two passes over the rows. `placing` and `density` are frozen and small: they are what travels to the blocks. A placing
that needs nothing of the rows but products has a `matrix` (c x r) and `finish(products, state)`, so that several fits
can share one product per block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...rows.blocks import Block, BlockState, Sized
from ..data.problem import Problem

__all__ = ["Density", "Family", "Phase", "Placing", "Solution", "Step"]


class Placing(Sized, ABC):
    """How rows are placed: what each row keeps for the E-step, and the statistics that the M-step needs of it."""

    # The kernel of the pass: `kernels.measure` where moments need only what was placed, `kernels.measure_rows` where
    # they need the rows themselves.
    kernel: ClassVar[Callable]
    metric: Any = None  # of the noise, where squared norms are taken in one: see `noise_metric`

    @abstractmethod
    def place(self, block: Block, state: BlockState) -> None:
        """Set `state.placed` (c x m) from the block's rows; None where the density looks at the rows themselves."""

    @abstractmethod
    def moments(self, block: Block | None, state: BlockState) -> Any:
        """Weighted statistics per group of the block's rows, which merge with +, from `state.posteriors`."""


class Density(Sized, ABC):
    """The parameters, as the E-step needs them."""

    proportions: np.ndarray  # (K,)
    needs_rows = False  # whether `log_joint` looks at the rows and not only at what was placed

    @abstractmethod
    def log_joint(self, block: Block | None, state: BlockState) -> np.ndarray:
        """out[k, i] = log pi_k f_k(y_i), a new array, less what `log_common` says."""

    def log_common(self, state: BlockState) -> np.ndarray | float | None:
        """out[i]: the part of log f_k(y_i) that is the same for every group, so that it cannot touch the posteriors.

        A number, where it is the same for every row.
        """
        return None


class Solution(ABC):
    """One iterate: where rows are placed and how dense they lie there. What a fit, a file and an estimator keep."""

    placing: Placing
    density: Density
    separation = float("nan")  # Fisher's criterion, for families that have one

    def record(self) -> dict[str, Any]:
        """What the history says of this iterate beyond its likelihood."""
        return {}

    @abstractmethod
    def halves(self, group: int) -> tuple[np.ndarray, float]:
        """(direction (r), threshold): where to cut a group in two, to refill one that has emptied."""

    @abstractmethod
    def moved(self, by: np.ndarray) -> Solution:
        """The same solution for rows whose centre lies `by` (r) further back."""

    @abstractmethod
    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """(arrays, plain values) that `Family.unpack` makes this solution from."""


class Step(ABC):
    """The steps of one run, with what they remember from one iteration to the next."""

    @abstractmethod
    def place(self, sums) -> Placing:
        """From the groups' weights and sums (`GroupSums`) to how rows are placed."""

    @abstractmethod
    def update(self, sums, placing: Any, moments: Any) -> Solution:
        """The M-step."""

    @classmethod
    def several(cls, name: str, steps: list, args: list[tuple]) -> list | None:
        """`place` or `update` (the name) of several runs' steps at once, each with its args; None: one by one."""
        return None

    def leap(self, solution: Any) -> Solution | None:
        """A solution ahead of the iterates, to be taken if it is more likely; None: none is proposed now."""
        return None

    def landed(self, solution: Any) -> None:  # noqa: B027 (most steps remember nothing)
        """The leap was taken: the next step goes on from there."""


@dataclass(frozen=True)
class Phase:
    """A part of a fit: the family that is iterated, under a name for the history."""

    name: str
    family: Family


class Family(ABC):
    """Which mixture: everything but the data, the starts and the stopping rule."""

    n_clusters: int
    monotone: ClassVar[bool] = False  # whether the likelihood never falls: where it stands still, the run is done

    @property
    def rounds(self) -> int:
        """How often at most a run is adapted to the partition that the last one led to."""
        return 1

    def prepared(self, problem: Problem) -> Problem:
        """The problem in the coordinates that the family works in: its own, unless it needs the variables."""
        return problem

    @abstractmethod
    def begin(self, problem: Problem) -> Step:
        """The steps of a fresh run on a prepared data set."""

    def adapt(self, problem: Problem, states: Any) -> tuple[Problem, Family]:
        """What the partition in the states asks for, where the family lets it: another ridge, fewer axes."""
        return problem, self

    @abstractmethod
    def n_parameters(self, solution: Any, p: int) -> int:
        """Free parameters of a solution, for the criteria."""

    @abstractmethod
    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> Solution:
        """The solution of a checkpoint."""

    def phases(self) -> tuple[Phase, ...]:
        """What is iterated in turn: every start goes through the first phase, the best of them through the others."""
        return (Phase("", self),)
