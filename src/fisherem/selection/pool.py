"""Where k-means on all variables is lost: how to notice, and other partitions to begin with.

Among many variables that carry nothing, k-means finds what chance offers. It is lost where it explains no more of the
data than it explains of the same columns shuffled apart. Sparse k-means, and the same without the first principal
component (a common factor of the noise), find what it misses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from ..em.metric_starts import sparse_partitions
from ..em.problem import Problem
from ..em.starts import distinct_rows, kmeans_partitions

__all__ = ["Pool", "same_partition"]

# k-means runs on the shuffled columns; their best explains what chance offers.
_SHUFFLED_RUNS = 3
# k-means runs where it is lost: some of many land near the groups, and the alternation climbs from there.
_RUNS = 30
# Partitions that agree more than this (adjusted Rand index) are one.
_SAME = 0.95


def same_partition(labels: np.ndarray, others: list[np.ndarray]) -> bool:
    """Whether a partition is among others."""
    return any(adjusted_rand_score(labels, other) > _SAME for other in others)


@dataclass
class Pool:
    """Partitions of a data set's rows. Equal rows count once here, so that weights and repetitions mean the same."""

    problem: Problem
    n_clusters: int
    rng: np.random.RandomState

    def __post_init__(self):
        given = self.problem.given
        rows = given.everything()
        chosen, _, self._index = distinct_rows(rows, given.weights)
        kept = np.ascontiguousarray(rows[chosen], float)  # the order in memory must not show in the last digits
        self._rows = kept - kept.mean(axis=0)

    def _spread(self, labels: np.ndarray) -> np.ndarray:
        """Labels of all rows from those of the distinct ones; rows of weight 0 are in group 0."""
        return np.where(self._index >= 0, labels[self._index], 0)

    def trust(self, labels: np.ndarray) -> float:
        """How much more a partition explains than k-means explains of the same columns shuffled apart."""
        Z = self._rows
        kept = np.empty(len(Z), int)
        kept[self._index[self._index >= 0]] = labels[self._index >= 0]
        member = (kept == np.arange(self.n_clusters)[:, None]).astype(float)
        own = ((member @ Z) ** 2 / np.maximum(member.sum(axis=1), 1)[:, None]).sum()
        order = self.rng.rand(*Z.shape).argsort(axis=0)
        shuffled = _compact(np.take_along_axis(Z, order, axis=0))
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=_SHUFFLED_RUNS)
        inertia = min(KMeans(self.n_clusters, n_init=1, random_state=s).fit(shuffled).inertia_ for s in seeds)
        return float(own / max((Z**2).sum() - inertia, np.finfo(float).tiny))

    def kmeans(self) -> list[np.ndarray]:
        """Distinct partitions of many k-means runs on all variables, least inertia first."""
        return kmeans_partitions(self.problem, self.n_clusters, self.rng, _RUNS)

    def sparse_kmeans(self) -> list[np.ndarray]:
        """Distinct partitions of sparse k-means, on the variables and on what their first factor leaves."""
        found: list[np.ndarray] = []
        for Z in (self._rows, _without_factor(self._rows)):
            for labels in sparse_partitions(Z, self.n_clusters, self.rng):
                if not same_partition(labels, found):
                    found.append(labels)
        return [self._spread(labels) for labels in found]


def _compact(Z: np.ndarray) -> np.ndarray:
    """Coordinates with the same distances between rows, at most as many as there are rows."""
    if Z.shape[0] >= Z.shape[1]:
        return Z
    values, vectors = np.linalg.eigh(Z @ Z.T)
    return vectors * np.sqrt(np.maximum(values, 0))


def _without_factor(Z: np.ndarray) -> np.ndarray:
    """Z less its first principal component."""
    if Z.shape[0] <= Z.shape[1]:
        u = np.linalg.eigh(Z @ Z.T)[1][:, -1]
        return Z - np.outer(u, u @ Z)
    v = np.linalg.eigh(Z.T @ Z)[1][:, -1]
    return Z - np.outer(Z @ v, v)
