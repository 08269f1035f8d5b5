"""Everything that speaks for a number of groups, in one object."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .candidates import Candidate, Data
from .halves import Halves

__all__ = ["Evidence"]


@dataclass
class Evidence:
    """The estimator's fits by number of groups, and what was measured on them.

    data : the rows that were looked at; min_size : rows that a group needs to be one.
    candidates, halves : by K. Halves are fitted where they can change the verdict.
    judged : whether the judge of partitions can say anything about these columns; on_components : whether it looks at
        their principal components, as most columns have few values or a frequent one.
    column, joint_tails, flatness : what one group does not explain (`one_group`): the gain of groups that a single
        column shows, rows that are far out in several columns at once, and a column without tails.
    inside : by K, the gain of groups that a column or principal axis shows inside one of the K groups.
    one_group : the p-value of one group against `compared` groups; nan where it was not computed.
    """

    data: Data
    min_size: int
    candidates: dict[int, Candidate] = field(default_factory=dict)
    halves: dict[int, Halves] = field(default_factory=dict)
    judged: bool = True
    on_components: bool = False
    column: float = -np.inf
    joint_tails: float = float("nan")
    flatness: float = -np.inf
    inside: dict[int, float] = field(default_factory=dict)
    one_group: float = float("nan")
    compared: int = 2

    @property
    def n(self) -> int:
        """Rows that were looked at."""
        return len(self.data.values)

    def fits(self, candidate: Candidate) -> bool:
        """Whether all groups are there and large enough to be estimated."""
        return not candidate.reason and (candidate.n_clusters == 1 or candidate.smallest >= self.min_size)

    def best(self, K: int) -> Candidate | None:
        """The fit with K groups; None if there is none, or none with groups large enough."""
        found = self.candidates.get(K)
        return found if found is not None and self.fits(found) else None

    def gain(self, K: int) -> float:
        """The gain over one group; -inf without a usable fit."""
        found = self.best(K)
        return -np.inf if found is None else found.gain

    def smallest(self, K: int) -> int:
        """Rows of the smallest of K groups; 0 without a usable fit."""
        found = self.best(K)
        return 0 if found is None else found.smallest

    def agreement(self, K: int) -> float:
        """The agreement of halves; nan where they were not fitted."""
        return self.halves[K].agreement if K in self.halves else float("nan")

    def strength(self, K: int) -> float:
        """The prediction strength; nan where halves were not fitted."""
        return self.halves[K].strength if K in self.halves else float("nan")

    @property
    def numbers(self) -> list[int]:
        """Every number of groups that was tried, ascending."""
        return sorted(self.candidates)

    @property
    def usable(self) -> list[int]:
        """Numbers of groups with a usable fit, two or more."""
        return [K for K in self.numbers if K > 1 and self.best(K) is not None]

    def consensus(self, K: int, most: int = 200) -> tuple[np.ndarray, np.ndarray] | None:
        """(the share of fits to halves that put two rows together (m x m), the groups of these rows (m)).

        At most `most` rows, ordered by their group in the fit to all rows and inside it by how surely they belong to
        it. None where no halves were fitted.
        """
        found = self.best(K)
        if K < 2 or found is None or not any(split.fitted for split in self.halves.get(K, Halves()).splits):
            return None
        rows = np.unique(np.linspace(0, self.n - 1, most).astype(int))
        shares, groups = self.halves[K].consensus(rows), found.labels[rows]
        own = np.array([line[groups == k].mean() for line, k in zip(shares, groups, strict=True)])
        order = np.lexsort((-own, groups))
        return shares[np.ix_(order, order)], groups[order]
