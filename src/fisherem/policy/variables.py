"""sparsity="auto": the variables that make given groups, and the groups that they make.

C(K, S) names the fewest variables that suffice. Where many weak, correlated variables carry the groups together (genes,
pixels), those few make other groups; then more of the variables that differ are taken, until the groups come back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._utils.agreement import adjusted_rand
from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily
from ..core.engine.multistart import Specification
from .alternation import Candidate, Wanted, alternate, candidate_of, fit_subset
from .criterion import Partition
from .forward_backward import Selector, relevant, select
from .thresholds import THRESHOLDS

__all__ = ["Selection", "variables_for"]


class Selection:
    """The variables that make groups, with the fewest that C(K, S) names and a record of every list that was tried."""

    def __init__(self, labels: np.ndarray):
        self.labels = labels
        self.kept: Candidate | None = None  # None: nothing could be fitted
        self.fewest: np.ndarray | None = None  # indices; None: C names none
        self.records: list[dict] = []

    def tried(self, found: Candidate) -> bool:
        """Whether a list of variables is enough: the groups that it makes agree with those it was made for.

        Where none is enough, the list whose groups agree best is kept.
        """
        agreement = adjusted_rand(found.labels, self.labels)
        if not self.records or agreement > max(record["agreement"] for record in self.records):
            self.kept = found
        self.records.append({"n_variables": found.n_variables, "agreement": agreement})
        return agreement >= THRESHOLDS.gives_back


def variables_for(
    problem: Problem, spec: Specification[DLMFamily], labels: np.ndarray, rank: int, model: str, moved: bool = True
) -> Selection:
    """The variables that make the groups of `labels` (n), few if those suffice.

    Groups that Fisher-EM has not `moved` are not moved on fewer variables either: a single iteration places the rows.
    The same holds with categories: densities of indicators would move the groups to the levels of one category.
    """
    moved = moved and problem.blocks is None
    found = Selection(labels)
    partition = Partition.of_labels(problem, labels, spec.n_clusters)

    def on(support: np.ndarray) -> Candidate | None:
        fit = fit_subset(problem, spec, Wanted(labels, support, rank, model, None if moved else 1))
        return None if fit is None else candidate_of(problem, spec, fit, support, model)

    if moved:
        fewest = alternate(problem, spec, labels, rank, model)
    else:
        support = select(partition, np.zeros(0, int), rank)
        fewest = on(support) if len(support) else None
    if fewest is not None:
        found.fewest = fewest.support
        if found.tried(fewest):
            return found
    for support in _longer(partition, fewest, rank):
        more = on(support)
        if more is not None and found.tried(more):
            return found
    return found


def _sufficing(
    problem: Problem, spec: Specification[DLMFamily], labels: np.ndarray, rank: int, model: str
) -> Candidate | None:
    """The variables that C(K, S) names for these groups, with the fit of one iteration, which keeps the groups."""
    partition = Partition.of_labels(problem, labels, spec.n_clusters)
    support = select(partition, np.zeros(0, int), rank)
    if not len(support):
        return None
    fit = fit_subset(problem, spec, Wanted(labels, support, rank, model, most=1))
    return None if fit is None else candidate_of(problem, spec, fit, support, model)


def _longer(partition: Partition, fewest: Candidate | None, rank: int) -> Iterator[np.ndarray]:
    """Lists of variables that double, from twice the fewest to all that differ: C's own first, then the strongest."""
    first = np.zeros(0, int) if fewest is None else fewest.support
    differ = relevant(partition, first, rank)
    if not len(differ):
        return
    selector = Selector(partition, partition.directions(first, rank))
    own = np.array(selector.variables(first), int)
    rest = np.setdiff1d(np.array(selector.variables(differ), int), own)
    order = np.concatenate([own, rest[np.argsort(-selector.alone[rest], kind="stable")]])
    size = max(1, len(own))
    while size < len(order):
        size *= 2
        yield selector.columns(order[:size])
