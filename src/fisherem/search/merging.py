"""The merge tree: which groups would be merged next, and how much that lowers the entropy of the posteriors.

Two groups that overlap make the posteriors of their rows uncertain. Repeatedly merging the pair whose union lowers the
entropy of the posteriors most gives a tree (Baudry et al. 2010). A large decrease means that two groups were hardly
separated; once the decreases are small, the remaining groups are well separated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from .._utils.wording import group_name

__all__ = ["Join", "MergeTree", "merge_tree"]

# The number of rows whose terms are computed at a time.
_BLOCK = 2**16


@dataclass(frozen=True)
class Join:
    """A merge of two groups: `first` and `second` are tuples of groups of the fit, counted from 0.

    `n_clusters` is the number of groups after it, `entropy` that of the posteriors after it, `fall` its decrease, both
    in nats; `rows` is the number of rows in the merged group.
    """

    n_clusters: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    entropy: float
    fall: float
    rows: float

    @property
    def fall_per_row(self) -> float:
        """The decrease of the entropy per row of the merged group, in nats."""
        return self.fall / max(self.rows, np.finfo(float).tiny)

    @property
    def groups(self) -> tuple[int, ...]:
        """All groups of the fit in the merged one, ascending."""
        return tuple(sorted(self.first + self.second))


@dataclass(frozen=True)
class MergeTree:
    """The sequence of merges from K groups to one.

    Attributes
    ----------
    joins : tuple of Join
        In the order in which they are made.
    entropy : float
        The entropy of the posteriors before any merge.
    """

    joins: tuple[Join, ...]
    entropy: float

    def table(self) -> pd.DataFrame:
        """A row per join: n_clusters, first, second, entropy, fall, rows, fall_per_row."""
        names = ["n_clusters", "first", "second", "entropy", "fall", "rows", "fall_per_row"]
        return pd.DataFrame([[getattr(join, name) for name in names] for join in self.joins], columns=names)

    def labels(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """The partition `labels` (n) of the fit after joins down to `n_clusters` groups, counted from 0."""
        K = len(self.joins) + 1
        if not 1 <= n_clusters <= K:
            raise ValueError(f"n_clusters must lie between 1 and {K}; got {n_clusters}")
        names = np.arange(K)
        for join in self.joins[: K - n_clusters]:
            names[list(join.second)] = names[join.first[0]]
        return np.unique(names, return_inverse=True)[1][np.asarray(labels)]

    def named(self, names: list[str] | None = None) -> list[tuple[str, str]]:
        """The two groups of each merge, by the K `names`."""
        return [(_named(join.first, names), _named(join.second, names)) for join in self.joins]


def merge_tree(posteriors: np.ndarray, sample_weight: np.ndarray | None = None) -> MergeTree:
    """The merge tree for posterior probabilities (n x K)."""
    T = np.asarray(posteriors, float)
    if T.ndim != 2 or not T.size:
        raise ValueError(f"posteriors must be a table of rows and groups; got an array of shape {T.shape}")
    weights = np.ones(len(T)) if sample_weight is None else np.asarray(sample_weight, float)
    members: list[tuple[int, ...]] = [(k,) for k in range(T.shape[1])]
    entropy = start = _entropy(T, weights)
    columns = list(T.T)
    joins: list[Join] = []
    while len(members) > 1:
        falls = {(a, b): _fall(columns[a], columns[b], weights) for a, b in combinations(range(len(members)), 2)}
        a, b = max(falls, key=lambda pair: falls[pair])
        fall, rows = falls[a, b], float(weights @ columns[a] + weights @ columns[b])
        entropy -= fall
        join = Join(len(members) - 1, members[a], members[b], max(entropy, 0.0), fall, rows)
        joins.append(join)
        columns[a] = columns[a] + columns.pop(b)
        members[a] = join.groups
        members.pop(b)
    return MergeTree(tuple(joins), start)


def _terms(t: np.ndarray) -> np.ndarray:
    """-t log t, with 0 for t = 0."""
    return -t * np.log(np.maximum(t, np.finfo(float).tiny))


def _blocks(n: int) -> Iterator[slice]:
    """Rows in blocks: images have millions of them, and the terms need memory of their own."""
    return (slice(i, i + _BLOCK) for i in range(0, n, _BLOCK))


def _entropy(T: np.ndarray, weights: np.ndarray) -> float:
    return float(sum(weights[rows] @ _terms(T[rows]).sum(axis=1) for rows in _blocks(len(T))))


def _fall(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    """The decrease of the entropy when two columns of posteriors are merged."""
    parts = ((a[rows], b[rows], weights[rows]) for rows in _blocks(len(a)))
    return float(sum(w @ (_terms(t) + _terms(u) - _terms(t + u)) for t, u, w in parts))


def _named(groups: tuple[int, ...], names: list[str] | None) -> str:
    usual = [group_name(k) for k in groups]
    called = usual if names is None else [names[k] for k in groups]
    if len(called) == 1 or called != usual:
        return " + ".join(called)
    return "groups " + " + ".join(str(k + 1) for k in groups)
