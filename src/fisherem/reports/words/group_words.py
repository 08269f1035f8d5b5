"""The groups in words: how large each is, and in which variables it is high or low, by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...estimators.marking import effects
from ...policy.variables import NO_EVIDENCE
from ...tables.rows_by_group import Moments
from ..content.markers import LEAST_EFFECT
from ..text import number

__all__ = ["Effect", "GroupWords", "group_words"]

# Most high and most low variables that are named for a group.
_MOST_NAMED = 4
# Selected variables that are always named if their effect is large enough.
_SELECTED_NAMED = 2


@dataclass(frozen=True)
class Effect:
    """How far a group's mean lies from the mean of all other rows in variable `index`, in standard deviations."""

    index: int
    name: str
    size: float
    selected: bool

    @property
    def text(self) -> str:
        """The effect with its sign: "+2.1"."""
        return number(self.size, 1, signed=True)


@dataclass(frozen=True)
class GroupWords:
    """Group `k` (from 0): its rows, their share of all, and the variables in which it is high and low, most first."""

    k: int
    count: int
    share: float
    high: list[Effect]
    low: list[Effect]


def group_words(model, moments: Moments, names: list[str]) -> list[GroupWords]:
    """What to say of each of the K groups of a fit.

    Only variables that differ between the groups are named: those with evidence of a difference, where a fit knows the
    roles; otherwise the selected ones. Among thousands of variables some are far off in a small group by chance.
    """
    support = np.asarray(model.support_)
    roles = getattr(model, "roles_", None)
    differing = support if roles is None else support | (roles["role"] != NO_EVIDENCE).to_numpy()
    sizes = effects(moments)
    n = max(int(moments.counts.sum()), 1)

    def named(k: int, sign: int) -> list[Effect]:
        signed = np.where(differing, sign * sizes[k], 0.0)
        strongest = np.argsort(-signed, kind="stable")[:_MOST_NAMED]
        # always include the selected variables with the largest effects
        chosen = np.argsort(-np.where(support, signed, 0.0), kind="stable")[:_SELECTED_NAMED]
        order = sorted({*strongest.tolist(), *chosen.tolist()}, key=lambda j: -signed[j])
        return [Effect(j, names[j], float(sizes[k, j]), bool(support[j])) for j in order if signed[j] >= LEAST_EFFECT]

    return [GroupWords(k, int(c), int(c) / n, named(k, 1), named(k, -1)) for k, c in enumerate(moments.counts)]
