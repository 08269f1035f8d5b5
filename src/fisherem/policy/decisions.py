"""The record of what was decided: one line per decision, for the user, and the fit that the decisions led to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.engine.loop import Fit
from ..model.dlm import DLM

__all__ = ["Chosen", "Decision", "decisions_of", "decisions_table", "model_decision", "naming_ridge"]

_COLUMNS = ["decision", "choice", "alternatives", "reason"]


@dataclass(frozen=True)
class Decision:
    """One automatic decision."""

    decision: str  # what was to be decided: "scaling", "start", "model", ...
    choice: str
    alternatives: str  # what else was tried, with its values; "" if nothing was
    reason: str
    records: tuple[dict[str, Any], ...] = field(default=(), repr=False)  # the numbers behind it, one per alternative


@dataclass
class Chosen:
    """The fit that was kept, its model, and how both were decided."""

    fit: Fit
    starts: list[dict]
    model: DLM
    decisions: list[Decision] = field(default_factory=list)
    moved: bool = True  # False: the iterations ended after the first, which kept the groups of the start
    fewest: np.ndarray | None = None  # indices of the fewest variables that C(K, S) names; None: no choice was made

    def about(self, name: str) -> Decision | None:
        """The decision of that name, if it was made."""
        return next((one for one in self.decisions if one.decision == name), None)

    def said(self, decision: Decision) -> Chosen:
        """The same fit with one decision more; it replaces an earlier one about the same."""
        others = [one for one in self.decisions if one.decision != decision.decision]
        return replace(self, decisions=[*others, decision])

    def first(self, decision: Decision) -> Chosen:
        """The same fit with a decision that was made before all others."""
        return replace(self, decisions=[decision, *self.decisions])


# What a model chosen by model="auto" can be compared by, and how its values are printed.
_COMPARED_BY = {
    "fisher": ("Fisher's criterion", ".3f"),
    "bic": ("BIC", ".1f"),
    "value": ("the penalised likelihood inside the axes", ".1f"),
}


def model_decision(records: list[dict]) -> Decision:
    """The choice among models from a record of each: its values, whether it was kept, and why."""
    kept = next(record for record in records if record["kept"])
    key = kept["reason"]
    compared = [record for record in records if key in record]
    if key not in _COMPARED_BY or len(compared) < 2:
        return Decision(
            "model", kept["model"], "", "no other candidate" if key in _COMPARED_BY else key, tuple(records)
        )
    by, digits = _COMPARED_BY[key]
    if better := [record["model"] for record in compared if record[key] > kept[key]]:  # but not by enough
        by += f", by which {better[0]} is only slightly better,"
    values = ", ".join(f"{record['model']} {record[key]:{digits}}" for record in compared)
    return Decision("model", kept["model"], values, by, tuple(records))


def naming_ridge(chosen: Chosen) -> Chosen:
    """The ridge that the run of the fit estimated, as a decision of the record; none if the ridge was given.

    It is the share of the mean variance of what the F-step inverted: of the selected variables, if any were selected.
    """
    solution = chosen.fit.solution
    if not np.isfinite(solution.ridge):
        return chosen
    selected = chosen.about("variables") is not None and solution.axes.sparse is not None
    whose = " of the selected variables" if selected else ""
    reason = "estimated from the groups that the run began with, by Ledoit and Wolf's formula"
    return chosen.said(Decision("ridge", f"{solution.ridge:.3g} times the mean variance{whose}", "", reason))


def decisions_table(decisions: Iterable[Decision]) -> pd.DataFrame:
    """A row per decision, in the order in which they were made."""
    return pd.DataFrame([[getattr(one, name) for name in _COLUMNS] for one in decisions], columns=_COLUMNS)


def decisions_of(table: pd.DataFrame) -> list[Decision]:
    """The decisions of such a table, which may come from a file."""
    if not isinstance(table, pd.DataFrame) or not table[_COLUMNS].map(lambda cell: isinstance(cell, str)).all(
        axis=None
    ):
        raise ValueError("decisions_ must be a table of text")
    return [Decision(*row) for row in table[_COLUMNS].itertuples(index=False)]
