"""C(K, S): how much a partition into K groups and a subset S of the variables explain, together.

Variables outside S are regressed on S with one distribution for all groups; that part is the same for every partition
and cancels. With a common covariance within the groups,

    C(K, S) = n/2 sum_{j<=r} log(1 + lambda_j) - price(S) - log n r (K - 1 - r) + sum_k n_k log(n_k / n) - (K - 1) log n

where lambda_j are the eigenvalues of W_S^-1 B_S and r is the rank of the group means, the one with the largest value:
means on a line cost one parameter per variable and not K - 1. At full rank the first term is n/2 log(|T_S| / |W_S|).
C is 0 for one group and does not change under any invertible linear map of the variables in S, so values compare
across partitions, numbers of groups, subsets, scalings and methods.

The (m+1)-th variable costs r/2 log n for its parameters (as in BIC) and, for having been chosen among p - m, the
larger of as much again and log((p - m) / (m + 1)): twice BIC's penalty on a table of few columns, and the number of
subsets where thousands of columns compete.

A category is one variable of several columns (`rows.variables`): it is chosen once, and pays the parameters of all
its columns but one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.data.problem import Problem
from ..core.data.scatter import CovarianceOfSome, Scatter
from ..core.dlm.ridge_and_axes import GroupMeans
from ..core.missing.completion import complete_with
from ..model.criteria import CRITERIA, Criterion
from ..rows.base import States
from ..rows.variables import Blocks
from .columns import columns_of

__all__ = ["Judged", "Partition", "criteria_values", "eigen", "gain", "judge", "price", "ratios"]

# Added to the variances (of standardised variables) to keep matrices definite where variables are combinations of
# each other.
_TINY = 1e-9


@dataclass(frozen=True)
class Partition:
    """A partition as the criterion needs it: S and H of all p variables, and the number of rows."""

    scatter: Scatter | CovarianceOfSome
    H: np.ndarray  # p x K, columns sqrt(n_k / n) (m_k - ybar): S_B = H H'
    sizes: np.ndarray  # n_k (K)
    constant: np.ndarray  # bool p: columns without variation
    floors: np.ndarray  # p: what the spacing of values adds to the variances (`columns`)
    blocks: Blocks | None = None  # the variables that the columns belong to; None: one each
    among: int | None = None  # of how many variables these are some; None: they are all

    @classmethod
    def of(cls, problem: Problem, states: States) -> Partition:
        """The groups of the posteriors in the states; missing cells are completed given these groups."""
        if problem.gaps is not None:
            posteriors = problem.rows.gather(states, "posteriors")
            problem = complete_with(problem, posteriors)
            states = problem.start_states(posteriors.T, len(posteriors))
        groups = GroupMeans.of(problem, states)
        H = problem.scatter.to_variables(groups.between(problem).H)
        floors = block_floors(problem)
        return cls(problem.scatter, H, groups.weights, problem.constant, floors, problem.blocks)

    @classmethod
    def of_labels(cls, problem: Problem, labels: np.ndarray, n_clusters: int) -> Partition:
        """The groups of labels 0 ... K-1 (n)."""
        return cls.of(problem, problem.start_states(labels, n_clusters))

    def block(self, support: np.ndarray) -> np.ndarray:
        """T of some variables (indices), with what the spacing of their values adds to the variances."""
        block = self.scatter.block(support)
        if self.blocks is None:
            block[np.diag_indices(len(block))] *= 1 + self.floors[support]
            return block
        of = self.blocks.variable[support]
        return block * (1 + np.where(of[:, None] == of, self.floors[support], 0.0))

    def only(self, columns: np.ndarray) -> Partition:
        """The same groups on some of the columns (indices), which remain some of p variables. Not for blocks."""
        scatter = self.scatter.only(columns)  # type: ignore[union-attr]
        constant, floors = self.constant[columns], self.floors[columns]
        return Partition(scatter, self.H[columns], self.sizes, constant, floors, among=self.p)

    @property
    def n(self) -> float:
        """The number of rows, weights included."""
        return float(self.sizes.sum())

    @property
    def p(self) -> int:
        """The number of variables to choose among, each of which is one column or a block of them."""
        if self.among is not None:
            return self.among
        return len(self.H) if self.blocks is None else self.blocks.n_variables

    def free(self, support: np.ndarray) -> np.ndarray:
        """The columns `support` without those that the others determine."""
        return support if self.blocks is None else self.blocks.free(support)

    def widths(self, support: np.ndarray) -> np.ndarray:
        """Free columns of each variable that the columns `support` belong to."""
        if self.blocks is None:
            return np.ones(len(support), int)
        return self.blocks.widths[self.blocks.variables_of(support)]

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.sizes)

    def directions(self, support: np.ndarray, rank: int) -> np.ndarray:
        """K x rank, orthonormal: the combinations of the groups that the variables in `support` separate best.

        With all K - 1 of them (also for an empty support), every difference between the groups counts.
        """
        if rank >= self.n_clusters - 1 or not len(support):
            return np.eye(self.n_clusters)
        support = self.free(support)
        return eigen(self.block(support), self.H[support])[1][:, :rank]


def block_floors(problem: Problem) -> np.ndarray:
    """What the spacing of the values adds to the variances, as a share of them (p).

    For a category it is one share of the covariance of its indicators, so that determinants do not depend on which of
    them is left out.
    """
    floors, blocks = columns_of(problem).floors, problem.blocks
    if blocks is None:
        return floors
    floors, variances = floors.copy(), problem.scatter.variances()
    for v in blocks.wide:
        mine = blocks.members[v]
        floors[mine] = floors[mine] @ variances[mine] / max(variances[mine].sum(), np.finfo(float).tiny)
    return floors


@dataclass(frozen=True)
class Judged:
    """The value of C and the rank of the group means that it is reached with."""

    value: float
    rank: int


def price(n: float, p: int, rank: int, m: int, width: int = 1) -> float:
    """Of the (m+1)-th variable, which has that many free columns, in nats."""
    parameters = rank / 2 * np.log(n)
    return float(width * parameters + max(parameters, np.log(max(p - m, 1) / (m + 1))))


def eigen(total: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(lambda, E): eigenvalues of W^-1 B = (T - H H')^-1 H H', largest first, and the K x K vectors of H'W^-1 H."""
    scale = 1 / np.sqrt(np.maximum(np.diagonal(total), np.finfo(float).tiny))  # so that units do not matter
    H = H * scale[:, None]
    within = total * scale[:, None] * scale - H @ H.T
    within[np.diag_indices(len(within))] += _TINY
    values, vectors = np.linalg.eigh(H.T @ np.linalg.solve(within, H))
    return np.maximum(values[::-1], 0), vectors[:, ::-1]


def ratios(partition: Partition, support: np.ndarray) -> np.ndarray:
    """lambda_j of the variables in `support` (indices): at most K - 1, largest first."""
    support = partition.free(support)
    most = min(partition.n_clusters - 1, len(support))
    return eigen(partition.block(support), partition.H[support])[0][:most]


def judge(partition: Partition, support: np.ndarray, values: np.ndarray | None = None) -> Judged:
    """C(K, S), with `values` in place of lambda_j where they were computed on transformed variables."""
    n, K, m = partition.n, partition.n_clusters, len(support)
    sizes = partition.sizes[partition.sizes > 0]
    base = float((sizes * np.log(sizes / n)).sum()) - (K - 1) * np.log(n)
    if not m or K == 1:
        return Judged(base if K > 1 else 0.0, 0)
    explained = n / 2 * np.cumsum(np.log1p(ratios(partition, support) if values is None else values))
    ranks = range(1, len(explained) + 1)
    widths = partition.widths(support)
    prices = [sum([price(n, partition.p, r, i, width) for i, width in enumerate(widths)]) for r in ranks]
    costs = [cost + np.log(n) * r * (K - 1 - r) for cost, r in zip(prices, ranks, strict=True)]
    totals = explained - np.array(costs) + base
    best = int(totals.argmax())
    return Judged(float(totals[best]), best + 1)


def gain(partition: Partition, support: np.ndarray, entropy: float) -> float:
    """The gain over one group in nats, as an entry of the register; nan if S is too large for the rows.

    With the groups of posteriors t_ik, whose entropy is -sum_ik t_ik log t_ik,

        C(K, S) + entropy

    is at most the log-likelihood of Gaussian groups with a common covariance on S less that of one group, less the
    price of C, and equal to it if the t_ik are the posteriors of these groups. Overlapping groups therefore count for
    what they are, while C alone takes the groups as hard.
    """
    judgeable = len(support) < partition.n - partition.n_clusters and (partition.sizes > 0).all()
    return judge(partition, support).value + entropy if judgeable else float("nan")


def criteria_values(
    log_likelihood: float, n_parameters: float, entropy: float, problem: Problem, states, support
) -> dict[str, float]:
    """The value of every criterion in `CRITERIA`, by name; larger is better.

    `states` hold the posteriors and `support` the selected variables (indices), for the criteria of a partition.
    """
    partition = Partition.of(problem, states)
    return {
        name: criterion(log_likelihood, n_parameters, problem.weight, entropy)
        if criterion.of_partition is None
        else criterion.of_partition(partition, support, entropy)
        for name, criterion in CRITERIA.items()
    }


_SAYS = "of overlapping Gaussian groups on the selected variables, in nats, less a price; 0 for one group"
CRITERIA.add("gain", Criterion("gain", "gain over one group", _SAYS, None, gain))
CRITERIA.seal()
