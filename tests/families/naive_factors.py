"""Mixtures of factor models as their papers write them: loops, p x p inverses, nothing shared with the engine."""

import numpy as np
from scipy.stats import multivariate_normal


def log_joint(Y, proportions, means, covariances):
    """out[i, k] = log pi_k N(y_i; m_k, Sigma_k)"""
    parts = [
        np.log(pi) + multivariate_normal(m, S, allow_singular=False).logpdf(Y)
        for pi, m, S in zip(proportions, means, covariances, strict=True)
    ]
    return np.stack(parts, axis=1)


def covariances(loadings, noises):
    return [L @ L.T + np.diag(psi) for L, psi in zip(loadings, noises, strict=True)]


def expected_factors(Y, mean, L, psi):
    """E[u | y_i] (n x q) and E[uu' | y_i] (n x q x q) for one group."""
    beta = L.T @ np.linalg.inv(L @ L.T + np.diag(psi))
    u = (Y - mean) @ beta.T
    spread = np.eye(L.shape[1]) - beta @ L
    return u, spread + u[:, :, None] * u[:, None, :]


def em_step(structure, Y, T, loadings, noises):
    """One step of EM with the factors missing: loadings and noises from all rows' expectations."""
    K, p, q = loadings.shape
    n_k = T.sum(axis=0)
    means = T.T @ Y / n_k[:, None]
    factors = [expected_factors(Y, means[k], loadings[k], noises[k]) for k in range(K)]
    new = np.zeros_like(loadings)
    for j in range(p):
        left, right = np.zeros((K, q, q)), np.zeros((K, q))
        for k, (u, uu) in enumerate(factors):
            for i in range(len(Y)):
                left[k] += T[i, k] / noises[k, j] * uu[i]
                right[k] += T[i, k] / noises[k, j] * (Y[i, j] - means[k, j]) * u[i]
        if structure.loadings.common:
            new[:, j] = np.linalg.solve(left.sum(axis=0), right.sum(axis=0))
        else:
            for k in range(K):
                new[k, j] = np.linalg.solve(left[k], right[k])
    residuals = np.zeros((K, p))
    for k, (u, uu) in enumerate(factors):
        for j in range(p):
            y, row = Y[:, j] - means[k, j], new[k, j]
            squares = y**2 - 2 * y * (u @ row) + np.einsum("q,iqr,r->i", row, uu, row)
            residuals[k, j] = T[:, k] @ squares / n_k[k]
    if structure.noise.spherical:
        residuals[:] = residuals.mean(axis=1, keepdims=True)
    if structure.noise.common:
        residuals[:] = n_k / n_k.sum() @ residuals
    return means, new, residuals


def latent_step(diagonal, Y, T, A, D):
    """One step in a common factor space: xi and Omega for this A and D, then A and D by EM with the factors missing."""
    n_k = T.sum(axis=0)
    K, q = len(n_k), A.shape[1]
    Y = Y - Y.mean(axis=0)
    inverse = np.linalg.inv(A.T @ np.diag(1 / D) @ A)
    project = inverse @ A.T @ np.diag(1 / D)  # the best linear unbiased estimate of u, with covariance `inverse`
    xi, omega = np.zeros((K, q)), np.zeros((K, q, q))
    for k in range(K):
        scores = Y @ project.T
        xi[k] = T[:, k] @ scores / n_k[k]
        about = scores - xi[k]
        omega[k] = (about * T[:, [k]]).T @ about / n_k[k] - inverse
        if diagonal:
            omega[k] = np.diag(np.maximum(np.diag(omega[k]), 0))
    cross, total, squares = 0.0, 0.0, 0.0
    for k in range(K):
        gain = omega[k] @ A.T @ np.linalg.inv(A @ omega[k] @ A.T + np.diag(D))
        u = xi[k] + (Y - A @ xi[k]) @ gain.T
        spread = omega[k] - gain @ A @ omega[k]
        cross = cross + (Y * T[:, [k]]).T @ u
        total = total + (u * T[:, [k]]).T @ u + n_k[k] * spread
    if diagonal:
        left, _, right = np.linalg.svd(cross, full_matrices=False)
        A = left @ right
    else:
        A = cross @ np.linalg.inv(total)
    squares = (Y**2).sum(axis=0) - 2 * (A * cross).sum(axis=1) + np.einsum("pq,qr,pr->p", A, total, A)
    D = squares / n_k.sum()
    return xi, omega, A, np.full(len(D), D.mean()) if diagonal else D
