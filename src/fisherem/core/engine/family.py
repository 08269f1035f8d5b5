"""The interface of a family of mixtures.

The loop, the starts, the engines (memory, file, Dask), the search, `predict` and the files use a mixture only through
this interface. With T the posteriors (n x K) and Y the rows less their centre, one iteration is

    sums                                   n_k and T'Y, from the start or from the last E-step
    placing  = step.place(sums)            how rows are transformed next (for the DLM: the F-step, axes and means)
    moments  = fold(placing.kernel)        the statistics of the transformed rows, merged with +
    solution = step.update(...)            the M-step: parameters from the sums and the moments
    sums     = fold(expect, density)       log joint densities, posteriors, likelihood, and T'Y again

This takes two passes over the rows. `placing` and `density` are frozen and small, because they are sent to the blocks.
A placing that needs only products with the rows has a `matrix` (c x r) and `finish(products, state)`, so that several
fits can share one product per block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...rows.base import States
from ...rows.blocks import Block, BlockState, Sized
from ..data.precisions import Precisions
from ..data.problem import Problem

__all__ = ["Density", "Family", "Phase", "Placing", "Solution", "Step"]


class Placing(Sized, ABC):
    """How rows are transformed: what is kept per row for the E-step, and the statistics that the M-step needs."""

    # The kernel of the pass: `kernels.measure` if the moments need only `state.placed`, `kernels.measure_rows` if they
    # need the rows themselves.
    kernel: ClassVar[Callable]
    metric: Any = None  # of the noise, if it has factors: see `noise_metric`

    @abstractmethod
    def place(self, block: Block, state: BlockState) -> None:
        """Set `state.placed` (c x m) from the block's rows, or None if the density uses the rows themselves."""

    @abstractmethod
    def moments(self, block: Block | None, state: BlockState) -> Any:
        """Weighted statistics per group of the block's rows, from `state.posteriors`; they must support +."""


class Density(Sized, ABC):
    """The parameters, as the E-step needs them."""

    proportions: np.ndarray  # (K,)
    needs_rows = False  # whether `log_joint` uses the rows and not only `state.placed`

    @abstractmethod
    def log_joint(self, block: Block | None, state: BlockState) -> np.ndarray:
        """out[k, i] = log pi_k f_k(y_i) - log_common[i], as a new array."""

    @property
    def peaks(self) -> np.ndarray:
        """out[k] = log pi_k f_k(m_k), the largest log joint density of each group: squared distances are from it."""
        raise NotImplementedError(f"{type(self).__name__} does not say where its groups are densest")

    def log_common(self, state: BlockState) -> np.ndarray | float | None:
        """out[i]: the part of log f_k(y_i) that is the same for every group and does not affect the posteriors.

        A number if it is the same for every row.
        """
        return None


class Solution(ABC):
    """One iterate, which fits, files and estimators keep: the transformation of the rows and their density."""

    placing: Placing
    density: Density
    separation = float("nan")  # Fisher's criterion, for families that have one

    def record(self) -> dict[str, Any]:
        """Entries of the history for this iterate, besides its likelihood."""
        return {}

    def precisions(self) -> Precisions:
        """The inverse covariances of the groups, for rows of the variables themselves."""
        raise NotImplementedError(f"{type(self).__name__} does not give its inverse covariances")

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
    """The steps of one run, with their state from one iteration to the next.

    `leap` is for families that extrapolate: from the last solution to one ahead of it, which is used if it is more
    likely, or to None for no proposal.
    """

    leap: Callable[[Any], Any] | None = None

    @abstractmethod
    def place(self, sums) -> Placing:
        """From the groups' weights and sums (`GroupSums`) to how rows are placed."""

    @abstractmethod
    def update(self, sums, placing: Any, moments: Any) -> Solution:
        """The M-step."""

    def landed(self, solution: Any) -> None:  # noqa: B027 (optional)
        """The extrapolation was accepted: continue from there."""


@dataclass(frozen=True)
class Phase:
    """A part of a fit: the family that is iterated, under a name for the history."""

    name: str
    family: Family
    prepares: bool = False  # whether it ranks the starts: the next phase takes the first of them that does not collapse


class Family(ABC):
    """Which mixture: everything but the data, the starts and the stopping rule."""

    n_clusters: int
    monotone: ClassVar[bool] = False  # whether the likelihood never decreases, so that a run that stalls has converged
    merges: ClassVar[bool] = False  # whether groups can become one without losing weight, which counts as a collapse

    @property
    def rounds(self) -> int:
        """How many times at most a run is repeated with the family adapted to the partition of the last run."""
        return 1

    def prepared(self, problem: Problem) -> Problem:
        """The problem in the coordinates that the family needs."""
        return problem

    @abstractmethod
    def begin(self, problem: Problem) -> Step:
        """The steps of a fresh run on a prepared data set."""

    def adapt(self, problem: Problem, states: States) -> tuple[Problem, Family]:
        """The problem and family adapted to the partition in the states: another ridge, fewer axes."""
        return problem, self

    @abstractmethod
    def n_parameters(self, solution: Any, p: int) -> int:
        """Free parameters of a solution, for the criteria."""

    @abstractmethod
    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> Solution:
        """The solution of a checkpoint."""

    def phases(self) -> tuple[Phase, ...]:
        """The phases of a fit: every start goes through the first, only the best through the others."""
        return (Phase("", self),)
