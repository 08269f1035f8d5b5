"""Log-odds of two groups as a sum over the variables.

With S_k^-1 = P_k, h = (m_a - m_b) / 2 and u = y - (m_a + m_b) / 2, the log-odds of group a against group b are

    log pi_a f_a(y) - log pi_b f_b(y) = base + sum_j u_j [(P_a + P_b) h]_j + 1/2 sum_jl u_j (P_b - P_a)_jl u_l

where base does not depend on y. If the groups have a common covariance the last sum is 0, and each variable has a term
of its own. Otherwise a pair j, l of variables has a term as well, an interaction: half of it is given to each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Precisions", "Terms"]


@dataclass(frozen=True)
class Terms:
    """Of m rows: log-odds (m) = base + sum of values (m x p). `interactions` (m x p) is the part from pairs, `slopes`
    (m x p) the derivative of the log-odds by each variable, and `curvatures` (p) the second derivative."""

    base: float
    values: np.ndarray
    interactions: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray

    @property
    def log_odds(self) -> np.ndarray:
        """base + the sum over the variables (m)."""
        return self.base + self.values.sum(axis=1)

    def crossings(self) -> np.ndarray:
        """The smallest change of each variable that makes the log-odds 0 (m x p); NaN where none does.

        A root of log_odds + slope t + curvature t^2 / 2, in the form without cancellation and without squares.
        """
        c, b = self.log_odds[:, None], self.slopes
        bend = np.sqrt(2 * np.abs(self.curvatures)) * np.sqrt(np.abs(c))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # a step that overflows is none
            opposed = np.sign(self.curvatures) * np.sign(c) <= 0
            root = np.where(opposed, np.hypot(b, bend), np.sqrt(np.abs(b) - bend) * np.sqrt(np.abs(b) + bend))
            t = -2 * c / (b + np.where(b < 0, -1.0, 1.0) * root)
        return np.where(np.isfinite(t), t, np.nan)


@dataclass(frozen=True)
class Precisions:
    """P_k = C_k M_k C_k' + diag(e_k) for K groups of p variables, up to a part that all of them have in common."""

    means: np.ndarray  # m, K x p, relative to the rows' centre
    bases: np.ndarray  # C, K x p x q
    cores: np.ndarray  # M, K x q x q
    diagonals: np.ndarray  # e, K x p
    peaks: np.ndarray  # K: log pi_k f_k(m_k)

    def times(self, k: int, rows: np.ndarray) -> np.ndarray:
        """rows (m x p) times P_k."""
        return ((rows @ self.bases[k]) @ self.cores[k]) @ self.bases[k].T + rows * self.diagonals[k]

    def diagonal(self, k: int) -> np.ndarray:
        """The diagonal of P_k (p)."""
        return np.einsum("pq,qr,pr->p", self.bases[k], self.cores[k], self.bases[k]) + self.diagonals[k]

    def terms(self, a: int, b: int, rows: np.ndarray) -> Terms:
        """The log-odds of group a against group b for rows (m x p) less the centre."""
        h = (self.means[a] - self.means[b])[None] / 2
        u = rows - (self.means[a] + self.means[b]) / 2
        straight = self.times(a, h) + self.times(b, h)
        bent = self.times(b, u) - self.times(a, u)
        curvatures = self.diagonal(b) - self.diagonal(a)
        shared = 0.5 * u * (bent - curvatures * u)
        base = self.peaks[a] - self.peaks[b] + 0.5 * ((self.times(b, h) - self.times(a, h)) @ h[0])[0]
        return Terms(float(base), u * (straight + 0.5 * bent), shared, straight + bent, curvatures)

    def pairs(self, a: int, b: int, rows: np.ndarray, among: np.ndarray) -> np.ndarray:
        """The interactions of pairs of the variables `among` (c) in the log-odds of m rows (m x p).

        They are m x c(c - 1)/2, in the order of ``np.triu_indices(c, 1)``.
        """
        u = (rows - (self.means[a] + self.means[b]) / 2)[:, among]
        left, right = self.bases[a][among], self.bases[b][among]
        bent = right @ self.cores[b] @ right.T - left @ self.cores[a] @ left.T
        one, other = np.triu_indices(len(among), 1)
        return u[:, one] * bent[one, other] * u[:, other]
