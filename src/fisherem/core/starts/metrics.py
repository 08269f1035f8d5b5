"""Starts for data whose noise misleads k-means: sparse k-means, and k-means in a shrunk metric.

Sparse k-means looks for groups in few of the variables. k-means in the metric (S + 0.1 v I)^-1/2, v the mean variance,
removes the directions common to all rows (size, brightness, batch), but is less precise if n is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils.agreement import adjusted_rand
from ...rows.base import Rows
from ...solvers.kmeans_runs import best_kmeans
from ...solvers.sparse_kmeans import alternate, dense_start
from ..data.sampling import Centres, one_sample
from .partitions import STARTS, distinct_rows, is_large, pieces, rows_at

__all__ = [
    "LARGE", "centred_rows", "columns_at_once", "coordinates", "in_shrunk_metric", "principal", "products", "shrunk",
    "shrunk_kmeans_starts", "shrunk_partition", "sparse_kmeans_starts", "sparse_partitions",
]  # fmt: skip

# Bounds of sparse k-means, as shares of sqrt(p): from about two variables to a third of them.
_BOUNDS, _LEAST_BOUND, LARGEST_SHARE = 4, 1.5, 0.6
_RUNS, _ITERATIONS, _TOLERANCE = 10, 20, 1e-4
# Partitions that agree more than this (adjusted Rand index) are duplicates.
_SAME = 0.95
# The share of the mean variance that is added before the metric is inverted, so that directions with less variance,
# which are mostly noise, are not amplified.
_SHRINKAGE = 0.1
# Values (128 MB) beyond which no second array of the size of the rows is allocated.
LARGE = 2**24


def sparse_partitions(
    Z: np.ndarray, n_clusters: int, rng: np.random.RandomState, rotated: np.ndarray | None = None
) -> list[np.ndarray]:
    """Distinct partitions (labels of n) of sparse k-means on centred rows Z (n x p), sparsest first.

    `rotated` (n x m) are coordinates with the same distances, if they are known already.
    """
    largest = LARGEST_SHARE * np.sqrt(Z.shape[1])
    # k-means on all variables depends on distances only, and the centres of a wide table would be as large as its rows
    start = dense_start(coordinates(Z) if rotated is None else rotated, n_clusters, _RUNS, rng)
    found: list[np.ndarray] = []
    for bound in np.geomspace(min(_LEAST_BOUND, largest), largest, _BOUNDS):
        fit = alternate(Z, start, max(bound, 1.0), _ITERATIONS, _TOLERANCE)
        if not fit.reason and all(adjusted_rand(fit.labels, other) < _SAME for other in found):
            found.append(fit.labels)
    return found


def _on_rows(problem, n_clusters: int, rng: np.random.RandomState, partitions) -> list[Any]:
    """Starts from partitions(Z), Z the centred distinct rows in memory, or a sample of large data."""
    if is_large(problem):
        Z = one_sample(problem, rng)
        found = partitions(Z - Z.mean(axis=0))
        member = [(labels == np.arange(n_clusters)[:, None]).astype(float) for labels in found]
        return [Centres(m @ Z / np.maximum(m.sum(axis=1, keepdims=True), 1)) for m in member]
    chosen, _, index = distinct_rows(problem.given, problem.rows.weights)
    Z = centred_rows(problem.given, chosen)
    return [np.where(index >= 0, labels[index], 0) for labels in partitions(Z)]


@STARTS.add("sparse-kmeans")
def sparse_kmeans_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """Partitions of sparse k-means at several bounds, at most `n_init`."""
    return _on_rows(problem, n_clusters, rng, lambda Z: sparse_partitions(Z, n_clusters, rng))[:n_init]


@STARTS.add("shrunk-kmeans")
def shrunk_kmeans_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """The k-means partition of lowest inertia in the shrunk metric, a single start."""
    del n_init
    return _on_rows(problem, n_clusters, rng, lambda Z: [shrunk_partition(Z, n_clusters, rng)])


def shrunk_partition(Z: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Labels (n) of the best k-means run on centred rows Z (n x p) in the shrunk metric."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    return best_kmeans(shrunk(Z), n_clusters, _RUNS, seed).labels


def shrunk(Z: np.ndarray, share: float = _SHRINKAGE) -> np.ndarray:
    """Centred rows Z (n x p) times (S + share v I)^-1/2, up to a rotation; v is the mean variance."""
    return in_shrunk_metric(*principal(Z), Z.shape[1], share)


def in_shrunk_metric(u: np.ndarray, singular: np.ndarray, p: int, share: float) -> np.ndarray:
    """`shrunk` from the `principal` components of the rows: one decomposition serves several shares."""
    values = singular**2 / len(u)
    return u * (singular / np.sqrt(values + max(share * values.sum() / p, np.finfo(float).tiny)))


def principal(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors (n x r) and singular values (r) of centred rows Z (n x p), r = min(n, p).

    With fewer rows than columns they come from the products of the rows: directions whose variance is below the
    rounding error of these are as good as constant in any metric that is shrunk.
    """
    if Z.shape[0] >= Z.shape[1]:
        return np.linalg.svd(Z, full_matrices=False)[:2]
    values, vectors = np.linalg.eigh(products(Z))
    return vectors, np.sqrt(np.maximum(values, 0))


def centred_rows(rows: np.ndarray | Rows, chosen: np.ndarray) -> np.ndarray:
    """The chosen rows about their mean (m x p), as a C-contiguous copy: results must not depend on the layout.

    In double precision, unless the table is large and in single precision, which is enough for initial partitions.
    """
    p = rows.p if isinstance(rows, Rows) else rows.shape[1]
    single = rows.dtype == np.float32 and len(chosen) * p > LARGE
    Z = np.empty((len(chosen), p), np.float32 if single else float)
    for piece in pieces(*Z.shape):
        Z[piece[0] : piece[-1] + 1] = rows_at(rows, chosen[piece])
    Z -= Z.mean(axis=0)
    return Z


def columns_at_once(Z: np.ndarray) -> list[slice]:
    """Slices of columns to process at once: all, unless another array of the size of Z (n x p) would be too large."""
    n, p = Z.shape
    step = p if Z.size <= LARGE else max(1, LARGE // 4 // n)
    return [slice(j, min(j + step, p)) for j in range(0, p, step)]


def products(Z: np.ndarray) -> np.ndarray:
    """Z Z' (n x n) in double precision."""
    out = np.zeros((len(Z), len(Z)))
    for columns in columns_at_once(Z):
        part = Z[:, columns].astype(float, copy=False)
        out += part @ part.T
    return out


def coordinates(Z: np.ndarray) -> np.ndarray:
    """Coordinates (n x n) with the same inner products as the rows of Z (n x p) if n < p; otherwise Z."""
    if Z.shape[0] >= Z.shape[1]:
        return Z
    vectors, singular = principal(Z)
    return vectors * singular


STARTS.seal()
