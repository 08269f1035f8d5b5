"""The three sparse F-steps, and the signature that a new one must have (`SparseStep`).

*Algorithm 1*, `sparse_two_step`: the dense axes first, then their best sparse approximation (Proposition 1).

    minimise  |X - Y b|^2  subject to  |b|_1 <= s |u|_1      for each axis u, with X = Y u

In Gram form G = S (with the ridge, which makes it the elastic net when n < p) and g = S u, so the full least-squares
solution is u itself and the Gram matrix is the same in every iteration. The d problems are independent and solved
exactly, so the algorithm's "repeat until convergence" ends after one round. The ridge is in the target g as well, which
keeps u the full solution (docs/departures.md).

*Algorithm 2*, `sparse_regression`: Fisher's criterion as a penalised regression, in `regression`.

*Algorithm 3*, `sparse_svd`: penalised SVD of the between-covariance with deflation (after Witten et al. 2009).

    u_j maximises  u'M_j v  subject to  |u|_2 <= 1, |v|_2 <= 1, |u|_1 <= s_j sqrt(p);   M_(j+1) = M_j - d_j u_j v_j'

M_1 = S_B = H H' stays in factors (p x K), so a power step costs O(pK). A bound of sqrt(p) never binds and a unit vector
has an l1 norm of at least 1, so s below 1/sqrt(p) selects one variable per axis.

A `penalty` takes the place of the shares and is the paper's lambda as it stands: of the sum over the rows in
Proposition 1, of Proposition 3, and the bound lambda_1 of |u|_1 in Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ....solvers.penalized_svd import penalized_svd
from .lasso import SparseResult, l1_budgets, lasso_per_axis, norm_weights
from .regression import ALTERNATIONS, BUDGETS, sparse_regression
from .step import SPARSE_STEPS, Between

__all__ = [
    "ALTERNATIONS", "BUDGETS", "SparseResult", "SparseStep", "sparse_regression",
    "sparse_svd", "sparse_two_step",
]  # fmt: skip


class SparseStep(Protocol):
    """A sparse F-step: from the between-covariance to sparse loadings.

    `between` holds S_B = H H' and S; `d` is the number of axes; `sparsity` (d) is a share in (0, 1] per axis, where 1
    means dense; `dense` is the discriminant whose axes are approximated, for algorithms that approximate dense axes.
    `warm` is a dict that the step may use to keep results from one iteration to the next; it is empty at first.
    A step with a keyword that is a parameter of `SparseFisherEM` for its steps (`penalty`, `rho`, `budgets`,
    `alternation`) is given it where it is not the default.
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


def sparse_two_step(
    between: Between, d, sparsity, dense, *, scale_penalty=False, warm=None, penalty: float | None = None
) -> SparseResult:
    """The dense axes, then for each the nearest sparse vector within its l1 budget, in the metric of S."""
    scatter = between.scatter
    axes = dense(between, d)
    full = scatter.to_variables(axes)
    targets = scatter.to_variables(scatter.times(axes))
    scale = norm_weights(scatter, scale_penalty)
    budgets = l1_budgets(scale, full, sparsity, penalty)
    # |X - Yb|^2 is n times (b - u)'S(b - u), and l1 problems have half of it
    least = 0.0 if penalty is None else penalty / (2 * between.weight)
    loadings, gap, *_ = lasso_per_axis(scatter.gram, scale, targets, full, budgets, {} if warm is None else warm, least)
    return SparseResult(loadings, gap)


def sparse_svd(
    between: Between, d, sparsity, dense, *, scale_penalty=False, warm=None, penalty: float | None = None,
    alternation: str = "fast",
) -> SparseResult:  # fmt: skip
    """One penalised singular pair per axis, each of the matrix deflated by the axes before it."""
    del dense, scale_penalty
    rule = ALTERNATIONS[alternation]
    warm = {} if warm is None or rule.anew else warm
    limits: dict[str, Any] = {"tol": rule.tolerance, "max_iter": rule.max_sweeps} if rule.anew else {}
    H = between.scatter.to_variables(between.H)
    left, right = H, H
    loadings = np.zeros((len(H), d))
    gap = 0.0
    history: list[float] = []
    for j in range(d):
        bound = max(1.0, sparsity[j] * np.sqrt(len(H)) if penalty is None else penalty)
        pair = penalized_svd(left, right, bound, warm=warm.get(j), **limits)
        loadings[:, j] = warm[j] = pair.u
        gap = max(gap, pair.gap)
        history.extend(pair.history)
        left = np.column_stack([left, -pair.value * pair.u])
        right = np.column_stack([right, pair.v])
    return SparseResult(loadings, gap, history)


SPARSE_STEPS.provide("two-step", sparse_two_step)
SPARSE_STEPS.provide("regression", sparse_regression)
SPARSE_STEPS.provide("svd", sparse_svd)
