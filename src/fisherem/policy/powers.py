"""Power transformations of skewed columns: an exponent per column, estimated within the groups, with its Jacobian.

A column is bent by the transformation of Yeo and Johnson (2000) about its median, in units of its spread, and keeps its
standard deviation, so that bending changes the shape of a column and not its weight beside the others:

    z = f * yj((x - median) / spread, exponent)

An exponent between 0 and 2 maps all numbers onto all numbers, so f(x) = f(z) |dz/dx| is a density, and likelihoods of
bent and straight columns are of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.data.kernels import Mergeable
from ..core.data.problem import Problem
from ..rows.blocks import Block, BlockState, kernel
from .thresholds import THRESHOLDS

__all__ = ["Powers", "exponent_likelihoods", "on_one_scale", "total_log_slope", "yeo_johnson"]

# Exponents that are tried: 1 changes nothing, 0 is the logarithm on the right. Steps of a quarter change a likelihood
# of hundreds of rows by less than a nat.
_EXPONENTS = np.linspace(0, 2, 9)
# Transformed values are limited to this, so that their squares do not overflow.
_FARTHEST = 1e140
_TINY = np.finfo(float).tiny


def yeo_johnson(values: np.ndarray, exponent) -> np.ndarray:
    """The transformation of Yeo and Johnson, value by value; `exponent` is a number or one per column."""
    size = np.log1p(np.abs(values))
    power = np.where(values >= 0, exponent, 2 - np.asarray(exponent))
    safe = np.where(power == 0, 1.0, power)
    return np.sign(values) * np.where(power == 0, size, np.expm1(safe * size) / safe)


def _sizes(bent: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """log(1 + |x|) of the values x that the exponents bent to `bent`."""
    power = np.where(bent >= 0, exponents, 2 - exponents)
    safe = np.where(power == 0, 1.0, power)
    return np.where(power == 0, np.abs(bent), np.log1p(safe * np.abs(bent)) / safe)


def _spiked(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """bool p: columns in which one value has more than `THRESHOLDS.power_spike` of the weight."""
    shares = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        _, index = np.unique(column, return_inverse=True)
        shares[j] = np.bincount(index, weights).max() / weights.sum()
    return shares > THRESHOLDS.power_spike


def on_one_scale(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(columns about their medians in units of their spread, medians, spreads): bending depends on nothing else."""
    middle = np.median(values, axis=0)
    spread = 1.4826 * np.median(np.abs(values - middle), axis=0)
    deviation = values.std(axis=0)
    spread = np.where(spread > 1e-3 * deviation, spread, deviation)
    spread = np.where(spread > 0, spread, 1.0)
    return (values - middle) / spread, middle, spread


def exponent_likelihoods(
    scaled: np.ndarray, labels: np.ndarray, weights: np.ndarray, exponents: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood of each exponent (e x p) with a mean per group and a common variance, and with one group.

    Columns with a frequent value have the exponent 1 only.
    """
    n = weights.sum()
    member = (labels == np.arange(labels.max() + 1)[:, None]) * weights
    sizes = np.maximum(member.sum(axis=1), _TINY)[:, None]
    jacobian = weights @ (np.sign(scaled) * np.log1p(np.abs(scaled)))
    groups, one = np.empty((2, len(exponents), scaled.shape[1]))
    for i, exponent in enumerate(exponents):
        z = yeo_johnson(scaled, exponent)
        z = z - (weights @ z) / n
        total = weights @ z**2
        within = total - ((member @ z) ** 2 / sizes).sum(axis=0)
        # a variance that is only rounding error would win every comparison
        floor = np.maximum(1e-9 * total, _TINY)
        one[i] = -n / 2 * np.log(np.maximum(total, _TINY) / n) + (exponent - 1) * jacobian
        groups[i] = -n / 2 * np.log(np.maximum(within, floor) / n) + (exponent - 1) * jacobian
    straight = np.ix_(exponents != 1.0, _spiked(scaled, weights))
    groups[straight] = one[straight] = -np.inf
    return groups, one


@dataclass(frozen=True)
class Powers:
    """How p columns are bent: exponents, medians, spreads and factors (p each); columns of exponent 1 stay as given."""

    exponents: np.ndarray
    centres: np.ndarray
    spreads: np.ndarray
    factors: np.ndarray

    @classmethod
    def within(cls, values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Powers:
        """The most likely exponents within the groups; BIC decides whether a column is bent at all."""
        scaled, middle, spread = on_one_scale(values)
        likelihoods, _ = exponent_likelihoods(scaled, labels, weights, _EXPONENTS)
        straight = likelihoods[np.flatnonzero(_EXPONENTS == 1.0)[0]]
        worth = likelihoods.max(axis=0) - straight > 0.5 * np.log(weights.sum())
        exponents = np.where(worth, _EXPONENTS[likelihoods.argmax(axis=0)], 1.0)
        bent = yeo_johnson(scaled, exponents)
        mean, old = (weights @ bent) / weights.sum(), (weights @ values) / weights.sum()
        now, before = weights @ (bent - mean) ** 2, weights @ (values - old) ** 2
        factors = np.sqrt(before / np.where(now > 0, now, 1.0))
        return cls(exponents, middle, spread, np.where(factors > 0, factors, 1.0))

    @property
    def bent(self) -> np.ndarray:
        """bool p: the columns that are bent."""
        return self.exponents != 1.0

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Rows (n x p) with their columns bent, in the precision in which they came."""
        X = np.asarray(X)
        out = np.array(X, dtype=X.dtype if X.dtype.kind == "f" else float)
        j = self.bent
        with np.errstate(over="ignore"):
            z = yeo_johnson((X[:, j].astype(float) - self.centres[j]) / self.spreads[j], self.exponents[j])
            out[:, j] = np.clip(z, -_FARTHEST, _FARTHEST) * self.factors[j]
        return out

    def inverse(self, Z: np.ndarray) -> np.ndarray:
        """The rows (n x p) that were bent to Z."""
        out, j = np.array(Z, float), self.bent
        w = out[:, j] / self.factors[j]
        out[:, j] = np.sign(w) * np.expm1(_sizes(w, self.exponents[j])) * self.spreads[j] + self.centres[j]
        return out

    def log_slopes(self, Z: np.ndarray) -> np.ndarray:
        """log |dz/dx| of each row, summed over its columns, for bent rows Z (n x p)."""
        j = self.bent
        w = Z[:, j] / self.factors[j]
        bending = np.sign(w) * (self.exponents[j] - 1) * _sizes(w, self.exponents[j])
        return (bending + np.log(self.factors[j] / self.spreads[j])).sum(axis=1)


@dataclass
class _LogSlope(Mergeable):
    total: float


@kernel(reads=("weights",), writes=("log_density",))
def log_slope(block: Block, state: BlockState, powers: Powers, centre: np.ndarray, divisors: np.ndarray) -> _LogSlope:
    """Their weighted sum, and those of the rows in place of the log-density; rows are bent, divided and centred."""
    found = np.empty(len(block))
    for position, tile in block.tiles():
        found[position] = powers.log_slopes((tile + centre) * divisors)
    state.log_density = found
    return _LogSlope(float(found.sum() if state.weights is None else state.weights @ found))


def total_log_slope(problem: Problem, powers: Powers, divisors: np.ndarray) -> float:
    """What bending adds to the log-likelihood of the rows as they were given; `divisors` (p) came after it."""
    rows = problem.given
    return float(rows.fold(log_slope, rows.states(), powers, rows.centre, divisors).total)
