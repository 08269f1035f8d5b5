"""Forward-backward selection: the subset S that C(K, S) prefers for a given partition.

Adding variable j to S gains n/2 log(t_j|S / w_j|S) - price, with the variances of j given S in all rows (t) and
within the groups (w). Both are kept for all p variables while S grows: a step is one sweep of a column of T and of W
(a step of a pivoted Cholesky factorisation), O(p |S|) on p x p matrices and O(n p) in the row space for n << p.

A category is a block of columns that is added and left out as one: its gain is that of the determinants of the block,
n/2 log(|T_b|S| / |W_b|S|), over all its columns but one, which the others determine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .criterion import Partition, price
from .thresholds import THRESHOLDS

__all__ = ["Selector", "relevant", "select"]

_ROUNDING = 1e-9
# Columns that a factor has room for at first.
_FIRST_WIDTH = 16
# Where no more than this share of the variables differs between the groups, the others are left out of the sums.
_MOST_LEFT = 0.5


class _Conditional:
    """Variances of all variables given S, by the columns of a factor."""

    def __init__(self, diagonal: np.ndarray):
        self.diagonal, self.given = diagonal, diagonal.copy()
        self._rows, self.width = np.empty((_FIRST_WIDTH, len(diagonal))), 0

    @property
    def factor(self) -> np.ndarray:
        """A column for each variable of S (p x width)."""
        return self._rows[: self.width].T

    def explains(self, j: int) -> bool:
        """Whether S determines variable j: conditioning on it as well would divide by rounding errors."""
        return bool(self.given[j] <= _ROUNDING * self.diagonal[j])

    def cut(self, kept: int) -> None:
        """Condition on the first variables alone, those of the first `kept` columns of the factor."""
        self.width = kept
        self.given = np.maximum(self.diagonal - (self.factor**2).sum(axis=1), 0)

    def sweep(self, j: int, column: np.ndarray) -> None:
        """Condition on variable j, whose column (p) of the matrix is given."""
        if self.width == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        new = self._rows[self.width]
        before = self._rows[: self.width]
        np.subtract(column, before[:, j] @ before, out=new)
        new /= np.sqrt(self.given[j])
        self.width += 1
        self.given -= new**2
        np.maximum(self.given, 0, out=self.given)


class Selector:
    """S for one partition, with group means of rank r along `directions` (K x r)."""

    def __init__(self, partition: Partition, directions: np.ndarray):
        self.partition = partition
        self.rank = min(directions.shape[1], partition.n_clusters - 1)
        self.between = partition.H @ directions  # p x r: what the group means explain
        own = np.maximum(partition.scatter.variances(), 0)
        self.total = own * (1 + partition.floors)  # what is added to both variances of a column of few values
        # a variable that is constant within every group separates them perfectly: its gain must stay finite
        self.within = np.maximum(self.total - (self.between**2).sum(axis=1), _ROUNDING * self.total)
        usable = ~partition.constant & (self.total > 0)
        alone = np.full(len(own), -np.inf)
        alone[usable] = partition.n / 2 * np.log(self.total[usable] / self.within[usable])
        self._wide = [] if partition.blocks is None else [_Wide.of(self, v) for v in partition.blocks.wide]
        self._usable = np.isfinite(alone)  # columns
        self.alone = self._by_variable(alone, None)  # n/2 log(t_j / w_j)
        widths = 1 if partition.blocks is None else partition.blocks.widths
        self.alike = self.alone < widths * self.rank / 2 * np.log(partition.n)  # variables that do not differ
        self.most = int(max(1, min(partition.p, (partition.n - self.rank - 1) // THRESHOLDS.rows_per_selected)))
        self.reset([])

    def _by_variable(self, of_columns: np.ndarray, given: tuple[_Conditional, _Conditional] | None) -> np.ndarray:
        """Gains of the variables from those of the columns: blocks have their own, given S or by themselves."""
        blocks = self.partition.blocks
        if blocks is None:
            return of_columns
        gains = of_columns[[columns[0] for columns in blocks.members]]
        for wide in self._wide:
            constant = self.partition.constant[wide.columns].all()
            gains[wide.variable] = -np.inf if constant else self.partition.n / 2 * wide.log_ratio(given)
        return gains

    def _columns(self, variable: int) -> list[int]:
        """The columns of a variable that are free."""
        blocks = self.partition.blocks
        return [variable] if blocks is None else blocks.free(blocks.members[variable]).tolist()

    def _width(self, variable: int) -> int:
        blocks = self.partition.blocks
        return 1 if blocks is None else int(blocks.widths[variable])

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

    def add(self, variable: int) -> None:
        """Take a variable into S."""
        self.support.append(int(variable))
        self._swept.append(self._all.width)
        for j in self._columns(variable):
            self._condition_on(j)

    def _condition_on(self, j: int) -> None:
        """Sweep a column of T and of W."""
        if self._all.explains(j) or self._groups.explains(j):
            return
        column, floors = self.partition.scatter.column(j), self.partition.floors
        blocks = self.partition.blocks
        same = slice(j, j + 1) if blocks is None else blocks.members[blocks.variable[j]]
        column[same] *= 1 + floors[same]
        self._all.sweep(j, column)
        within = column - self.between @ self.between[j]
        within[j] = self.within[j]  # not below rounding
        self._groups.sweep(j, within)

    def price(self, m: int, variable: int | None = None) -> float:
        """Of a variable (None: a single column) as the (m+1)-th one."""
        return price(self.partition.n, self.partition.p, self.rank, m, 1 if variable is None else self._width(variable))

    def prices(self, m: int) -> np.ndarray | float:
        """Of every variable as the (m+1)-th one."""
        blocks, single = self.partition.blocks, self.price(m)
        if blocks is None:
            return single
        return single + (blocks.widths - 1) * self.rank / 2 * np.log(self.partition.n)

    def conditional_gains(self) -> np.ndarray:
        """n/2 log(t_j|S / w_j|S) of every variable, before any price; -inf where S explains all of it."""
        t, w = self._all.given, self._groups.given
        own = self._usable & (w > THRESHOLDS.own_variance * self.within) & (t > 0)
        gains = np.full(len(t), -np.inf)
        gains[own] = self.partition.n / 2 * np.log(t[own] / w[own])
        gains = self._by_variable(gains, (self._all, self._groups))
        gains[self.support] = -np.inf
        return gains

    def gains(self) -> np.ndarray:
        """What adding each variable to S gains; -inf for those that do not differ between the groups by themselves.

        A variable that only sharpens others (a suppressor) does not make the groups.
        """
        gains = self.conditional_gains() - self.prices(len(self.support))
        if not self.alike.all():
            gains[self.alike] = -np.inf
        return gains

    def losses(self) -> np.ndarray:
        """What leaving out each variable of S loses (in the order of `support`), before any price."""
        each = [self._columns(v) for v in self.support]
        chosen = np.array([j for columns in each for j in columns], int)
        total = self.partition.block(chosen)
        within = total - self.between[chosen] @ self.between[chosen].T
        within[np.diag_indices(len(chosen))] = self.within[chosen]  # not below rounding
        widths = [len(columns) for columns in each]
        return self.partition.n / 2 * (_log_own(total, widths) - _log_own(within, widths))

    def run(self, start: list[int] | None = None) -> np.ndarray:
        """Forward and backward from some variables until neither gains: the columns of S, at least one, ascending."""
        self.reset(list(start or []))
        seen: set[frozenset[int]] = set()
        # rounding can make a variable worth adding and worth leaving out: end where S repeats
        while (here := frozenset(self.support)) not in seen:
            seen.add(here)
            self._drop()
            self._grow()
        return self.columns(np.array(self.support, int))

    def columns(self, variables: np.ndarray) -> np.ndarray:
        """All columns of some variables, ascending."""
        blocks = self.partition.blocks
        return np.sort(variables) if blocks is None else blocks.columns_of(variables)

    def variables(self, support: np.ndarray) -> list[int]:
        """The variables of some columns, in their order where each is one column."""
        blocks = self.partition.blocks
        return [int(j) for j in (support if blocks is None else blocks.variables_of(support))]

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
            prices = np.broadcast_to(self.prices(len(self.support) - 1), len(self.alone))
            losses = self.losses() - prices[self.support]
            worst = int(losses.argmin())
            if losses[worst] >= 0:
                return
            self.drop(worst)


@dataclass(frozen=True)
class _Wide:
    """A block of columns: its number and what T and W have of it."""

    variable: int
    columns: list[int]
    total: np.ndarray
    within: np.ndarray

    @classmethod
    def of(cls, selector: Selector, variable: int) -> _Wide:
        columns = selector._columns(variable)
        total = selector.partition.block(np.array(columns))
        between = selector.between[columns]
        within = total - between @ between.T
        within[np.diag_indices(len(columns))] = selector.within[columns]
        return cls(variable, columns, total, within)

    def log_ratio(self, given: tuple[_Conditional, _Conditional] | None) -> float:
        """log(|T_b|S| / |W_b|S|); -inf where S leaves the block nothing of its own."""
        total, within = self.total, self.within
        if given is not None:
            total, within = (
                whole - part.factor[self.columns] @ part.factor[self.columns].T
                for whole, part in zip((total, within), given, strict=True)
            )
            if (np.diagonal(within) <= THRESHOLDS.own_variance * np.diagonal(self.within)).all():
                return -np.inf
        return _log_determinant(total, self.total) - _log_determinant(within, self.total)


def _log_determinant(matrix: np.ndarray, unit: np.ndarray) -> float:
    """Of a covariance in units of the variances of another, with eigenvalues not below rounding."""
    scale = 1 / np.sqrt(np.maximum(np.diagonal(unit), np.finfo(float).tiny))
    return float(np.log(np.maximum(np.linalg.eigvalsh(matrix * scale[:, None] * scale), _ROUNDING)).sum())


def _log_own(matrix: np.ndarray, widths: list[int]) -> np.ndarray:
    """log|covariance| of each block of columns given all the others: less log|its block of the inverse|."""
    variances = np.maximum(np.diagonal(matrix), np.finfo(float).tiny)
    scale = 1 / np.sqrt(variances)  # so that units do not matter
    values, vectors = np.linalg.eigh(matrix * scale[:, None] * scale)
    # by its eigenvalues, because rounding may leave a matrix of combinations of variables indefinite or singular
    weights = 1 / (np.maximum(values, 0) + _ROUNDING)
    if len(widths) == len(matrix):
        return np.log(variances) - np.log(vectors**2 @ weights)
    found, end = np.empty(len(widths)), 0
    for i, width in enumerate(widths):
        mine = slice(end, end := end + width)
        inverse = (vectors[mine] * weights) @ vectors[mine].T
        found[i] = np.log(variances[mine]).sum() - np.linalg.slogdet(inverse)[1]
    return found


def select(partition: Partition, support: np.ndarray, rank: int) -> np.ndarray:
    """S for the partition (columns), with the group means of that rank as the variables in `support` see them."""
    directions = partition.directions(support, rank)
    selector = Selector(partition, directions)
    start = selector.variables(support)[: selector.most]
    if partition.blocks is not None or selector.alike.all():
        return selector.run(start)
    # variables that are alike in all groups are never added, and in wide tables nearly all are
    differs = ~selector.alike
    differs[start] = True
    some = np.flatnonzero(differs)
    if len(some) > _MOST_LEFT * len(differs):
        return selector.run(start)
    return some[Selector(partition.only(some), directions).run(np.searchsorted(some, start).tolist())]


def relevant(partition: Partition, support: np.ndarray, rank: int) -> np.ndarray:
    """The columns of every variable that differs between the groups by itself, most first, while each pays."""
    selector = Selector(partition, partition.directions(support, rank))
    order = np.argsort(-selector.alone, kind="stable")
    kept = 0
    while kept < len(order) and selector.alone[order[kept]] > (selector.price(kept, order[kept]) if kept else -np.inf):
        kept += 1
    return selector.columns(order[:kept])
