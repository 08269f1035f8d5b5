"""Where the DLM places rows: coordinates on the axes, and squared distances to the means outside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rows.blocks import Block, BlockState, kernel
from ...solvers.small import inverse_and_log_det
from ..data.kernels import Mergeable, measure
from ..data.noise_metric import NoiseMetric
from ..engine.family import Placing
from .quadratics import second_moments

__all__ = ["FullMeans", "LatentMeans", "LatentMoments", "NoiseMoments", "Outside", "noise_moments"]


@dataclass
class LatentMoments(Mergeable):
    """Sums per group of where the rows were placed."""

    covariances: np.ndarray  # out[k] = sum_i w[i] t[i, k] (x[i] - mu_k)(x[i] - mu_k)'  = n_k U'C_kU
    noises: np.ndarray  # out[k] = sum_i w[i] t[i, k] |Q (y[i] - m_k)|^2  = n_k (trace C_k - trace U'C_kU)


@dataclass(frozen=True)
class Outside:
    """Squared lengths outside the axes: y'N^-1 y - x'G^-1 x, and |y|^2 - |x|^2 for a spherical noise."""

    metric: NoiseMetric | None = None
    inverse: np.ndarray | None = None  # G^-1 (d x d), G = U'NU
    log_det: float = 0.0  # log|N| - log|G|: what the noise outside adds to a covariance's logarithm

    @classmethod
    def of(cls, metric: NoiseMetric | None, axes: np.ndarray) -> Outside:
        """For axes (r x d) in the rows' coordinates."""
        if metric is None:
            return cls()
        inverse, log_det = inverse_and_log_det(metric.gram(axes))
        return cls(metric, inverse, metric.log_det - log_det)

    def solved(self, means: np.ndarray) -> np.ndarray:
        """N^-1 m for means (K x r)."""
        return means if self.metric is None else self.metric.solve(means.T).T

    def inner(self, latent: np.ndarray) -> np.ndarray:
        """G^-1 x for coordinates (K x d)."""
        return latent if self.inverse is None else latent @ self.inverse

    def norms(self, state: BlockState, x: np.ndarray) -> np.ndarray:
        """out[i] of the rows, from what the state knows of their norms and from their coordinates x (d, m)."""
        if self.inverse is None:
            return state.squared_norms - np.einsum("dm,dm->m", x, x)
        return state.metric_norms - np.einsum("dm,dm->m", x, self.inverse @ x)


@dataclass(frozen=True)
class FullMeans(Placing):
    """Axes U (r x d) and the groups' full means, in the rows' coordinates: outside the axes the means may differ, too.

    placed[:d, i] = x_i = U'y_i, placed[d + k, i] = |Q (y_i - m_k)|^2 with Q = I - UU', or the same in the metric of a
    noise with factors.
    """

    kernel = measure

    latent_means: np.ndarray  # mu, K x d
    matrix: np.ndarray  # (d + K) x r: the axes, then q_k = m_k - U mu_k, the part of each mean outside the axes
    offsets: np.ndarray  # |m_k|^2 - |mu_k|^2
    outside: Outside = Outside()

    @property
    def metric(self) -> NoiseMetric | None:  # type: ignore[override]
        """Of the noise."""
        return self.outside.metric

    @property
    def log_det(self) -> float:
        """What the noise outside the axes adds to log|S_k| beside its level."""
        return self.outside.log_det

    @classmethod
    def of(
        cls,
        axes: np.ndarray,
        means: np.ndarray,
        squared_norms: np.ndarray | None = None,
        metric: NoiseMetric | None = None,
    ) -> FullMeans:
        """`squared_norms` of the means, for means that do not lie in the space of the rows' coordinates."""
        outside = Outside.of(metric, axes)
        latent, solved = means @ axes, outside.solved(means)
        inner = outside.inner(latent)
        if squared_norms is None:
            squared_norms = np.einsum("kj,kj->k", means, solved)
        return cls(
            latent,
            np.concatenate([axes.T, solved - inner @ axes.T]),
            squared_norms - np.einsum("kj,kj->k", latent, inner),
            outside,
        )

    @property
    def d(self) -> int:
        """The number of axes."""
        return self.latent_means.shape[1]

    def place(self, block: Block, state: BlockState) -> None:
        """One product with the block's rows."""
        state.placed = self.finish(block.times(self.matrix), state)

    def finish(self, products: np.ndarray, state: BlockState) -> np.ndarray:
        """From the products (d + K, m) of `matrix` with the rows to what is placed, in the same memory.

        |Q(y - m_k)|^2 = (|y|^2 - |x|^2) - 2 y'q_k + (|m_k|^2 - |mu_k|^2): the differences are between quantities
        outside the discriminative subspace, where the means nearly agree, so little cancels.
        """
        x, residuals = products[: self.d], products[self.d :]
        residuals *= -2
        residuals += self.outside.norms(state, x)
        residuals += self.offsets[:, None]
        np.maximum(residuals, 0, out=residuals)
        return products

    def moments(self, block: Block | None, state: BlockState) -> LatentMoments:
        """Weighted moments per group of the coordinates and the distances."""
        x, residuals = state.placed[: self.d], state.placed[self.d :]
        weighted = state.posteriors if state.weights is None else state.posteriors * state.weights
        covariances = second_moments(x, weighted, self.latent_means)
        return LatentMoments(covariances, np.einsum("km,km->k", weighted, residuals))


@dataclass(frozen=True)
class LatentMeans(Placing):
    """Axes U (r x d) and means inside them, m_k = ybar + U (mu_k - U'ybar): the paper's eq. (4), about the mean.

    placed[:d, i] = x_i = U'y_i, placed[d, i] = |Q (y_i - ybar)|^2, the same for every group
    """

    kernel = measure

    latent_means: np.ndarray  # mu, K x d
    matrix: np.ndarray  # (d + 1) x r: the axes, then Q ybar
    offset: float  # |Q ybar|^2
    outside: Outside = Outside()

    @property
    def metric(self) -> NoiseMetric | None:  # type: ignore[override]
        """Of the noise."""
        return self.outside.metric

    @property
    def log_det(self) -> float:
        """What the noise outside the axes adds to log|S_k| beside its level."""
        return self.outside.log_det

    @classmethod
    def of(
        cls, axes: np.ndarray, latent_means: np.ndarray, overall: np.ndarray, metric: NoiseMetric | None = None
    ) -> LatentMeans:
        """`overall` (r) is ybar relative to the rows' centre: rounding, which float32 rows make visible."""
        outside = Outside.of(metric, axes)
        rest = outside.solved(overall[None])[0] - axes @ outside.inner((axes.T @ overall)[None])[0]
        offset = float(rest @ (rest if metric is None else overall))
        return cls(latent_means, np.concatenate([axes.T, rest[None]]), offset, outside)

    @property
    def d(self) -> int:
        """The number of axes."""
        return self.latent_means.shape[1]

    def place(self, block: Block, state: BlockState) -> None:
        """One product with the block's rows, of d + 1 columns."""
        state.placed = self.finish(block.times(self.matrix), state)

    def finish(self, products: np.ndarray, state: BlockState) -> np.ndarray:
        """From the products (d + 1, m) of `matrix` with the rows to what is placed, in the same memory."""
        x, rest = products[: self.d], products[self.d]
        rest *= -2
        rest += self.outside.norms(state, x)
        rest += self.offset
        np.maximum(rest, 0, out=rest)
        return products

    def moments(self, block: Block | None, state: BlockState) -> LatentMoments:
        """Weighted moments per group of the coordinates, and of the one distance."""
        x, rest = state.placed[: self.d], state.placed[self.d]
        weighted = state.posteriors if state.weights is None else state.posteriors * state.weights
        return LatentMoments(second_moments(x, weighted, self.latent_means), weighted @ rest)


@dataclass
class NoiseMoments(Mergeable):
    """Sums per group of the squared distances outside the axes, and of their squares."""

    weights: np.ndarray  # n_k
    first: np.ndarray  # out[k] = sum_i w[i] t[i, k] r[i, k] with r[i, k] = |Q (y[i] - m_k)|^2
    second: np.ndarray  # out[k] = sum_i w[i] t[i, k] r[i, k]^2


@kernel(reads=("weights", "squared_norms", "metric_norms", "posteriors"))
def noise_moments(block: Block, state: BlockState, placing: FullMeans) -> NoiseMoments:
    """How far the rows of each group lie outside the axes, and how much that varies."""
    residuals = placing.finish(block.times(placing.matrix), state)[placing.d :]
    weighted = state.posteriors if state.weights is None else state.posteriors * state.weights
    parts = weighted * residuals
    return NoiseMoments(weighted.sum(axis=1), parts.sum(axis=1), np.einsum("km,km->k", parts, residuals))
