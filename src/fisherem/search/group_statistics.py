"""What `significance` computes from a partition and from many draws: shares, separation, p-values, q-values."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from ..policy.columns import without_units
from ..policy.thresholds import THRESHOLDS

__all__ = [
    "alike",
    "between_shares",
    "f_test",
    "pools",
    "q_values",
    "rank_p_values",
    "separation",
    "standardised_draws",
]

# The level at which the draws of several variables are compared.
_LEVEL = 0.05


def _scatter(values: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows about their mean, means of their groups about it), both n x p."""
    centred = values - values.mean(axis=0)
    member = (labels[:, None] == np.unique(labels)).astype(float)
    return centred, member @ ((member.T @ centred) / member.sum(axis=0)[:, None])


def between_shares(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """sum_k n_k (m_kj - m_j)^2 / sum_i (y_ij - m_j)^2 of each column (p); 0 for constant ones."""
    values = without_units(values)
    centred, means = _scatter(values, labels)
    total = (centred**2).sum(axis=0)
    flat = ~(total > 1e-18 * len(values) * np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny) ** 2)
    return np.where(flat, 0.0, np.clip((means**2).sum(axis=0) / np.where(flat, 1.0, total), 0.0, 1.0))


def separation(coordinates: np.ndarray, labels: np.ndarray) -> float:
    """trace(W^-1 B) of the groups' coordinates (n x d); trace(B) / trace(W) where there are too many for W^-1."""
    n, d = coordinates.shape
    exponent = int(np.frexp(np.abs(coordinates).max(initial=0.0))[1])  # of their common unit, whose square may overflow
    centred, means = _scatter(np.ldexp(coordinates, -exponent), labels)
    B, W = means.T @ means, (centred - means).T @ (centred - means)
    if d == 0 or np.trace(W) <= 0:
        return 0.0
    if d >= n - len(np.unique(labels)) or np.linalg.matrix_rank(W, hermitian=True) < d:
        return float(np.trace(B) / np.trace(W))
    return float(np.trace(np.linalg.solve(W, B)))


def f_test(shares: np.ndarray, n: int, K: int) -> np.ndarray:
    """The p-values of the F tests of columns that had no part in making K groups of n rows, from their shares."""
    if K < 2 or n <= K:
        return np.ones(len(shares))
    with np.errstate(divide="ignore"):
        ratio = shares / (1 - shares) * (n - K) / (K - 1)
    return f_distribution.sf(ratio, K - 1, n - K)


def standardised_draws(statistics: np.ndarray) -> np.ndarray:
    """Cube roots of statistics (1 + draws x p, the table first) in units of each column's spread.

    The table counts like a draw in mean and spread, so that under the hypothesis all rows are alike. Draws that failed
    (nan) are as large as can be.
    """
    roots = np.cbrt(statistics)
    spread = np.nanstd(roots, axis=0)
    z = (roots - np.nanmean(roots, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.where(np.isnan(roots), np.inf, z)


def alike(z: np.ndarray) -> bool:
    """Whether the draws (draws x m) of m columns could be those of one: their shares above a common 5% point agree."""
    draws, m = z.shape
    above = (z > np.quantile(z, 1 - _LEVEL, method="higher")).sum(axis=0)
    level = above.sum() / (draws * m)
    if m < 2 or level == 0:
        return True
    dispersion = ((above - draws * level) ** 2).sum() / (draws * level * (1 - level))
    return bool(chi2.sf(dispersion, m - 1) >= THRESHOLDS.alike)


def pools(z: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """The columns of draws z (draws x m) in parts that are alike.

    A part that is not is divided where the columns' sizes (m; their mean differences by chance) leave the widest gap:
    variables that chance groups are made of, and those that they leave alone, have draws of different shapes.
    """
    parts, waiting = [], [np.argsort(sizes, kind="stable")]
    while waiting:
        columns = waiting.pop()
        if len(columns) < 2 or alike(z[:, columns]):
            parts.append(np.sort(columns))
        else:
            cut = 1 + int(np.argmax(np.diff(sizes[columns])))
            waiting += [columns[:cut], columns[cut:]]
    return parts


def rank_p_values(z: np.ndarray) -> np.ndarray:
    """For each of the m values of the table, the share of all values, its own and those of draws, that are as large.

    z is 1 + draws x m, the table first. Its own columns count like those of a draw: with rows that are alike, a share a
    of all values then has p <= a, however much the columns depend on each other. Without them more would have.
    """
    every = np.sort(z, axis=None)
    return (every.size - np.searchsorted(every, z[0], side="left")) / every.size


def q_values(p: np.ndarray) -> np.ndarray:
    """The p-values adjusted as Benjamini and Hochberg (1995) do: min over larger p of p m / rank."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q
