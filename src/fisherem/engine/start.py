"""Where the loop starts: a partition (n labels) or posteriors (n x K). No start looks at anything but the rows."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

__all__ = ["STARTS", "distinct_rows", "kmeans_start", "random_start", "ward_labels", "ward_start"]

# Up to this many values, equal rows are merged into weighted ones before a start is looked for, so that a row of
# weight 2 and the same row twice lead to the same start; beyond it the start comes from a sample of rows.
_EXACT_ELEMENTS = 2**22
# Rows for a start on large data: k-means centres of a sample this large lie within a percent or so of the final ones.
_SAMPLE_ROWS = 20_000
# Ward needs all pairwise distances.
_WARD_ROWS = 3_000


def distinct_rows(Y: np.ndarray, weights: np.ndarray | None):
    """Equal rows merged, in an order that does not depend on that of the rows.

    Returns (one row's index per distinct row, their weights, the distinct row of each row or -1 for weight 0).
    """
    n, p = Y.shape
    w = np.ones(n) if weights is None else weights
    # A fixed random projection sorts the rows; equal rows are neighbours then (and are compared to be sure)
    key = (Y * np.random.default_rng(0).normal(size=p)).sum(axis=1)
    order = np.argsort(key, kind="stable")
    new = np.ones(n, bool)
    equal = np.flatnonzero(key[order][1:] == key[order][:-1]) + 1
    if len(equal):
        new[equal] = (Y[order[equal]] != Y[order[equal - 1]]).any(axis=1)
    group = np.cumsum(new) - 1
    index = np.empty(n, int)
    index[order] = group
    merged = np.bincount(index, weights=w, minlength=group[-1] + 1)
    present = merged > 0
    renumber = np.cumsum(present) - 1
    return order[new][present], merged[present], np.where(present[index], renumber[index], -1)


def _sample(Y, weights, size, rng):
    n = len(Y)
    if n <= size:
        return Y, weights
    chosen = np.sort(rng.choice(n, size, replace=False, p=None if weights is None else weights / weights.sum()))
    return np.asarray(Y[chosen]), None  # drawn by weight: they count the same from here on


def kmeans_start(problem, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Labels of a k-means run (k-means++ seeds)."""
    rows = problem.rows
    Y, weights = rows.Y, rows.weights
    exact = Y.size <= _EXACT_ELEMENTS
    if exact:
        chosen, sample_weights, index = distinct_rows(problem.source, weights)
        sample = Y[chosen]
    else:
        sample, sample_weights = _sample(Y, weights, _SAMPLE_ROWS, rng)
    kmeans = KMeans(n_clusters, n_init=1, random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters is checked before
        kmeans.fit(sample - rows.centre if Y.dtype != np.float32 else sample, sample_weight=sample_weights)
    if exact:
        return np.where(index >= 0, kmeans.labels_[index], 0)
    centres = kmeans.cluster_centers_ + (0 if Y.dtype != np.float32 else -rows.centre)
    half = 0.5 * np.einsum("kj,kj->k", centres, centres)
    return np.concatenate([np.argmax(block @ centres.T - half, axis=1) for block in rows.tiles()])


def random_start(problem, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """A partition drawn from a multinomial with equal probabilities, as in the paper's section 4.2."""
    labels = rng.randint(n_clusters, size=problem.rows.n)
    labels[rng.permutation(problem.rows.n)[:n_clusters]] = np.arange(n_clusters)  # none empty
    return labels


def ward_labels(Y: np.ndarray, weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Ward's clustering of weighted rows, by chains of nearest neighbours and the Lance-Williams update.

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
    # chains find merges out of order: the n - K lowest of them make the K groups
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


def ward_start(problem, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Labels of Ward's hierarchical clustering (of a sample when there are many rows, then by nearest mean)."""
    rows = problem.rows
    if rows.Y.size <= _EXACT_ELEMENTS:
        chosen, weights, index = distinct_rows(problem.source, rows.weights)
        if len(chosen) <= _WARD_ROWS:
            labels = ward_labels(rows.Y[chosen] - rows.centre, weights, n_clusters)
            return np.where(index >= 0, labels[index], 0)
    sample, weights = _sample(rows.Y, rows.weights, _WARD_ROWS, rng)
    sample = sample - rows.centre
    weights = np.ones(len(sample)) if weights is None else weights
    labels = ward_labels(sample, weights, n_clusters)
    member = (labels == np.arange(n_clusters)[:, None]) * weights
    centres = member @ sample / member.sum(axis=1, keepdims=True)
    half = 0.5 * np.einsum("kj,kj->k", centres, centres)
    return np.concatenate([np.argmax(block @ centres.T - half, axis=1) for block in rows.tiles()])


STARTS = {"kmeans": kmeans_start, "random": random_start, "ward": ward_start}
