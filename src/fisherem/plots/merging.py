"""The merge tree of a fit: which groups would be merged first, and the decrease of entropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..estimators.pipelines import on_its_rows
from ..search.merging import MergeTree, merge_tree
from .style import Display, group_styles, legend_names, new_axes

__all__ = ["MergeDisplay"]

# Names of groups that fit below the axes side by side.
_CHARACTERS = 90


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
    group_names : sequence of K str, or None
        What the groups are called, if they have names.
    """

    tree: MergeTree
    order: list[int]
    heights: np.ndarray
    group_names: list[str] | None = None

    @classmethod
    def from_estimator(cls, estimator, X) -> MergeDisplay:
        """The tree of the posteriors that a fitted estimator, search or pipeline gives the rows X."""
        known = getattr(on_its_rows(estimator)[0], "group_names_", None)
        return cls.from_posteriors(np.asarray(estimator.predict_proba(X)), names=known)

    @classmethod
    def from_posteriors(cls, posteriors: np.ndarray, *, names=None) -> MergeDisplay:
        """The tree of posterior probabilities (n x K); K `names` of the groups."""
        tree = merge_tree(posteriors)
        called = None if names is None else [str(name) for name in names]
        return cls(tree, _order(tree), np.cumsum([join.fall for join in tree.joins]), called)

    def plot(self, ax=None, *, group_names=None, palette=None):
        """A dendrogram: the height of a join is the cumulative decrease of entropy, in nats.

        Groups are called by their names, else "group 1", "group 2", ..., unless K `group_names` are given. The leaves
        are in the colours of `palette` (see `ProjectionDisplay.plot`).
        """
        ax = new_axes(ax)
        place: dict[tuple[int, ...], tuple[float, float]] = {(k,): (float(i), 0.0) for i, k in enumerate(self.order)}
        for join, height in zip(self.tree.joins, self.heights, strict=True):
            (x1, y1), (x2, y2) = place[join.first], place[join.second]
            ax.plot([x1, x1, x2, x2], [y1, height, height, y2], color="0.2", lw=1.4)
            place[join.groups] = ((x1 + x2) / 2, float(height))
        K = len(self.order)
        called = legend_names(self.group_names if group_names is None else group_names, K)
        long = max(map(len, called)) * K > _CHARACTERS
        ax.set_xticks(range(K), [called[k] for k in self.order], rotation=90 if long else 0)
        for i, k in enumerate(self.order):
            colour, marker = group_styles(K, palette)[k]
            ax.plot([i], [0.0], marker, color=colour, ms=7, clip_on=False)
        ax.set_ylabel("decrease of entropy (nats)")
        self.ax_ = ax
        return self


def _order(tree: MergeTree) -> list[int]:
    """Leaves from left to right, each join's groups side by side."""
    blocks: dict[tuple[int, ...], list[int]] = {(k,): [k] for k in range(len(tree.joins) + 1)}
    for join in tree.joins:
        blocks[join.groups] = blocks.pop(join.first) + blocks.pop(join.second)
    return [k for block in blocks.values() for k in block]
