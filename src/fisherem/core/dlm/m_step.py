"""The M-step in the latent space, eqs (8)-(12), for all twelve models; and the parameters' log densities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...model.dlm import DLM
from ...rows.blocks import Block, BlockState
from ..engine.family import Density
from .quadratics import log_densities

__all__ = ["LatentParameters", "Parameters", "floored", "m_step"]

_LOG_2, _LOG_2_PI = math.log(2), math.log(2 * math.pi)


@dataclass(frozen=True)
class Parameters(Density):
    """What the E-step needs: proportions (K), latent means (K x d), covariances (K x d x d), noises (K)."""

    proportions: np.ndarray
    latent_means: np.ndarray
    covariances: np.ndarray
    noises: np.ndarray
    p: int
    whiteners: np.ndarray  # inverse Cholesky factors of the covariances
    constants: np.ndarray  # log pi_k - 1/2 (p log 2 pi + log|Sigma_k| + (p - d) log beta_k + log|N| - log|G|)
    unit: int  # exponent of the power of two that `constants` measure lengths in
    n_floored: int = 0  # variances that were raised to the floor

    @classmethod
    def of(
        cls, proportions, latent_means, covariances, noises, p, n_floored=0, noise_log_det=0.0, factors=None
    ) -> Parameters:
        """With the factors that the densities need computed once; `noise_log_det` is log|N| - log|G|.

        `factors`: the covariances' Cholesky factors and their inverses, where they are known.

        A logarithm rounds differently in other units. Taken in a power of two near the noise's own spread it does not,
        and the posteriors keep every bit when the rows are multiplied by a power of two.
        """
        d = latent_means.shape[1]
        unit = int(np.frexp(noises[0])[1]) // 2
        halves, whiteners = _factors(covariances) if factors is None else factors
        spreads = np.ldexp(np.diagonal(halves, axis1=1, axis2=2), -unit)
        log_det = 2 * np.log(spreads).sum(axis=1) + noise_log_det
        outside = (p - d) * np.log(np.ldexp(noises, -2 * unit))
        constants = np.log(proportions) - 0.5 * (p * _LOG_2_PI + log_det + outside)
        return cls(proportions, latent_means, covariances, noises, p, whiteners, constants, unit, n_floored)

    def log_joint(self, block: Block | None, state: BlockState) -> np.ndarray:
        """out[k, i] = log pi_k phi(y_i; m_k, S_k) from what was placed: x (d, m), then |Q(y - m_k)|^2 (K, m).

        The quadratic form splits into (x - mu_k)' Sigma_k^-1 (x - mu_k) inside the latent space and
        |Q(y - m_k)|^2 / beta_k outside it.
        """
        d = self.latent_means.shape[1]
        out = log_densities(state.placed[:d], self.whiteners, self.latent_means, self.constants)
        out -= 0.5 * (state.placed[d:] / self.noises[:, None])
        return out

    def log_common(self, state: BlockState) -> np.ndarray | float:
        """-p log 2^unit: what the unit of `constants` leaves out."""
        return -self.p * self.unit * _LOG_2


@dataclass(frozen=True)
class LatentParameters(Parameters):
    """The same with the means inside the axes: outside them lies |Q(y - ybar)|^2 (1, m), the same for every group.

    With a common noise it says nothing about the groups and is left to `log_common`: the posteriors depend on U'y
    alone. With a noise per group the size of the residual votes.
    """

    @property
    def common_noise(self) -> bool:
        """Whether all groups have the same noise."""
        return bool((self.noises == self.noises[0]).all())

    def log_joint(self, block: Block | None, state: BlockState) -> np.ndarray:
        """out[k, i] from x (d, m), and from |Q(y - ybar)|^2 where the noises differ."""
        x = state.placed[: self.latent_means.shape[1]]
        out = log_densities(x, self.whiteners, self.latent_means, self.constants)
        if not self.common_noise:
            out -= 0.5 * (state.placed[-1] / self.noises[:, None])
        return out

    def log_common(self, state: BlockState) -> np.ndarray | float:
        """What the unit leaves out, and -1/2 |Q(y - ybar)|^2 / beta where beta is common."""
        unit = super().log_common(state)
        return unit - 0.5 / self.noises[0] * state.placed[-1] if self.common_noise else unit


def _factors(covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The covariances' Cholesky factors and the inverses of those (K x d x d)."""
    factors = np.linalg.cholesky(covariances)
    return factors, np.linalg.inv(factors)


def floored(covariances: np.ndarray, floor: np.ndarray | float):
    """(covariances (K x d x d) without an eigenvalue below the floor, how many were of each, their factors or None).

    The smallest eigenvalue is at least 1 / trace(Sigma^-1), which the factors tell: mostly no eigenvalue is needed.
    """
    try:
        factors = _factors(covariances)
        if (floor * (factors[1] ** 2).sum(axis=(1, 2)) <= 1).all():
            return covariances, np.zeros(len(covariances), int), factors
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(covariances)
    least = np.reshape(floor, (-1, 1))
    low = values < least
    if not low.any():
        return covariances, low.sum(axis=1), None
    raised = np.maximum(values, least)
    repaired = (vectors * raised[:, None, :]) @ vectors.transpose(0, 2, 1)
    counts = low.sum(axis=1)
    # one that lies above its floor stays as it is, whatever the others do
    return np.where(counts[:, None, None] > 0, repaired, covariances), counts, None


def m_step(
    weights,
    latent_means,
    moments,
    model: DLM,
    p: int,
    floor: float,
    kind: type[Parameters] = Parameters,
    noise_log_det: float = 0.0,
) -> Parameters:
    """Proportions, means, covariances and noises from the weighted moments, tied as the model says.

    The floor keeps a group that has lost its spread in some direction from a density without bound; it is relative
    to the mean variance of the data, so units do not matter.
    """
    d = latent_means.shape[1]
    proportions = weights / weights.sum()
    covariances = model.covariance.constrain(moments.covariances / weights[:, None, None], proportions)
    noises = model.noise.constrain(moments.noises / weights / (p - d), proportions)
    covariances, counts, factors = floored(covariances, floor)
    n_floored = int(counts.sum()) + int((noises < floor).sum())
    noises = np.maximum(noises, floor)
    return kind.of(proportions, latent_means, covariances, noises, p, n_floored, noise_log_det, factors)
