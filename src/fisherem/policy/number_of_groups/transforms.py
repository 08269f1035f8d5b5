"""Columns without their skew, so that a criterion of Gaussian groups does not mistake skew for groups.

Each transform is an entry of `TRANSFORMS`: (values (n x p), labels (n), weights (n)) -> `Transformed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..._utils.register import Register
from ..powers import exponent_likelihoods, on_one_scale, yeo_johnson

__all__ = ["EXPONENTS", "TRANSFORMS", "Transform", "Transformed", "normal_scores", "one_group_powers"]

# Exponents of Yeo and Johnson that are tried: 1 changes nothing, 0 is the logarithm. Steps of a quarter change a
# likelihood of hundreds of rows by less than a nat.
EXPONENTS = np.linspace(-1, 3, 17)


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
    rows = values[weights > 0]
    constant = (rows == rows[0]).all(axis=0)  # exactly: a small spread is one of a large offset or of other units
    centred = values - (weights @ values) / weights.sum()
    deviation = np.sqrt((weights @ centred**2) / weights.sum())
    constant |= deviation == 0
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


def _bent(scaled: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return np.column_stack([yeo_johnson(column, EXPONENTS[i]) for column, i in zip(scaled.T, chosen, strict=True)])


def _powers(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Transformed:
    """Each column with the exponent that is most likely within the groups."""
    scaled = on_one_scale(values)[0]
    groups, one = exponent_likelihoods(scaled, labels, weights, EXPONENTS)
    chosen = groups.argmax(axis=0)
    costs = one.max(axis=0) - one[chosen, np.arange(len(chosen))]
    return Transformed(_standardised(_bent(scaled, chosen), weights), costs)


def one_group_powers(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(columns bent by the exponents of one group (n x p), what each column gains by that in nats (p))."""
    scaled = on_one_scale(values)[0]
    _, one = exponent_likelihoods(scaled, np.zeros(len(values), int), weights, EXPONENTS)
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
