"""The paper's formulas written out as they stand, with p x p matrices and loops: slow, and hard to get wrong."""

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import linear_sum_assignment
from scipy.stats import multivariate_normal


def accuracy(truth, labels):
    """Share of rows in agreement under the best matching of groups to classes."""
    truth = np.unique(truth, return_inverse=True)[1]
    size = max(truth.max(), labels.max()) + 1
    table = np.zeros((size, size))
    np.add.at(table, (truth, labels), 1)
    rows, columns = linear_sum_assignment(-table)
    return table[rows, columns].sum() / len(truth)


def weighted_groups(Y, T):
    """n_k, m_k and C_k of every group."""
    n_k = T.sum(axis=0)
    means = np.array([sum(t[k] * y for t, y in zip(T, Y, strict=True)) / n_k[k] for k in range(T.shape[1])])
    covariances = np.array(
        [
            sum(t[k] * np.outer(y - means[k], y - means[k]) for t, y in zip(T, Y, strict=True)) / n_k[k]
            for k in range(T.shape[1])
        ]
    )
    return n_k, means, covariances


def scatters(Y, T):
    """S, S_B (eq. 7) and S_W."""
    n_k, means, covariances = weighted_groups(Y, T)
    overall = Y.mean(axis=0)
    total = sum(np.outer(y - overall, y - overall) for y in Y) / len(Y)
    between = sum(n * np.outer(m - overall, m - overall) for n, m in zip(n_k, means, strict=True)) / len(Y)
    within = sum(n * C for n, C in zip(n_k, covariances, strict=True)) / len(Y)
    return total, between, within


def fisher(U, total, between):
    """trace((U'SU)^-1 U'S_BU), eq. (6)."""
    return np.trace(np.linalg.inv(U.T @ total @ U) @ (U.T @ between @ U))


def foley_sammon(total, between, d):
    """The best axis, then the best in the orthogonal complement of those before it, by complement bases."""
    p = len(total)
    axes = np.zeros((p, 0))
    for _ in range(d):
        basis = null_space(axes.T) if axes.shape[1] else np.eye(p)
        values, vectors = np.linalg.eig(np.linalg.solve(basis.T @ total @ basis, basis.T @ between @ basis))
        axis = basis @ np.real(vectors[:, np.argmax(np.real(values))])
        axes = np.column_stack([axes, axis / np.linalg.norm(axis)])
    return axes


def mixture_log_densities(Y, proportions, means, loadings, covariances, noises):
    """log pi_k phi(y; m_k, S_k) with S_k = U Sigma_k U' + beta_k (I - UU') written out: n x K."""
    p = Y.shape[1]
    outside = np.eye(p) - loadings @ loadings.T
    return np.column_stack(
        [
            np.log(proportions[k])
            + multivariate_normal.logpdf(Y, means[k], loadings @ covariances[k] @ loadings.T + noises[k] * outside)
            for k in range(len(means))
        ]
    )


def estimator_log_densities(model, X):
    return mixture_log_densities(
        X, model.weights_, model.means_, model.loadings_, model.covariances_, model.noise_variances_
    )


def principal_angle(A, B):
    """The largest angle between two subspaces, in degrees."""
    a, b = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    # from the sine: arccos loses half of the digits near 0
    return np.degrees(np.arcsin(np.clip(np.linalg.norm(a - b @ (b.T @ a), 2), 0, 1)))


def same_axes(A, B):
    """Largest difference between two sets of axes, up to the sign of each."""
    return np.abs(A - B * np.sign((A * B).sum(axis=0))).max()
