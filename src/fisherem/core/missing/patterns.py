"""Patterns of missing cells, and a mixture in a form that suits the densities of observed cells.

Rows with the same missing cells share a pattern, and everything that depends only on the pattern is computed once. No
array of size n x p is allocated per group: with q columns of a basis Q (axes, factors of the noise and, with full
means, the differences of the means) every group's covariance is beta_k I + Q C_k Q'.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...rows.blocks import Sized
from ..data.noise_metric import NoiseMetric

__all__ = ["GapMixture", "Patterns", "by_rows", "times_rows"]

# Singular values of [U, V, means] below this share of the largest are treated as 0.
_SAME_DIRECTION = 1e-9
# From this many rows per pattern on, a product per pattern is faster than one per row.
_LOOP_FROM = 16


@dataclass(frozen=True)
class Patterns(Sized):
    """Rows (n) sorted by which of their p cells are observed; P patterns."""

    order: np.ndarray  # n: the row numbers, pattern by pattern
    starts: np.ndarray  # P + 1: where each pattern begins in `order`
    observed: np.ndarray  # P x p: 1 for observed cells, 0 for missing ones
    at_once: int = 2**23  # values of a chunk of patterns, K q^2 each: 64 MB

    @classmethod
    def of(cls, observed: np.ndarray) -> Patterns:
        """From bool n x p."""
        packed = np.ascontiguousarray(np.packbits(observed, axis=1))
        keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
        counts = np.bincount(index, minlength=len(first))
        starts = np.concatenate([[0], np.cumsum(counts)])
        return cls(np.argsort(index, kind="stable"), starts, observed[first].astype(float))

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.order)

    @property
    def counts(self) -> np.ndarray:
        """Rows of each pattern (P)."""
        return np.diff(self.starts)

    def chunks(self, numbers: int) -> Iterator[tuple[slice, slice]]:
        """(patterns, rows) slice by slice, for work that takes `numbers` values per pattern."""
        step = max(1, self.at_once // max(numbers, 1))
        for first in range(0, len(self), step):
            last = min(first + step, len(self))
            yield slice(first, last), slice(int(self.starts[first]), int(self.starts[last]))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """out[..., g, :] = sum of values[..., i, :] over the rows i (sorted) of pattern g, for (..., n, c)."""
        if len(self) == self.n:
            return values
        return np.add.reduceat(values, self.starts[:-1], axis=-2)

    def unsorted(self, values: np.ndarray) -> np.ndarray:
        """Values (..., n) of the sorted rows in the order of the rows themselves."""
        out = np.empty_like(values)
        out[..., self.order] = values
        return out


def by_rows(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Values (G, ...) of G patterns repeated for their rows."""
    return values if len(values) == counts.sum() else np.repeat(values, counts, axis=0)


def times_rows(matrices: np.ndarray, vectors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """out[i] = matrices[g(i)] vectors[i] for sorted rows: G x a x b and n x b give n x a."""
    n = len(vectors)
    if n >= _LOOP_FROM * len(matrices):
        out = np.empty((n, matrices.shape[1]))
        first = 0
        for matrix, count in zip(matrices, counts, strict=True):
            np.matmul(vectors[first : first + count], matrix.T, out=out[first : first + count])
            first += count
        return out
    return np.einsum("nab,nb->na", by_rows(matrices, counts), vectors)


@dataclass(frozen=True)
class GapMixture(Sized):
    """Group k has the mean `overall` + Q a_k and the covariance beta_k I + Q C_k Q'; Q (p x q) is orthonormal."""

    proportions: np.ndarray  # K
    overall: np.ndarray  # p
    basis: np.ndarray  # Q
    means: np.ndarray  # a, K x q
    spreads: np.ndarray  # C, K x q x q
    noises: np.ndarray  # beta, K

    @classmethod
    def of(
        cls,
        proportions: np.ndarray,
        means: np.ndarray,
        axes: np.ndarray,
        covariances: np.ndarray,
        noises: np.ndarray,
        metric: NoiseMetric | None = None,
    ) -> GapMixture:
        """From means (K x p), axes U (p x d), covariances (K x d x d), noises (K) and the metric of the noise.

        The covariance B Sigma_k B' + beta_k (N - B G B'), with B = N U G^-1, is beta_k I plus a matrix in the span of
        U and V.
        """
        overall = proportions @ means
        vectors, gains = (np.zeros((len(axes), 0)), np.zeros(0)) if metric is None else (metric.vectors, metric.gains)
        basis = _orthonormal(np.hstack([axes, vectors, (means - overall).T]))
        K, q = len(means), basis.shape[1]
        inside = basis.T @ vectors
        N = np.eye(q) + (inside * gains) @ inside.T
        U = basis.T @ axes
        G = U.T @ N @ U
        B = np.linalg.solve(G, U.T @ N).T
        spreads = np.empty((K, q, q))
        for k in range(K):
            spreads[k] = noises[k] * (N - np.eye(q)) + B @ (covariances[k] - noises[k] * G) @ B.T
        return cls(proportions, overall, basis, (means - overall) @ basis, spreads, noises)

    @property
    def q(self) -> int:
        """Columns of the basis."""
        return self.basis.shape[1]

    def moved(self, by: np.ndarray) -> GapMixture:
        """The same for rows whose centre lies `by` (p) further back."""
        return GapMixture(self.proportions, self.overall + by, self.basis, self.means, self.spreads, self.noises)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the span of columns (p x c), independent of their lengths."""
    lengths = np.sqrt(np.einsum("pc,pc->c", columns, columns))
    kept = lengths > 0
    left, singular, _ = np.linalg.svd(columns[:, kept] / lengths[kept], full_matrices=False)
    return left[:, singular > _SAME_DIRECTION * singular[:1].max(initial=0.0)]
