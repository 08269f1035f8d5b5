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
from ..core.starts.partitions import adjusted_rand, products
from ..rows.base import one_blas_thread
from ..solvers.kmeans_runs import KMeansRun, best_kmeans

__all__ = ["OnOtherRows", "agreements", "fisher_em", "kmeans", "split_rows"]

# Splits of the rows: with three, the agreement of one table changes by some hundredths from seed to seed.
_SPLITS = 3
_TINY = np.finfo(float).tiny
# Indicators of a category add up to 1, so that their covariance has no inverse without a ridge.
_LEAST_RIDGE = 1e-6
# Directions with less than this share of the largest variance are treated as rounding errors.
_ROUNDING = 1e-10
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


class OnOtherRows:
    """How well columns give groups (n labels) back on other rows.

    Each half of the rows is labelled by the discriminant rule of the other: the group whose mean is nearest in the
    metric of the covariance within the groups, with the problem's ridge. `lists` are the columns (indices) that will be
    asked for. Where a start is given and nothing else is random, the splits go `by_values`, so that the same rows are
    split in the same way wherever they stand in the table.
    """

    def __init__(self, problem: Problem, labels: np.ndarray, lists: list[np.ndarray], by_values: bool = False):
        self.labels = labels
        self.share = problem.scatter.ridge / problem.scatter.mean_variance
        self.weights = np.ones(problem.given.n) if problem.given.weights is None else problem.given.weights
        self.columns = np.unique(np.concatenate(lists)) if lists else np.zeros(0, int)
        given = problem.given
        rows = given.everything() if given.portable else given.take(np.arange(given.n))
        self.values = np.asarray(rows[:, self.columns], float)
        order = _in_order(self.values) if by_values else np.arange(given.n)
        self.sides = [(np.sort(order[one]), np.sort(order[other])) for one, other in split_rows(given.n, _SPLITS, 0)]
        self._summed, self._sum = (
            np.zeros(0, int),
            np.zeros((given.n, given.n) if len(self.columns) > given.n // 2 else 0),
        )

    def agreement(self, support: np.ndarray) -> float:
        """The adjusted Rand index of the groups and those of the rule, as a mean over a few splits."""
        places = np.searchsorted(self.columns, support)
        wide = len(places) > len(self.labels) // 2
        values = self._products(places) if wide else self.values[:, places]
        found = []
        for sides in self.sides:
            labels = np.empty(len(self.labels), int)
            for rows, others in (sides, sides[::-1]):
                weights = self.weights[rows] / max(self.weights[rows].sum(), _TINY)
                coordinates = _in_row_space if wide else _centred
                labels[others] = self._nearest(rows, weights, *coordinates(values, rows, others, weights))
            found.append(adjusted_rand(labels, self.labels))
        return float(np.mean(found))

    def _products(self, places: np.ndarray) -> np.ndarray:
        """The products of the rows (n x n) over some columns; lists that grow cost what they add."""
        more = np.setdiff1d(places, self._summed)
        if len(more) + len(self._summed) != len(places):
            self._sum, more = np.zeros((len(self.labels),) * 2), places
        self._summed = places
        self._sum = self._sum + products(self.values[:, more])
        return self._sum

    def _nearest(self, rows: np.ndarray, weights: np.ndarray, known: np.ndarray, new: np.ndarray) -> np.ndarray:
        """The groups (m) of new rows by the discriminant rule of known ones (rows x coordinates, mean 0)."""
        groups, index = np.unique(self.labels[rows], return_inverse=True)
        member = (index[:, None] == np.arange(len(groups))) * weights[:, None]
        shares = np.maximum(member.sum(axis=0), _TINY)
        means = member.T @ known / shares[:, None]
        off = known - means[index]
        within = (off.T * weights) @ off
        ridge = max(self.share, _LEAST_RIDGE) * np.trace(within) / max(1, len(within))
        # where every row is the mean of its group, within is 0 and the mean that is nearest in plain distance is taken
        least = np.finfo(float).eps * (known**2).mean() + _TINY if known.size else _TINY
        solved = np.linalg.solve(within + (ridge + least) * np.eye(len(within)), means.T)
        return groups[(new @ solved - 0.5 * np.einsum("kr,rk->k", means, solved) + np.log(shares)).argmax(axis=1)]


def _in_order(values: np.ndarray) -> np.ndarray:
    """The numbers of the rows (n x p) in the order of a weighted sum of their values, whose weights have no simple
    ratio, so that only rows that are the same have the same sum."""
    spread = np.ptp(values, axis=0)
    standardised = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.argsort(standardised @ np.cos(1.0 + np.arange(values.shape[1])), kind="stable")


def _centred(values: np.ndarray, rows: np.ndarray, others: np.ndarray, weights: np.ndarray):
    """Rows and others (n x p) less the mean of the rows."""
    mean = weights @ values[rows]
    return values[rows] - mean, values[others] - mean


def _in_row_space(gram: np.ndarray, rows: np.ndarray, others: np.ndarray, weights: np.ndarray):
    """The same in the row space of the rows, from the products of all of them (n x n)."""
    inside, across = gram[np.ix_(rows, rows)], gram[np.ix_(others, rows)]
    by_mean = weights @ inside
    mean = by_mean @ weights
    values, vectors = np.linalg.eigh(inside - by_mean - by_mean[:, None] + mean)
    kept = values > _ROUNDING * values[-1]
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return vectors * root, (across - by_mean - (across @ weights)[:, None] + mean) @ vectors / root
