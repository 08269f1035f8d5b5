"""Linear regressions between variables, all from one cross-product matrix.

    maximise  -n/2 (log(2 pi RSS/n) + 1) - (|R| + 2)/2 log n   over subsets R of the regressors

RSS and the coefficients come from sweeping sub-blocks of X'X (p x p, centred): the rows are read once for all
regressions of a search.
"""

from __future__ import annotations

import numpy as np

__all__ = ["REGRESSION_SHAPES", "Regressions", "sweep"]

# A regressor with less than this share of its variance left, given the others, counts as a linear combination of them.
_COLLINEAR = 1e-10


def sweep(A: np.ndarray, k: int, sign: float = 1.0) -> None:
    """Sweep A (m x m) in place on pivot k; sign=-1 undoes it. After a sweep, -A[k, k] is the k-th diagonal entry of the
    inverse."""
    pivot = A[k, k]
    row = A[k].copy()
    column = A[:, k].copy()
    A -= np.outer(column, row / pivot)
    A[k] = sign * row / pivot
    A[:, k] = sign * column / pivot
    A[k, k] = -1.0 / pivot


class Regressions:
    """BIC-selected regressions among the columns of X (n x p)."""

    def __init__(self, X: np.ndarray):
        centred = X - X.mean(axis=0)
        self.n = len(X)
        self.cross = centred.T @ centred  # (p x p), the only pass over the rows

    def bic(self, rss, n_regressors):
        """log-likelihood - parameters/2 log n of Gaussian regressions: intercept, coefficients, variance."""
        variance = np.maximum(rss, 1e-300) / self.n
        return -0.5 * self.n * (np.log(2 * np.pi * variance) + 1) - 0.5 * (n_regressors + 2) * np.log(self.n)

    def select(self, j: int, among) -> tuple[float, tuple[int, ...]]:
        """(BIC, regressors) of variable j on the best subset of `among`, stepwise from all and from none."""
        among = list(among)
        block = self.cross[np.ix_([*among, j], [*among, j])]
        nothing = (block.copy(), np.zeros(len(among), bool))
        # with more than n - 3 regressors the fit is perfect and the variance 0
        starts = [nothing, _swept(block, self.n - 3)] if among else [nothing]
        value, inside = max((self._climb(A, inside, np.diag(block)) for A, inside in starts), key=lambda end: end[0])
        return value, tuple(a for a, kept in zip(among, inside, strict=True) if kept)

    def _climb(self, A: np.ndarray, inside: np.ndarray, total: np.ndarray) -> tuple[float, np.ndarray]:
        """Exclude or include the best variable while BIC increases; A is swept on `inside`, its last row is j."""
        m = len(inside)
        value = self.bic(A[m, m], int(inside.sum()))
        for _ in range(4 * m):  # every change increases the BIC; the limit guards against rounding
            pivots = np.diag(A)[:m]
            usable = inside | (pivots > _COLLINEAR * total[:m])
            # removing adds b^2 / inverse_kk to the RSS, adding subtracts a_kj^2 / a_kk: the same formula after a sweep
            rss = A[m, m] - np.where(usable, A[:m, m] ** 2 / np.where(usable, pivots, 1.0), 0.0)
            size = inside.sum() + np.where(inside, -1, 1)
            trial = np.where(usable & (size <= self.n - 3), self.bic(rss, size), -np.inf)
            best = int(np.argmax(trial))
            if not trial[best] > value + 1e-9:
                break
            sweep(A, best, -1.0 if inside[best] else 1.0)
            inside[best] = ~inside[best]
            value = self.bic(A[m, m], int(inside.sum()))
        return value, inside

    def residual_scatter(self, U, R) -> np.ndarray:
        """The residual scatter (|U| x |U|) of the variables U after regression on R."""
        C = self.cross
        U, R = list(U), list(R)
        if not R:
            return C[np.ix_(U, U)]
        across = C[np.ix_(R, U)]
        return C[np.ix_(U, U)] - across.T @ np.linalg.lstsq(C[np.ix_(R, R)], across, rcond=None)[0]

    def multivariate_bic(self, U, R, shape: str) -> float:
        """BIC of the joint regression of the variables U on R, with a residual covariance of shape LI, LB or LC."""
        if not len(U):
            return 0.0
        log_determinant, n_covariance = REGRESSION_SHAPES[shape](self.residual_scatter(U, R) / self.n)
        size = len(U) * (len(R) + 1) + n_covariance
        return -0.5 * self.n * (len(U) * np.log(2 * np.pi) + log_determinant + len(U)) - 0.5 * size * np.log(self.n)

    def common_regressors(self, U, S, shape: str) -> tuple[float, tuple[int, ...]]:
        """(BIC, R): the subset R of S used as regressors for all of U, by backward exclusion."""
        R = tuple(S)
        value = self.multivariate_bic(U, R, shape)
        while len(U) and len(R) > 1:
            trials = [self.multivariate_bic(U, [r for r in R if r != out], shape) for out in R]
            best = int(np.argmax(trials))
            if not trials[best] > value:
                break
            value = trials[best]
            R = tuple(r for r in R if r != R[best])
        return value, R


def _swept(block: np.ndarray, most: int):
    """A copy of the block swept on all but its last variable, on at most `most` of them; and which were swept."""
    m = len(block) - 1
    scale = np.sqrt(np.maximum(np.diag(block)[:m], 1e-300))
    if 0 < m <= most:
        # the inverse gives the result of all sweeps at once; collinear regressors are swept one by one below
        try:
            L = np.linalg.cholesky(block[:m, :m] / np.outer(scale, scale))
        except np.linalg.LinAlgError:
            L = None
        if L is not None and np.diag(L).min() ** 2 > 1e3 * _COLLINEAR:
            root = np.linalg.inv(L) / scale
            A = np.empty_like(block)
            A[:m, :m] = -root.T @ root
            A[m, :m] = A[:m, m] = -A[:m, :m] @ block[:m, m]
            A[m, m] = block[m, m] - block[:m, m] @ A[:m, m]
            return A, np.ones(m, bool)
    A = block.copy()
    inside = np.zeros(m, bool)
    for k in range(min(m, most)):
        if A[k, k] > _COLLINEAR * block[k, k]:
            sweep(A, k)
            inside[k] = True
    return A, inside


def _spherical(C):
    return len(C) * np.log(max(np.trace(C) / len(C), 1e-300)), 1


def _diagonal(C):
    return np.log(np.maximum(np.diag(C), 1e-300)).sum(), len(C)


def _full(C):
    sign, value = np.linalg.slogdet(C)
    # a singular residual covariance would look like a perfect fit, so it excludes the shape
    return (value if sign > 0 else np.inf), len(C) * (len(C) + 1) / 2


# Names as in the papers on variable roles: residual covariances spherical, diagonal and full.
REGRESSION_SHAPES = {"LI": _spherical, "LB": _diagonal, "LC": _full}
