"""The verdict in plain words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..._utils.wording import count
from .evidence import Evidence
from .one_group import DRAWS
from .rules import all_rules
from .verdict import CLEAR, NOT_DECIDED, NumberDecision, Verdict

__all__ = ["AGAINST", "NEXT", "rule_table", "said"]

# Groups with fewer rows than this are described by a handful of rows each.
_FEW_ROWS = 15
# What keeps a verdict from being clear, by the names that `verdict` gives.
AGAINST = {
    "mute": "Every column has few values or one frequent value: whether there are groups cannot be judged on them.",
    "column": "A single column shows groups that no fit has found.",
    "spread": "Rows that are far out in one column are far out in others, too: groups that differ in their spread "
    "alone are possible, and so is one group with heavy tails.",
    "close": "The gain of the best fit is close to 0.",
    "unlikely": "",  # the line about the p-value says so
    "hint": "A single column may show groups.",
    "flat": "A column has no tails: it may be uniform, or several groups that overlap in it.",
    "components": "Most columns have few values or one frequent value: groups were judged on principal components.",
    "again": "",  # the line about the number has the agreement
    "few": "There are too few rows, or too few per column, to rule out groups that only a few columns show.",
    "neither": "The groups are neither clearly apart nor found again on other rows.",
    "touch": "Two of the groups touch.",
    "halves": "",  # the line about the number has the agreement
    "chance": "",  # the line about the p-value says so
    "small": "The gain over one group is small.",
    "more": "Another number of groups gains more, but its groups touch or are not found again.",
    "larger": "A larger number of groups is found again, too.",
    "inside": "One of the groups may consist of several.",
    "near": "A larger number of groups gains as much.",
    "tiny": "One of the groups has few rows.",
    "end": "No larger number of groups could be fitted.",
}
NEXT = (
    "What next: give n_clusters if you know it, look at the merge tree for groups that belong together, or collect "
    "more rows."
)


def rule_table(evidence: Evidence) -> pd.DataFrame:
    """A row per rule: rule, label, says, votes, picks, and a column per number of groups with its values."""
    rows = []
    for name, rule in all_rules().items():
        values = rule.values(evidence)
        row = {"rule": name, "label": rule.label, "says": rule.says, "votes": rule.votes, "picks": rule.pick(values)}
        rows.append(row | {K: values.get(K, np.nan) for K in evidence.numbers})
    table = pd.DataFrame(rows)
    table["picks"] = table["picks"].astype("Int64")
    return table


def said(
    evidence: Evidence, decision: NumberDecision, cautions: tuple[str, ...] = (), smallest: int | None = None
) -> Verdict:
    """The verdict with its reasons; `smallest` is the number of rows in the smallest group of the fit that is shown."""
    return Verdict(
        n_clusters=decision.n_clusters,
        confidence=decision.confidence,
        runners_up=decision.runners_up,
        reasons=tuple(_reasons(evidence, decision)),
        cautions=(*_few_rows(decision, smallest), *cautions),
        rules=rule_table(evidence),
        headline=_headline(decision),
    )


def _groups(K: int) -> str:
    return "one group" if K == 1 else count(K, "group")


def _either(numbers) -> str:
    names = [str(K) if K > 1 else "one" for K in numbers]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _headline(decision: NumberDecision) -> str:
    K, others = decision.n_clusters, decision.runners_up
    shown = f"{_groups(K).capitalize()} {'is' if K == 1 else 'are'} shown."
    if decision.confidence == NOT_DECIDED:
        numbers = sorted({K, *others})
        possible = f": {_either(numbers)} groups are possible" if len(numbers) > 1 else ""
        return f"Not decided by these data{possible}. {shown}"
    if K == 1 and decision.confidence == CLEAR:
        return "One group: nothing speaks for more."
    if K == 1:
        return f"One group, but {_either(others)} groups are not ruled out." if others else "One group, with doubts."
    if decision.confidence == CLEAR:
        return f"{_groups(K).capitalize()}, clearly."
    return (
        f"{_groups(K).capitalize()}, more likely than {_either(others)}."
        if others
        else f"{_groups(K).capitalize()}, with doubts."
    )


def _reasons(evidence: Evidence, decision: NumberDecision):
    K = decision.n_clusters
    if not decision.gaining and evidence.judged:
        yield "No number of groups explains the rows better than one group does, once skew and tails are taken out."
    shown = [k for k in dict.fromkeys((K, *decision.runners_up)) if k > 1]
    for k in shown[:4]:
        yield _about(evidence, k)
    if np.isfinite(evidence.one_group):
        yield _about_p_value(evidence.one_group, _groups(evidence.compared).capitalize())
    for name in decision.against:
        if AGAINST[name]:
            yield AGAINST[name]
    if decision.confidence == NOT_DECIDED:
        yield NEXT


def _about(evidence: Evidence, K: int) -> str:
    """What was measured on a number of groups."""
    found = evidence.best(K)
    assert found is not None
    parts = []
    if np.isfinite(found.gain):
        parts.append(f"they gain {found.gain:.0f} nats over one group".replace("-", "−"))
    if np.isfinite(found.valley):
        parts.append(f"the rows between the closest two are {min(found.valley, 1):.0%} as dense as inside")
    if K in evidence.halves:
        halves = evidence.halves[K]
        if np.isfinite(halves.agreement):
            times = "in one split" if len(halves.splits) == 1 else f"on average of {len(halves.splits)} splits"
            parts.append(
                f"fits to halves of the rows agree by {halves.agreement:.2f} {times} (1 is perfect, 0 is chance)"
            )
        else:
            parts.append("halves of the rows could not be fitted")
    return f"{_groups(K).capitalize()}: {'; '.join(parts) or 'nothing could be measured'}."


def _about_p_value(p_value: float, groups: str) -> str:
    if p_value <= 1 / (1 + DRAWS):
        floor = f"p = {p_value:.2f}, the smallest that {DRAWS} draws can give"
        return f"{groups} gain more than in all {DRAWS} tables of one group that were drawn ({floor})."
    return (
        f"{groups} gain as much in tables of one group with the same correlations (p = {p_value:.2f}): that is no "
        "evidence against one group."
    )


def _few_rows(decision: NumberDecision, smallest: int | None):
    if decision.n_clusters > 1 and smallest is not None and smallest < _FEW_ROWS:
        yield f"The smallest group has {count(smallest, 'row')}: too few to say much about it."
