"""The record of what was decided: one line per decision, for the user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

__all__ = ["Decision", "decisions_table"]


@dataclass(frozen=True)
class Decision:
    """One automatic decision."""

    decision: str  # what was to be decided: "scaling", "start", "model", ...
    choice: str
    alternatives: str  # what else was tried, with its values; "" if nothing was
    reason: str


def decisions_table(decisions: Iterable[Decision]) -> pd.DataFrame:
    """A row per decision, in the order in which they were made."""
    columns = ["decision", "choice", "alternatives", "reason"]
    return pd.DataFrame([[getattr(one, name) for name in columns] for one in decisions], columns=columns)
