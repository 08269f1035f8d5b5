"""The contract of a sparse F-step: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .between import Between

__all__ = ["SparseResult", "SparseStep"]


@dataclass(frozen=True)
class SparseResult:
    """What every sparse F-step returns."""

    loadings: np.ndarray  # p x d, sparse, not orthonormal
    gap: float  # largest optimality gap of its solvers
    history: list[float] = field(default_factory=list)  # objective per sweep, where the algorithm alternates


class SparseStep(Protocol):
    """A sparse F-step: from the between-covariance to sparse loadings.

    `between` has S_B = H H' and S in factors; `d` axes are wanted; `sparsity` (d) has a share in (0, 1] per axis, 1
    meaning dense; `dense` is the discriminant whose axes are approximated, where the algorithm does that. `warm` is
    the step's own memory from one iteration to the next, empty at first.
    """

    def __call__(
        self,
        between: Between,
        d: int,
        sparsity: np.ndarray,
        dense: Callable[[Between, int], np.ndarray],
        *,
        scale_penalty: bool = False,
        warm: dict | None = None,
    ) -> SparseResult: ...
