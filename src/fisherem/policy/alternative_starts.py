"""Where k-means on all variables is lost: how to notice, and other partitions to begin with.

Among many variables that carry nothing, or behind a common factor of the noise, k-means cuts the cloud where it is
longest. It is lost where it explains hardly more of the data than it explains of one Gaussian group with the same
covariance. Sparse k-means, the same without the first principal component (a common factor of the noise), and k-means
in a shrunk metric find what it misses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.agreement import adjusted_rand
from ..core.data.problem import Problem
from ..core.starts.metrics import (
    centred_rows,
    columns_at_once,
    coordinates,
    products,
    shrunk_partition,
    sparse_partitions,
)
from ..core.starts.partitions import distinct_rows, kmeans_partitions, pieces, rows_at
from ..rows.threads import one_blas_thread
from ..solvers.kmeans_runs import best_kmeans

__all__ = ["TRUST", "TRUST_SHUFFLED", "Pool", "beyond_chance", "same_partition"]

# k-means is trusted where it explains this many times what it explains of one Gaussian group with the same covariance.
# Real tables had 1.16 to 1.55; behind a common factor of the noise it was 1.05 to 1.08, with twenty to forty columns
# of noise for each real one 0.70 to 0.77.
TRUST = 1.1
# Among a few columns of noise k-means still finds more than one Gaussian group would show. Where variables are selected
# its groups must also explain twice what k-means explains of shuffled columns: real tables had 2.0 to 13, with as many
# columns of noise as real ones 1.2 to 1.9.
TRUST_SHUFFLED = 2.0
# k-means runs on the rows and on each draw of one Gaussian group, and how many draws there are.
_TRUST_RUNS, _DRAWS, _TRUST_ITERATIONS = 2, 4, 30
# Rows that are enough to see it.
_TRUST_ROWS = 600
# k-means runs where it is lost: some of many land near the groups, and the alternation climbs from there.
_RUNS = 30
# Numbers of variables that go together to be tried, where there are this many times as many, and k-means runs on each.
_LINKED, _LINKED_SHARE, _LINKED_RUNS = (10, 30, 100), 3, 5
# Partitions that agree more than this (adjusted Rand index) are one.
_SAME = 0.95


def same_partition(labels: np.ndarray, others: list[np.ndarray]) -> bool:
    """Whether a partition is among others."""
    return any(adjusted_rand(labels, other) > _SAME for other in others)


@dataclass
class Pool:
    """Partitions of a data set's rows. Equal rows count once here, so that weights and repetitions mean the same."""

    problem: Problem
    n_clusters: int
    rng: np.random.RandomState

    def __post_init__(self):
        given = self.problem.given
        self._chosen, _, self._index = distinct_rows(given, given.weights)

    def _rows(self, *, factor: bool = True) -> np.ndarray:
        """The distinct rows about their mean (m x p), with or without their first principal component.

        A new array, which may be written over: one that is kept would double what wide rows take.
        """
        Z = centred_rows(self.problem.given, self._chosen)
        return Z if factor else _without_factor(Z)

    def _columns(self, columns: np.ndarray) -> np.ndarray:
        """Some columns of the distinct rows about their mean (m x c)."""
        given = self.problem.given
        chosen = self._chosen
        kept = np.concatenate([rows_at(given, chosen[i])[:, columns] for i in pieces(len(chosen), given.p)])
        return centred_rows(kept, np.arange(len(kept)))

    def _spread(self, labels: np.ndarray) -> np.ndarray:
        """Labels of all rows from those of the distinct ones; rows of weight 0 are in group 0."""
        return np.where(self._index >= 0, labels[self._index], 0)

    def trust(self) -> float:
        """How much more k-means explains of the rows than of one Gaussian group with the same covariance."""
        return beyond_chance(self._rows(), self.n_clusters, self.rng)

    def above_shuffled(self, labels: np.ndarray) -> float:
        """How much more a partition explains than k-means explains of the same columns shuffled apart."""
        Z = self._rows()
        kept = np.empty(len(Z), int)
        kept[self._index[self._index >= 0]] = labels[self._index >= 0]
        member = (kept == np.arange(self.n_clusters)[:, None]).astype(float)
        own = ((member @ Z) ** 2 / np.maximum(member.sum(axis=1), 1)[:, None]).sum() / sum(
            (Z[:, columns] ** 2).sum() for columns in columns_at_once(Z)
        )
        for columns in columns_at_once(Z):
            order = self.rng.rand(*Z[:, columns].shape).argsort(axis=0)
            Z[:, columns] = np.take_along_axis(Z[:, columns], order, axis=0)
        with one_blas_thread():
            chance = _explained(coordinates(Z), self.n_clusters, self.rng)
        return float(own / max(chance, np.finfo(float).tiny))

    def kmeans(self) -> list[np.ndarray]:
        """Distinct partitions of many k-means runs on all variables, least inertia first."""
        return kmeans_partitions(self.problem, self.n_clusters, self.rng, _RUNS)

    def sparse_kmeans(self) -> list[np.ndarray]:
        """Distinct partitions of sparse k-means, on the variables and on what their first factor leaves."""
        found: list[np.ndarray] = []
        for factor in (True, False):
            for labels in sparse_partitions(self._rows(factor=factor), self.n_clusters, self.rng):
                if not same_partition(labels, found):
                    found.append(labels)
        return [self._spread(labels) for labels in found]

    def linked_kmeans(self) -> list[np.ndarray]:
        """Distinct partitions of k-means on the variables that go together with most others, of many.

        Variables that carry the same groups are correlated, those that carry nothing only by chance.
        """
        found: list[np.ndarray] = []
        for factor in (True, False):
            order = np.argsort(-_links(self._rows(factor=factor)), kind="stable")
            for m in _LINKED:
                if _LINKED_SHARE * m > len(order):
                    break
                seed = int(self.rng.randint(np.iinfo(np.int32).max))
                columns = self._columns(np.sort(order[:m]))
                labels = best_kmeans(columns, self.n_clusters, _LINKED_RUNS, seed).labels
                if not same_partition(labels, found):
                    found.append(labels)
        return [self._spread(labels) for labels in found]

    def shrunk_kmeans(self) -> list[np.ndarray]:
        """The partition of k-means in the shrunk metric."""
        return [self._spread(shrunk_partition(self._rows(), self.n_clusters, self.rng))]


def beyond_chance(Z: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> float:
    """How much more k-means explains of centred rows Z (n x p) than of one Gaussian group with the same covariance.

    The idea is that of SigClust (Liu, Hayes, Nobel & Marron 2008).
    """
    Z = coordinates(Z)
    if len(Z) > _TRUST_ROWS:
        Z = Z[np.sort(rng.choice(len(Z), _TRUST_ROWS, replace=False))]
        Z = Z - Z.mean(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    factor = vectors * np.sqrt(np.maximum(values, 0))
    draws = [rng.normal(size=Z.shape) @ factor.T for _ in range(_DRAWS)]
    with one_blas_thread():  # products of this size are slower on several
        chance = np.mean([_explained(draw - draw.mean(axis=0), n_clusters, rng) for draw in draws])
        return float(_explained(Z, n_clusters, rng) / max(chance, np.finfo(float).tiny))


def _explained(Z: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> float:
    """The share of the variance of centred rows that k-means explains."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    inertia = best_kmeans(Z, n_clusters, _TRUST_RUNS, seed, max_iter=_TRUST_ITERATIONS).inertia
    return float(1 - inertia / max((Z**2).sum(), np.finfo(float).tiny))


def _links(Z: np.ndarray) -> np.ndarray:
    """The sum of each column's squared correlations with all others (p), from centred rows Z (n x p), which it scales.

    It takes one product with the smaller of the two inner products: 100,000 rows must not meet in a table of n x n.
    """
    deviations = np.sqrt(np.concatenate([(Z[:, columns] ** 2).sum(axis=0) for columns in columns_at_once(Z)]))
    Z /= np.where(deviations > 0, deviations, 1.0)
    if Z.shape[0] > Z.shape[1]:
        return np.einsum("np,np->p", Z, Z @ (Z.T @ Z))
    inner = products(Z)
    return np.concatenate([np.einsum("np,np->p", Z[:, c], inner @ Z[:, c]) for c in columns_at_once(Z)])


def _without_factor(Z: np.ndarray) -> np.ndarray:
    """Z (n x p) less its first principal component, in its own memory."""
    if Z.shape[0] <= Z.shape[1]:
        u = np.linalg.eigh(products(Z))[1][:, -1]
        v = u.astype(Z.dtype) @ Z
    else:
        v = np.linalg.eigh(Z.T @ Z)[1][:, -1]
        u = Z @ v
    for columns in columns_at_once(Z):
        Z[:, columns] -= np.outer(u, v[columns])
    return Z
