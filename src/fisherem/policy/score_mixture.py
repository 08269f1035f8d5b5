"""Gaussian groups with a common covariance on the sinh-arcsinh scores of all columns, by EM from a partition.

In coordinates in which all rows together have the covariance I, the groups' common covariance is I less what the means
explain, W = I - M' P M with M (K x m) the means and P the groups' shares. Everything that EM needs then follows from
the products of the rows with the means (n x K) and of the means with each other (K x K):

    r' W^-1 m_k,   W^-1 = I + M' (P^-1 - M M')^-1 M

so that an iteration costs two products of the rows with K columns, and no matrix of the size of the columns. Several
starts go on together: the products of one iteration serve all of them.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ..solvers.kmeans_runs import nearest

__all__ = ["ScoreMixture"]

# Iterations end here, or when no row changes its group.
_ITERATIONS = 25


class ScoreMixture:
    """Groups of rows by their standardised scores (n x p, n > p).

    `floors` (p) are added to the columns' variances; so is the ridge, with which directions that all rows hardly vary
    in do not decide where there are few rows per column.
    """

    def __init__(self, scores: np.ndarray, weights: np.ndarray, floors: np.ndarray, ridge: float):
        self.weights = weights
        correlations = (scores.T * weights) @ scores / weights.sum()
        correlations[np.diag_indices(len(correlations))] += ridge + floors
        self.rows = solve_triangular(np.linalg.cholesky(correlations), scores.T, lower=True).T

    def settle(self, starts: list[np.ndarray], n_clusters: int) -> list[np.ndarray | None]:
        """Labels (n) after EM from each of several others; None where a group was lost."""
        labels = np.array(starts)
        lost, going = np.zeros(len(labels), bool), np.arange(len(labels))
        groups = np.arange(n_clusters)[:, None]
        posteriors = (labels[:, None] == groups).astype(float)  # R x K x n
        for _ in range(_ITERATIONS):
            sizes = posteriors @ self.weights
            lost[going] = sizes.min(axis=1) <= 0
            keep = ~lost[going]
            if not keep.any():
                break
            going, logs = going[keep], self._log_joint(posteriors[keep], sizes[keep])
            top, new = nearest(logs)
            moves = (new != labels[going]).any(axis=1)
            labels[going] = new
            going = going[moves]
            if not len(going):
                break
            posteriors = np.exp(logs[moves] - top[moves, None])
            posteriors /= posteriors.sum(axis=1, keepdims=True)
        counts = np.array([np.bincount(own, self.weights, n_clusters) for own in labels])
        lost |= counts.min(axis=1) <= 0
        return [None if gone else own for gone, own in zip(lost, labels, strict=True)]

    def _log_joint(self, posteriors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Of R mixtures, up to a constant of each row (R x K x n), from posteriors (R x K x n) and sizes (R x K)."""
        R, K, n = posteriors.shape
        shares = sizes / sizes.sum(axis=1, keepdims=True)
        sums = (posteriors * self.weights).reshape(R * K, n) @ self.rows
        means = sums.reshape(R, K, -1) / sizes[:, :, None]
        products = means @ means.transpose(0, 2, 1)
        outer = np.linalg.solve(np.eye(K) / shares[:, :, None] - products, products) + np.eye(K)
        coefficients = outer.transpose(0, 2, 1) @ means
        constants = np.log(shares) - np.einsum("rkj,rjk->rk", products, outer) / 2
        logs = (coefficients.reshape(R * K, -1) @ self.rows.T).reshape(R, K, n)
        logs += constants[:, :, None]
        return logs
