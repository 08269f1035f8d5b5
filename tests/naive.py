"""The paper's formulas written out as they stand, with p x p matrices and loops: slow, and hard to get wrong."""

import numpy as np
from scipy.linalg import eigh, null_space
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


def mixture_log_densities(Y, proportions, means, loadings, covariances, noises, factors=None):
    """log pi_k phi(y; m_k, S_k) with S_k = U Sigma_k U' + beta_k (I - UU') written out: n x K.

    With factors F (p x m) of the noise S_k is that of `noisy_covariance`.
    """
    return np.column_stack(
        [
            np.log(proportions[k])
            + multivariate_normal.logpdf(Y, means[k], noisy_covariance(loadings, covariances[k], noises[k], factors))
            for k in range(len(means))
        ]
    )


def spread_along(U, F):
    """(N, G, B) of a noise with factors: N = I + FF', G = U'NU, B = N U G^-1."""
    N = np.eye(len(U)) + F @ F.T
    G = U.T @ N @ U
    return N, G, N @ U @ np.linalg.inv(G)


def noisy_covariance(U, inside, beta, F=None):
    """B Sigma B' + beta (N - B G B'); without factors U Sigma U' + beta (I - UU')."""
    N, G, B = spread_along(U, np.zeros((len(U), 0)) if F is None else F)
    return B @ inside @ B.T + beta * (N - B @ G @ B.T)


def group_covariance(model, k):
    """The covariance (p x p) of group k of a fitted estimator."""
    return noisy_covariance(
        model.loadings_, model.covariances_[k], model.noise_variances_[k], getattr(model, "noise_loadings_", None)
    )


def estimator_log_densities(model, X):
    return np.column_stack(
        [
            np.log(model.weights_[k]) + multivariate_normal.logpdf(X, model.means_[k], group_covariance(model, k))
            for k in range(len(model.weights_))
        ]
    )


def principal_angle(A, B):
    """The largest angle between two subspaces, in degrees."""
    a, b = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    # from the sine: arccos loses half of the digits near 0
    return np.degrees(np.arcsin(np.clip(np.linalg.norm(a - b @ (b.T @ a), 2), 0, 1)))


def same_axes(A, B):
    """Largest difference between two sets of axes, up to the sign of each."""
    return np.abs(A - B * np.sign((A * B).sum(axis=0))).max()


# -- the paper's eq. (4): means inside the axes --------------------------------------------------------------------


def tied(name, covariances, noises, shares):
    """Covariances (K x d x d) and noises (K) tied as the model's letters say: Dk D Akj Ak Aj A, then Bk B."""
    shape, own_noise = (name[:-2], True) if name.endswith("Bk") else (name[:-1], False)
    K, d = len(shares), covariances.shape[1]
    pooled = sum(share * C for share, C in zip(shares, covariances, strict=True))
    made = []
    for k in range(K):
        C = covariances[k] if "k" in shape else pooled
        if shape.startswith("A"):
            C = np.diag(np.diag(C)) if "j" in shape else np.trace(C) / d * np.eye(d)
        made.append(C)
    common = sum(share * noise for share, noise in zip(shares, noises, strict=True))
    return np.array(made), np.array(noises) if own_noise else np.full(K, common)


def latent_m_step(Y, T, U, name, weights=None):
    """Shares, means m_k = ybar + UU'(mean_k - ybar), Sigma_k and beta_k from p x p covariances.

    Inside the axes rows vary about their group's mean; outside them every group's mean is ybar.
    """
    p, d = U.shape
    w = np.ones(len(Y)) if weights is None else weights
    overall = sum(v * y for v, y in zip(w, Y, strict=True)) / w.sum()
    n_k, means, covariances = weighted_groups(Y, T * w[:, None])
    about_overall = [
        sum(v * t[k] * np.outer(y - overall, y - overall) for v, t, y in zip(w, T, Y, strict=True)) / n_k[k]
        for k in range(T.shape[1])
    ]
    shares = n_k / w.sum()
    outside = np.eye(p) - U @ U.T
    latent = np.array([U.T @ C @ U for C in covariances])
    noises = np.array([np.trace(outside @ C @ outside) / (p - d) for C in about_overall])
    inside = overall + (means - overall) @ (U @ U.T)
    return shares, inside, *tied(name, latent, noises, shares)


def posteriors_of(log_joint):
    """(posteriors n x K, log densities n, entropy of each row) from log pi_k phi(y)."""
    density = np.logaddexp.reduce(log_joint, axis=1)
    T = np.exp(log_joint - density[:, None])
    return T, density, -(T * (log_joint - density[:, None])).sum(axis=1)


def latent_fisher_em(Y, T, d, name, ridge, n_iter):
    """Fisher-EM with means inside the axes, p x p throughout: (posteriors, log-likelihood of every iteration).

    The axes are the first d left singular vectors of S^-1 S_B; `ridge` is a share of the mean variance.
    """
    values = []
    for _ in range(n_iter):
        total, between, _ = scatters(Y, T)
        total = total + ridge * np.trace(total) / len(total) * np.eye(len(total))
        U = np.linalg.svd(np.linalg.solve(total, between))[0][:, :d]
        shares, means, covariances, noises = latent_m_step(Y, T, U, name)
        T, density, _ = posteriors_of(mixture_log_densities(Y, shares, means, U, covariances, noises))
        values.append(density.sum())
    return T, np.array(values)


# -- what a partition asks for: ridge and axes ---------------------------------------------------------------------


def within_centred(Y, labels, weights=None):
    """Rows less the mean of their group."""
    w = np.ones(len(Y)) if weights is None else weights
    out = np.empty_like(Y, dtype=float)
    for k in np.unique(labels):
        out[labels == k] = Y[labels == k] - np.average(Y[labels == k], axis=0, weights=w[labels == k])
    return out


def count_useful_axes(Y, labels, ridge, n, most):
    """Eigenvalues of (W + ridge)^-1 B above three times trace(W (W + ridge)^-1) / (n - K), p x p; from 1 to `most`."""
    K = labels.max() + 1
    total, between, within = scatters(Y, np.eye(K)[labels])
    shrunk = within + ridge * np.trace(total) / len(total) * np.eye(len(total))
    values = np.real(np.linalg.eigvals(np.linalg.solve(shrunk, between)))
    chance = np.trace(within @ np.linalg.inv(shrunk)) / (n - K)
    return int(np.clip((values > 3 * chance).sum(), 1, most))


# -- the criterion C(K, S) -----------------------------------------------------------------------------------------


def group_matrices(Y, labels, weights=None):
    """(n, sizes, T, W) of rows with hard labels 0 ... K-1 and weights."""
    w = np.ones(len(Y)) if weights is None else weights
    sizes = np.array([w[labels == k].sum() for k in range(labels.max() + 1)])
    Z, inside = Y - np.average(Y, axis=0, weights=w), within_centred(Y, labels, w)
    return w.sum(), sizes, (Z.T * w) @ Z / w.sum(), (inside.T * w) @ inside / w.sum()


def prices(n, p, rank, m):
    """Of m variables chosen among p: BIC's for each, and the larger of as much again and the number of choices."""
    bic = rank / 2 * np.log(n)
    return sum(bic + max(bic, np.log((p - i) / (i + 1))) for i in range(m))


def criterion(Y, labels, support, weights=None):
    """(C(K, S), the rank of the means it is reached with), from the eigenvalues of W_S^-1 B_S."""
    n, sizes, total, within = group_matrices(Y, labels, weights)
    K, m, p = len(sizes), len(support), Y.shape[1]
    S = np.ix_(support, support)
    values = np.sort(eigh(total[S] - within[S], within[S], eigvals_only=True))[::-1]
    found = [
        (n / 2 * np.log1p(values[:r]).sum() - prices(n, p, r, m) - np.log(n) * r * (K - 1 - r), r)
        for r in range(1, min(K - 1, m) + 1)
    ]
    best, rank = max(found)
    return best + (sizes * np.log(sizes / n)).sum() - (K - 1) * np.log(n), rank


def full_rank_criterion(Y, labels, support, weights=None):
    """C(K, S) with all K - 1 differences between the groups, by determinants."""
    n, sizes, total, within = group_matrices(Y, labels, weights)
    K, S = len(sizes), np.ix_(support, support)
    explained = n / 2 * np.log(np.linalg.det(total[S]) / np.linalg.det(within[S]))
    groups = (sizes * np.log(sizes / n)).sum() - (K - 1) * np.log(n)
    return explained - prices(n, Y.shape[1], K - 1, len(support)) + groups


def variance_given(Y, j, support):
    """The mean square of what a least squares regression of column j on the columns in `support` leaves of it."""
    if not len(support):
        return (Y[:, j] ** 2).mean()
    coefficients = np.linalg.lstsq(Y[:, support], Y[:, j], rcond=None)[0]
    return ((Y[:, j] - Y[:, support] @ coefficients) ** 2).mean()
