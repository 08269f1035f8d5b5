"""The rows under a DLM: their coordinates on the axes, and their squared distances from the means outside the axes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ...rows.blocks import Block, BlockState, kernel
from ...solvers.small import inverse_and_log_det
from ..data.kernels import Mergeable, measure, weighted_posteriors
from ..data.noise_metric import NoiseMetric
from ..engine.family import Placing
from .m_step import second_moments

__all__ = ["FullMeans", "LatentMeans", "LatentMoments", "NoiseMoments", "Outside", "Projection", "noise_moments"]


@dataclass
class LatentMoments(Mergeable):
    """Sums per group over the projected rows."""

    covariances: np.ndarray  # out[k] = sum_i w[i] t[i, k] (x[i] - mu_k)(x[i] - mu_k)'  = n_k U'C_kU
    noises: np.ndarray  # out[k] = sum_i w[i] t[i, k] |Q (y[i] - m_k)|^2  = n_k (trace C_k - trace U'C_kU)


@dataclass(frozen=True)
class Outside:
    """Squared lengths outside the axes: y'N^-1 y - x'G^-1 x, and |y|^2 - |x|^2 for a spherical noise."""

    metric: NoiseMetric | None = None
    inverse: np.ndarray | None = None  # G^-1 (d x d), G = U'NU
    log_det: float = 0.0  # log|N| - log|G|, the noise's contribution to the log determinant of a covariance

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
        """The squared lengths (m) of the rows, from their norms in the state and their coordinates x (d, m)."""
        if self.inverse is None:
            return state.squared_norms - np.einsum("dm,dm->m", x, x)
        return state.metric_norms - np.einsum("dm,dm->m", x, self.inverse @ x)


@dataclass(frozen=True)
class Projection(Placing):
    """Axes U (r x d) and c points outside them, from which the rows' distances are measured.

    placed[:d, i] = x_i = U'y_i, placed[d + k, i] = |Q (y_i - m_k)|^2 with Q = I - UU', or the same in the metric of a
    noise with factors.
    """

    kernel = measure

    latent_means: np.ndarray  # mu, K x d
    matrix: np.ndarray  # (d + c) x r: the axes, then q_k = m_k - U mu_k, the part of each point outside the axes
    offsets: np.ndarray  # c: |m_k|^2 - |mu_k|^2
    outside: Outside = Outside()

    @property
    def metric(self) -> NoiseMetric | None:  # type: ignore[override]
        """The metric of the noise."""
        return self.outside.metric

    @property
    def log_det(self) -> float:
        """The contribution of the noise outside the axes to log|S_k|, besides its level."""
        return self.outside.log_det

    @property
    def d(self) -> int:
        """The number of axes."""
        return self.latent_means.shape[1]

    def place(self, block: Block, state: BlockState) -> None:
        """One product with the block's rows."""
        state.placed = self.finish(block.times(self.matrix), state)

    def finish(self, products: np.ndarray, state: BlockState) -> np.ndarray:
        """Turn the products (d + c, m) of `matrix` with the rows into `placed`, in place.

        |Q(y - m_k)|^2 = (|y|^2 - |x|^2) - 2 y'q_k + (|m_k|^2 - |mu_k|^2). All terms are outside the discriminative
        subspace, where the means nearly agree, so there is little cancellation.
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
        weighted = weighted_posteriors(state)
        covariances = second_moments(x, weighted, self.latent_means)
        return LatentMoments(covariances, self._noises(weighted, residuals))

    @abstractmethod
    def _noises(self, weighted: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """Weighted sums of the distances, as many as there are points outside the axes."""


class FullMeans(Projection):
    """The groups' full means: outside the axes the means may also differ, and each has its own distance (c = K)."""

    @classmethod
    def of(
        cls, axes: np.ndarray, means: np.ndarray, squared_norms: np.ndarray | None = None,
        metric: NoiseMetric | None = None,
    ) -> FullMeans:  # fmt: skip
        """`squared_norms` of the means (K), for means outside the space of the rows' coordinates."""
        outside = Outside.of(metric, axes)
        latent, solved = means @ axes, outside.solved(means)
        inner = outside.inner(latent)
        if squared_norms is None:
            squared_norms = np.einsum("kj,kj->k", means, solved)
        matrix = np.concatenate([axes.T, solved - inner @ axes.T])
        return cls(latent, matrix, squared_norms - np.einsum("kj,kj->k", latent, inner), outside)

    def _noises(self, weighted: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        return np.einsum("km,km->k", weighted, residuals)


class LatentMeans(Projection):
    """Means inside the axes, m_k = ybar + U (mu_k - U'ybar), the paper's eq. (4) about the overall mean.

    The one distance outside the axes, |Q (y_i - ybar)|^2, is the same for every group (c = 1).
    """

    @classmethod
    def of(
        cls, axes: np.ndarray, latent_means: np.ndarray, overall: np.ndarray, metric: NoiseMetric | None = None
    ) -> LatentMeans:
        """`overall` (r) is ybar relative to the rows' centre; only rounding, but not negligible for float32 rows."""
        outside = Outside.of(metric, axes)
        rest = outside.solved(overall[None])[0] - axes @ outside.inner((axes.T @ overall)[None])[0]
        offset = rest @ (rest if metric is None else overall)
        return cls(latent_means, np.concatenate([axes.T, rest[None]]), np.array([offset]), outside)

    def _noises(self, weighted: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        return weighted @ residuals[0]


@dataclass
class NoiseMoments(Mergeable):
    """Sums per group of the squared distances outside the axes, and of their squares."""

    weights: np.ndarray  # n_k
    first: np.ndarray  # out[k] = sum_i w[i] t[i, k] r[i, k] with r[i, k] = |Q (y[i] - m_k)|^2
    second: np.ndarray  # out[k] = sum_i w[i] t[i, k] r[i, k]^2


@kernel(reads=("weights", "squared_norms", "metric_norms", "posteriors"))
def noise_moments(block: Block, state: BlockState, placing: FullMeans) -> NoiseMoments:
    """First and second moments of the distances outside the axes, per group."""
    residuals = placing.finish(block.times(placing.matrix), state)[placing.d :]
    weighted = weighted_posteriors(state)
    parts = weighted * residuals
    return NoiseMoments(weighted.sum(axis=1), parts.sum(axis=1), np.einsum("km,km->k", parts, residuals))
