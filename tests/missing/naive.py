"""Mixtures on rows with gaps, transcribed with explicit sub-matrices: slow, and free of Woodbury's identity."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


def covariances(axes, sigmas, noises, metric=None):
    """W_k = B Sigma_k B' + beta_k (N - B G B') with B = N U G^-1 (K x p x p)."""
    p = len(axes)
    N = np.eye(p) if metric is None else np.eye(p) + (metric.vectors * metric.gains) @ metric.vectors.T
    G = axes.T @ N @ axes
    B = N @ axes @ np.linalg.inv(G)
    return np.stack([B @ s @ B.T + b * (N - B @ G @ B.T) for s, b in zip(sigmas, noises, strict=True)])


def conditionals(X, proportions, means, W):
    """(log joint (K x n), conditional means (K x n x p), conditional covariances (K x n x p x p)) of rows with NaN."""
    K, (n, p) = len(means), X.shape
    log_joint, rows, spread = np.empty((K, n)), np.empty((K, n, p)), np.zeros((K, n, p, p))
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        m = ~o
        for k in range(K):
            density = multivariate_normal(means[k][o], W[k][np.ix_(o, o)]).logpdf(row[o]) if o.any() else 0.0
            log_joint[k, i] = np.log(proportions[k]) + density
            rows[k, i] = row
            slope = W[k][np.ix_(m, o)] @ np.linalg.inv(W[k][np.ix_(o, o)])
            rows[k, i][m] = means[k][m] + slope @ (row[o] - means[k][o])
            spread[k, i][np.ix_(m, m)] = W[k][np.ix_(m, m)] - slope @ W[k][np.ix_(o, m)]
    return log_joint, rows, spread


def posteriors(log_joint):
    """(posteriors (K x n), log densities (n))."""
    density = logsumexp(log_joint, axis=0)
    return np.exp(log_joint - density), density


def of_model(model, X):
    """The three of `conditionals` for a fitted estimator without scaling, from its public attributes."""
    factors = model.noise_loadings_
    N = np.eye(len(factors)) + factors @ factors.T
    U = model.loadings_
    G = U.T @ N @ U
    B = N @ U @ np.linalg.inv(G)
    pairs = zip(model.covariances_, model.noise_variances_, strict=True)
    W = np.stack([B @ s @ B.T + b * (N - B @ G @ B.T) for s, b in pairs])
    return conditionals(X, model.weights_, model.means_, W)
