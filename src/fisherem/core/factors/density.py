"""Log densities of N(m_k, L_k L_k' + Psi_k) without a p x p matrix, and factor scores.

With M_k = I + L_k' Psi_k^-1 L_k (q x q), Woodbury's identity gives

    (y - m)' Sigma^-1 (y - m) = (y - m)' Psi^-1 (y - m) - |M^-1/2 L' Psi^-1 (y - m)|^2,   log|Sigma| = log|Psi| + log|M|

so each row needs K (q + 1) products and K weighted sums of squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rows.blocks import Block, BlockState, kernel
from ..data.kernels import Nothing
from ..engine.family import Density
from .moments import squared

__all__ = ["FactorDensity", "factor_scores", "regressions"]


def regressions(loadings: np.ndarray, noises: np.ndarray) -> np.ndarray:
    """beta_k = L_k' Sigma_k^-1 = M_k^-1 L_k' Psi_k^-1 (K x q x p): factor scores are beta_k (y - m_k)."""
    scaled = loadings.transpose(0, 2, 1) / noises[:, None, :]
    M = np.eye(loadings.shape[2]) + scaled @ loadings
    return np.linalg.solve(M, scaled)


@dataclass(frozen=True)
class FactorDensity(Density):
    """Proportions (K), means (K x p, relative to the centre), loadings (K x p x q), noises (K x p)."""

    needs_rows = True

    proportions: np.ndarray
    means: np.ndarray
    loadings: np.ndarray
    noises: np.ndarray
    matrix: np.ndarray  # (K q + K) x p: M_k^-1/2 L_k' Psi_k^-1 of all groups, then m_k' Psi_k^-1
    offsets: np.ndarray  # (K q): the first of these times m_k
    precisions: np.ndarray  # Psi^-1, K x p, or 1 x p where the noise is common
    constants: np.ndarray  # log pi_k - 1/2 (p log 2 pi + log|Sigma_k| + m_k' Psi_k^-1 m_k)

    @classmethod
    def of(cls, proportions, means, loadings, noises) -> FactorDensity:
        """Compute the matrices that rows are multiplied with."""
        K, p, q = loadings.shape
        scaled = loadings.transpose(0, 2, 1) / noises[:, None, :]
        factors = np.linalg.cholesky(np.eye(q) + scaled @ loadings)
        whitened = np.linalg.solve(factors, scaled)
        log_det = np.log(noises).sum(axis=1) + 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        pulled = means / noises
        constants = np.log(proportions) - 0.5 * (p * np.log(2 * np.pi) + log_det + (means * pulled).sum(axis=1))
        matrix = np.concatenate([whitened.reshape(K * q, p), pulled])
        offsets = np.einsum("kqp,kp->kq", whitened, means).reshape(K * q)
        common = K > 1 and bool((noises == noises[0]).all())
        precisions = 1 / (noises[:1] if common else noises)
        return cls(proportions, means, loadings, noises, matrix, offsets, precisions, constants)

    def log_joint(self, block: Block | None, state: BlockState) -> np.ndarray:
        """out[k, i] = log pi_k f_k(y_i)"""
        assert block is not None
        K, _, q = self.loadings.shape
        out = np.empty((K, len(block)))
        for position, tile in block.tiles():
            products = self.matrix @ tile.T
            inner, pulled = products[: K * q], products[K * q :]
            inner -= self.offsets[:, None]
            inner *= inner
            pulled -= 0.5 * (self.precisions @ squared(tile).T)
            if q:
                pulled += 0.5 * inner.reshape(K, q, -1).sum(axis=1)
            pulled += self.constants[:, None]
            out[:, position] = pulled
        return out

    @property
    def peaks(self) -> np.ndarray:
        """log pi_k - 1/2 log|2 pi Sigma_k|"""
        return self.constants + 0.5 * (self.means**2 / self.noises).sum(axis=1)

    def scores(self, block: Block, posteriors: np.ndarray) -> np.ndarray:
        """out[a, i] = sum_k t[i, k] (beta_k (y_i - m_k))[a]: the factor scores (q x m)."""
        K, p, q = self.loadings.shape
        betas = regressions(self.loadings, self.noises)
        offsets = np.einsum("kqp,kp->kq", betas, self.means)[:, :, None]
        out = np.empty((q, len(block)))
        for position, tile in block.tiles():
            each = (betas.reshape(K * q, p) @ tile.T).reshape(K, q, len(tile)) - offsets
            out[:, position] = np.einsum("kqm,km->qm", each, posteriors[:, position])
        return out


@kernel(reads=("posteriors",), writes=("placed",))
def factor_scores(block: Block, state: BlockState, density) -> Nothing:
    """The expected factors of the rows (q x m), averaged over the groups."""
    state.placed = density.scores(block, state.posteriors)
    return Nothing()
