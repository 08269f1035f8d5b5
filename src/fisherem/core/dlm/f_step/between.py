"""The soft between-group covariance in factored form: S_B = H H' (eq. 7 and the definition of H_B)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....solvers import small
from ...data.scatter import Scatter

__all__ = ["Between", "fisher_criterion"]


@dataclass(frozen=True)
class Between:
    """H (r x K), columns sqrt(n_k / n) (m_k - mean), in the rows' coordinates, and S."""

    H: np.ndarray
    scatter: Scatter

    @classmethod
    def of(cls, weights, means, overall_mean, scatter) -> Between:
        """From the groups' weights (K), means (K x r) and the overall mean (r)."""
        share = np.sqrt(weights / weights.sum())
        H = ((means - overall_mean) * share[:, None]).T
        return cls(H, scatter)

    @cached_property
    def solved(self) -> np.ndarray:
        """S^-1 H (r x K)"""
        return self.scatter.solve(self.H)

    @property
    def M(self) -> np.ndarray:
        """H' S^-1 H (K x K): its eigenvalues are the discriminant ratios, all below 1."""
        M = self.H.T @ self.solved
        return (M + M.T) / 2


def fisher_criterion(between: Between, axes: np.ndarray, total: np.ndarray) -> float:
    """trace((U'SU)^-1 U'S_BU), eq. (6), for axes U in the rows' coordinates and U'SU given as `total`.

    It depends on the span of U alone.
    """
    projected = axes.T @ between.H
    return float(small.solve(total, projected @ projected.T).trace())
