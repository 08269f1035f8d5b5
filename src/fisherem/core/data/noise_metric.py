"""Noise with common factors: the metric in which it is spherical.

Outside what separates the groups the rows of every group have the covariance beta_k N with

    N = I + V diag(g) V'          V (p x m) orthonormal, g > 0

with m factors common to all variables (size, brightness, batch) and a spherical rest. Inside the axes U (p x d,
orthonormal) the model is the paper's: x = U'y has the mean mu_k and the covariance Sigma_k. Given x, the rest of the
row is noise: with G = U'NU its squared length is y'N^-1 y - x'G^-1 x, and the group's covariance is

    B Sigma_k B' + beta_k (N - B G B')        B = N U G^-1

so the means differ along B. With sparse U the groups depend only on the selected variables, and the means of the
others differ only through the factors. m = 0 gives N = I; with m = p - 1 factors N can be any covariance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rows.blocks import Block, BlockState, Sized, kernel
from .kernels import Nothing

__all__ = [
    "NoiseMetric", "factor_numbers", "factor_values", "fewest_factors", "metric_norms", "metric_of",
]  # fmt: skip

# The variance of the rest is at least this share of the mean, so that N is invertible in floating point.
_LEAST_REST = 1e-9
# Numbers of factors that are tried: powers of two up to this, a tenth of the rows and half of the variables.
_MOST_FACTORS, _ROWS_PER_FACTOR = 16, 10
# A full covariance is tried from this many rows per variable on.
_ROWS_PER_VARIABLE_FULL = 3


@dataclass(frozen=True)
class NoiseMetric(Sized):
    """N = I + V diag(g) V'. The vectors V (r x m) are in the rows' coordinates, or in the variables."""

    vectors: np.ndarray
    gains: np.ndarray

    @property
    def m(self) -> int:
        """The number of factors."""
        return len(self.gains)

    @property
    def log_det(self) -> float:
        """log |N|"""
        return float(np.log1p(self.gains).sum())

    def _apply(self, array: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """(I + V diag(factors - 1) V') array: without an r x r matrix."""
        return array + self.vectors @ ((factors - 1)[:, None] * (self.vectors.T @ array))

    def times(self, array: np.ndarray) -> np.ndarray:
        """N array (r x c)."""
        return self._apply(array, 1 + self.gains)

    def solve(self, array: np.ndarray) -> np.ndarray:
        """N^-1 array (r x c)."""
        return self._apply(array, 1 / (1 + self.gains))

    def half_times(self, array: np.ndarray) -> np.ndarray:
        """N^1/2 array (r x c)."""
        return self._apply(array, np.sqrt(1 + self.gains))

    def half_solve(self, array: np.ndarray) -> np.ndarray:
        """N^-1/2 array (r x c)."""
        return self._apply(array, 1 / np.sqrt(1 + self.gains))

    def gram(self, axes: np.ndarray) -> np.ndarray:
        """G = U'NU (d x d) of orthonormal axes, given in the same coordinates as the vectors."""
        along = self.vectors.T @ axes
        return np.eye(axes.shape[1]) + (along.T * self.gains) @ along

    def spread_along(self, axes: np.ndarray) -> np.ndarray:
        """B = N U G^-1, for vectors and axes U (p x d) in the variables."""
        return np.linalg.solve(self.gram(axes), self.times(axes).T).T

    def in_variables(self, scatter) -> NoiseMetric:
        """The same with V (p x m) in the variables."""
        return NoiseMetric(scatter.to_variables(self.vectors), self.gains)

    def norms(self, block: Block, squared_norms: np.ndarray) -> np.ndarray:
        """out[i] = y_i'N^-1 y_i from |y_i|^2 and m products per row."""
        share = self.gains / (1 + self.gains)
        parts = block.times(self.vectors.T)
        return np.maximum(squared_norms - np.einsum("jm,jm,j->m", parts, parts, share), 0)


@kernel(reads=("squared_norms",), writes=("metric_norms",))
def metric_norms(block: Block, state: BlockState, metric: NoiseMetric) -> Nothing:
    """Store y'N^-1 y of every row, which is valid as long as the metric does not change."""
    state.metric_norms = metric.norms(block, state.squared_norms)
    return Nothing()


def metric_of(within: np.ndarray, m: int, p: int) -> NoiseMetric:
    """N from a pooled covariance within groups (r x r) of p variables: m eigenvalues kept, the rest their mean.

    For n <= p the covariance is that of the row space, and the rest includes the directions outside of it.
    """
    values, vectors = np.linalg.eigh(within)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    m = min(m, len(values), p - 1)
    rest = float(values[m:].sum()) / (p - m)
    rest = max(rest, _LEAST_REST * float(values.sum()) / p, np.finfo(float).tiny)
    return NoiseMetric(np.ascontiguousarray(vectors[:, :m]), np.maximum(values[:m] / rest - 1, 0))


def factor_numbers(n: float, p: int, full: bool = True) -> list[int]:
    """Numbers of factors to try for n rows of p variables, with `full` including a full covariance."""
    most = min(_MOST_FACTORS, n // _ROWS_PER_FACTOR, p // 2)
    numbers = [0] + [2**i for i in range(5) if 2**i <= most]
    if full and n > _ROWS_PER_VARIABLE_FULL * p and p > 1:
        numbers.append(p - 1)
    return sorted(set(numbers))


def factor_values(
    e: np.ndarray, n: float, p: int, numbers: list[int], floor: float = 0.0, total: float | None = None
) -> dict[int, float]:
    """BIC of every number of factors, up to a constant, from eigenvalues e, largest first.

    The model is a covariance whose first m eigenvalues are free and whose others are equal. A number of factors whose
    rest is below the floor has -inf. `total` is the trace, if not all eigenvalues are known.
    """
    total, least = float(e.sum()) if total is None else total, np.finfo(float).tiny
    values = {}
    for m in numbers:
        rest = max((total - float(e[:m].sum())) / (p - m), 1e-9 * total / p, least)
        log_det = float(np.log(np.maximum(e[:m], rest)).sum()) + (p - m) * np.log(rest)
        value = -n / 2 * log_det - (p * m - m * (m - 1) / 2) / 2 * np.log(n)
        values[m] = value if rest >= floor or not m else -np.inf
    return values


def fewest_factors(values: dict[int, float], enough: float) -> int:
    """The smallest number of factors with a share `enough` of the largest gain over no factors."""
    first, best = values[0], max(values.values())
    return next(m for m, value in values.items() if value - first >= enough * (best - first))
