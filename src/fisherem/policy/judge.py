"""The judge of partitions: what groups explain of the rows beyond one group.

The variables that a partition prefers (`forward_backward`) are taken as sinh-arcsinh scores, and a mixture of Gaussian
groups with a common covariance is fitted to them from the partition. Its gain is

    log-likelihood - that of one group - log n / 2 * (parameters) - what choosing the variables costs      in nats

With several columns per row no few variables can be told from chance, and the gain is what all variables explain, each
by itself, beyond a price: sum_j max(0, n/2 log(t_j / w_j) - (K - 1)/2 log n - log p). Groups that many variables share
have a large one, whatever the correlations between these are; cuts of noise have none.

Overlapping groups count for what they are, unlike under C(K, S), which takes the partition as hard. Skew, tails and a
few outlying rows gain nothing on scores. The gain is 0 for one group; below 0 it has no opinion. It compares partitions
of one number of groups. It does not say how many there are: more groups follow any curved shape a little better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..core.data.problem import Problem
from .columns import columns_of
from .criterion import Partition, judge, price
from .forward_backward import Selector, select
from .scores import Scores, standardised
from .thresholds import THRESHOLDS

__all__ = ["Gain", "Judge", "least_rows", "mixture_gain"]

# Iterations of the mixture from the partition: the likelihood has settled to a nat by then.
_ITERATIONS = 3
# Iterations end when the likelihood rises by less than this, in nats.
_SETTLED = 0.1
_TINY = 1e-9


@dataclass(frozen=True)
class Gain:
    """What a partition gains over one group, and the variables that it was seen on."""

    value: float  # in nats; -inf where a group is empty or no variable differs
    rows: float  # the weight of the rows that were looked at
    support: np.ndarray  # indices
    smallest: float  # rows of the smallest group
    mixture: _Mixture | None = None  # the groups that gain it

    @property
    def per_row(self) -> float:
        """In nats per row."""
        return self.value / self.rows

    def has_outliers(self, min_size: float | str) -> bool:
        """Whether a group is too small to be more than outlying rows: `min_size` rows, or a share of them."""
        return self.smallest < least_rows(min_size, self.rows)


def least_rows(min_size: float | str, rows: float) -> float:
    """Rows that a group must have: a number, a share below 1, or "auto" for both thresholds, whichever is more."""
    if isinstance(min_size, str):
        return max(THRESHOLDS.small_rows, THRESHOLDS.small_share * rows)
    return min_size if min_size >= 1 else min_size * rows


@dataclass(frozen=True)
class _Mixture:
    """Gaussian groups with a common covariance, on a few standardised columns."""

    value: float  # log-likelihood, up to the constant that one group has, too: -n m/2 log 2 pi
    shares: np.ndarray  # K
    means: np.ndarray  # K x m
    inverse: np.ndarray  # m x m: of the Cholesky factor of the covariance

    def log_joint(self, Z: np.ndarray) -> np.ndarray:
        """n x K, up to a constant."""
        rows, centres = Z @ self.inverse.T, self.means @ self.inverse.T
        logs = centres @ rows.T  # K x n: sums over the groups then run along the rows
        logs -= np.einsum("ij,ij->i", rows, rows) / 2
        logs += (np.log(self.shares) - (centres**2).sum(axis=1) / 2)[:, None]
        return logs.T


class Judge:
    """Gains of partitions of one data set in memory, whose rows are few enough to be looked at many times."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.wide = problem.p >= THRESHOLDS.columns_per_row * problem.weight
        given, columns = problem.given, columns_of(problem)
        self.weights = np.ones(given.n) if given.weights is None else given.weights
        self._values, self.floors = given.everything(), columns.floors
        # a frequent value has no variance, so columns with one would give any group at that value an unbounded gain
        self._mute = problem.constant | columns.spiked
        varying = max(1, int((~problem.constant).sum()))
        seen = ~self._mute & (self.floors <= THRESHOLDS.category)
        self.sees_enough = seen.sum() >= THRESHOLDS.seen * varying
        self._scores: dict[int, np.ndarray] = {}

    def gain(self, labels: np.ndarray) -> Gain:
        """The gain of labels of all rows (n)."""
        if not np.bincount(labels).all():
            labels = np.unique(labels, return_inverse=True)[1]
        K = int(labels.max()) + 1
        total, smallest = float(self.weights.sum()), float(np.bincount(labels, self.weights, K).min())
        nothing = Gain(-np.inf, total, np.zeros(0, int), smallest)
        if K == 1 or smallest <= 0 or self._mute.all():
            return nothing
        partition = Partition.of_labels(self.problem, labels, K)
        partition = replace(partition, constant=partition.constant | self._mute)
        if self.wide:
            return _in_all_variables(partition, total, smallest)
        support = select(partition, np.zeros(0, int), K - 1)
        if not len(support):
            return nothing
        rank = judge(partition, support).rank
        scores = self._columns(support)
        mixture, gained = _best_mixture(scores, labels, self.weights, {rank, K - 1}, self.floors[support])
        # price() holds BIC's part, which the mixture has paid already, and that of choosing among p variables
        n, p = total, self.problem.p
        chosen = sum(price(n, p, rank, m) - rank / 2 * np.log(n) for m in range(len(support)))
        return Gain(gained - chosen, total, support, smallest, mixture)

    @cached_property
    def scores(self) -> np.ndarray:
        """The standardised scores of all columns (n x p)."""
        return self._columns(np.arange(self.problem.p))

    def _columns(self, support: np.ndarray) -> np.ndarray:
        """The standardised scores of some columns (indices); each is fitted once."""
        if len(new := [j for j in support.tolist() if j not in self._scores]):
            columns = np.asarray(self._values[:, new], float)
            scores = standardised(Scores.of(columns, self.weights, self.floors[new]).transform(columns), self.weights)
            self._scores |= {j: scores[:, i] for i, j in enumerate(new)}
        return np.stack([self._scores[j] for j in support.tolist()], axis=1)


def _in_all_variables(partition: Partition, rows: float, smallest: float) -> Gain:
    """What the variables explain, each by itself, beyond its price."""
    K, n, p = partition.n_clusters, partition.n, partition.p
    beyond = Selector(partition, np.eye(K)).alone - (K - 1) / 2 * np.log(n) - np.log(p)
    support = np.flatnonzero(beyond > 0)
    return Gain(float(beyond[support].sum()), rows, support, smallest)


def mixture_gain(
    values: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    ranks: set[int] | None = None,
    floors: np.ndarray | float = 0.0,
    iterations: int = _ITERATIONS,
) -> float:
    """BIC of Gaussian groups with a common covariance less BIC of one group, on a few columns (n x m), from labels.

    The means have the rank (of `ranks`, or any) that is best. `floors` (m) are added to the columns' variances, in all
    rows and within the groups. It is a lower bound of the maximum: few iterations from the given partition.
    """
    if labels.max() == 0 or not values.shape[1]:
        return 0.0
    ranks = ranks or set(range(1, int(labels.max()) + 1))
    return _best_mixture(values, labels, weights, ranks, floors, iterations)[1]


def _best_mixture(
    values, labels, weights, ranks: set[int], floors: np.ndarray | float, iterations: int = _ITERATIONS
) -> tuple[_Mixture, float]:
    """(the mixture whose means have the best of the ranks, its gain less BIC's price)."""
    n, m = weights.sum(), values.shape[1]
    K = int(labels.max()) + 1
    Z = values - (weights @ values) / n
    T = (Z.T * weights) @ Z / n
    T[np.diag_indices(m)] += _TINY + floors
    inverse, half = _whitener(T)
    one = -n * half - 0.5 * float(weights @ ((Z @ inverse.T) ** 2).sum(axis=1))
    found = []
    for rank in sorted({min(rank, K - 1, m) for rank in ranks}):
        mixture = _mixture(Z, T, labels, weights, rank, iterations)
        found.append((mixture, mixture.value - one - np.log(n) / 2 * (rank * m + rank * (K - 1 - rank) + K - 1)))
    return max(found, key=lambda one: one[1])


def _whitener(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """(inverse of the Cholesky factor, half the log-determinant) of a covariance (m x m)."""
    root = np.linalg.cholesky(covariance)
    return np.linalg.inv(root), float(np.log(np.diagonal(root)).sum())


def _mixture(
    Z: np.ndarray, T: np.ndarray, labels: np.ndarray, weights: np.ndarray, rank: int, iterations: int
) -> _Mixture:
    """EM from labels, with group means of a rank and the common covariance T less what they explain."""
    n, m = weights.sum(), Z.shape[1]
    P = (labels == np.arange(labels.max() + 1)[:, None]).astype(float)  # K x n
    best: _Mixture | None = None
    for _ in range(iterations):
        sizes = np.maximum(P @ weights, _TINY)
        shares = sizes / sizes.sum()
        means = (P * weights) @ Z / sizes[:, None]
        if rank < min(len(means) - 1, m):  # of the means, the part along the best axes
            inverse, _ = _whitener(T - (means.T * shares) @ means + _TINY * np.eye(m))
            axes = np.linalg.svd((means * np.sqrt(shares)[:, None] @ inverse.T).T, full_matrices=False)[0][:, :rank]
            means = means @ inverse.T @ axes @ axes.T @ np.linalg.inv(inverse).T
        inverse, half = _whitener(T - (means.T * shares) @ means + _TINY * np.eye(m))
        mixture = _Mixture(0.0, shares, means, inverse)
        logs = mixture.log_joint(Z).T
        top = logs.max(axis=0)
        P = np.exp(logs - top)
        total = P.sum(axis=0)
        P /= total
        value = float(weights @ (top + np.log(total)) - n * half)
        settled = best is not None and value - best.value < _SETTLED
        if best is None or value > best.value:
            best = replace(mixture, value=value)
        if settled:
            break
    assert best is not None
    return best
