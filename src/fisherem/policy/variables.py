"""Which variables make given groups, and the role of every variable in them.

sparsity="auto": C(K, S) names the fewest variables that suffice. Where many weak, correlated variables carry the groups
together (genes, pixels), those few make other groups; then the shortest list is taken that gives the groups back on
other rows as well as any list does.

The role of a variable in a partition is one of

    selected    the partition is made by it
    redundant   it differs between the groups, and the selected variables explain that: it would add nothing
    additional  it differs between the groups beyond what the selected variables explain
    no evidence these rows do not show that it differs; a small difference can remain unseen

A list that suffices is short where variables are redundant. Whoever wants all variables that differ finds them under
selected, redundant and additional.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily
from ..core.engine.multistart import Specification
from ..core.starts.partitions import adjusted_rand
from .alternation import FittedSubset, Wanted, alternate, candidate_of, fit_subset
from .criterion import Partition, judge
from .forward_backward import Selector, relevant, select
from .halves import OnOtherRows
from .thresholds import THRESHOLDS

__all__ = ["NO_EVIDENCE", "ROLES", "Selection", "enough", "roles_table", "variables_for"]

NO_EVIDENCE = "no evidence"
ROLES = ("selected", "redundant", "additional", NO_EVIDENCE)
# Of the selected variables that explain a redundant one, at most this many are named.
_MOST_NAMED = 3
_TINY = 1e-9


@dataclass
class Selection:
    """The variables that make groups, with the fewest that C(K, S) names and a record of every list that was tried."""

    kept: FittedSubset | None = None  # None: nothing could be fitted
    fewest: np.ndarray | None = None  # indices; None: C names none
    records: list[dict] = field(default_factory=list)  # n_variables, agreement

    def tried(self, partition: Partition, support: np.ndarray, agreement: float) -> None:
        """Note a list of columns and how well it gives the groups back."""
        self.records.append({"n_variables": len(partition.widths(support)), "agreement": agreement})


def variables_for(
    problem: Problem, spec: Specification[DLMFamily], labels: np.ndarray, rank: int, model: str, moved: bool = True
) -> Selection:
    """The variables that make the groups of `labels` (n): few, if few give the groups back on other rows as well.

    Groups that Fisher-EM has not `moved` are not moved on fewer variables either: a single iteration places the rows.
    The same holds with categories: densities of indicators would move the groups to the levels of one category.
    """
    moved = moved and problem.blocks is None
    found = Selection()
    partition = Partition.of_labels(problem, labels, spec.n_clusters)

    def on(support: np.ndarray) -> FittedSubset | None:
        fit = fit_subset(problem, spec, Wanted(labels, support, rank, model, None if moved else 1))
        return None if fit is None else candidate_of(problem, spec, fit, support, model)

    if moved:
        fewest = alternate(problem, spec, labels, rank, model)
    else:
        support = select(partition, np.zeros(0, int), rank)
        fewest = on(support) if len(support) else None
    same = -1.0
    if fewest is not None:
        found.fewest, found.kept, same = fewest.support, fewest, adjusted_rand(fewest.labels, labels)
        if same >= THRESHOLDS.same_again:
            found.tried(partition, fewest.support, same)
            return found
    lists = [] if fewest is None else [fewest.support]
    lists += _longer(partition, fewest, rank)
    back = OnOtherRows(problem, labels, lists, by_values=not isinstance(spec.init, str))
    for support in lists:
        found.tried(partition, support, back.agreement(support))
    for i in enough([record["agreement"] for record in found.records]):
        longer = fewest if fewest is not None and i == 0 else on(lists[i])
        # Fisher-EM on columns of noise moves the groups, although the columns tell them apart
        if longer is not None and adjusted_rand(longer.labels, labels) >= same:
            found.kept = longer
            break
    return found


def enough(agreements: list[float]) -> list[int]:
    """The lists that give the groups back on other rows as well as the best one does, by their agreements."""
    return [i for i, one in enumerate(agreements) if one >= max(agreements) - THRESHOLDS.gives_back]


def _longer(partition: Partition, fewest: FittedSubset | None, rank: int) -> Iterator[np.ndarray]:
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


# -- the roles of all variables ----------------------------------------------------------------------------------------


def roles_table(partition: Partition, support: np.ndarray, names: list[str]) -> pd.DataFrame:
    """A row per variable, for S = `support` (columns): its role, its name and why.

    conditional_gain : nats (n/2 log of a ratio of variances, before any price); for a selected variable what leaving it
        out would lose, for any other what adding it to S would gain
    marginal_gain : what the variable by itself gains
    between_share : its own Fisher's criterion, the share of its variance that lies between the groups
    criterion_share : the share of Fisher's criterion of S that is lost without it, or gained with it
    explained_by : for redundant variables, the selected ones that explain them most
    """
    # more variables than the rows can tell apart explain each other: leaving out one loses nothing
    explicable = 0 < len(support) <= partition.n - partition.n_clusters
    rank = max(1, judge(partition, support).rank) if explicable else partition.n_clusters - 1
    selector = Selector(partition, partition.directions(support, rank))
    chosen = np.array(selector.variables(support), int)
    selector.reset(chosen.tolist())
    role = _roles(partition, selector, support, rank)
    gain = selector.conditional_gains()
    if explicable:
        gain[np.array(selector.support)] = selector.losses()
    alone = np.where(np.isfinite(selector.alone), selector.alone, 0.0)
    between = _per_variable(partition, np.where(partition.constant, 0.0, (partition.H**2).sum(axis=1)))
    total = np.maximum(_per_variable(partition, partition.scatter.variances()), np.finfo(float).tiny)
    shown = support if explicable else support[:0]
    coefficients, share = _fisher_shares(partition, shown)
    redundant = (role == "redundant") & explicable
    sizes = _sizes(partition, coefficients, shown)
    explained = [_named(sizes[:, v], chosen, names) if redundant[v] else "" for v in range(partition.p)]
    return pd.DataFrame(
        {
            # pandas leaves out the columns in the middle where a table is wider than the terminal
            "role": role,
            "variable": names,
            "conditional_gain": np.maximum(np.where(np.isfinite(gain), gain, 0.0), 0.0),
            "explained_by": explained,
            "marginal_gain": alone,
            "between_share": between / total,
            "criterion_share": share,
        }
    )


def _roles(partition: Partition, selector: Selector, support: np.ndarray, rank: int) -> np.ndarray:
    role = np.full(partition.p, NO_EVIDENCE, dtype=object)
    differs = np.array(selector.variables(relevant(partition, support, rank)), int)
    role[differs] = "redundant"
    adds = selector.conditional_gains() > selector.prices(len(selector.support))
    beyond = differs[adds[differs]]
    role[beyond] = "additional"
    role[_per_variable(partition, ~partition.constant) == 0] = NO_EVIDENCE
    role[selector.support] = "selected"
    return role


def _per_variable(partition: Partition, values: np.ndarray) -> np.ndarray:
    """Values of the columns, added up over those of each variable."""
    blocks = partition.blocks
    return values if blocks is None else np.bincount(blocks.variable, values, blocks.n_variables)


def _fisher_shares(partition: Partition, support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(coefficients of every column on S (m x columns), share of Fisher's criterion trace(T_S^-1 B_S) by variable).

    The columns of S are standardised, so that their units may be far apart. With R_b = H_b - T_bS T_SS^-1 H_S, adding b
    to S adds trace(T_b|S^-1 R_b R_b'); with Q = T_SS^-1 H_S, taking s out takes trace((T_SS^-1)_ss^-1 Q_s Q_s') away.
    """
    scatter, H = partition.scatter, partition.H
    if not len(support):
        return np.zeros((0, len(H))), np.zeros(partition.p)
    support = partition.free(support)
    variances = scatter.variances()[support]
    deviations = np.sqrt(np.where(variances > 0, variances, 1.0))
    block = scatter.block(support) / deviations / deviations[:, None]
    np.fill_diagonal(block, 1 + _TINY)
    inverse = np.linalg.inv(block)
    columns = np.column_stack([scatter.column(int(s)) for s in support]) / deviations  # p x m
    coefficients = inverse @ columns.T
    means = H[support] / deviations[:, None]
    solved = inverse @ means
    value = float((means * solved).sum())
    rest = H - coefficients.T @ means
    own = np.maximum(scatter.variances() - np.einsum("mp,pm->p", coefficients, columns), 0)
    own = np.where(own > 1e-6 * np.maximum(scatter.variances(), np.finfo(float).tiny), own, np.inf)
    gained = (rest**2).sum(axis=1) / own
    gained[support] = (solved**2).sum(axis=1) / np.diagonal(inverse)
    gained[partition.constant] = 0.0
    blocks = partition.blocks
    if blocks is not None:
        gained = gained[[mine[0] for mine in blocks.members]]
        for v in blocks.wide:
            mine = blocks.free(blocks.members[v])
            places = np.flatnonzero(np.isin(support, mine))
            if len(places):
                own_part, mine_solved = inverse[np.ix_(places, places)], solved[places]
                gained[v] = np.trace(np.linalg.solve(own_part, mine_solved @ mine_solved.T))
            else:
                left = scatter.block(mine) - coefficients[:, mine].T @ block @ coefficients[:, mine]
                left[np.diag_indices(len(left))] += 1e-6 * scatter.variances()[mine]
                gained[v] = np.trace(np.linalg.solve(left, rest[mine] @ rest[mine].T))
    return coefficients, gained / max(value, np.finfo(float).tiny)


def _sizes(partition: Partition, coefficients: np.ndarray, support: np.ndarray) -> np.ndarray:
    """How much each variable of S contributes to a regression of each variable on S (variables of S x variables)."""
    support = partition.free(support)
    size, blocks = np.abs(coefficients), partition.blocks
    if blocks is None or not len(support):
        return size
    size = np.stack([_per_variable(partition, row) for row in size])
    _, place = np.unique(blocks.variable[support], return_inverse=True)
    return np.stack([size[place == i].sum(axis=0) for i in range(place.max() + 1)])


def _named(size: np.ndarray, chosen: np.ndarray, names: list[str]) -> str:
    """The selected variables that contribute most to a regression on S, by the size of their standardised terms."""
    order = np.argsort(-size, kind="stable")[:_MOST_NAMED]
    return ", ".join(names[chosen[i]] for i in order if size[i] >= THRESHOLDS.explains * size[order[0]] > 0)
