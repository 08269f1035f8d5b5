"""Algorithm 3: penalised SVD of the between-covariance with deflation (after Witten et al. 2009).

    u_j maximises  u'M_j v  subject to  |u|_2 <= 1, |v|_2 <= 1, |u|_1 <= s_j sqrt(p);   M_(j+1) = M_j - d_j u_j v_j'

M_1 = S_B = H H' stays in factors (p x K), so a power step costs O(pK). A bound of sqrt(p) never binds and 1 is the
least a unit vector can have: s below 1/sqrt(p) means one variable per axis.
"""

from __future__ import annotations

import numpy as np

from ....solvers.penalized_svd import penalized_svd
from .base import SparseResult
from .between import Between

__all__ = ["sparse_svd"]


def sparse_svd(between: Between, d, sparsity, dense, *, scale_penalty=False, warm=None) -> SparseResult:
    """One penalised singular pair per axis, each of what the axes before it have left."""
    del dense, scale_penalty
    warm = {} if warm is None else warm
    H = between.scatter.to_variables(between.H)
    left, right = H, H
    loadings = np.zeros((len(H), d))
    gap = 0.0
    history: list[float] = []
    for j in range(d):
        pair = penalized_svd(left, right, max(1.0, sparsity[j] * np.sqrt(len(H))), warm=warm.get(j))
        loadings[:, j] = warm[j] = pair.u
        gap = max(gap, pair.gap)
        history.extend(pair.history)
        left = np.column_stack([left, -pair.value * pair.u])
        right = np.column_stack([right, pair.v])
    return SparseResult(loadings, gap, history)
