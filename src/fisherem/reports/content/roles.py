"""The roles of the variables, as shown on the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...policy.variables import NO_EVIDENCE, ROLES
from ..text import clean

__all__ = ["RoleRow", "RoleContent", "roles_of"]

# Most variables in the table, which lists selected, additional and redundant ones; the others are only counted.
_MAX_LISTED = 60
_ORDER = {"selected": 0, "additional": 1, "redundant": 2}


@dataclass(frozen=True)
class RoleRow:
    """A variable that differs between the groups: its number in the table (from 0), its role, gain in nats, the
    share of its variance between the groups, what explains it."""

    index: int
    name: str
    role: str
    conditional_gain: float
    between_share: float
    explained_by: str


@dataclass(frozen=True)
class RoleContent:
    """`counts` of each role, `rows` of the variables that differ (the first 60), `n_differing` in all."""

    counts: dict[str, int]
    rows: list[RoleRow]
    n_differing: int


def roles_of(model, first: np.ndarray | None = None) -> RoleContent | None:
    """The roles of a fitted sparse model, selected variables first and then by gain; None for a dense one.

    `first` are the numbers of the first column of each variable where a variable may have several columns.
    """
    table: pd.DataFrame | None = getattr(model, "roles_", None)
    if table is None:
        return None
    differing = table.assign(index=range(len(table)) if first is None else first)[table["role"] != NO_EVIDENCE]
    gains = differing["conditional_gain"].where(differing["role"] != "redundant", differing["marginal_gain"])
    places = differing["role"].map(_ORDER)
    ordered = differing.assign(place=places, by=-gains).sort_values(["place", "by"], kind="stable")
    rows = [_row(record) for record in ordered.head(_MAX_LISTED).to_dict("records")]
    return RoleContent({role: int((table["role"] == role).sum()) for role in ROLES}, rows, len(ordered))


def _row(record: dict) -> RoleRow:
    name, explained = clean(record["variable"], 60), clean(record["explained_by"], 120)
    gain, between = record["conditional_gain"], record["between_share"]
    return RoleRow(int(record["index"]), name, str(record["role"]), gain, between, explained)
