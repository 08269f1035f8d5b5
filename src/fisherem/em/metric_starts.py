"""Starts for data whose noise leads k-means astray: sparse k-means, and k-means in a shrunk metric.

Sparse k-means looks for groups in few of the variables. k-means in the metric (S + 0.1 v I)^-1/2, v the mean
variance, takes out the directions that all rows share (a common factor of size, brightness or batch), at a price
where n is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from .._utils.agreement import adjusted_rand
from ..solvers.sparse_kmeans import alternate, dense_start
from .sampling import Centres, one_sample
from .starts import STARTS, distinct_rows, is_large

__all__ = ["shrunk_kmeans_starts", "shrunk_partition", "sparse_kmeans_starts", "sparse_partitions"]

# Bounds of sparse k-means, as shares of sqrt(p): from about two variables to a third of them.
_BOUNDS, _LEAST_BOUND, _LARGEST_SHARE = 4, 1.5, 0.6
_RUNS, _ITERATIONS, _TOLERANCE = 10, 20, 1e-4
# Partitions that agree more than this (adjusted Rand index) are one.
_SAME = 0.95
# The share of the mean variance that is added before the metric is inverted: directions with less variance than that
# are mostly noise and are not blown up.
_SHRINKAGE = 0.1


def sparse_partitions(Z: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """Distinct partitions (labels of n) of sparse k-means on centred rows Z (n x p), sparsest first."""
    largest = _LARGEST_SHARE * np.sqrt(Z.shape[1])
    start = dense_start(Z, n_clusters, _RUNS, rng)
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
    rows = problem.given.everything()
    chosen, _, index = distinct_rows(rows, problem.rows.weights)
    Z = np.ascontiguousarray(rows[chosen], float)
    return [np.where(index >= 0, labels[index], 0) for labels in partitions(Z - Z.mean(axis=0))]


@STARTS.add("sparse-kmeans")
def sparse_kmeans_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """Partitions of sparse k-means at several bounds, at most `n_init`."""
    return _on_rows(problem, n_clusters, rng, lambda Z: sparse_partitions(Z, n_clusters, rng))[:n_init]


@STARTS.add("shrunk-kmeans")
def shrunk_kmeans_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """The k-means partition of least inertia in the shrunk metric: a single start."""
    del n_init
    return _on_rows(problem, n_clusters, rng, lambda Z: [shrunk_partition(Z, n_clusters, rng)])


def shrunk_partition(Z: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Labels (n) of the best k-means run on centred rows Z (n x p) in the shrunk metric."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    return KMeans(n_clusters, n_init=_RUNS, random_state=seed).fit(_shrunk(Z)).labels_


def _shrunk(Z: np.ndarray) -> np.ndarray:
    """Centred rows Z (n x p) times (S + 0.1 v I)^-1/2, up to a rotation."""
    u, singular, _ = np.linalg.svd(Z, full_matrices=False)
    values = singular**2 / len(Z)
    return u * (singular / np.sqrt(values + _SHRINKAGE * values.sum() / Z.shape[1]))


STARTS.seal()
