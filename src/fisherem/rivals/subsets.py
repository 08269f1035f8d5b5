"""The best mixture of each subset of variables, by BIC over numbers of groups and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from .._utils.parallel import run_tasks
from ..core.starts.partitions import distinct_rows
from ..solvers.ward import ward_labels
from ..tables.checking import check_list
from .base import standardised
from .mixtures import STACK_ELEMENTS, Mixture, em
from .shapes import SHAPES, SKLEARN_SHAPES

__all__ = ["CovarianceKind", "Subsets", "resolve_shapes", "start_labels"]

# Ward's clustering needs all pairwise distances. With more rows than this, a sample is clustered and the other
# rows are assigned to the nearest mean. 1000 rows take about 20 ms, and the start need not be exact.
_WARD_ROWS = 1000
# Number of tasks of a parallel step: enough to balance two to eight cores, few enough to give each a stack of subsets.
_TASKS = 16
# After this many iterations only the best shapes by BIC are iterated further. On subsets without groups EM converges
# slowly with every shape, while the order of the shapes no longer changes.
_RACE_ITERATIONS = 20
_LEADERS = 2


def resolve_shapes(models) -> tuple[str, ...]:
    """mclust's names of the requested shapes, given by its names or scikit-learn's; "all" means every shape."""
    names = (models,) if isinstance(models, str) else tuple(map(str, check_list("models", models)))
    if names == ("all",):
        return tuple(SHAPES)
    names = tuple(SKLEARN_SHAPES.get(name, name) for name in names)
    unknown = [name for name in names if name not in SHAPES]
    if unknown or not names:
        options = ", ".join([*SHAPES, *SKLEARN_SHAPES])
        raise ValueError(f"models must be 'all' or names among {options}; got {models!r}")
    return names


def start_labels(Z: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Labels (n) of Ward's partition of standardised rows Z (n x d) into K groups; None if fewer than K are distinct.

    The rows are first turned into principal components divided by the square root of their singular values, as mclust
    does for its hierarchical start. That is a compromise between Euclidean distances, which a block of correlated
    variables can dominate, and Mahalanobis distances, where noise has as much weight as the groups.
    """
    n = len(Z)
    if Z.shape[1] > 1:
        _, values, axes = np.linalg.svd(Z.T @ Z, hermitian=True)
        Z = Z @ axes.T / np.maximum(values, 1e-12 * values[0]) ** 0.25
    step = max(1, -(-n // _WARD_ROWS))
    rows = Z[::step]
    labels = fcluster(linkage(rows, "ward"), n_clusters, "maxclust") - 1
    if labels.max() + 1 < n_clusters:  # ties in the heights: merge equal rows and cut by the order of merges
        chosen, weights, index = distinct_rows(rows, None)
        if len(chosen) < n_clusters:
            return None
        labels = ward_labels(rows[chosen], weights, n_clusters)[index]
    if step > 1:
        member = (labels == np.arange(n_clusters)[:, None]).astype(float)
        centres = member @ rows / member.sum(axis=1, keepdims=True)
        labels = (Z @ centres.T - 0.5 * (centres**2).sum(axis=1)).argmax(axis=1)
    return labels


@dataclass(frozen=True)
class CovarianceKind:
    """The mixtures that are tried on every subset: numbers of groups and shapes, with the limits of EM."""

    n_clusters: tuple[int, ...]
    shapes: tuple[str, ...]
    max_iter: int
    tol: float

    def of_size(self, d: int) -> tuple[str, ...]:
        """The shapes for d variables; with one there are two, equal (E) and varying (V) variances."""
        if d > 1:
            return self.shapes
        return tuple(dict.fromkeys({"E": "EII", "V": "VII"}[name[0]] for name in self.shapes))

    def fit(self, X: np.ndarray, scaled: np.ndarray, subsets: Sequence[tuple[int, ...]]) -> list[Mixture]:
        """The best mixture on each of the subsets (all of one size) of the columns of X (n x p).

        `scaled` (n x p) is X standardised, for the starts.
        """
        best = [Mixture.failed("")] * len(subsets)
        for K in self.n_clusters:
            starts: dict[int, np.ndarray] = {}
            for i, subset in enumerate(subsets):
                labels = start_labels(scaled[:, subset], K)
                if labels is None:
                    best[i] = _better(best[i], Mixture.failed(f"fewer than {K} distinct rows"))
                else:
                    starts[i] = labels
            if starts:
                Z = np.stack([X[:, subsets[i]] for i in starts])
                T = (np.stack(list(starts.values()))[:, None] == np.arange(K)[:, None]).astype(float)
                for i, mixture in zip(starts, self._race(Z, T), strict=True):
                    best[i] = _better(best[i], mixture)
        return best

    def _race(self, Z: np.ndarray, T: np.ndarray) -> list[Mixture]:
        """The best mixture for each member of the stack; after some iterations only the best shapes are continued."""
        shapes = self.of_size(Z.shape[2])
        first = min(_RACE_ITERATIONS, self.max_iter)
        found = {name: em(Z, T, SHAPES[name], max_iter=first, tol=self.tol) for name in shapes}
        leaders = [sorted(shapes, key=lambda name: -found[name][i].bic)[:_LEADERS] for i in range(len(Z))]
        if self.max_iter > first:
            for name in shapes:
                mixtures = found[name]
                unfinished = {
                    i: mixtures[i].posteriors
                    for i, lead in enumerate(leaders)
                    if name in lead and not mixtures[i].converged
                }
                if unfinished:
                    T = np.stack(list(unfinished.values()))  # type: ignore[arg-type]
                    more = em(Z[list(unfinished)], T, SHAPES[name], max_iter=self.max_iter - first, tol=self.tol)
                    for i, mixture in zip(unfinished, more, strict=True):
                        mixtures[i] = replace(mixture, n_iter=mixture.n_iter + first)
        return [reduce(_better, (found[name][i] for name in shapes)) for i in range(len(Z))]


def _better(a: Mixture, b: Mixture) -> Mixture:
    if b.bic > a.bic:
        return b
    return b if not np.isfinite(a.bic) and b.reason and not a.reason else a


@dataclass
class Subsets:
    """Cached mixtures of subsets of the columns of one table X (n x p)."""

    X: np.ndarray
    family: CovarianceKind
    n_jobs: int = 1
    known: dict[frozenset, Mixture] = field(default_factory=dict)

    def __post_init__(self):
        # centred once, so that an offset costs no precision
        self.centre = self.X.mean(axis=0)
        self.X = np.ascontiguousarray(self.X - self.centre)
        self.scaled = standardised(self.X)

    def judge(self, subsets: Sequence[tuple[int, ...]]) -> list[Mixture]:
        """The best mixture on every subset; on the empty one a mixture with BIC 0."""
        new = [s for s in subsets if s and frozenset(s) not in self.known]
        # for small tables one stack of all candidates is faster than any number of processes
        size = max(-(-len(new) // _TASKS), STACK_ELEMENTS // (len(self.X) * len(new[0] if new else [0])), 1)
        chunks = [tuple(sorted(s) for s in new[i : i + size]) for i in range(0, len(new), size)]
        tasks = [(self.X, self.scaled, chunk) for chunk in chunks]
        for index, found in run_tasks(self.family.fit, tasks, self.n_jobs):
            for subset, mixture in zip(chunks[index], found, strict=True):
                self.known[frozenset(subset)] = mixture
        return [self.known[frozenset(s)] if s else Mixture(0.0) for s in subsets]

    def one(self, subset: tuple[int, ...]) -> Mixture:
        """The best mixture on one subset."""
        return self.judge([subset])[0]
