"""The statistics of mixtures of factor models: sums per group over the rows.

With C_k the covariance of group k about its mean, one step of EM needs C_k beta_k' (p x q) and the diagonal of C_k,
that is the rows' factor scores, their products with the rows, and weighted squares. With few variables C_k itself is no
larger, and allows solving a step instead of iterating it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from ...rows.blocks import Block, BlockState, kernel
from ..data.kernels import Mergeable, measure_rows, weighted_posteriors
from ..engine.family import Placing

__all__ = ["AroundMeans", "GroupProducts", "group_products", "squared"]

_scratch = threading.local()


def squared(tile: np.ndarray) -> np.ndarray:
    """tile^2 (m x p) in a thread-local buffer, valid until the next call."""
    flat = getattr(_scratch, "flat", None)
    if flat is None or len(flat) < tile.size:
        flat = _scratch.flat = np.empty(tile.size)
    return np.multiply(tile, tile, out=flat[: tile.size].reshape(tile.shape))


@dataclass
class GroupProducts(Mergeable):
    """Second moments of the groups about 0: of the rows with c values each, and of the variables themselves."""

    cross: np.ndarray  # cross[k, a, j] = sum_i w[i] t[i, k] x[i, k, a] y[i, j] with x[i, k] = V_k'(y[i] - m_k)
    scores: np.ndarray  # scores[k, a] = sum_i w[i] t[i, k] x[i, k, a]: 0 up to rounding
    squares: np.ndarray  # squares[k, j] = sum_i w[i] t[i, k] y[i, j]^2

    def along(self, weights: np.ndarray, means: np.ndarray) -> np.ndarray:
        """out[k] = C_k V_k (p x c), the covariance of group k times what the rows were multiplied with."""
        about = self.cross - self.scores[:, :, None] * means[:, None, :]
        return about.transpose(0, 2, 1) / weights[:, None, None]

    def variances(self, weights: np.ndarray, means: np.ndarray) -> np.ndarray:
        """out[k, j] = C_k[j, j]; not below 0."""
        return np.maximum(self.squares / weights[:, None] - means**2, 0)


@dataclass(frozen=True)
class AroundMeans(Placing):
    """The groups' means (K x p) and the directions V_k (p x c) of the products; keeps nothing per row."""

    kernel = measure_rows

    means: np.ndarray  # K x p
    directions: np.ndarray  # K x c x p, V_k'; with c = p and no directions given, the identity
    whole: bool = False  # whether V_k is the identity: moments are covariances

    @classmethod
    def whole_covariances(cls, means: np.ndarray) -> AroundMeans:
        """Moments with V_k = I: `along` is C_k itself."""
        return cls(means, np.zeros((len(means), 0, means.shape[1])), whole=True)

    def place(self, block: Block, state: BlockState) -> None:
        """No transformation: the density uses the rows themselves."""
        state.placed = None

    def moments(self, block: Block | None, state: BlockState) -> GroupProducts:
        """Weighted products per group."""
        assert block is not None
        return products_of(block, weighted_posteriors(state), self)


def products_of(block: Block, weighted: np.ndarray, placing: AroundMeans) -> GroupProducts:
    """The sums of a block's rows with weights (K x m)."""
    means, directions = placing.means, placing.directions
    K, p = means.shape
    c = p if placing.whole else directions.shape[1]
    flat = directions.reshape(-1, p)
    offsets = np.einsum("kcj,kj->kc", directions, means).reshape(-1, 1)
    cross, scores, squares = np.zeros((K * c, p)), np.zeros((K, c)), np.zeros((K, p))
    for position, tile in block.tiles():
        t = weighted[:, position]
        if placing.whole:
            for k in range(K):
                about = tile - means[k]
                weighed = about.T * t[k]
                cross[k * c : (k + 1) * c] += weighed @ tile
                scores[k] += weighed.sum(axis=1)
        elif c:
            x = flat @ tile.T
            x -= offsets
            x = x.reshape(K, c, -1)
            x *= t[:, None, :]
            scores += x.sum(axis=2)
            cross += x.reshape(K * c, -1) @ tile
        squares += t @ squared(tile)
    return GroupProducts(cross.reshape(K, c, p), scores, squares)


@kernel(reads=("weights", "posteriors"))
def group_products(block: Block, state: BlockState, placing: AroundMeans) -> GroupProducts:
    """Weighted products per group; keeps the posteriors in the state."""
    return products_of(block, weighted_posteriors(state), placing)
