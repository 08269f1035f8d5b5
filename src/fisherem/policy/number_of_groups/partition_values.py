"""What a partition is worth on columns without skew: C(K, S) with its best S, the mixture's gain, and MICL.

C with penalty c, for a partition into K groups and variables S, is that of `policy.criterion`; c = 2 is the price
that selects variables in the estimators, c = 1 is BIC's:

    C = n/2 sum_{j<=r} log(1 + lambda_j) - c/2 log n (r |S| + r (K-1-r) + K-1) + sum_k n_k log(n_k/n) - costs of S

It is a hard partition's likelihood: groups that overlap lose by it even where they are real. The mixture's gain puts
the posteriors of the same Gaussian groups in place of the partition. It is 0 for one group, below 0 for slices of one
Gaussian group, and so the one that says whether there are groups at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ...core.data.problem import prepare
from ..criterion import Partition, price, ratios
from ..forward_backward import Selector
from ..judge import mixture_gain
from .transforms import TRANSFORMS, Transformed

__all__ = ["PENALTIES", "WITHOUT_SKEW", "Value", "judged", "micl", "partition_c", "without_skew"]

PENALTIES = (1, 2)
# Normal scores flatten groups that one column shows, powers miss outlying rows; BIC's penalty is too small for the best
# of several candidates, and twice that too large for overlapping groups. Their mean was right more often than any.
WITHOUT_SKEW = ("c1_scores", "c2_scores", "c1_power", "c2_power")
# Selection and rank are chosen in turns: three rounds settle them on every table that was tried.
_ROUNDS = 3
# The weight of the prior mean in MICL, as Marbac and Sedki (2017) choose it.
_PRIOR_ROWS = 0.01


@dataclass(frozen=True)
class Value:
    """C of a partition with its best subset: the value in nats, and S (indices)."""

    value: float
    support: np.ndarray


class _Priced(Selector):
    """The selection of `forward_backward` with a penalty c, and costs that variables bring with them."""

    def __init__(self, partition: Partition, directions: np.ndarray, c: int, costs: np.ndarray):
        self._c, self._costs = c, costs
        super().__init__(partition, directions)

    def _price(self, m: int) -> float:
        return _price(self.partition, self.rank, m, self._c)

    def conditional_gains(self) -> np.ndarray:
        """What each variable adds, less what it brings with it."""
        return super().conditional_gains() - self._costs

    def losses(self) -> np.ndarray:
        """What leaving out each variable of S loses, less what it brings with it."""
        return super().losses() - self._costs[np.array(self.support, int)]


def _price(partition: Partition, rank: int, m: int, c: int) -> float:
    return price(partition.n, partition.p, rank, m) if c == 2 else c * rank / 2 * np.log(partition.n)


def _total(partition: Partition, support: np.ndarray, c: int, costs: np.ndarray) -> float:
    """The formula above, with the rank that is best."""
    n, K = partition.n, partition.n_clusters
    explained = n / 2 * np.cumsum(np.log1p(ratios(partition, support)))
    sizes = partition.sizes[partition.sizes > 0]
    base = float((sizes * np.log(sizes / n)).sum()) - c * (K - 1) / 2 * np.log(n) - float(costs[support].sum())
    best = -np.inf
    for rank, gain in enumerate(explained, start=1):
        paid = sum(_price(partition, rank, i, c) for i in range(len(support)))
        best = max(best, gain - paid - c / 2 * np.log(n) * rank * (K - 1 - rank) + base)
    return best


def partition_c(columns: Transformed, labels: np.ndarray, weights: np.ndarray, c: int) -> Value:
    """C with penalty c of labels 0 ... K-1 (n) on transformed columns (n x p), and the variables it prefers."""
    K = int(labels.max()) + 1
    if K == 1:
        return Value(0.0, np.zeros(0, int))
    problem = prepare(columns.values, weights, ridge="auto", n_jobs=1)
    partition = Partition.of_labels(problem, labels, K)
    best = Value(-np.inf, np.zeros(0, int))
    for rank in sorted({1, K - 1}):
        support = np.zeros(0, int)
        for _ in range(_ROUNDS):
            selector = _Priced(partition, partition.directions(support, rank), c, columns.costs)
            found = selector.run([int(j) for j in support][: selector.most])
            if np.array_equal(found, support):
                break
            support = found
        if len(support) and (value := _total(partition, support, c, columns.costs)) > best.value:
            best = Value(value, support)
    return best


def without_skew(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """The mean of the variants of C in `WITHOUT_SKEW`."""
    found = []
    for name in ("scores", "power"):
        columns = TRANSFORMS[name].apply(values, labels, weights)
        found += [partition_c(columns, labels, weights, c).value for c in PENALTIES]
    return float(np.mean(found))


def judged(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Every value of a partition by the name of its rule: c1_plain ... c2_power, mixture_scores, mixture_power."""
    found: dict[str, float] = {}
    for name, transform in TRANSFORMS.items():
        columns = transform.apply(values, labels, weights)
        for c in PENALTIES:
            value = partition_c(columns, labels, weights, c)
            found[f"c{c}_{name}"] = float(value.value)
            if c == 1:
                gain = mixture_gain(columns.values[:, value.support], labels, weights)
                found[f"mixture_{name}"] = gain - float(columns.costs[value.support].sum())
    return found


def micl(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """The integrated complete likelihood of independent variables with conjugate priors (Marbac and Sedki 2017).

    A variable belongs to the groups where that has the larger integral, and to all rows alike elsewhere.
    """
    K, n = int(labels.max()) + 1, weights.sum()
    centre = (weights @ values) / n
    sizes = np.bincount(labels, weights, K)
    value = gammaln(K / 2) - K * gammaln(0.5) + gammaln(sizes + 0.5).sum() - gammaln(n + K / 2)
    groups = [labels == k for k in range(K)]
    together = _integral(values, weights, centre)
    apart = sum(_integral(values[rows], weights[rows], centre) for rows in groups)
    return float(value + np.maximum(together, apart).sum())


def _integral(values: np.ndarray, weights: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """log of the integrated likelihood of each column's values (p)."""
    n = max(weights.sum(), np.finfo(float).tiny)
    mean = (weights @ values) / n
    squares = weights @ (values - mean) ** 2 + 1 + (centre - mean) ** 2 / (1 / _PRIOR_ROWS + 1 / n)
    normaliser = -(n / 2) * np.log(np.pi) + gammaln((n + 1) / 2) - gammaln(0.5)
    return normaliser - (n + 1) / 2 * np.log(squares) + 0.5 * np.log(_PRIOR_ROWS / (n + _PRIOR_ROWS))
