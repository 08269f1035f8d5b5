"""Ranking variables by a mixture with l1-penalised means (Pan & Shen 2007), as the fast variant of SRUW does.

    maximise  sum_i log sum_k pi_k phi(z_i; m_k, diag(v)) - penalty sum_kj |m_kj|        Z (n x p) standardised

The variances v of the variables are common to the groups. As the penalty grows, the means of a variable shrink to 0;
variables are ranked by the largest penalty at which their means are not 0.
"""

from __future__ import annotations

import numpy as np

__all__ = ["lasso_ranking", "penalised_mixture"]

# Number of penalties, evenly spaced up to the one at which all means are 0. Only the order in which the means of
# variables become 0 is used, and ties are broken by the size of the means.
_N_PENALTIES = 30
_MAX_ITER = 100
_TOL = 1e-5
_VARIANCE_FLOOR = 1e-3  # as a share of the total variance, which is 1


def penalised_mixture(Z: np.ndarray, T: np.ndarray, penalty: float):
    """EM on Z (n x p) from posteriors T (K x n): (means K x p, posteriors K x n, penalised log-likelihoods)."""
    n, _ = Z.shape
    squares = Z**2
    variances = Z.var(axis=0)
    history: list[float] = []
    means = np.zeros((len(T), Z.shape[1]))
    for _ in range(_MAX_ITER):
        n_k = np.maximum(T.sum(axis=1), 1e-10)[:, None]
        raw = T @ Z / n_k
        # for fixed variances the penalised mean is the soft-thresholded one; the variances follow in closed form
        for _ in range(2):
            means = np.sign(raw) * np.maximum(np.abs(raw) - penalty * variances / n_k, 0)
            second = (T @ squares - 2 * means * (T @ Z) + n_k * means**2).sum(axis=0) / n
            variances = np.maximum(second, _VARIANCE_FLOOR)
        precise = means / variances
        joint = precise @ Z.T - 0.5 * (means * precise).sum(axis=1)[:, None] + np.log(n_k / n)
        base = -0.5 * (squares @ (1 / variances)) - 0.5 * np.log(2 * np.pi * variances).sum()
        largest = joint.max(axis=0)
        T = np.exp(joint - largest)
        total = T.sum(axis=0)
        T /= total
        history.append(float((base + largest + np.log(total)).sum() - penalty * np.abs(means).sum()))
        if len(history) > 1 and abs(history[-1] - history[-2]) <= _TOL * (abs(history[-1]) + 1):
            break
    return means, T, history


def lasso_ranking(Z: np.ndarray, labels: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """(order, survival), both (p): the ranking, and the number of penalties at which each variable has nonzero means.

    Z (n x p) is standardised. The path starts from the partition `labels` (n) and goes from small penalties to large
    ones, each fit starting from the posteriors of the one before it.
    """
    T = (labels == np.arange(n_clusters)[:, None]).astype(float)
    survival = np.zeros(Z.shape[1])
    size = np.zeros(Z.shape[1])
    largest = np.abs(T @ Z).max()  # at larger penalties all means of the starting partition are 0
    for penalty in np.linspace(0, 1, _N_PENALTIES, endpoint=False)[1:] * largest:
        means, T, _ = penalised_mixture(Z, T, penalty)
        reach = np.abs(means).max(axis=0)
        if not reach.any():
            break
        survival += reach > 0
        size += reach
    return np.lexsort((-size, -survival)), survival
