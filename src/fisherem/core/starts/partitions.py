"""Initial partitions of the rows.

A start is an array of n labels or, for large data, a rule that fills the posteriors of any block (`Centres`,
`RandomPartition`). Starts depend only on the rows and the seed, not on blocks, files or workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from ..._utils.agreement import adjusted_rand
from ..._utils.register import Register
from ...rows.base import Rows
from ...rows.threads import one_blas_thread
from ...solvers.kmeans_runs import KMeansRun, kmeans_runs
from ..data.sampling import Centres, RandomPartition, one_sample

__all__ = [
    "STARTS", "distinct_rows", "is_large", "kmeans_partitions", "kmeans_starts", "pieces", "random_starts",
    "rows_at", "sample_centres", "ward_labels", "ward_starts",
]  # fmt: skip

# Up to this many values, equal rows are merged into weighted ones before a start is computed, so that a row of weight 2
# and the same row twice lead to the same start. Beyond it the start is computed from a sample of rows.
_EXACT_ELEMENTS = 2**22
# The number of k-means runs. On usps358 one run in three ends in the best partition: ten runs miss it once in fifty.
_KMEANS_RUNS = 20
# On large data the runs use this many rows, and the selected ones are continued on the whole sample. The local minimum
# of a run is decided by few rows, and ten runs on the whole sample took two thirds of a fit (38,400 x 256, K=5).
_RUN_ROWS = 2_000
# Partitions that agree more than this (adjusted Rand index) are duplicates.
_SAME_PARTITION = 0.95
# Ward needs all pairwise distances.
_WARD_ROWS = 3_000
# Values that are processed at once when rows are compared (32 MB).
_PIECE = 2**22


def distinct_rows(Y: np.ndarray | Rows, weights: np.ndarray | None):
    """Merge equal rows, in an order that does not depend on the order of the rows.

    Returns (one row's index per distinct row, their weights, the distinct row of each row or -1 for weight 0).
    """
    n, p = (Y.n, Y.p) if isinstance(Y, Rows) else Y.shape
    w = np.ones(n) if weights is None else weights
    # Sort by a fixed random projection, so that equal rows are adjacent, and compare neighbours with equal keys
    direction = np.random.default_rng(0).normal(size=p)
    key = np.concatenate([(rows_at(Y, piece) * direction).sum(axis=1) for piece in pieces(n, p)])
    order = np.argsort(key, kind="stable")
    new = np.ones(n, bool)
    equal = np.flatnonzero(key[order][1:] == key[order][:-1]) + 1
    for piece in pieces(len(equal), p):
        some = equal[piece]
        new[some] = (rows_at(Y, order[some]) != rows_at(Y, order[some - 1])).any(axis=1)
    group = np.cumsum(new) - 1
    index = np.empty(n, int)
    index[order] = group
    merged = np.bincount(index, weights=w, minlength=group[-1] + 1)
    present = merged > 0
    renumber = np.cumsum(present) - 1
    return order[new][present], merged[present], np.where(present[index], renumber[index], -1)


def rows_at(Y: np.ndarray | Rows, index: np.ndarray) -> np.ndarray:
    """Rows by number, in any order; engines return them in ascending order only."""
    if not isinstance(Y, Rows):
        return Y[index]
    order = np.argsort(index)
    taken = Y.take(index[order])
    out = np.empty_like(taken)
    out[order] = taken
    return out


def pieces(n: int, p: int) -> list[np.ndarray]:
    """The numbers of n rows of p values, in pieces that fit 32 MB."""
    step = max(1, _PIECE // p)
    return [np.arange(i, min(i + step, n)) for i in range(0, n, step)]


def is_large(problem) -> bool:
    """Whether starts come from a sample of the rows."""
    return problem.rows.n * problem.rows.p > _EXACT_ELEMENTS


def kmeans_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """The best k-means partition, then other distinct ones, then random partitions if there are not enough.

    Many runs of k-means end in the same few partitions, so fitting from each run would repeat the same work. The order
    by inertia is not that by likelihood.
    """
    if is_large(problem):
        starts: list[Any] = sample_centres(one_sample(problem, rng), n_clusters, n_init, rng)
    else:
        starts = list(kmeans_partitions(problem, n_clusters, rng, _KMEANS_RUNS)[:n_init])
    return starts + random_starts(problem, n_clusters, n_init - len(starts), rng)


def kmeans_partitions(problem, n_clusters: int, rng: np.random.RandomState, runs: int) -> list[np.ndarray]:
    """Labels (n) of distinct k-means partitions of rows in memory, lowest inertia first."""
    rows = problem.rows
    chosen, weights, index = distinct_rows(problem.given, rows.weights)
    different = _different(rows.everything()[chosen] - rows.centre, weights, n_clusters, rng, runs)
    return [np.where(index >= 0, run.labels[index], 0) for run in different]


def sample_centres(sample: np.ndarray, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Centres]:
    """Centres of k-means on a sample of large data, as different as `kmeans_starts` are."""
    part = sample
    if len(sample) > (size := max(_RUN_ROWS, 50 * n_clusters)):
        part = sample[np.sort(rng.choice(len(sample), size, replace=False))]
    return [Centres(_go_on(run, sample)) for run in _different(part, None, n_clusters, rng)[:n_init]]


def _different(
    sample, weights, n_clusters: int, rng: np.random.RandomState, runs: int = _KMEANS_RUNS
) -> list[KMeansRun]:
    """k-means runs with distinct partitions, the best first; ties are broken by the order of the seeds."""
    seeds = rng.randint(np.iinfo(np.int32).max, size=runs)
    with one_blas_thread():
        fitted = kmeans_runs(sample, n_clusters, seeds, weights)
    different: list[KMeansRun] = []
    # number the groups in the same way whatever the rounding
    for run in sorted(fitted, key=lambda run: float(f"{run.inertia:.9e}")):
        if all(adjusted_rand(run.labels, other.labels) < _SAME_PARTITION for other in different):
            different.append(run)
    return different


def _go_on(run: KMeansRun, sample: np.ndarray) -> np.ndarray:
    """Centres of a run on few rows after k-means from them on the whole sample."""
    return KMeans(len(run.centres), init=run.centres, n_init=1, copy_x=False).fit(sample).cluster_centers_


def random_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """Partitions drawn from a multinomial with equal probabilities, as in the paper's section 4.2; none empty.

    Equal rows are drawn together, so that a row of weight 2 is equivalent to the row twice.
    """
    if n_init <= 0:
        return []
    if is_large(problem):
        return [RandomPartition(int(seed)) for seed in rng.randint(np.iinfo(np.int32).max, size=n_init)]
    chosen, _, index = distinct_rows(problem.given, problem.rows.weights)
    n = len(chosen)
    starts = []
    for _ in range(n_init):
        labels = rng.randint(n_clusters, size=n)
        labels[rng.permutation(n)[:n_clusters]] = np.arange(n_clusters)
        starts.append(np.where(index >= 0, labels[index], 0))
    return starts


def ward_labels(Y: np.ndarray, weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Ward's clustering of weighted rows, by nearest-neighbour chains and the Lance-Williams update.

    The distance between groups a and b is w_a w_b / (w_a + w_b) |mean_a - mean_b|^2.
    """
    n = len(Y)
    norms = np.einsum("ij,ij->i", Y, Y)
    D = np.maximum(norms[:, None] + norms - 2 * (Y @ Y.T), 0)
    w = weights.astype(float).copy()
    D *= w[:, None] * w / (w[:, None] + w)
    np.fill_diagonal(D, np.inf)
    alive = np.ones(n, bool)
    merges: list[tuple[float, int, int]] = []
    chain: list[int] = []
    for _ in range(n - 1):
        if not chain:
            chain = [int(np.argmax(alive))]
        while True:
            a = chain[-1]
            b = int(np.argmin(D[a]))
            if len(chain) > 1 and D[a, chain[-2]] <= D[a, b]:
                b = chain[-2]
                break
            chain.append(b)
        height = D[a, b]
        chain = chain[:-2]
        a, b = min(a, b), max(a, b)
        merges.append((height, a, b))
        others = alive.copy()
        others[[a, b]] = False
        wo = w[others]
        row = ((w[a] + wo) * D[a, others] + (w[b] + wo) * D[b, others] - wo * height) / (w[a] + w[b] + wo)
        D[a, others] = D[others, a] = row
        D[b] = D[:, b] = np.inf
        alive[b] = False
        w[a] += w[b]
    # chains find merges out of order; the n - K lowest give the K groups
    parent = np.arange(n)

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for _, a, b in sorted(merges, key=lambda m: m[0])[: n - n_clusters]:
        parent[root(b)] = root(a)
    roots = np.array([root(i) for i in range(n)])
    return np.unique(roots, return_inverse=True)[1]


def ward_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """Ward's hierarchical clustering, a single start because it is deterministic.

    With many rows it clusters a sample, and each row starts in the group of the nearest mean.
    """
    del n_init
    rows = problem.rows
    if not is_large(problem):
        chosen, weights, index = distinct_rows(problem.given, rows.weights)
        if len(chosen) <= _WARD_ROWS:
            labels = ward_labels(rows.everything()[chosen] - rows.centre, weights, n_clusters)
            return [np.where(index >= 0, labels[index], 0)]
    sample = one_sample(problem, rng, _WARD_ROWS)
    member = (ward_labels(sample, np.ones(len(sample)), n_clusters) == np.arange(n_clusters)[:, None]).astype(float)
    return [Centres(member @ sample / member.sum(axis=1, keepdims=True))]


# A start: (problem, n_clusters, n_init, random state) -> starting points.
Start = Callable[[Any, int, int, np.random.RandomState], list[Any]]
STARTS: Register[Start] = Register("start", {"kmeans": kmeans_starts, "random": random_starts, "ward": ward_starts})
