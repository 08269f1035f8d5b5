"""The M-step in the latent space, eqs (9)-(12), for all twelve models; and the log densities of its parameters.

With full means the noise level is that of eq. (12). With means inside the axes it is taken about the overall mean
instead, which maximises the likelihood of that model (docs/departures.md).

Second moments and squared distances are computed for all groups at once. With the features f(x) = (1, x_a, x_a x_b for
a <= b) of the coordinates x (d), the sums of f over a group are its moments, and a group's squared distance is linear
in f, so one product replaces a loop over the groups: for 4,435 rows, six groups and four axes the moments take 93
microseconds instead of 262, the distances 64 instead of 185, the features 50.

These sums cancel where a group's spread is small compared with its distance from the overall mean. `second_moments` and
`log_densities` detect that and fall back to a computation group by group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...model.dlm import DLM
from ...rows.blocks import Block, BlockState
from ..engine.family import Density

__all__ = ["LatentParameters", "Parameters", "floored", "log_densities", "m_step", "second_moments"]

_LOG_2, _LOG_2_PI = math.log(2), math.log(2 * math.pi)
# Up to this many values (coordinates of all groups) Python's overhead per call dominates, and groups are centred.
_FEW = 2**12
# Values of the features that are computed at once: 1 MB, which fits the cache.
_PIECE = 2**17
# Where a spread is less than this share of a second moment about the overall mean, or a term of a squared distance
# larger than its inverse, more than six of sixteen digits would be lost.
_LEAST_SHARE = 1e-6


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
    unit: int  # exponent of the power of two that is the unit of length in `constants`
    n_floored: int = 0  # variances that were raised to the floor

    @classmethod
    def of(
        cls, proportions, latent_means, covariances, noises, p, n_floored=0, noise_log_det=0.0, factors=None
    ) -> Parameters:
        """Compute the factors that the densities need; `noise_log_det` is log|N| - log|G|.

        `factors`: the covariances' Cholesky factors and their inverses, if known.

        Logarithms are taken in units of a power of two near the noise's standard deviation. The posteriors then stay
        bit for bit the same when all rows are multiplied by a power of two.
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
        """out[k, i] = log pi_k phi(y_i; m_k, S_k) from x (d, m) and |Q(y - m_k)|^2 (K, m) in `state.placed`.

        The quadratic form splits into (x - mu_k)' Sigma_k^-1 (x - mu_k) inside the latent space and
        |Q(y - m_k)|^2 / beta_k outside it.
        """
        d = self.latent_means.shape[1]
        out = log_densities(state.placed[:d], self.whiteners, self.latent_means, self.constants)
        out -= 0.5 * (state.placed[d:] / self.noises[:, None])
        return out

    @property
    def peaks(self) -> np.ndarray:
        """log pi_k - 1/2 log|2 pi S_k|"""
        return self.constants - self.p * self.unit * _LOG_2

    def log_common(self, state: BlockState) -> np.ndarray | float:
        """-p log 2^unit, which `constants` omit."""
        return -self.p * self.unit * _LOG_2


@dataclass(frozen=True)
class LatentParameters(Parameters):
    """The same with the means inside the axes: |Q(y - ybar)|^2 (1, m) outside them is the same for every group.

    With a common noise it does not affect the posteriors, which depend on U'y alone, and is part of `log_common`. With
    a noise per group the size of the residual also affects the posteriors.
    """

    @property
    def common_noise(self) -> bool:
        """Whether all groups have the same noise."""
        return bool((self.noises == self.noises[0]).all())

    def log_joint(self, block: Block | None, state: BlockState) -> np.ndarray:
        """out[k, i] from x (d, m), and from |Q(y - ybar)|^2 if the noises differ."""
        x = state.placed[: self.latent_means.shape[1]]
        out = log_densities(x, self.whiteners, self.latent_means, self.constants)
        if not self.common_noise:
            out -= 0.5 * (state.placed[-1] / self.noises[:, None])
        return out

    def log_common(self, state: BlockState) -> np.ndarray | float:
        """The part that `constants` omit, and -1/2 |Q(y - ybar)|^2 / beta if beta is common."""
        unit = super().log_common(state)
        return unit - 0.5 / self.noises[0] * state.placed[-1] if self.common_noise else unit


def _factors(covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The covariances' Cholesky factors and their inverses (K x d x d)."""
    K, d, _ = covariances.shape
    variances = np.einsum("kjj->kj", covariances)
    if np.count_nonzero(covariances) == K * d and (variances > 0).all():  # diagonal, as of most models
        factors, inverses = np.zeros((K, d, d)), np.zeros((K, d, d))
        roots = np.einsum("kjj->kj", factors)
        np.sqrt(variances, out=roots)
        np.divide(1, roots, out=np.einsum("kjj->kj", inverses))
        return factors, inverses
    factors = np.linalg.cholesky(covariances)
    return factors, np.linalg.inv(factors)


def floored(covariances: np.ndarray, floor: float):
    """(covariances (K x d x d) with eigenvalues raised to the floor, number of raised ones per group, factors or None).

    The smallest eigenvalue is at least 1 / trace(Sigma^-1), which follows from the factors, so the eigenvalues are
    rarely computed.
    """
    try:
        factors = _factors(covariances)
        with np.errstate(over="ignore"):  # of the inverse of the smallest variances that a double can be
            whole = (floor * (factors[1] ** 2).sum(axis=(1, 2)) <= 1).all()
        if whole:
            return covariances, np.zeros(len(covariances), int), factors
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(covariances)
    low = values < floor
    counts = low.sum(axis=1)
    if not low.any():
        return covariances, counts, None
    repaired = (vectors * np.maximum(values, floor)[:, None, :]) @ vectors.transpose(0, 2, 1)
    # covariances above the floor are returned unchanged
    return np.where(counts[:, None, None] > 0, repaired, covariances), counts, None


def m_step(
    weights, latent_means, moments, model: DLM, p: int, floor: float, kind: type[Parameters] = Parameters,
    noise_log_det: float = 0.0,
) -> Parameters:  # fmt: skip
    """Proportions, means, covariances and noises from the weighted moments, constrained by the model.

    The floor keeps the likelihood bounded when a group has no variance in some direction. It is relative to the mean
    variance of the data, so it does not depend on the units.
    """
    d = latent_means.shape[1]
    proportions = weights / weights.sum()
    covariances = model.covariance.constrain(moments.covariances / weights[:, None, None], proportions)
    noises = model.noise.constrain(moments.noises / weights / (p - d), proportions)
    covariances, counts, factors = floored(covariances, floor)
    n_floored = int(counts.sum()) + int((noises < floor).sum())
    noises = np.maximum(noises, floor)
    return kind.of(proportions, latent_means, covariances, noises, p, n_floored, noise_log_det, factors)


# -- moments and distances of all groups at once -------------------------------------------------------------------


def _features(x: np.ndarray) -> np.ndarray:
    """The 1 + d + d (d + 1) / 2 features of x (d, m)."""
    d, m = x.shape
    out = np.empty((1 + d + d * (d + 1) // 2, m))
    out[0] = 1
    out[1 : d + 1] = x
    first = d + 1
    for a in range(d):
        last = first + d - a
        np.multiply(x[a], x[a:], out=out[first:last])
        first = last
    return out


@cache
def _upper(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and factors of the products: 1/2 for squares, 1 for the others."""
    rows, columns = np.triu_indices(d)
    return rows, columns, np.where(rows == columns, 0.5, 1.0)


def _pieces(x: np.ndarray) -> Iterator[slice]:
    d, m = x.shape
    step = max(1, _PIECE // (1 + d + d * (d + 1) // 2))
    for first in range(0, m, step):
        yield slice(first, min(first + step, m))


def second_moments(x: np.ndarray, weighted: np.ndarray, means: np.ndarray) -> np.ndarray:
    """out[k] = sum_i weighted[k, i] (x[i] - mu_k)(x[i] - mu_k)' from x (d, m) and means mu (K, d)."""
    K, d = means.shape
    if weighted.size * d <= _FEW or not d:
        centred = x - means[:, :, None]
        return np.matmul(centred * weighted[:, None], centred.transpose(0, 2, 1))
    sums = sum(weighted[:, piece] @ _features(x[:, piece]).T for piece in _pieces(x))
    rows, columns, _ = _upper(d)
    about_zero = np.empty((K, d, d))
    about_zero[:, rows, columns] = about_zero[:, columns, rows] = sums[:, d + 1 :]
    cross = sums[:, 1 : d + 1, None] * means[:, None]
    out = about_zero - cross - cross.transpose(0, 2, 1)
    out += sums[:, 0, None, None] * (means[:, :, None] * means[:, None])
    diagonal = np.arange(d)
    if (out[:, diagonal, diagonal] < _LEAST_SHARE * about_zero[:, diagonal, diagonal]).any():
        for k, (t, mu) in enumerate(zip(weighted, means, strict=True)):
            centred = x - mu[:, None]
            out[k] = (centred * t) @ centred.T
    return out


def log_densities(x: np.ndarray, whiteners: np.ndarray, means: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """out[k, i] = constants[k] - 1/2 |L_k (x_i - mu_k)|^2 from x (d, m), whiteners L (K, d, d) and means mu (K, d)."""
    K, d = means.shape
    if x.size * K > _FEW and d:
        precisions = whiteners.transpose(0, 2, 1) @ whiteners
        largest = max(float(x.max()), -float(x.min()))
        if d * largest**2 * precisions.max() * _LEAST_SHARE < 1:
            return _linear(x, precisions, means, constants)
    z = whiteners.reshape(K * d, d) @ x
    z -= np.matmul(whiteners, means[:, :, None]).reshape(K * d, 1)
    z *= z
    out = z.reshape(K, d, z.shape[1]).sum(axis=1)
    out *= -0.5
    out += constants[:, None]
    return out


def _linear(x: np.ndarray, precisions: np.ndarray, means: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """The same as a product of coefficients (K x F) with the features."""
    d = len(x)
    along = np.matmul(precisions, means[:, :, None])[:, :, 0]
    rows, columns, factors = _upper(d)
    coefficients = np.empty((len(means), 1 + d + len(rows)))
    coefficients[:, 0] = constants - 0.5 * np.einsum("kd,kd->k", along, means)
    coefficients[:, 1 : d + 1] = along
    np.multiply(precisions[:, rows, columns], -factors, out=coefficients[:, d + 1 :])
    out = np.empty((len(means), x.shape[1]))
    for piece in _pieces(x):
        np.matmul(coefficients, _features(x[:, piece]), out=out[:, piece])
    return out
