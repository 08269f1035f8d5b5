"""What every sparse F-step returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["SparseResult"]


@dataclass(frozen=True)
class SparseResult:
    loadings: np.ndarray  # p x d, sparse, not orthonormal
    gap: float  # largest optimality gap of its solvers
    history: list[float] = field(default_factory=list)  # objective per sweep, where the algorithm alternates
