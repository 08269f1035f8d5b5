"""What the sparse F-steps with l1 budgets share: their result, and the d lasso problems of one round."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....solvers import l1_budget
from ....solvers.l1_budget import ScaledGram

__all__ = ["SparseResult", "l1_budgets", "lasso_per_axis", "norm_weights"]


@dataclass(frozen=True)
class SparseResult:
    """What every sparse F-step returns."""

    loadings: np.ndarray  # p x d, sparse, not orthonormal
    gap: float  # largest optimality gap of its solvers
    history: list[float] = field(default_factory=list)  # objective per sweep, where the algorithm alternates
    moved: float = 0.0  # how far the loadings moved in the last sweep, relative to their size


def lasso_per_axis(gram, scale, targets, full, budgets, warm: dict, penalty=0.0):
    """Solve the d l1 problems with one Gram matrix: (loadings, optimality gap, sum of b'Gb, sum of |b|_1).

    `full` are the solutions without a budget. `warm` maps axis -> last solution and is updated. The l1 norm weighs each
    coefficient by `scale` (p): the standard deviations, as in programs that standardise the predictors, or 1.
    """
    if np.ndim(scale):
        gram = ScaledGram(gram, scale)
    loadings = np.empty_like(full)
    gap = quadratic = norms = 0.0
    for j in range(full.shape[1]):
        if np.isinf(budgets[j]) and not penalty:
            loadings[:, j] = full[:, j]
            quadratic += targets[:, j] @ full[:, j]
            continue
        start = warm.get(j)
        solution = l1_budget.solve(
            gram, targets[:, j] / scale, budgets[j], penalty=penalty, warm=None if start is None else start * scale
        )
        loadings[:, j] = warm[j] = solution.coefficients / scale
        gap = max(gap, solution.gap)
        # at the optimum G b = g - lambda sign(b), so b'Gb = g'b - lambda |b|_1
        norm = np.abs(scale * loadings[:, j]).sum()
        norms += norm
        quadratic += targets[:, j] @ loadings[:, j] - solution.multiplier * norm
    return loadings, gap, float(quadratic), float(norms)


def norm_weights(scatter, scale_penalty: bool):
    """The weights of the l1 norm: standard deviations (p), or 1."""
    return scatter.variable_scales() if scale_penalty else 1.0


def l1_budgets(scale, full, sparsity, penalty=None) -> np.ndarray:
    """t_j = s_j times the l1 norm of the full solution; infinite for a share of 1 and with a penalty."""
    if penalty is not None:
        return np.full(full.shape[1], np.inf)
    shares = sparsity[: full.shape[1]]
    return np.where(shares == 1, np.inf, shares * np.abs(full.T * scale).sum(axis=1))
