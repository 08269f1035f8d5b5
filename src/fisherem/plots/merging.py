"""The merge tree of a fit: which groups would be merged first, and the decrease of entropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._utils.wording import group_name
from ..search.merging import MergeTree, merge_tree
from .style import Display, new_axes

__all__ = ["MergeDisplay"]


@dataclass(repr=False)
class MergeDisplay(Display):
    """The merge tree of a fit's groups.

    Attributes
    ----------
    tree : MergeTree
        The joins, first to last.
    order : list of int
        The groups, counted from 0, in an order in which no two lines of the tree cross.
    heights : ndarray of shape (K - 1,)
        Where each join is drawn: the cumulative decrease of entropy. Large steps mean that the merged groups overlap;
        well separated groups all join at nearly the same height.
    """

    tree: MergeTree
    order: list[int]
    heights: np.ndarray

    @classmethod
    def from_estimator(cls, estimator, X) -> MergeDisplay:
        """The tree of the posteriors that a fitted estimator, search or pipeline gives the rows X."""
        return cls.from_posteriors(np.asarray(estimator.predict_proba(X)))

    @classmethod
    def from_posteriors(cls, posteriors: np.ndarray) -> MergeDisplay:
        """The tree of posterior probabilities (n x K)."""
        tree = merge_tree(posteriors)
        return cls(tree, _order(tree), np.cumsum([join.fall for join in tree.joins]))

    def plot(self, ax=None):
        """A dendrogram: the height of a join is the cumulative decrease of entropy, in nats."""
        ax = new_axes(ax)
        place: dict[tuple[int, ...], tuple[float, float]] = {(k,): (float(i), 0.0) for i, k in enumerate(self.order)}
        for join, height in zip(self.tree.joins, self.heights, strict=True):
            (x1, y1), (x2, y2) = place[join.first], place[join.second]
            ax.plot([x1, x1, x2, x2], [y1, height, height, y2], color="0.2", lw=1.4)
            place[join.groups] = ((x1 + x2) / 2, float(height))
        ax.set_xticks(range(len(self.order)), [group_name(k) for k in self.order])
        ax.set_ylabel("decrease of entropy (nats)")
        self.ax_ = ax
        return self


def _order(tree: MergeTree) -> list[int]:
    """Leaves from left to right, each join's groups side by side."""
    blocks: dict[tuple[int, ...], list[int]] = {(k,): [k] for k in range(len(tree.joins) + 1)}
    for join in tree.joins:
        blocks[join.groups] = blocks.pop(join.first) + blocks.pop(join.second)
    return [k for block in blocks.values() for k in block]
