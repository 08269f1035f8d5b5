"""Several runs of k-means at once: one matrix product gives the distances of the rows from the centres of all runs.

    minimise  sum_i w_i |z_i - c_{label(i)}|^2        z (n x p), c (K x p), in every run

A run draws the same random numbers as scikit-learn's `KMeans(n_init=1, random_state=seed)` and stops by the same rule,
so it ends in the same partition. Ten separate runs would have ten times Python's overhead, which is
most of the cost on small tables, and would read the rows ten times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

__all__ = ["KMeansRun", "best_kmeans", "greedy_plus_plus", "kmeans_runs", "lloyd", "nearest"]

# Scores computed at once (512 kB), so that they stay in the cache between the product, the comparison and the sums.
_SCORES = 2**16
# With more groups, adding each row to its own sum is faster than a product with the groups' members.
_FEW_GROUPS = 8
# Distances kept at once while centres are drawn (64 MB); with more rows, fewer runs are processed together.
_DISTANCES = 2**23
# A run has converged when its centres move by less than this share of the mean variance (squared, summed), and the
# limit on iterations: scikit-learn's defaults.
_TOLERANCE, _MOST_ITERATIONS = 1e-4, 300


@dataclass(frozen=True)
class KMeansRun:
    """The result of one run."""

    labels: np.ndarray  # (n,)
    centres: np.ndarray  # (K, p)
    inertia: float

    def predict(self, Z: np.ndarray) -> np.ndarray:
        """The nearest centre of each row of Z (m x p)."""
        return _assign(Z, self.centres[None], None).labels[0].astype(int)


def kmeans_runs(
    Z: np.ndarray, n_clusters: int, seeds: Sequence[int] | np.ndarray, weights: np.ndarray | None = None
) -> list[KMeansRun]:
    """A run for each seed on rows Z (n x p) with weights (n)."""
    generator = np.random.RandomState(0)
    draws = np.empty((len(seeds), _n_draws(n_clusters)))
    for own, seed in zip(draws, seeds, strict=True):
        generator.seed(seed)  # a new generator for each would take 0.1 ms
        own[:] = generator.random_sample(draws.shape[1])
    return _runs(Z, n_clusters, draws, weights)


def best_kmeans(Z: np.ndarray, n_clusters: int, n_init: int, seed: int, weights: np.ndarray | None = None) -> KMeansRun:
    """The run with the lowest inertia on rows Z (n x p), as in `KMeans(n_init=..., random_state=seed)`."""
    draws = np.random.RandomState(seed).random_sample((n_init, _n_draws(n_clusters)))
    return min(_runs(Z, n_clusters, draws, weights), key=lambda run: run.inertia)


def _runs(Z: np.ndarray, n_clusters: int, draws: np.ndarray, weights) -> list[KMeansRun]:
    centre = Z.mean(axis=0)
    Z = Z - centre
    norms = np.einsum("ij,ij->i", Z, Z)
    total = float(norms.sum() if weights is None else weights @ norms)
    tol = _TOLERANCE * float(Z.var(axis=0).mean())
    found = []
    at_once = max(1, _DISTANCES // (_trials(n_clusters) * len(Z)))
    for first in range(0, len(draws), at_once):
        starts = greedy_plus_plus(Z, n_clusters, draws[first : first + at_once], weights)
        for labels, centres, value in zip(*lloyd(Z, starts, _MOST_ITERATIONS, weights=weights, tol=tol), strict=True):
            found.append(KMeansRun(labels.astype(int), centres + centre, max(total - float(value), 0.0)))
    return found


def _trials(n_clusters: int) -> int:
    """The number of candidates for each centre after the first."""
    return 2 + int(np.log(n_clusters))


def _n_draws(n_clusters: int) -> int:
    """The number of random numbers per run."""
    return 1 + (n_clusters - 1) * _trials(n_clusters)


def greedy_plus_plus(
    Z: np.ndarray, n_clusters: int, draws: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Greedy k-means++: centres (R x K x p) among the rows of Z (n x p), from uniform numbers for each of R runs.

    Each centre is the best of 2 + log K rows, drawn with probabilities proportional to their weights times their
    squared distances from the nearest of the centres before it.
    """
    n, R, trials = len(Z), len(draws), _trials(n_clusters)
    w = np.ones(n) if weights is None else weights
    norms = np.einsum("ij,ij->i", Z, Z)
    cumulated = np.cumsum(w / w.sum())
    chosen = np.empty((R, n_clusters), int)
    chosen[:, 0] = np.searchsorted(cumulated / cumulated[-1], draws[:, 0], side="right").clip(0, n - 1)
    nearest = _distances(Z, norms, chosen[:, 0])
    for k in range(1, n_clusters):
        mass = np.cumsum(w * nearest, axis=1)
        values = draws[:, 1 + (k - 1) * trials : 1 + k * trials] * mass[:, -1:]
        rows = np.array([np.searchsorted(own, value) for own, value in zip(mass, values, strict=True)]).clip(0, n - 1)
        shorter = np.minimum(nearest[:, None], _distances(Z, norms, rows.ravel()).reshape(R, trials, n))
        best = (shorter @ w).argmin(axis=1)
        nearest = shorter[np.arange(R), best]
        chosen[:, k] = rows[np.arange(R), best]
    return Z[chosen]


def _distances(Z: np.ndarray, norms: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """out[a, i] = |z_i - z_rows[a]|^2"""
    out = -2 * (Z[rows] @ Z.T)
    out += norms
    out += norms[rows][:, None]
    np.maximum(out, 0, out=out)
    out[np.arange(len(rows)), rows] = 0  # exactly
    return out


def lloyd(
    Z: np.ndarray, centres: np.ndarray, max_iter: int, *, weights: np.ndarray | None = None, tol: float = 0.0,
    refill: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Lloyd's algorithm on Z (n x p) from R starts: (labels R x n, centres R x K x p, values R).

    A run ends when its labels do not change, or when its centres move by no more than `tol` (squared, summed). Its
    value is sum_i w_i (2 c'z_i - |c|^2) with the nearest c, for centred rows the between-cluster sum of squares. A
    centre without rows is moved to the row that is farthest from its own centre, or left in place without `refill`.
    The labels are those of the nearest centres: `max_iter` updates of the centres and as many assignments plus one.
    """
    R, K, _ = centres.shape
    centres = centres.astype(Z.dtype)  # so that single-precision rows are not copied
    labels = np.full((R, len(Z)), -1, _label_type(K))
    values = np.zeros(R)
    going, arrived = np.arange(R), np.zeros(R, bool)
    for i in range(max_iter + 1):
        found = _assign(Z, centres[going], weights)
        same = (found.labels == labels[going]).all(axis=1)
        labels[going], values[going] = found.labels, found.values
        keep = ~same & ~arrived[going]
        if i == max_iter or not keep.any():
            break
        going = going[keep]
        old = centres[going]
        new = found.means(old, keep)
        for run in np.flatnonzero((found.counts[keep] <= 0).any(axis=1) & refill):
            _refill(Z, new[run], labels[going[run]], found.counts[keep][run])
        centres[going] = new
        new -= old
        new *= new
        arrived[going] = new.sum(axis=(1, 2)) <= tol
        del found, old, new  # as large as the rows for wide tables
    return labels, centres, values


@dataclass(frozen=True)
class _Assigned:
    """The nearest centres of the rows in every run, and the sums for the next centres."""

    labels: np.ndarray  # (R, n)
    values: np.ndarray  # (R,)
    counts: np.ndarray  # (R, K), sums of weights
    sums: np.ndarray  # (R, K, p)

    def means(self, before: np.ndarray, which: np.ndarray) -> np.ndarray:
        """The centres of some runs; centres without rows keep their place."""
        counts = self.counts[which][:, :, None]
        means = np.asarray(self.sums[which], counts.dtype)
        np.divide(means, counts, out=means, where=counts > 0)
        np.copyto(means, before, where=counts <= 0)
        return means


def _assign(Z: np.ndarray, centres: np.ndarray, weights: np.ndarray | None) -> _Assigned:
    """One pass over the rows, in pieces that fit the cache."""
    R, K, p = centres.shape
    n = len(Z)
    flat = centres.reshape(R * K, p)
    half = 0.5 * np.einsum("kj,kj->k", flat, flat)[:, None]
    labels = np.empty((R, n), _label_type(K))
    values, counts, sums = np.zeros(R), np.zeros(R * K), np.zeros((R * K, p), Z.dtype)
    groups = np.arange(K, dtype=labels.dtype)[:, None]
    step = max(1, _SCORES // (R * K))
    for start in range(0, n, step):
        piece = Z[start : start + step]
        scores = flat @ piece.T  # c'z - |c|^2 / 2 is largest at the nearest centre
        scores -= half
        best, own = nearest(scores.reshape(R, K, -1))
        labels[:, start : start + step] = own
        values += best.sum(axis=1) if weights is None else best @ weights[start : start + step]
        if K > _FEW_GROUPS:
            continue
        member = (own[:, None] == groups).astype(Z.dtype).reshape(R * K, -1)
        if weights is not None:
            member *= weights[start : start + step]
        counts += member.sum(axis=1)
        sums += member @ piece
    if K > _FEW_GROUPS:
        counts, sums = _sums_of_many(Z, labels, K, weights)
    return _Assigned(labels, 2 * values, counts.reshape(R, K), sums.reshape(R, K, p))


def _sums_of_many(Z: np.ndarray, labels: np.ndarray, K: int, weights) -> tuple[np.ndarray, np.ndarray]:
    """(weights (R K), sums of rows (R K x p)) of the groups in every run, by adding each row to R of the sums."""
    R, n = labels.shape
    cells = (labels.T + np.arange(R, dtype=np.int32) * K).ravel()  # row by row
    ones = np.ones(len(cells), Z.dtype) if weights is None else np.repeat(weights, R).astype(Z.dtype)
    member = csc_array((ones, cells, np.arange(0, len(cells) + 1, R)), shape=(R * K, n))
    return np.bincount(cells, ones, R * K), member @ Z


def nearest(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(largest score (R x m), its centre (R x m), the first if tied), from scores (R x K x m).

    A loop over the centres, because NumPy's argmax along a short axis takes ten times as long.
    """
    best = scores[:, 0].copy()
    own = np.zeros(best.shape, _label_type(scores.shape[1]))
    for k in range(1, scores.shape[1]):
        better = (scores[:, k] > best).astype(own.dtype, copy=False)
        better *= own.dtype.type(k)
        np.maximum(own, better, out=own)
        np.maximum(best, scores[:, k], out=best)
    return best, own


def _label_type(n_clusters: int) -> type[np.signedinteger]:
    """A small integer type, which is faster to compare."""
    return np.int8 if n_clusters < 127 else np.int32


def _refill(Z: np.ndarray, centres: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> None:
    """Move the centres of a run that have no rows to the rows farthest from their own centres."""
    distances = ((Z - centres[labels]) ** 2).sum(axis=1)
    empty = np.flatnonzero(counts <= 0)
    for k, row in zip(empty, np.argsort(-distances, kind="stable"), strict=False):
        centres[k] = Z[row]
