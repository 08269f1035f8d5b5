"""Mixtures in a common factor space: y = ybar + A u + e with u | k ~ N(xi_k, Omega_k) and a diagonal noise D.

MCFA: any loadings A, any Omega_k, any diagonal D (Baek, McLachlan & Flack 2010). MCUFSA: orthonormal A, diagonal
Omega_k, spherical D (Yoshida et al. 2004). Groups differ in the factor space only, so each row needs q products,
x = A' D^-1 y, and its norm y' D^-1 y, which is the same for every group. With G = A' D^-1 A, Omega_k = L_k L_k' and
M_k = I + L_k' G L_k (q x q),

    E[u | y, k] = xi_k + V_k (x - G xi_k),   V_k = L_k M_k^-1 L_k' = cov(u | y, k),   log|Sigma_k| = log|D| + log|M_k|
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rows.blocks import Block, BlockState
from ..engine.family import Density
from .moments import squared

__all__ = ["LatentFactors"]


@dataclass(frozen=True)
class LatentFactors(Density):
    """Proportions (K), loadings A (p x q), noises D (p), means xi (K x q), roots L_k of Omega_k (K x q x q)."""

    needs_rows = True

    proportions: np.ndarray
    loadings: np.ndarray
    noises: np.ndarray
    latent_means: np.ndarray
    roots: np.ndarray
    overall: np.ndarray  # ybar relative to the centre (p)
    matrix: np.ndarray  # (q + 1) x p: D^-1 A, then D^-1 ybar
    gram: np.ndarray  # G = A' D^-1 A
    spreads: np.ndarray  # V_k (K x q x q)
    constants: np.ndarray  # log pi_k - 1/2 (log|M_k| + xi_k' G xi_k)
    common: float  # -1/2 (p log 2 pi + log|D| + ybar' D^-1 ybar)

    @classmethod
    def of(cls, proportions, loadings, noises, latent_means, roots, overall) -> LatentFactors:
        """Compute the matrices that rows are multiplied with."""
        scaled = loadings.T / noises
        gram = scaled @ loadings
        gram = (gram + gram.T) / 2
        factors = np.linalg.cholesky(np.eye(len(gram)) + roots.transpose(0, 2, 1) @ gram @ roots)
        half = np.linalg.solve(factors, roots.transpose(0, 2, 1))
        log_det = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        inner = np.einsum("kq,qr,kr->k", latent_means, gram, latent_means)
        constants = np.log(proportions) - 0.5 * (log_det + inner)
        pulled = overall / noises
        common = -0.5 * (len(noises) * np.log(2 * np.pi) + np.log(noises).sum() + overall @ pulled)
        return cls(
            proportions, loadings, noises, latent_means, roots, overall, np.concatenate([scaled, pulled[None]]), gram,
            half.transpose(0, 2, 1) @ half, constants, float(common),
        )  # fmt: skip

    def projected(self, tile: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(x = A' D^-1 (y - ybar) (q x m), y' D^-1 ybar (m)) of rows (m x p)."""
        products = self.matrix @ tile.T
        x = products[:-1]
        x -= (self.matrix[:-1] @ self.overall)[:, None]
        return x, products[-1]

    def expected(self, x: np.ndarray) -> np.ndarray:
        """out[k, :, i] = E[u | y_i, k] (K x q x m) from x (q x m)."""
        base = self.latent_means - np.einsum("kqr,kr->kq", self.spreads, self.latent_means @ self.gram)
        K, q = self.latent_means.shape
        return (self.spreads.reshape(K * q, q) @ x).reshape(K, q, -1) + base[:, :, None]

    def log_joint(self, block: Block | None, state: BlockState) -> np.ndarray:
        """out[k, i] = log pi_k f_k(y_i)"""
        assert block is not None
        K = len(self.latent_means)
        out = np.empty((K, len(block)))
        pulled = self.latent_means @ self.gram
        for position, tile in block.tiles():
            x, along = self.projected(tile)
            norms = (1 / self.noises) @ squared(tile).T
            parts = self.latent_means @ x
            # 1/2 z' V_k z with z = x - G xi_k
            z = x[None] - pulled[:, :, None]
            parts += 0.5 * np.einsum("kqm,kqm->km", z, np.matmul(self.spreads, z))
            parts += self.constants[:, None] + (self.common + along - 0.5 * norms)
            out[:, position] = parts
        return out

    @property
    def peaks(self) -> np.ndarray:
        """log pi_k - 1/2 log|2 pi Sigma_k|"""
        inner = np.einsum("kq,qr,kr->k", self.latent_means, self.gram, self.latent_means)
        return self.constants + 0.5 * inner + self.common + 0.5 * (self.overall @ self.matrix[-1])

    def scores(self, block: Block, posteriors: np.ndarray) -> np.ndarray:
        """out[a, i] = sum_k t[i, k] E[u | y_i, k][a]: the factor scores (q x m)."""
        out = np.empty((self.loadings.shape[1], len(block)))
        for position, tile in block.tiles():
            out[:, position] = np.einsum("kqm,km->qm", self.expected(self.projected(tile)[0]), posteriors[:, position])
        return out
