"""Sinh-arcsinh scores: columns without their skew and heavy tails, but with their modes (Jones & Pewsey 2009).

    z = sinh(delta asinh(u) - epsilon),   u = (x - xi) / eta
    log dz/dx = log(delta / eta) + log cosh(delta asinh(u) - epsilon) - log(1 + u^2) / 2

The four parameters of a column maximise the likelihood of *one* Gaussian group, with a weak prior on epsilon and
log delta. The family is unimodal: it cannot make two modes one, as normal quantiles of ranks do, so groups that single
columns show stay visible while skew and tails, which Gaussian groups would explain as groups, are taken out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import ndtri

from .columns import spacing_floors
from .thresholds import THRESHOLDS

__all__ = ["Scores", "moments", "standardised"]

# Quantiles that stand for the rows of a column: more of them change no parameter by more than its standard error.
_QUANTILES = 200
# The least number from which a shape can be estimated, also of rows with very small weights.
_FEWEST = 3
# Where the parameters are looked for first (epsilon x log delta), and the bounds of both. The tails of the sinh-arcsinh
# distribution are those of a log-normal at delta = 0.2 and nearly uniform at delta = 5.
_SKEWS, _TAILS = np.linspace(-2, 2, 9), np.linspace(-1.2, 0.8, 6)
_MOST_SKEW, _MOST_TAIL = 4.0, 1.6
# Damped scoring steps. They settle to a nat on normal columns and those with heavy tails, and end up to a hundred nats
# below the maximum on log-normal columns and on several modes. More steps would find it, but bend several modes so much
# that Gaussian groups no longer describe them: three groups 10 standard deviations apart gained 320 nats for 460.
_STEPS = 10
# Arguments of sinh beyond this would overflow when squared.
_FARTHEST = 300.0


def standardised(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and variance 1 under the weights; 0 where they do not vary."""
    mean, variance = moments(values, weights)
    deviation = np.sqrt(variance)
    flat = ~(deviation > 1e-9 * np.maximum(np.abs(mean), np.finfo(float).tiny))
    return np.where(flat, 0.0, (values - mean) / np.where(flat, 1.0, deviation))


def moments(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(means, variances) of the columns (p) under weights (n)."""
    mean = (weights @ values) / weights.sum()
    return mean, (weights @ (values - mean) ** 2) / weights.sum()


@dataclass(frozen=True)
class Scores:
    """The parameters of p columns; columns of few values (and constant ones) keep their values."""

    location: np.ndarray  # xi
    scale: np.ndarray  # eta
    skew: np.ndarray  # epsilon
    tail: np.ndarray  # log delta
    kept: np.ndarray  # bool p: left as they are

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        weights: np.ndarray | None = None,
        floors: np.ndarray | None = None,
        steps: int = _STEPS,
    ) -> Scores:
        """Of the columns of rows (n x p); `floors` are their `spacing_floors`, where they are known.

        `steps` is the number of steps that the fit takes.
        """
        floors = spacing_floors(values) if floors is None else floors
        quantiles, total = _quantiles(values, weights)
        low, middle, high = (quantiles[int(share * len(quantiles))] for share in (0.1, 0.5, 0.9))
        spread = (high - low) / 2.5631  # of a normal column, this is its standard deviation
        flat = quantiles.max(axis=0) == quantiles.min(axis=0)
        with np.errstate(over="ignore"):  # where the spread is not needed
            wide = quantiles.std(axis=0)
            wide = np.where(wide > 0, wide, np.ptp(quantiles, axis=0))  # squares of tiny values are 0
            spread = np.where(spread > 0, spread, np.where(flat, 1.0, wide))
        kept = (floors > THRESHOLDS.few_valued) | flat
        theta = _fitted((quantiles - middle) / spread, total, steps)
        return cls(middle + spread * theta[0], spread * np.exp(theta[1]), theta[2], theta[3], kept)

    def only(self, columns: list[int]) -> Scores:
        """Those of some of the columns."""
        return Scores(*(getattr(self, field.name)[columns] for field in fields(self)))

    def transform(self, values: np.ndarray) -> np.ndarray:
        """The scores of rows (n x p)."""
        u = (values - self.location) / self.scale
        bent = np.sinh(np.clip(np.exp(self.tail) * np.arcsinh(u) - self.skew, -_FARTHEST, _FARTHEST))
        return np.where(self.kept, values, bent)

    def log_likelihood(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Of one group in each column (p)."""
        theta = np.stack([self.location, np.log(self.scale), self.skew, self.tail])
        return weights @ (_log_density(values, theta) - 0.5 * np.log(2 * np.pi))


def _quantiles(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, float]:
    """(at most 200 quantiles of each column, ascending; the weight that they stand for)."""
    n = len(values)
    if weights is None or (weights == weights[0]).all():
        total = n if weights is None else n * float(weights[0])
        size = int(np.clip(np.ceil(total), _FEWEST, _QUANTILES))
        at = ((np.arange(size) + 0.5) / size * n).astype(int)
        return np.sort(values, axis=0)[at], float(total)
    total = float(weights.sum())
    size = int(np.clip(np.ceil(total), _FEWEST, _QUANTILES))
    order = np.argsort(values, axis=0, kind="stable")
    mass = np.cumsum(weights[order], axis=0) / total
    shares = (np.arange(size) + 0.5) / size
    at = np.stack([np.searchsorted(column, shares) for column in mass.T], axis=1)
    return np.take_along_axis(np.take_along_axis(values, order, axis=0), np.minimum(at, n - 1), axis=0), total


def _fitted(Q: np.ndarray, total: float, steps: int) -> np.ndarray:
    """(xi, log eta, epsilon, log delta) of columns Q (m x p), each the quantiles of `total` rows, as 4 x p."""
    theta = _first(Q)
    value, damping = _objective(Q, theta, total), np.full(Q.shape[1], 1e-3)
    for _ in range(steps):
        slopes = _slopes(Q, theta)  # 4 x m x p
        gradient = slopes.sum(axis=1) * (total / len(Q))
        gradient[2:] -= theta[2:]
        curvature = np.einsum("amp,bmp->pab", slopes, slopes) * (total / len(Q))
        curvature[:, [2, 3], [2, 3]] += 1.0
        diagonal = np.einsum("paa->pa", curvature)
        damped = curvature + (damping[:, None] * diagonal + 1e-9)[:, :, None] * np.eye(4)
        new = theta + np.linalg.solve(damped, gradient.T[:, :, None])[:, :, 0].T
        new[1] = np.clip(new[1], theta[1] - 2, theta[1] + 2)
        new[2], new[3] = np.clip(new[2], -_MOST_SKEW, _MOST_SKEW), np.clip(new[3], -_MOST_TAIL, _MOST_TAIL)
        after = _objective(Q, new, total)
        better = after >= value
        theta, value = np.where(better, new, theta), np.where(better, after, value)
        damping = np.where(better, damping / 5, damping * 5)
    return theta


def _first(Q: np.ndarray) -> np.ndarray:
    """The point of the grid whose quantiles lie most nearly on a line with those of each column."""
    m = len(Q)
    z = np.arcsinh(ndtri((np.arange(m) + 0.5) / m))
    grid = [(skew, tail) for skew in _SKEWS for tail in _TAILS]
    shapes = np.stack([np.sinh((z + skew) / np.exp(tail)) for skew, tail in grid])
    centred = shapes - shapes.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=1))
    products = centred @ (Q - Q.mean(axis=0))  # grid x p
    best = (products / lengths[:, None]).argmax(axis=0)
    scale = np.maximum(products[best, np.arange(Q.shape[1])] / lengths[best] ** 2, 1e-3)
    skew, tail = np.array(grid).T
    return np.stack([Q.mean(axis=0) - scale * shapes.mean(axis=1)[best], np.log(scale), skew[best], tail[best]])


def _inner(Q: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u = (Q - theta[0]) / np.exp(theta[1])
    a = np.arcsinh(u)
    return u, a, np.sinh(np.clip(np.exp(theta[3]) * a - theta[2], -_FARTHEST, _FARTHEST))


def _objective(Q: np.ndarray, theta: np.ndarray, total: float) -> np.ndarray:
    """The penalised log-likelihood of each column (p)."""
    return _log_density(Q, theta).sum(axis=0) * (total / len(Q)) - 0.5 * (theta[2] ** 2 + theta[3] ** 2)


def _log_density(Q: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Of every value (m x p), up to the constant -log(2 pi) / 2."""
    u, _, z = _inner(Q, theta)
    return theta[3] - theta[1] + 0.5 * np.log1p(z * z) - 0.5 * z * z - 0.5 * np.log1p(u * u)


def _slopes(Q: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The gradient of each row's log-likelihood in (xi, log eta, epsilon, log delta): 4 x m x p."""
    u, a, z = _inner(Q, theta)
    delta, cosh, root = np.exp(theta[3]), np.sqrt(1 + z * z), np.sqrt(1 + u * u)
    by_t = z / cosh - z * cosh
    by_u = by_t * delta / root - u / root**2
    return np.stack([-by_u / np.exp(theta[1]), -by_u * u - 1, -by_t, by_t * delta * a + 1])
