"""The dendrogram of the groups above the heat map: average linkage of their means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import linkage

__all__ = ["GroupTree", "group_tree"]


@dataclass(frozen=True)
class GroupTree:
    """`order` has the groups from left to right. `joins` has a line per merge: the places of the two branches (in
    `order`, and half-way between for groups that are merged already), the heights at which these were merged (0 for a
    group) and the height of the merge."""

    order: list[int]
    joins: list[tuple[float, float, float, float, float]]


def group_tree(means: np.ndarray) -> GroupTree:
    """The tree of groups by the distances of their means (K x v, in standard deviations); of groups that are merged,
    the mean of the distances counts. The branch with the smaller number stands left."""
    there = np.flatnonzero(np.isfinite(means).all(axis=1))
    if len(there) < 3:  # a tree of two groups has one merge only
        return GroupTree(there.tolist(), [])
    merges = linkage(means[there], "average")
    members: list[list[int]] = [[int(k)] for k in there]
    heights = [0.0] * len(there)
    branches = []
    for a, b, height, _ in merges:
        left, right = sorted((int(a), int(b)), key=lambda node: min(members[node]))
        members.append(members[left] + members[right])
        heights.append(float(height))
        branches.append((left, right, float(height)))
    order = members[-1]
    places: list[float] = [float(order.index(int(k))) for k in there]
    joins = []
    for left, right, height in branches:
        joins.append((places[left], heights[left], places[right], heights[right], height))
        places.append((places[left] + places[right]) / 2)
    return GroupTree(order, joins)
