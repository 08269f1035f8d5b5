"""The Bayesian Fisher-EM as its paper writes it: loops over rows and groups, p x p matrices."""

import numpy as np


def posteriors_of_means(Y, T, U, Sigma, nu, lam):
    """m_k and S_k."""
    K, d = T.shape[1], U.shape[1]
    m, S = np.zeros((K, d)), np.zeros((K, d, d))
    for k in range(K):
        n_k, inverse = T[:, k].sum(), np.linalg.inv(Sigma[k])
        S[k] = np.linalg.inv(np.eye(d) / lam + n_k * inverse)
        m[k] = nu + S[k] @ inverse @ (sum(T[i, k] * (U.T @ Y[i]) for i in range(len(Y))) - n_k * nu)
    return m, S


def covariances(Y, T, U, m, S):
    """Sigma_k before it is tied."""
    out = np.zeros_like(S)
    for k in range(T.shape[1]):
        for i in range(len(Y)):
            z = U.T @ Y[i] - m[k]
            out[k] += T[i, k] * np.outer(z, z)
        out[k] = out[k] / T[:, k].sum() + S[k]
    return out


def prior(m, S):
    """nu and lambda."""
    K, d = m.shape
    nu = m.mean(axis=0)
    return nu, sum(np.trace(S[k]) + ((m[k] - nu) ** 2).sum() for k in range(K)) / (d * K)


def log_rho(Y, pi, U, m, S, Sigma, beta):
    """out[i, k]: the expected log joint density, whose normalised exponentials are tau."""
    n, p = Y.shape
    d = U.shape[1]
    out = np.zeros((n, len(pi)))
    for i in range(n):
        x = U.T @ Y[i]
        rest = ((Y[i] - U @ x) ** 2).sum()
        for k in range(len(pi)):
            inverse, z = np.linalg.inv(Sigma[k]), x - m[k]
            inner = z @ inverse @ z + np.trace(inverse @ S[k]) + rest / beta[k]
            inner += np.linalg.slogdet(Sigma[k])[1] + (p - d) * np.log(beta[k]) + p * np.log(2 * np.pi)
            out[i, k] = np.log(pi[k]) - inner / 2
    return out


def elbo(Y, tau, pi, U, m, S, Sigma, beta, nu, lam):
    """The bound, term by term."""
    p = Y.shape[1]
    K, d = m.shape
    n_k = tau.sum(axis=0)
    value = -(tau * np.log(np.maximum(tau, 1e-300))).sum() + n_k @ np.log(pi)
    for k in range(K):
        value += 0.5 * (d * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(S[k])[1])
        value -= 0.5 * (d * np.log(2 * np.pi * lam) + (np.trace(S[k]) + ((m[k] - nu) ** 2).sum()) / lam)
        about = Y - U @ m[k]
        C = (about * tau[:, [k]]).T @ about / n_k[k] + U @ S[k] @ U.T
        outside = np.eye(p) - U @ U.T
        inner = p * np.log(2 * np.pi) + np.linalg.slogdet(Sigma[k])[1] + (p - d) * np.log(beta[k])
        inner += np.trace(np.linalg.inv(Sigma[k]) @ U.T @ C @ U) + np.trace(outside @ C) / beta[k]
        value -= 0.5 * n_k[k] * inner
    return value
