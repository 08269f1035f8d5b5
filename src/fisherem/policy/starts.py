"""Partitions to begin with besides k-means on the columns: in other metrics, and on few of the variables.

Among many variables that carry nothing, or behind a common factor of the noise, k-means cuts the cloud where it is
longest. Sparse k-means finds groups in few of the variables; the metric (S + r I)^-1/2 of the columns' scores takes out
directions that all rows share.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.data.problem import Problem
from ..core.starts.partitions import (
    adjusted_rand,
    centred_rows,
    distinct_rows,
    in_shrunk_metric,
    principal,
    sparse_partitions,
)
from ..rows.base import one_blas_thread
from ..solvers.kmeans_runs import best_kmeans
from .judge import Judge
from .thresholds import THRESHOLDS

__all__ = ["other_starts", "same_partition"]

# The shares r of the mean variance that metrics are shrunk by: from nearly Euclidean to nearly that of Mahalanobis.
_SHRINKAGES = (0.5, 0.1, 0.02)
# k-means runs in each metric.
_RUNS = 5


def same_partition(labels: np.ndarray, others: list[np.ndarray], least: float = THRESHOLDS.same_partition) -> bool:
    """Whether labels are (nearly) those of another partition."""
    return any(adjusted_rand(labels, other) > least for other in others)


def other_starts(
    problem: Problem, judge: Judge, n_clusters: int, rng: np.random.RandomState
) -> Iterator[tuple[str, np.ndarray]]:
    """(name, labels (n)) of k-means on scores and in shrunk metrics of the scores, and of sparse k-means.

    Equal rows count once, so that weights and repetitions mean the same.
    """
    chosen, _, index = distinct_rows(problem.given, problem.given.weights)

    def kmeans(Z: np.ndarray) -> np.ndarray:
        return best_kmeans(Z, n_clusters, _RUNS, int(rng.randint(np.iinfo(np.int32).max))).labels

    def of_all(labels: np.ndarray) -> np.ndarray:
        return np.where(index >= 0, labels[index], 0)

    with one_blas_thread():
        Z = centred_rows(problem.given, chosen)
        if problem.p < problem.rows.n:  # with fewer rows than columns, scores follow the noise of each column
            columns = judge.scores[chosen] * Z.std(axis=0)
            yield "k-means on scores", of_all(kmeans(columns))
            axes, rotated = principal(columns), Z
        else:
            axes = principal(Z)
            rotated = axes[0] * axes[1]
        for share in _SHRINKAGES:
            yield f"k-means in a metric shrunk by {share}", of_all(kmeans(in_shrunk_metric(*axes, problem.p, share)))
        for i, labels in enumerate(sparse_partitions(Z, n_clusters, rng, rotated)):
            yield f"sparse k-means {i + 1}", of_all(labels)
