"""Groups inside the groups, as the page shows them: what `subcluster` found in the groups that were split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.wording import group_names_of
from ...search.subclusters import LEAST_ROWS, Subclusters
from ..text import clean, number
from .markers import LEAST_EFFECT

__all__ = ["Inside", "Subgroup", "Subgroups", "subgroups_of"]

ALL = "all"
# Variables that are named for a group inside, and for a split.
_MOST_NAMED, _MOST_SELECTED = 4, 6


@dataclass(frozen=True)
class Subgroup:
    """A group inside another: its name, its number of rows, what marks it, and its number there, from 0."""

    name: str
    count: int
    words: str
    place: int


@dataclass(frozen=True)
class Inside:
    """What is inside group `k`: `parts`, one where it is not split, the variables that split it, and how sure."""

    k: int
    parts: list[Subgroup]
    n_selected: int
    p: int
    selected: list[str]  # the first of them
    headline: str  # of the verdict on their number; "" where the number was given


@dataclass(frozen=True)
class Subgroups:
    """The groups that were split, their `parts`, and for each of n rows the number of its part (-1: none)."""

    groups: list[Inside]
    numbers: np.ndarray

    @property
    def parts(self) -> list[Subgroup]:
        """The groups inside all groups that were split."""
        return [part for one in self.groups if len(one.parts) > 1 for part in one.parts]

    def among(self, rows: np.ndarray, group: np.ndarray) -> Subgroups:
        """The same for some of the rows, by their numbers, which were given in the groups `group`."""
        numbers = self.numbers[rows]
        within = np.array([one.k for one in self.groups if len(one.parts) > 1 for _ in one.parts] + [-1])
        return replace(self, numbers=np.where(within[numbers] == group, numbers, -1))


def subgroups_of(given, model, X) -> Subgroups | None:
    """The part of the page about `given`: results of `model.subcluster(X, ...)`, or "all" to split every group now."""
    if given is None:
        return None
    if not hasattr(model, "subcluster"):
        raise TypeError(f"subgroups: the groups of a {type(model).__name__} cannot be split")
    if isinstance(given, str) and given == ALL:
        sizes = np.bincount(np.asarray(model.predict(X)), minlength=len(group_names_of(None, _count(model))))
        found = [model.subcluster(X, k + 1) for k in np.flatnonzero(sizes >= LEAST_ROWS).tolist()]
    else:
        found = [given] if isinstance(given, Subclusters) else given
        if not isinstance(found, Sequence) or not all(isinstance(one, Subclusters) for one in found):
            raise TypeError(f"subgroups must be {ALL!r} or results of model.subcluster; got {given!r:.80}")
    groups: list[Inside] = []
    numbers, n_parts = np.full(0 if not found else len(found[0].inside), -1), 0
    for one in sorted(found, key=lambda one: one.group):
        if len(one.inside) != len(numbers):
            raise ValueError(f"subgroups are of {len(one.inside):,} and of {len(numbers):,} rows: split the same rows")
        if any(inside.k == one.group for inside in groups):
            raise ValueError(f"subgroups has two splits of the same group, {groups[-1].parts[0].name}: give one")
        inside = _inside(one, X)
        groups.append(inside)
        if len(inside.parts) > 1:
            numbers[one.inside] = n_parts + np.asarray(one.model.labels_)
            n_parts += len(inside.parts)
    return Subgroups(groups, numbers)


def _count(model) -> int:
    return len(getattr(model, "best_estimator_", model).weights_)


def _inside(found: Subclusters, X) -> Inside:
    table = found.markers(X)
    sizes = np.bincount(found.model.labels_, minlength=len(found.names))
    parts = []
    for j, (name, lines) in enumerate(table.groupby("group", sort=False)):
        strong = lines[(lines["effect"].abs() >= LEAST_EFFECT) & (lines["role"] == "selected")][:_MOST_NAMED]
        marked = [f"{clean(v, 60)} ({number(e, 1, signed=True)})" for v, e in zip(strong["variable"], strong["effect"],
                                                                                strict=True)]  # fmt: skip
        parts.append(Subgroup(clean(name, 60), int(sizes[j]), ", ".join(marked), j))
    support = np.asarray(found.model.support_)
    selected = table.loc[table["role"] == "selected", "variable"].unique()[:_MOST_SELECTED]
    verdict: Any = getattr(found.fitted, "verdict_", None)
    headline = "" if verdict is None else clean(verdict.headline, 300)
    return Inside(found.group, parts, int(support.sum()), len(support), [clean(one, 60) for one in selected], headline)
