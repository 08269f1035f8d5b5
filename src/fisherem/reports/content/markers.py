"""What marks each group, as the page shows it: the first lines of the table of markers, and a dot plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...plots.markers import effect_limit
from ...policy.variables import NO_EVIDENCE
from ..text import clean

__all__ = ["LEAST_EFFECT", "Dots", "MarkerRow", "Markers", "markers_of"]

# Lines of the table, and the fewest and most for each group; the file has all.
_MOST_LISTED, _FEWEST_LISTED, _MOST_EACH = 120, 2, 12
# Lines of the dot plot, about a screen; a group has one at least.
_MOST_DOTS = 36
_SHOWN = (
    "direction", "effect", "effect_nearest", "nearest", "mean_inside", "mean_outside", "share_beyond", "role",
)  # fmt: skip
# Smaller differences are not named or drawn. Cohen (1988) calls 0.5 a medium effect; groups this far apart overlap by
# about two thirds.
LEAST_EFFECT = 0.5


@dataclass(frozen=True)
class MarkerRow:
    """A line of the table: the group `k` and the variable `index` (both from 0), and the values of `markers`."""

    k: int
    index: int
    name: str
    direction: str
    effect: float
    effect_nearest: float
    nearest: str
    mean_inside: float
    mean_outside: float
    share_beyond: float
    role: str
    reproducibility: float | None
    p: float | None
    q: float | None


@dataclass(frozen=True)
class Dots:
    """The dot plot of v variables in K groups: `effect` and `share` (v x K) of the table, `indices` (v) and `names`.

    `marks` (v) are the groups for which the variables are shown.
    """

    indices: list[int]
    names: list[str]
    effect: np.ndarray
    share: np.ndarray
    marks: list[int]
    group_names: list[str]

    @property
    def limit(self) -> float:
        """The effect at which the colours end."""
        return effect_limit(self.effect)


@dataclass(frozen=True)
class Markers:
    """`rows` of the table, the first of each group, of `n_rows`; `dots`, or None where nothing differs."""

    rows: list[MarkerRow]
    n_rows: int
    dots: Dots | None

    @property
    def has(self) -> set[str]:
        """Which of the columns reproducibility and q there are."""
        first = self.rows[0]
        return {name for name in ("reproducibility", "q") if getattr(first, name) is not None}


def markers_of(
    frame: pd.DataFrame, k: np.ndarray, j: np.ndarray, names: list[str], called: list[str]
) -> Markers | None:
    """The part of the page about a table of `markers`; `k` and `j` are the groups and variables of its rows, from 0.

    `names` are p, `called` K. None where no variable differs.
    """
    each = max(_FEWEST_LISTED, min(_MOST_EACH, _MOST_LISTED // len(called)))
    first = frame.groupby(k, sort=False).cumcount().to_numpy() < each
    listed = first & (frame["direction"] != "").to_numpy()
    rows = [
        _row(record, int(k[i]), int(j[i]))
        for i, record in zip(np.flatnonzero(listed), frame[listed].to_dict("records"), strict=True)
    ]
    return Markers(rows, len(frame), _dots(frame, k, j, names, called)) if rows else None


def _row(record: dict[Any, Any], k: int, j: int) -> MarkerRow:
    known: dict[str, Any] = {
        name: float(record[name]) if name in record else None for name in ("reproducibility", "p", "q")
    }
    given = {name: record[name] for name in _SHOWN}
    return MarkerRow(k=k, index=j, name=clean(record["variable"], 60), **given, **known)


def _dots(frame: pd.DataFrame, k: np.ndarray, j: np.ndarray, names: list[str], called: list[str]) -> Dots | None:
    """The variables that mark each group most, group by group; each stands once."""
    effect, share = np.full((2, len(names), len(called)), np.nan)
    effect[j, k], share[j, k] = frame["effect"], frame["share_beyond"]
    K = len(called)
    each = max(1, _MOST_DOTS // K)
    marking = (frame["effect"].abs() >= LEAST_EFFECT) & (frame["role"] != NO_EVIDENCE)
    chosen: dict[int, int] = {}
    for group in range(K):
        mine = [int(v) for v in j[marking.to_numpy() & (k == group)] if int(v) not in chosen]
        chosen |= dict.fromkeys(mine[:each], group)
    if not chosen:
        return None
    indices = list(chosen)
    return Dots(
        indices, [clean(names[v], 60) for v in indices], effect[indices], share[indices], list(chosen.values()), called
    )  # fmt: skip
