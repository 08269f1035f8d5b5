"""The record of what was decided: one line per decision, for the user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

__all__ = ["Decision", "decisions_of", "decisions_table"]

_COLUMNS = ["decision", "choice", "alternatives", "reason"]


@dataclass(frozen=True)
class Decision:
    """One automatic decision."""

    decision: str  # what was to be decided: "scaling", "start", "model", ...
    choice: str
    alternatives: str  # what else was tried, with its values; "" if nothing was
    reason: str
    records: tuple[dict[str, Any], ...] = field(default=(), repr=False)  # the numbers behind it, one per alternative


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
