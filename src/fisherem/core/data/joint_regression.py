"""Rows regressed on posteriors and covariates together: x_i = m_k + B'z_i + noise.

In: posteriors T (K x n), covariates Z (n x q, centred) and the rows. Out: the effects B (q x p) that minimise
sum_ik w_i t_ik |x_i - m_k - B'z_i|^2 over B and the means m_k. With the means eliminated,

    A = sum_ik w_i t_ik (z_i - z_k)(z_i - z_k)',   A B = sum_ik w_i t_ik (z_i - z_k) x_i',   z_k = mean of Z in k,

so one pass over the rows (T'WX and Z'WX) is enough. If some effects were already
subtracted from the rows, the result is their correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...rows.base import Rows
from .kernels import group_sums

__all__ = ["JointRegression", "joint_regression", "within_shares"]

# Directions of Z with less than this share of their variance within the groups have no effect that could be estimated.
_LEAST_WITHIN = 1e-9


@dataclass(frozen=True)
class JointRegression:
    """The effects of the covariates given the groups, and the sums that say how much they explain.

    effects (q x p) · within (q x q) the matrix A above · total (q x q) is Z'WZ · cross (q x p) is Z'WX.
    """

    effects: np.ndarray
    within: np.ndarray
    total: np.ndarray
    cross: np.ndarray

    def explained(self, effects: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """out[j]: by how much some columns of Z (all by default) lower the sum of squares within the groups.

        What the groups or the other columns of Z explain as well does not count. `effects` are those of the regression.
        """
        q = len(self.within)
        own = np.arange(q) if columns is None else columns
        others = np.setdiff1d(np.arange(q), own)
        left = self.within[np.ix_(own, own)]
        if len(others):
            shared = self.within[np.ix_(own, others)]
            left = left - shared @ np.linalg.pinv(self.within[np.ix_(others, others)], hermitian=True) @ shared.T
        return np.einsum("aj,ab,bj->j", effects[own], left, effects[own])


def joint_regression(rows: Rows, posteriors: np.ndarray, Z: np.ndarray) -> JointRegression:
    """The regression of rows (n x p, weighted, less any centre) on posteriors (K x n) and covariates (n x q)."""
    states, K = rows.states(), len(posteriors)
    rows.spread(states, "posteriors", np.concatenate([posteriors, Z.T]))
    sums = rows.fold(group_sums, states).sums
    w = np.ones(rows.n) if rows.weights is None else np.asarray(rows.weights, float)
    sizes = np.maximum(posteriors @ w, np.finfo(float).tiny)
    means = (posteriors * w) @ Z / sizes[:, None]  # z_k
    total = (Z.T * w) @ Z
    within = total - (means.T * sizes) @ means
    right = sums[K:] - means.T @ sums[:K]
    return JointRegression(_solved(within, total, right), within, total, sums[K:])


def within_shares(within: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The shares (q, ascending) of the variance of Z within the groups, along the directions where it differs most."""
    values, vectors = np.linalg.eigh(total)
    half = vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))
    return np.clip(np.linalg.eigvalsh(half.T @ within @ half), 0.0, 1.0)


def _solved(within: np.ndarray, total: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution B of within B = right, without the directions of Z that do not vary within the groups."""
    values, vectors = np.linalg.eigh(total)
    half = vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))
    shares, turn = np.linalg.eigh(half.T @ within @ half)
    axes = half @ turn[:, shares > _LEAST_WITHIN]
    shares = shares[shares > _LEAST_WITHIN]
    effects: Any = (axes / shares) @ (axes.T @ right)
    return effects
