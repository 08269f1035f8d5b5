"""How many groups there are: the page's words and numbers about a verdict, and the merge tree of the fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...policy.number_of_groups.verdict import NOT_DECIDED, Verdict
from ...search.merging import merge_tree
from ..text import clean, number

__all__ = ["JoinRow", "RuleRow", "VerdictPart", "in_words", "joins_of", "verdict_of"]


@dataclass(frozen=True)
class RuleRow:
    """A row of the page's table of rules: its label, what it says, the number it picks, its values as text by K."""

    label: str
    says: str
    picks: str
    values: list[str]
    picked: int | None


@dataclass(frozen=True)
class VerdictPart:
    """A verdict as the page shows it: `numbers` are the columns of the tables, `chosen` the number of groups shown.

    `rules` have a vote, `others` have none. `consensus` (m x m) is the share of fits to halves of the rows that put two
    rows together, `groups` (m) are their groups; None where no halves were fitted.
    """

    headline: str
    confidence: str
    undecided: bool
    reasons: list[str]
    cautions: list[str]
    numbers: list[int]
    chosen: int
    rules: list[RuleRow]
    others: list[RuleRow]
    consensus: np.ndarray | None
    groups: np.ndarray


def verdict_of(search, words: tuple[str, str] = ("rows", "columns")) -> VerdictPart | None:
    """The page's account of a search's verdict; None where a criterion has chosen.

    `words` are what the rows and the columns are called on the page.
    """
    verdict: Verdict | None = getattr(search, "verdict_", None)
    if verdict is None:
        return None
    table = verdict.rules
    numbers = [int(K) for K in table.columns if isinstance(K, (int, np.integer))]
    consensus, groups = search.evidence_.consensus(verdict.n_clusters) or (None, np.zeros(0, int))
    return VerdictPart(
        headline=clean(in_words(verdict.headline, words), 300),
        confidence=verdict.confidence,
        undecided=verdict.confidence == NOT_DECIDED,
        reasons=[clean(in_words(text, words), 600) for text in verdict.reasons],
        cautions=[clean(in_words(text, words), 600) for text in verdict.cautions],
        numbers=numbers,
        chosen=verdict.n_clusters,
        rules=[_rule(row, numbers) for _, row in table[table["votes"]].iterrows()],
        others=[_rule(row, numbers) for _, row in table[~table["votes"]].iterrows()],
        consensus=consensus,
        groups=groups,
    )


def in_words(text: str, words: tuple[str, str]) -> str:
    """A sentence about rows and columns, with the page's words for them."""
    for plain, own in zip(("rows", "columns"), words, strict=True):
        text = re.sub(rf"\b{plain}\b", own, text)
    return text


def _rule(row, numbers: list[int]) -> RuleRow:
    picked = None if pd.isna(row["picks"]) else int(row["picks"])
    values = [float(row[K]) for K in numbers]
    known = [abs(v) for v in values if np.isfinite(v)]
    digits = 2 if known and max(known) <= 1 else 1
    return RuleRow(
        label=clean(row["label"], 120),
        says=clean(row["says"], 200),
        picks="–" if picked is None else str(picked),
        values=[number(v, digits) for v in values],
        picked=picked,
    )


class JoinRow(NamedTuple):
    """A merge: the two groups, how many groups are left, and the fall of the entropy per row of the two, in nats."""

    first: str
    second: str
    left: int
    fall: float


def joins_of(posteriors: np.ndarray, names: list[str] | None = None) -> list[JoinRow]:
    """Which groups (K `names`) would be merged first; none for one or two groups."""
    if posteriors.shape[1] <= 2:
        return []
    tree = merge_tree(posteriors)
    return [
        JoinRow(*pair, join.n_clusters, join.fall_per_row)
        for pair, join in zip(tree.named(names), tree.joins, strict=True)
    ]
