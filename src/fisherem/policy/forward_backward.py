"""Forward-backward selection: the subset S that C(K, S) prefers for a given partition.

Adding variable j to S gains n/2 log(t_j|S / w_j|S) - price, with the variances of j given S in all rows (t) and
within the groups (w). Both are kept for all p variables while S grows: a step is one sweep of a column of T and of W
(a step of a pivoted Cholesky factorisation), O(p |S|) on p x p matrices and O(n p) in the row space for n << p.
"""

from __future__ import annotations

import numpy as np

from .criterion import Partition, price
from .thresholds import THRESHOLDS

__all__ = ["Selector", "relevant", "select"]

_ROUNDING = 1e-9


class _Conditional:
    """Variances of all variables given S, by the columns of a factor."""

    def __init__(self, diagonal: np.ndarray):
        self.diagonal, self.given = diagonal, diagonal.copy()
        self.factor = np.zeros((len(diagonal), 0))

    def explains(self, j: int) -> bool:
        """Whether nothing is left of variable j given S: conditioning on it as well would divide by rounding errors."""
        return bool(self.given[j] <= _ROUNDING * self.diagonal[j])

    def cut(self, kept: int) -> None:
        """Condition on the first variables alone, those of the first `kept` columns of the factor."""
        self.factor = self.factor[:, :kept]
        self.given = np.maximum(self.diagonal - (self.factor**2).sum(axis=1), 0)

    def sweep(self, j: int, column: np.ndarray) -> None:
        """Condition on variable j, whose column (p) of the matrix is given."""
        rest = column - self.factor @ self.factor[j]
        new = rest / np.sqrt(self.given[j])
        self.factor = np.column_stack([self.factor, new])
        self.given = np.maximum(self.given - new**2, 0)


class Selector:
    """S for one partition, with group means of rank r along `directions` (K x r)."""

    def __init__(self, partition: Partition, directions: np.ndarray):
        self.partition = partition
        self.rank = min(directions.shape[1], partition.n_clusters - 1)
        self.between = partition.H @ directions  # p x r: what the group means explain
        own = np.maximum(partition.scatter.variances(), 0)
        self._spacing = own * partition.floors  # added to both variances of a column of few values
        self.total = own + self._spacing
        # a variable with one value in each group tells them apart at once: its gain is large, and must be finite
        self.within = np.maximum(self.total - (self.between**2).sum(axis=1), _ROUNDING * self.total)
        usable = ~partition.constant & (self.total > 0)
        self.alone = np.full(partition.p, -np.inf)  # n/2 log(t_j / w_j)
        self.alone[usable] = partition.n / 2 * np.log(self.total[usable] / self.within[usable])
        self.most = int(max(1, min(partition.p, (partition.n - self.rank - 1) // THRESHOLDS.rows_per_selected)))
        self.reset([])

    def reset(self, support: list[int]) -> None:
        """Begin with these variables."""
        self.support: list[int] = []
        self._swept: list[int] = []  # how many columns the factors had before each variable
        self._all, self._groups = _Conditional(self.total), _Conditional(self.within)
        for j in support:
            self.add(j)

    def drop(self, place: int) -> None:
        """Leave out the variable at a place of S: those after it are conditioned on again, those before it are not."""
        later, kept = self.support[place + 1 :], self._swept[place]
        self.support, self._swept = self.support[:place], self._swept[:place]
        self._all.cut(kept)
        self._groups.cut(kept)
        for j in later:
            self.add(j)

    def add(self, j: int) -> None:
        """Take variable j into S."""
        self.support.append(int(j))
        self._swept.append(self._all.factor.shape[1])
        if self._all.explains(j) or self._groups.explains(j):
            return
        column = self.partition.scatter.column(j).copy()
        column[j] += self._spacing[j]
        self._all.sweep(j, column)
        within = column - self.between @ self.between[j]
        within[j] = self.within[j]  # not below rounding
        self._groups.sweep(j, within)

    def _price(self, m: int) -> float:
        return price(self.partition.n, self.partition.p, self.rank, m)

    def conditional_gains(self) -> np.ndarray:
        """n/2 log(t_j|S / w_j|S) of every variable, before any price; -inf where S leaves it nothing of its own."""
        t, w = self._all.given, self._groups.given
        own = np.isfinite(self.alone) & (w > THRESHOLDS.own_variance * self.within) & (t > 0)
        gains = np.full(len(t), -np.inf)
        gains[own] = self.partition.n / 2 * np.log(t[own] / w[own])
        gains[self.support] = -np.inf
        return gains

    def gains(self) -> np.ndarray:
        """What adding each variable to S gains; -inf for those that do not differ between the groups by themselves.

        A variable that only sharpens others (a suppressor) is no answer to which variables make the groups.
        """
        gains = self.conditional_gains() - self._price(len(self.support))
        alike = self.alone < self.rank / 2 * np.log(self.partition.n)
        if not alike.all():
            gains[alike] = -np.inf
        return gains

    def losses(self) -> np.ndarray:
        """What leaving out each variable of S loses (in the order of `support`), before any price."""
        chosen = np.array(self.support, int)
        total = self.partition.block(chosen)
        within = total - self.between[chosen] @ self.between[chosen].T
        within[np.diag_indices(len(chosen))] = self.within[chosen]  # not below rounding
        return self.partition.n / 2 * (_log_own(total) - _log_own(within))

    def run(self, start: list[int] | None = None) -> np.ndarray:
        """Forward and backward from a subset until neither gains: the indices of S, at least one, ascending."""
        self.reset(list(start or []))
        seen: set[frozenset[int]] = set()
        # rounding can make a variable worth adding and worth leaving out: S must not go in a circle
        while (here := frozenset(self.support)) not in seen:
            seen.add(here)
            self._drop()
            self._grow()
        return np.sort(np.array(self.support, int))

    def _grow(self) -> None:
        """Add variables while the best of them gains more than it costs."""
        while len(self.support) < self.most:
            gains = self.gains()
            best = int(gains.argmax())
            if not np.isfinite(gains[best]) or (gains[best] <= 0 and self.support):
                return
            self.add(best)

    def _drop(self) -> None:
        """Leave out variables that cost more than they lose, the least one first."""
        while len(self.support) > 1:
            losses = self.losses() - self._price(len(self.support) - 1)
            worst = int(losses.argmin())
            if losses[worst] >= 0:
                return
            self.drop(worst)


def _log_own(matrix: np.ndarray) -> np.ndarray:
    """log of the variance of each variable given all the others: the inverse of the inverse's diagonal."""
    variances = np.maximum(np.diagonal(matrix), np.finfo(float).tiny)
    scale = 1 / np.sqrt(variances)  # so that units do not matter
    values, vectors = np.linalg.eigh(matrix * scale[:, None] * scale)
    # by its eigenvalues, because rounding may leave a matrix of combinations of variables indefinite or singular
    inverse = vectors**2 @ (1 / (np.maximum(values, 0) + _ROUNDING))
    return np.log(variances) - np.log(inverse)


def select(partition: Partition, support: np.ndarray, rank: int) -> np.ndarray:
    """S for the partition, with the group means of that rank as the variables in `support` see them."""
    selector = Selector(partition, partition.directions(support, rank))
    return selector.run([int(j) for j in support][: selector.most])


def relevant(partition: Partition, support: np.ndarray, rank: int) -> np.ndarray:
    """Every variable that differs between the groups by itself, most first, while each pays its price."""
    selector = Selector(partition, partition.directions(support, rank))
    order = np.argsort(-selector.alone, kind="stable")
    kept = 0
    while kept < len(order) and selector.alone[order[kept]] > (selector._price(kept) if kept else -np.inf):
        kept += 1
    return np.sort(order[:kept])
