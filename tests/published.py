"""The paper's algorithms as they are printed, with p x p matrices: an oracle for `as_published`.

Nothing here is imported from the package. The l1 problems of Algorithms 1 and 2 are solved by following scikit-learn's
LARS path to the budget, the penalised singular vectors of Algorithm 3 by bisection.
"""

import numpy as np
from sklearn.linear_model import lars_path_gram

from tests.naive import foley_sammon, posteriors_of, tied


def group_moments(Y, T):
    """n_k, m_k and C_k (eq. 8), with p x p covariances."""
    n_k = T.sum(axis=0)
    means = (T.T @ Y) / n_k[:, None]
    covariances = np.array([((Y - m).T * t) @ (Y - m) / n for n, m, t in zip(n_k, means, T.T, strict=True)])
    return n_k, means, covariances


def soft_scatters(Y, T):
    """S, H_B (eq. 14) and the soft S_W, which is S - S_B and not H_W H_W' (eq. 15) unless the partition is hard."""
    n_k, means, covariances = group_moments(Y, T)
    overall = Y.mean(axis=0)
    H = (np.sqrt(n_k / len(Y))[:, None] * (means - overall)).T
    within = np.einsum("k,kij->ij", n_k / len(Y), covariances)
    return (Y - overall).T @ (Y - overall) / len(Y), H, within


# -- l1 problems ---------------------------------------------------------------------------------------------------


def with_signs(G, g, budget, multiplier, signs):
    """The minimiser if it has these signs, from the conditions of optimality; None if it has others."""
    A, s = np.flatnonzero(signs), signs[signs != 0]
    free, shrink = np.linalg.solve(G[np.ix_(A, A)], np.column_stack([g[A], s])).T
    at = max(multiplier, (s @ free - budget) / (s @ shrink))
    b = np.zeros(len(g))
    b[A] = free - at * shrink
    right = (np.sign(b[A]) == s).all() and np.abs(g - G @ b)[signs == 0].max(initial=0.0) <= at
    return b if right else None


def lars(G, g, budget=np.inf, multiplier=0.0, signs=None):
    """argmin 1/2 b'Gb - g'b + multiplier |b|_1 within |b|_1 <= budget: a point of the LARS path.

    `signs` of a similar problem's solution save the path if they are right.
    """
    if signs is not None and signs.any() and (b := with_signs(G, g, budget, multiplier, signs)) is not None:
        return b
    alphas, _, path = lars_path_gram(Xy=g, Gram=G, n_samples=1, method="lasso")
    b = path[:, 0]
    for i in range(1, len(alphas)):
        before, after = np.abs(path[:, i - 1]).sum(), np.abs(path[:, i]).sum()
        to_budget = (budget - before) / (after - before) if after > before else np.inf
        to_multiplier = (alphas[i - 1] - multiplier) / (alphas[i - 1] - alphas[i])
        share = min(1.0, to_budget, to_multiplier)
        b = path[:, i - 1] + share * (path[:, i] - path[:, i - 1])
        if share < 1:
            break
    return b


def sparse_unit(a, bound):
    """argmax u'a, |u|_2 <= 1, |u|_1 <= bound: the soft threshold by bisection (Witten et al. 2009)."""

    def at(delta):
        soft = np.sign(a) * np.maximum(np.abs(a) - delta, 0)
        return soft / np.linalg.norm(soft)

    if np.abs(at(0.0)).sum() <= bound:
        return at(0.0)
    low, high = 0.0, np.sort(np.abs(a))[-1] * (1 - 1e-15)
    if bound <= 1:
        return np.where(np.abs(a) == np.abs(a).max(), np.sign(a), 0.0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.abs(at(middle)).sum() > bound else (low, middle)
    return at((low + high) / 2)


def polar(M):
    """uv' of the singular value decomposition (Proposition 2)."""
    u, _, vt = np.linalg.svd(M, full_matrices=False)
    return u @ vt


# -- the sparse F-steps --------------------------------------------------------------------------------------------


def algorithm_1(S, H, S_W, n, d, share=None, penalty=None, ridge=0.0):
    """The lasso of the projected data, one axis at a time. `ridge` is that of the text: in the Gram matrix alone."""
    U = foley_sammon(S, H @ H.T, d)
    G = S + ridge * np.eye(len(S))
    columns = []
    for u in U.T:
        if penalty is not None:
            columns.append(lars(G, S @ u, multiplier=penalty / (2 * n)))
        else:
            columns.append(lars(G, S @ u, share * np.abs(np.linalg.solve(G, S @ u)).sum()))
    return np.column_stack(columns)


def algorithm_2(S, H, S_W, n, d, share=None, penalty=None, rho=1.0, budgets="first", tol=1e-13, sweeps=100_000):
    """Steps 1 to 7: a Cholesky factor of S_W, A from the eigenvectors of S^-1 S_B, then B and A in turn."""
    S_B = H @ H.T
    R = np.linalg.cholesky(S_W).T
    values, vectors = np.linalg.eig(np.linalg.solve(S, S_B))
    B = np.real(vectors[:, np.argsort(-np.real(values))[:d]])
    A = polar(np.linalg.solve(R.T, S_B @ B))
    G = S_B + rho * S_W
    first = None
    for _ in range(sweeps):
        target = S_B @ np.linalg.solve(R, A)
        full = np.linalg.solve(G, target)
        first = full if first is None or budgets == "each" else first
        if penalty is not None:
            limits, multiplier = np.full(d, np.inf), penalty / 2
        else:
            limits, multiplier = share * np.abs(first).sum(axis=0), 0.0
        problems = zip(target.T, limits, np.sign(B.T), strict=True)
        following = np.column_stack([lars(G, g, t, multiplier, signs) for g, t, signs in problems])
        A = polar(np.linalg.solve(R.T, S_B @ following))
        moved = np.linalg.norm(following - B) / np.linalg.norm(following)
        B = following
        if moved <= tol:
            break
    return B


def objective_2(S, H, S_W, B, rho=1.0):
    """The objective of Proposition 3 without its penalty, at the best A."""
    R = np.linalg.cholesky(S_W).T
    A = polar(np.linalg.solve(R.T, H @ H.T @ B))
    return np.sum((np.linalg.solve(R.T, H) - A @ (B.T @ H)) ** 2) + rho * np.trace(B.T @ S_W @ B)


def algorithm_3(S, H, S_W, n, d, share=None, penalty=None, tol=1e-13, sweeps=100_000):
    """The penalised SVD of S_B with deflation."""
    M = H @ H.T
    bound = max(1.0, share * np.sqrt(len(M)) if penalty is None else penalty)
    columns = []
    for _ in range(d):
        v = np.linalg.svd(M)[2][0]
        u = sparse_unit(M @ v, bound)
        for _ in range(sweeps):
            v = M.T @ u / np.linalg.norm(M.T @ u)
            u, last = sparse_unit(M @ v, bound), u
            if np.linalg.norm(u - last) <= tol:
                break
        columns.append(u)
        M = M - (u @ M @ v) * np.outer(u, v)
    return np.column_stack(columns)


ALGORITHMS = {1: algorithm_1, 2: algorithm_2, 3: algorithm_3}


def orthonormal_axes(B):
    """Proposition 2, without axes that add less than 1e-3 of their length to those before them (docs/departures.md)."""
    kept = []
    for j, b in enumerate(B.T):
        if not b.any():
            continue
        others = B[:, kept]
        rest = b - others @ np.linalg.lstsq(others, b, rcond=None)[0] if kept else b
        if np.linalg.norm(rest) > 1e-3 * np.linalg.norm(b):
            kept.append(j)
    return B[:, kept], polar(B[:, kept])


# -- Fisher-EM -----------------------------------------------------------------------------------------------------


def m_step(Y, T, U, model, means):
    """Eqs (9) to (12): the noise about the groups' own means, or with latent means about the overall mean."""
    n_k, centres, covariances = group_moments(Y, T)
    p, d = U.shape
    latent = np.array([U.T @ C @ U for C in covariances])
    overall = Y.mean(axis=0)
    if means == "latent":
        centred = (Y - overall) @ (np.eye(p) - U @ U.T)
        noises = (T * (centred**2).sum(axis=1)[:, None]).sum(axis=0) / n_k / (p - d)
        centres = overall + (centres - overall) @ U @ U.T
    else:
        noises = np.array([np.trace(C) - np.trace(U.T @ C @ U) for C in covariances]) / (p - d)
    return n_k / len(Y), centres, *tied(model, latent, noises, n_k / len(Y))


def e_step(Y, shares, centres, U, covariances, noises):
    """Eq. (5): (posteriors, log-likelihood), from S_k = U Sigma_k U' + beta_k (I - UU') written out."""
    p = Y.shape[1]
    joint = []
    for share, m, C, beta in zip(shares, centres, covariances, noises, strict=True):
        S_k = U @ C @ U.T + beta * (np.eye(p) - U @ U.T)
        Z = Y - m
        squares = (Z * np.linalg.solve(S_k, Z.T).T).sum(axis=1)
        joint.append(np.log(share) - (p * np.log(2 * np.pi) + np.linalg.slogdet(S_k)[1] + squares) / 2)
    T, density, _ = posteriors_of(np.column_stack(joint))
    return T, density.sum()


def aitken_stops(values, n, tol):
    """Whether two successive Aitken estimates of the limit of the log-likelihood per row differ by less than tol."""

    def limit(a, b, c):
        ratio = (c - b) / (b - a) if b != a else np.inf
        return b + (c - b) / (1 - ratio) if 0 <= ratio < 1 else c

    if len(values) < 4:
        return False
    return abs(limit(*values[-3:]) - limit(*values[-4:-1])) / n < tol


def fisher_em(Y, T, model, means, algorithm=None, tol=1e-4, max_iter=200, **level):
    """Iterate until Aitken's rule holds: (posteriors, log-likelihoods, sparse loadings, axes)."""
    d, values = T.shape[1] - 1, []
    while len(values) < max_iter and not aitken_stops(values, len(Y), tol):
        S, H, S_W = soft_scatters(Y, T)
        if algorithm is None:
            B = U = foley_sammon(S, H @ H.T, d)
        else:
            B, U = orthonormal_axes(ALGORITHMS[algorithm](S, H, S_W, len(Y), d, **level))
        T, value = e_step(Y, *m_step(Y, T, U, model, means)[:2], U, *m_step(Y, T, U, model, means)[2:])
        values.append(value)
    return T, np.array(values), B, U
