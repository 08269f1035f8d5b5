"""Gaussian groups with a common covariance on the sinh-arcsinh scores of all columns, by EM from a partition.

In coordinates in which all rows together have the covariance I, the groups' common covariance is I less what the means
explain, W = I - M' P M with M (K x m) the means and P the groups' shares. Everything that EM needs then follows from
the products of the rows with the means (n x K) and of the means with each other (K x K):

    r' W^-1 m_k,   W^-1 = I + M' (P^-1 - M M')^-1 M

so that an iteration costs two products of the rows with K columns, and no matrix of the size of the columns.
"""

from __future__ import annotations

import numpy as np

__all__ = ["ScoreMixture"]

# Iterations end here, or when no row changes its group.
_ITERATIONS = 50


class ScoreMixture:
    """Groups of rows by their standardised scores (n x p, n > p).

    `floors` (p) are added to the columns' variances; so is the ridge, with which directions that all rows hardly vary
    in do not decide where there are few rows per column.
    """

    def __init__(self, scores: np.ndarray, weights: np.ndarray, floors: np.ndarray, ridge: float):
        self.weights = weights
        correlations = (scores.T * weights) @ scores / weights.sum()
        correlations[np.diag_indices(len(correlations))] += ridge + floors
        self.rows = np.linalg.solve(np.linalg.cholesky(correlations), scores.T).T

    def settle(self, labels: np.ndarray, n_clusters: int) -> np.ndarray | None:
        """Labels (n) after EM from others; None if a group was lost."""
        posteriors = (labels[:, None] == np.arange(n_clusters)).astype(float)
        for _ in range(_ITERATIONS):
            sizes = self.weights @ posteriors
            if sizes.min() <= 0:
                return None
            shares = sizes / sizes.sum()
            means = (posteriors * self.weights[:, None]).T @ self.rows / sizes[:, None]
            products = means @ means.T
            inner = np.linalg.solve(np.diag(1 / shares) - products, products)
            linear = self.rows @ (means.T @ (np.eye(n_clusters) + inner))
            square = np.einsum("kj,jk->k", products, np.eye(n_clusters) + inner)
            logs = np.log(shares) + linear - square / 2
            posteriors = np.exp(logs - logs.max(axis=1, keepdims=True))
            posteriors /= posteriors.sum(axis=1, keepdims=True)
            new = logs.argmax(axis=1)
            if (new == labels).all():
                break
            labels = new
        counts = np.bincount(labels, self.weights, n_clusters)
        return labels if counts.min() > 0 else None
