"""Agreement of halves: whether groups that are looked for again in each half of the rows are the same groups.

The rows are split in two, each half is clustered from scratch, and both halves label all rows. The agreement is the
adjusted Rand index of these labels, as a mean over a few splits. It needs no density, so that it can compare groups
where the judge cannot see the columns (`columns`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..core.data.problem import Problem, prepare
from ..core.dlm.family import DLMFamily
from ..core.engine.loop import Fit, restore
from ..core.engine.multistart import Specification, side_by_side
from ..core.starts.partitions import adjusted_rand
from ..rows.base import one_blas_thread
from ..solvers.kmeans_runs import KMeansRun, best_kmeans

__all__ = ["agreements", "fisher_em", "kmeans", "split_rows"]

# Splits of the rows: with three, the agreement of one table changes by some hundredths from seed to seed.
_SPLITS = 3
# k-means runs in each half.
_RUNS = 5

# From half of the rows and the best k-means run on it to labels of all rows; None if a group is lost.
Labelling = Callable[[Problem, Problem, KMeansRun], np.ndarray | None]


def split_rows(n: int, n_splits: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random splits of n rows: pairs of ascending row numbers."""
    rng = np.random.RandomState(seed)
    orders = [rng.permutation(n) for _ in range(n_splits)]
    return [(np.sort(order[: n // 2]), np.sort(order[n // 2 :])) for order in orders]


def agreements(
    problem: Problem, n_clusters: int, labellings: list[Labelling], rng: np.random.RandomState
) -> list[float]:
    """The mean agreement of each labelling, from the same splits; 0 for splits in which a half loses a group."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    found = np.zeros((len(labellings), _SPLITS))
    for i, sides in enumerate(split_rows(problem.rows.n, _SPLITS, seed)):
        halves = [_half(problem, rows) for rows in sides]
        with one_blas_thread():
            runs = [best_kmeans(_values(half), n_clusters, _RUNS, seed + i, half.rows.weights) for half in halves]
        for j, labelling in enumerate(labellings):
            labels = [labelling(problem, half, run) for half, run in zip(halves, runs, strict=True)]
            if labels[0] is not None and labels[1] is not None:
                found[j, i] = adjusted_rand(labels[0], labels[1])
    return found.mean(axis=1).tolist()


def _half(problem: Problem, rows: np.ndarray) -> Problem:
    weights = None if problem.rows.weights is None else problem.rows.weights[rows]
    share = problem.scatter.ridge / problem.scatter.mean_variance
    return prepare(problem.given.take(rows) - problem.given.centre, weights, ridge=share)


def _values(problem: Problem) -> np.ndarray:
    return np.asarray(problem.given.everything(), float)


def kmeans(problem: Problem, half: Problem, run: KMeansRun) -> np.ndarray:
    """The nearest centre of k-means on the half."""
    del half
    return run.predict(_values(problem) - problem.given.centre)


def fisher_em(spec: Specification[DLMFamily]) -> Labelling:
    """Fisher-EM from k-means on the half."""
    phase = replace(spec.family, sparse=None, n_factors=0).phases()[0]

    def labelling(problem: Problem, half: Problem, run: KMeansRun) -> np.ndarray | None:
        (fit,) = side_by_side(half, [(run.labels, spec, phase)])
        if not isinstance(fit, Fit) or not fit.whole:
            return None
        moved = replace(fit, solution=fit.solution.moved(half.centre), states=[], history=[])
        return problem.rows.gather(restore(problem, moved).states, "posteriors").argmax(axis=0)

    return labelling
