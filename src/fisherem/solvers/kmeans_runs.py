"""k-means runs side by side: one product with the rows serves the centres of all of them.

    minimise  sum_i w_i |z_i - c_{label(i)}|^2        z (n x p), c (K x p), in every run

A run draws what `KMeans(n_init=1, random_state=seed)` of scikit-learn draws and stops by the same rule, so it ends in
the same partition. Ten runs one after the other cost ten times Python's price of one, which on small tables is most of
it, and read the rows ten times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["KMeansRun", "best_kmeans", "greedy_plus_plus", "kmeans_runs", "lloyd"]

# Scores that are worked on at once (512 kB): they stay in the cache between the product, the comparison and the sums.
_SCORES = 2**16
# Distances that are kept at once while centres are drawn (64 MB): more rows than that have fewer runs side by side.
_DISTANCES = 2**23
# Centres that move by less than this share of the mean variance (squared, summed) have arrived, and how long that may
# take: what scikit-learn uses.
_TOLERANCE, _MOST_ITERATIONS = 1e-4, 300


@dataclass(frozen=True)
class KMeansRun:
    """How one run ended."""

    labels: np.ndarray  # (n,)
    centres: np.ndarray  # (K, p)
    inertia: float

    def predict(self, Z: np.ndarray) -> np.ndarray:
        """The nearest centre of each row of Z (m x p)."""
        return _assign(Z, self.centres[None], None).labels[0].astype(int)


def kmeans_runs(
    Z: np.ndarray,
    n_clusters: int,
    seeds: Sequence[int] | np.ndarray,
    weights: np.ndarray | None = None,
    max_iter: int = _MOST_ITERATIONS,
) -> list[KMeansRun]:
    """A run for each seed on rows Z (n x p) with weights (n)."""
    generator = np.random.RandomState(0)
    draws = np.empty((len(seeds), _n_draws(n_clusters)))
    for own, seed in zip(draws, seeds, strict=True):
        generator.seed(seed)  # a generator of its own for each would take 0.1 ms
        own[:] = generator.random_sample(draws.shape[1])
    return _runs(Z, n_clusters, draws, weights, max_iter)


def best_kmeans(
    Z: np.ndarray,
    n_clusters: int,
    n_init: int,
    seed: int,
    weights: np.ndarray | None = None,
    max_iter: int = _MOST_ITERATIONS,
) -> KMeansRun:
    """The run of least inertia on rows Z (n x p), as `KMeans(n_init=..., random_state=seed)` finds it."""
    draws = np.random.RandomState(seed).random_sample((n_init, _n_draws(n_clusters)))
    return min(_runs(Z, n_clusters, draws, weights, max_iter), key=lambda run: run.inertia)


def _runs(Z: np.ndarray, n_clusters: int, draws: np.ndarray, weights, max_iter: int) -> list[KMeansRun]:
    centre = Z.mean(axis=0)
    Z = Z - centre
    norms = np.einsum("ij,ij->i", Z, Z)
    total = float(norms.sum() if weights is None else weights @ norms)
    tol = _TOLERANCE * float(Z.var(axis=0).mean())
    found = []
    at_once = max(1, _DISTANCES // (_trials(n_clusters) * len(Z)))
    for first in range(0, len(draws), at_once):
        starts = greedy_plus_plus(Z, n_clusters, draws[first : first + at_once], weights)
        for labels, centres, value in zip(*lloyd(Z, starts, max_iter, weights=weights, tol=tol), strict=True):
            found.append(KMeansRun(labels.astype(int), centres + centre, max(total - float(value), 0.0)))
    return found


def _trials(n_clusters: int) -> int:
    """Rows that are drawn for each centre after the first."""
    return 2 + int(np.log(n_clusters))


def _n_draws(n_clusters: int) -> int:
    """Random numbers that one run needs."""
    return 1 + (n_clusters - 1) * _trials(n_clusters)


def greedy_plus_plus(
    Z: np.ndarray, n_clusters: int, draws: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Greedy k-means++: centres (R x K x p) among the rows of Z (n x p), from numbers in [0, 1) for each of R runs.

    The next centre is the best of 2 + log K rows, each drawn with a probability proportional to its weight times its
    squared distance from the nearest centre before it.
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
    out[np.arange(len(rows)), rows] = 0  # not rounding
    return out


def lloyd(
    Z: np.ndarray, centres: np.ndarray, max_iter: int, *, weights: np.ndarray | None = None, tol: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lloyd's iterations on Z (n x p) from R starts: (labels R x n, centres R x K x p, values R).

    A run ends when no row of it moves, or when its centres move by no more than `tol` (squared, summed). Its value is
    sum_i w_i (2 c'z_i - |c|^2) with the nearest c: for centred rows the between-cluster sum of squares. A centre that
    has lost its rows goes to the row that is farthest from its own centre.
    """
    R, K, _ = centres.shape
    centres = centres.astype(Z.dtype)  # rows in single precision are not copied
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
        old, new = centres[going], found.means(centres[going], keep)
        for run in np.flatnonzero((found.counts[keep] <= 0).any(axis=1)):
            _refill(Z, new[run], labels[going[run]], found.counts[keep][run])
        centres[going] = new
        arrived[going] = ((new - old) ** 2).sum(axis=(1, 2)) <= tol
    return labels, centres, values


@dataclass(frozen=True)
class _Assigned:
    """The rows' nearest centres in every run, with what the next centres are made of."""

    labels: np.ndarray  # (R, n)
    values: np.ndarray  # (R,)
    counts: np.ndarray  # (R, K), weights added up
    sums: np.ndarray  # (R, K, p)

    def means(self, before: np.ndarray, which: np.ndarray) -> np.ndarray:
        """The centres of some runs; those without rows as they were before."""
        counts = self.counts[which][:, :, None]
        return np.where(counts > 0, self.sums[which] / np.maximum(counts, np.finfo(float).tiny), before)


def _assign(Z: np.ndarray, centres: np.ndarray, weights: np.ndarray | None) -> _Assigned:
    """One pass over the rows, in pieces that stay in the cache."""
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
        best, own = _nearest(scores.reshape(R, K, -1))
        labels[:, start : start + step] = own
        member = (own[:, None] == groups).astype(Z.dtype).reshape(R * K, -1)
        if weights is None:
            values += best.sum(axis=1)
        else:
            values += best @ weights[start : start + step]
            member *= weights[start : start + step]
        counts += member.sum(axis=1)
        sums += member @ piece
    return _Assigned(labels, 2 * values, counts.reshape(R, K), sums.reshape(R, K, p))


def _nearest(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the largest score (R x m), its centre (R x m); the first of equal ones), from scores (R x K x m).

    Centre by centre, along the rows and without branches: NumPy's argmax over few values at a time takes ten times as
    long.
    """
    best = scores[:, 0].copy()
    own = np.zeros(best.shape, _label_type(scores.shape[1]))
    for k in range(1, scores.shape[1]):
        better = (scores[:, k] > best).astype(own.dtype, copy=False)
        better *= own.dtype.type(k)
        np.maximum(own, better, out=own)  # k only grows
        np.maximum(best, scores[:, k], out=best)
    return best, own


def _label_type(n_clusters: int) -> type[np.signedinteger]:
    """Small labels are compared faster."""
    return np.int8 if n_clusters < 127 else np.int32


def _refill(Z: np.ndarray, centres: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> None:
    """Put the centres of one run that have no rows to the rows that are farthest from their own centre."""
    distances = ((Z - centres[labels]) ** 2).sum(axis=1)
    empty = np.flatnonzero(counts <= 0)
    for k, row in zip(empty, np.argsort(-distances, kind="stable"), strict=False):
        centres[k] = Z[row]
