"""Columns without their skew, so that a criterion of Gaussian groups does not mistake skew for groups.

Each transform is an entry of `TRANSFORMS`: (values (n x p), labels (n), weights (n)) -> `Transformed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..._utils.register import Register

__all__ = [
    "EXPONENTS", "TRANSFORMS", "Transform", "Transformed", "normal_scores", "one_group_powers", "spiked", "yeo_johnson",
]  # fmt: skip

# Exponents of Yeo and Johnson that are tried: 1 changes nothing, 0 is the logarithm. Steps of a quarter change a
# likelihood of hundreds of rows by less than a nat.
EXPONENTS = np.linspace(-1, 3, 17)
# A column in which this share of the rows has one value (saturated pixels, counts of zero) is left as it is: bending
# drives the other values away from the spike, and any likelihood rises.
_SPIKE = 0.2
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Transformed:
    """Columns to judge a partition on.

    `values` (n x p), each with mean 0 and variance 1 (0 where constant); `costs` (p), in nats: what the one-group model
    gains by exponents of its own, which a partition has to make up for.
    """

    values: np.ndarray
    costs: np.ndarray


@dataclass(frozen=True)
class Transform:
    """A way to look at the columns when a partition is judged."""

    name: str
    label: str  # as people read it, after "C": "C on normal scores"
    apply: Callable[[np.ndarray, np.ndarray, np.ndarray], Transformed]


def _standardised(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    centred = values - (weights @ values) / weights.sum()
    deviation = np.sqrt((weights @ centred**2) / weights.sum())
    largest = np.abs(values).max(axis=0, initial=1.0)
    constant = deviation <= 1e-9 * largest
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation))


def normal_scores(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Columns replaced by the normal quantiles of their weighted mid-ranks (n x p); ties share one."""
    out = np.empty(values.shape)
    for j, column in enumerate(values.T):
        _, index = np.unique(column, return_inverse=True)
        mass = np.bincount(index, weights)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        out[:, j] = ndtri(np.clip(middle, 1e-9, 1 - 1e-9))[index]
    return out


def yeo_johnson(values: np.ndarray, exponent: float) -> np.ndarray:
    """The transformation of Yeo and Johnson (2000), value by value."""
    size = np.log1p(np.abs(values))
    power = np.where(values >= 0, exponent, 2 - exponent)
    safe = np.where(power == 0, 1.0, power)
    return np.sign(values) * np.where(power == 0, size, np.expm1(safe * size) / safe)


def _on_one_scale(values: np.ndarray) -> np.ndarray:
    """Columns about their medians, in units of their spread: what the exponents bend depends on nothing else."""
    middle = np.median(values, axis=0)
    spread = 1.4826 * np.median(np.abs(values - middle), axis=0)
    deviation = values.std(axis=0)
    spread = np.where(spread > 1e-3 * deviation, spread, deviation)
    return (values - middle) / np.where(spread > 0, spread, 1.0)


def _likelihoods(scaled: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood of each exponent (17 x p) with a mean per group and a common variance, and with one group."""
    n = weights.sum()
    member = (labels == np.arange(labels.max() + 1)[:, None]) * weights
    sizes = np.maximum(member.sum(axis=1), _TINY)[:, None]
    jacobian = weights @ (np.sign(scaled) * np.log1p(np.abs(scaled)))
    groups, one = np.empty((2, len(EXPONENTS), scaled.shape[1]))
    for i, exponent in enumerate(EXPONENTS):
        z = yeo_johnson(scaled, exponent)
        z = z - (weights @ z) / n
        total = weights @ z**2
        within = total - ((member @ z) ** 2 / sizes).sum(axis=0)
        # a variance of nothing but rounding would win every comparison
        floor = np.maximum(1e-9 * total, _TINY)
        one[i] = -n / 2 * np.log(np.maximum(total, _TINY) / n) + (exponent - 1) * jacobian
        groups[i] = -n / 2 * np.log(np.maximum(within, floor) / n) + (exponent - 1) * jacobian
    straight = np.ix_(EXPONENTS != 1.0, spiked(scaled, weights))
    groups[straight] = one[straight] = -np.inf
    return groups, one


def spiked(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """bool p: columns in which one value is frequent."""
    shares = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        _, index = np.unique(column, return_inverse=True)
        shares[j] = np.bincount(index, weights).max() / weights.sum()
    return shares > _SPIKE


def _bent(scaled: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return np.column_stack([yeo_johnson(column, EXPONENTS[i]) for column, i in zip(scaled.T, chosen, strict=True)])


def _powers(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Transformed:
    """Each column with the exponent that is most likely within the groups."""
    scaled = _on_one_scale(values)
    groups, one = _likelihoods(scaled, labels, weights)
    chosen = groups.argmax(axis=0)
    costs = one.max(axis=0) - one[chosen, np.arange(len(chosen))]
    return Transformed(_standardised(_bent(scaled, chosen), weights), costs)


def one_group_powers(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(columns bent by the exponents of one group (n x p), what each column gains by that in nats (p))."""
    scaled = _on_one_scale(values)
    _, one = _likelihoods(scaled, np.zeros(len(values), int), weights)
    gains = one.max(axis=0) - one[np.flatnonzero(EXPONENTS == 1.0)[0]]
    return _standardised(_bent(scaled, one.argmax(axis=0)), weights), gains


def _plain(values, labels, weights) -> Transformed:
    return Transformed(_standardised(values, weights), np.zeros(values.shape[1]))


def _scores(values, labels, weights) -> Transformed:
    return Transformed(_standardised(normal_scores(values, weights), weights), np.zeros(values.shape[1]))


_TRANSFORMS = (
    Transform("plain", "", _plain),
    Transform("scores", "on normal scores", _scores),
    Transform("power", "after powers", _powers),
)
TRANSFORMS: Register[Transform] = Register("transform", {one.name: one for one in _TRANSFORMS})
