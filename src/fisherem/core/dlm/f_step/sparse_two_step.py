"""Algorithm 1: the dense axes first, then their best sparse approximation (Proposition 1).

    minimise  |X - Y b|^2  subject to  |b|_1 <= s |u|_1      for each axis u, with X = Y u

In Gram form G = S (with the ridge, which makes it the elastic net when n < p) and g = S u, so the full least-squares
solution is u itself and the Gram matrix is the same in every iteration. The d problems are independent and solved
exactly: the algorithm's "repeat until convergence" needs no second round.
"""

from __future__ import annotations

import numpy as np

from ....solvers import l1_budget
from ....solvers.gram import ScaledGram
from .base import SparseResult
from .between import Between

__all__ = ["l1_budgets", "lasso_per_axis", "sparse_two_step"]


def lasso_per_axis(scatter, targets, full, budgets, scale_penalty, warm: dict):
    """Solve the d l1 problems with Gram matrix S: (loadings, optimality gap, sum of b'Sb).

    `full` are the solutions without a budget. `warm` maps axis -> last solution and is updated. With `scale_penalty`
    the penalty weighs each coefficient by its variable's standard deviation, as programs that standardise the
    predictors do.
    """
    gram, scale = scatter.gram, 1.0
    if scale_penalty:
        scale = scatter.variable_scales()
        gram = ScaledGram(gram, scale)
    loadings = np.empty_like(full)
    gap = quadratic = 0.0
    for j in range(full.shape[1]):
        if np.isinf(budgets[j]):
            loadings[:, j] = full[:, j]
            quadratic += targets[:, j] @ full[:, j]
            continue
        start = warm.get(j)
        solution = l1_budget.solve(
            gram, targets[:, j] / scale, budgets[j], warm=None if start is None else start * scale
        )
        loadings[:, j] = warm[j] = solution.coefficients / scale
        gap = max(gap, solution.gap)
        # at the optimum S b = g - lambda sign(b), so b'Sb = g'b - lambda |b|_1
        norm = np.abs(scale * loadings[:, j]).sum()
        quadratic += targets[:, j] @ loadings[:, j] - solution.multiplier * norm
    return loadings, gap, float(quadratic)


def l1_budgets(scatter, full, sparsity, scale_penalty) -> np.ndarray:
    """t_j = s_j times the l1 norm of the full solution; a share of 1 never binds."""
    scale = scatter.variable_scales()[:, None] if scale_penalty else 1.0
    shares = sparsity[: full.shape[1]]
    return np.where(shares == 1, np.inf, shares * np.abs(scale * full).sum(axis=0))


def sparse_two_step(between: Between, d, sparsity, dense, *, scale_penalty=False, warm=None) -> SparseResult:
    """The dense axes, then for each the nearest sparse vector within its l1 budget, in the metric of S."""
    scatter = between.scatter
    axes = dense(between, d)
    full = scatter.to_variables(axes)
    targets = scatter.to_variables(scatter.times(axes))
    budgets = l1_budgets(scatter, full, sparsity, scale_penalty)
    loadings, gap, _ = lasso_per_axis(scatter, targets, full, budgets, scale_penalty, {} if warm is None else warm)
    return SparseResult(loadings, gap)
