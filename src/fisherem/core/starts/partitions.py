"""Initial partitions of the rows, and how much two partitions agree.

A start is an array of n labels or, for large data, a rule that fills the posteriors of any block (`Centres`,
`RandomPartition`). Starts depend only on the rows and the seed, not on blocks, files or workers.

Two kinds of starts are for data whose noise misleads k-means. Sparse k-means looks for groups in few of the variables.
k-means in the metric (S + 0.1 v I)^-1/2, v the mean variance, removes the directions common to all rows (size,
brightness, batch), but is less precise if n is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.cluster import KMeans

from ..._utils.register import Register
from ...rows.base import Rows, one_blas_thread
from ...solvers.kmeans_runs import KMeansRun, best_kmeans, kmeans_runs
from ...solvers.sparse_kmeans import alternate, dense_start
from ...solvers.ward import ward_labels
from ..data.sampling import Centres, RandomPartition, one_sample

__all__ = [
    "LARGE", "STARTS", "Start", "adjusted_rand", "centred_rows", "columns_at_once", "coordinates", "distinct_rows",
    "in_shrunk_metric", "is_large", "kmeans_partitions", "kmeans_starts", "pieces", "principal", "products",
    "random_starts", "rows_at", "sample_centres", "shrunk", "shrunk_kmeans_starts", "shrunk_partition",
    "sparse_kmeans_starts", "sparse_partitions", "start_of", "ward_starts",
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
# Values that are processed at once when rows are compared (8 MB).
_PIECE = 2**20
# Bounds of sparse k-means, as shares of sqrt(p): from about two variables to a third of them.
_BOUNDS, _LEAST_BOUND, LARGEST_SHARE = 4, 1.5, 0.6
_RUNS, _ITERATIONS, _TOLERANCE = 10, 20, 1e-4
# The share of the mean variance that is added before the metric is inverted, so that directions with less variance,
# which are mostly noise, are not amplified.
_SHRINKAGE = 0.1
# Values (128 MB) beyond which no second array of the size of the rows is allocated.
LARGE = 2**24
_DISTINCT: WeakKeyDictionary[Rows, tuple[np.ndarray, np.ndarray, np.ndarray]] = WeakKeyDictionary()


def adjusted_rand(one: np.ndarray, other: np.ndarray) -> float:
    """The adjusted Rand index of two label arrays (n, integers from 0), as scikit-learn has it.

    scikit-learn's checks of its arguments take a hundred times as long as the sums of a few hundred rows.
    """
    one, other = np.asarray(one), np.asarray(other)
    K = int(other.max(initial=0)) + 1
    cells = np.bincount(one * K + other, minlength=(int(one.max(initial=0)) + 1) * K).reshape(-1, K).astype(float)
    n = cells.sum()
    together = (cells**2).sum() - n
    rows, columns = (cells.sum(axis=1) ** 2).sum() - n, (cells.sum(axis=0) ** 2).sum() - n
    chance = rows * columns / max(n * (n - 1), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == chance else float((together - chance) / (most - chance))


def distinct_rows(Y: np.ndarray | Rows, weights: np.ndarray | None):
    """Merge equal rows, in an order that does not depend on the order of the rows.

    Returns (one row's index per distinct row, their weights, the distinct row of each row or -1 for weight 0). Those of
    a data set are looked for once.
    """
    if not isinstance(Y, Rows) or weights is not Y.weights:
        return _merged(Y, weights)
    if Y not in _DISTINCT:
        _DISTINCT[Y] = _merged(Y, weights)
    return _DISTINCT[Y]


def _merged(Y: np.ndarray | Rows, weights: np.ndarray | None):
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
    """The numbers of n rows of p values, in pieces that fit 8 MB."""
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
        if not fit.reason and all(adjusted_rand(fit.labels, other) < _SAME_PARTITION for other in found):
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


def sparse_kmeans_starts(problem, n_clusters: int, n_init: int, rng: np.random.RandomState) -> list[Any]:
    """Partitions of sparse k-means at several bounds, at most `n_init`."""
    return _on_rows(problem, n_clusters, rng, lambda Z: sparse_partitions(Z, n_clusters, rng))[:n_init]


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
    rounding error of these count as constant in every shrunk metric.
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


@dataclass(frozen=True)
class Start:
    """A kind of start: (problem, n_clusters, n_init, random state) -> starting points, and what is known of them.

    An entry of the register may be the function alone.
    """

    make: Callable[[Any, int, int, np.random.RandomState], list[Any]]
    # whether the first one is better than the one whose fit is most likely
    best_first: bool = False
    # whether the partitions tell groups apart, so that they can say how many axes are needed
    separates: bool = True
    # (sample, n_clusters, n_init, random state) -> centres, for large data; None: `make` decides
    of_sample: Callable[[np.ndarray, int, int, np.random.RandomState], list[Centres]] | None = None

    def __call__(self, *given: Any) -> list[Any]:
        return self.make(*given)


def start_of(init: Any) -> Start:
    """The start of that name; labels and posteriors that are given are one that tells groups apart."""
    entry = STARTS[init] if isinstance(init, str) else lambda *_: [init]
    return entry if isinstance(entry, Start) else Start(entry)


STARTS: Register[Callable[..., list[Any]]] = Register(
    "start",
    {
        # among k-means runs the inertia chooses better than the likelihood (usps358: accuracy 0.93 against 0.57)
        "kmeans": Start(kmeans_starts, best_first=True, of_sample=sample_centres),
        "random": Start(random_starts, separates=False),
        "ward": ward_starts,
        "sparse-kmeans": sparse_kmeans_starts,
        "shrunk-kmeans": shrunk_kmeans_starts,
    },
)
