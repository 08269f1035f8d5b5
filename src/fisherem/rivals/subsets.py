"""Judging subsets of variables: the best mixture of each, by BIC over numbers of groups and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from ..engine.start import distinct_rows, ward_labels
from ..parallel import run_tasks
from .base import standardised
from .mixtures import STACK_ELEMENTS, Mixture, em
from .shapes import SHAPES, SKLEARN_SHAPES

__all__ = ["Family", "Subsets", "resolve_shapes", "start_labels"]

# Ward's clustering needs all pairwise distances; beyond this many rows it sees a sample, and the others join the
# nearest mean. 1000 rows take 10 ms, and a start only has to lie in the right basin.
_WARD_ROWS = 1000
# Subsets per task of a parallel step: few enough to balance two to eight cores, enough to share the stack.
_TASKS = 16


def resolve_shapes(models) -> tuple[str, ...]:
    """Names of shapes, mclust's or scikit-learn's; "all" is every row of the table."""
    names = (models,) if isinstance(models, str) else tuple(models)
    if names == ("all",):
        return tuple(SHAPES)
    names = tuple(SKLEARN_SHAPES.get(name, name) for name in names)
    unknown = [name for name in names if name not in SHAPES]
    if unknown or not names:
        options = ", ".join([*SHAPES, *SKLEARN_SHAPES])
        raise ValueError(f"models must be 'all' or names among {options}; got {models!r}")
    return names


def start_labels(Z: np.ndarray, n_clusters: int) -> np.ndarray | None:
    """Ward's partition of standardised rows (n x d) into K groups; None where there are fewer than K distinct rows.

    The rows are first brought to principal components divided by the square root of their singular values, as mclust
    does for its hierarchical start: halfway between distances as they are, where one group of correlated variables
    decides, and Mahalanobis distances, where noise counts as much as groups.
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
class Family:
    """What mixtures are tried on every subset."""

    n_clusters: tuple[int, ...]
    shapes: tuple[str, ...]
    max_iter: int
    tol: float

    def of_size(self, d: int) -> tuple[str, ...]:
        """With one variable the shapes are two: equal (E) and varying (V) variances."""
        if d > 1:
            return self.shapes
        return tuple(dict.fromkeys({"E": "EII", "V": "VII"}[name[0]] for name in self.shapes))

    def fit(self, X: np.ndarray, scaled: np.ndarray, subsets: Sequence[tuple[int, ...]]) -> list[Mixture]:
        """The best mixture of each of the subsets (all of one size)."""
        d = len(subsets[0])
        best = [Mixture.failed("")] * len(subsets)
        for K in self.n_clusters:
            starts: list[tuple[int, np.ndarray]] = []
            for i, subset in enumerate(subsets):
                labels = start_labels(scaled[:, subset], K)
                if labels is None:
                    best[i] = _better(best[i], Mixture.failed(f"fewer than {K} distinct rows"))
                    continue
                starts.append((i, labels))
            if not starts:
                continue
            stack = np.stack([X[:, subsets[i]] for i, _ in starts])
            labels = np.stack([labels for _, labels in starts])
            for name in self.of_size(d):
                found = em(stack, labels, K, SHAPES[name], max_iter=self.max_iter, tol=self.tol)
                for (i, _), mixture in zip(starts, found, strict=True):
                    best[i] = _better(best[i], mixture)
        return best


def _better(a: Mixture, b: Mixture) -> Mixture:
    if b.bic > a.bic:
        return b
    return b if not np.isfinite(a.bic) and b.reason and not a.reason else a


@dataclass
class Subsets:
    """The subsets of one table, each judged once."""

    X: np.ndarray
    family: Family
    n_jobs: int = 1
    known: dict[frozenset, Mixture] = field(default_factory=dict)

    def __post_init__(self):
        # the rows are centred once: no mixture loses digits to an offset
        self.centre = self.X.mean(axis=0)
        self.X = np.ascontiguousarray(self.X - self.centre)
        self.scaled = standardised(self.X)

    def judge(self, subsets: Sequence[tuple[int, ...]]) -> list[Mixture]:
        """The best mixture of every subset; of the empty one a mixture of BIC 0."""
        new = [s for s in subsets if s and frozenset(s) not in self.known]
        if not new:
            return [self.known[frozenset(s)] if s else Mixture(0.0) for s in subsets]
        # small tables: one stack of all candidates is quicker than any number of processes
        size = max(-(-len(new) // _TASKS), STACK_ELEMENTS // (len(self.X) * len(new[0])), 1)
        chunks = [tuple(sorted(s) for s in new[i : i + size]) for i in range(0, len(new), size)]
        tasks = [(self.family, self.X, self.scaled, chunk) for chunk in chunks]
        for index, found in run_tasks(_judge_chunk, tasks, self.n_jobs):
            for subset, mixture in zip(chunks[index], found, strict=True):
                self.known[frozenset(subset)] = mixture
        return [self.known[frozenset(s)] if s else Mixture(0.0) for s in subsets]

    def one(self, subset: tuple[int, ...]) -> Mixture:
        return self.judge([subset])[0]


def _judge_chunk(family, X, scaled, chunk):
    return family.fit(X, scaled, chunk)
