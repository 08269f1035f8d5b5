"""The verdict in plain words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..._utils.wording import count, listed
from .evidence import Evidence
from .rules import RULES
from .verdict import CLEAR, NOT_DECIDED, Decision, Verdict

__all__ = ["rule_table", "said"]

# Groups with fewer rows than this are described by a handful of rows each: the page says so.
_FEW_ROWS = 15
# Columns with a frequent value are a reason for doubt from this share on.
_WORTH_SAYING = 0.25


def rule_table(evidence: Evidence) -> pd.DataFrame:
    """A row per rule: rule, label, says, picks, and a column per number of groups with its values."""
    rows = []
    for name, rule in RULES.items():
        values = rule.values(evidence)
        picked = rule.pick(values)
        row = {"rule": name, "label": rule.label, "says": rule.says, "picks": picked}
        rows.append(row | {K: values.get(K, np.nan) for K in evidence.numbers})
    table = pd.DataFrame(rows)
    table["picks"] = table["picks"].astype("Int64")
    return table


def said(evidence: Evidence, decision: Decision, cautions: tuple[str, ...]) -> Verdict:
    """The verdict with its reasons."""
    return Verdict(
        n_clusters=decision.n_clusters,
        degree=decision.degree,
        runners_up=decision.runners_up,
        reasons=tuple(_reasons(evidence, decision)),
        cautions=(*_few_rows(evidence, decision), *cautions),
        rules=rule_table(evidence),
        headline=_headline(decision),
    )


def _groups(K: int) -> str:
    return "one group" if K == 1 else count(K, "group")


def _either(numbers) -> str:
    names = [str(K) if K > 1 else "one" for K in numbers]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _headline(decision: Decision) -> str:
    K, others = decision.n_clusters, decision.runners_up
    if decision.degree == NOT_DECIDED:
        numbers = _either(sorted({K, *others}))
        return f"Not decided by these data: {numbers} groups are possible. {_groups(K).capitalize()} are shown."
    if K == 1:
        if decision.degree == CLEAR:
            return "These rows form one group: nothing speaks for more."
        more = f", but {_either(others)} groups are not ruled out" if others else ""
        return f"These rows seem to form one group{more}."
    if decision.degree == CLEAR:
        return f"{_groups(K).capitalize()}, clearly."
    return f"{_groups(K).capitalize()}, more likely than {_either(others)}." if others else f"Probably {_groups(K)}."


def _reasons(evidence: Evidence, decision: Decision):
    shown = [K for K in dict.fromkeys((decision.n_clusters, *decision.runners_up)) if K > 1]
    if not decision.gains:
        yield (
            "No number of groups explains the data better than one group does, once the skew of the columns is "
            "taken into account."
        )
    elif decision.n_clusters > 1 and not set(decision.gains) & set(decision.back):
        yield "The likelihood asks for groups, but none of them come back when only half of the rows are seen."
    for K in shown[:4]:
        yield _reason(evidence, K)
    if np.isfinite(evidence.one_group):
        yield (
            f"Two groups explain more than in {1 - evidence.one_group:.0%} of tables of one group with the same "
            f"correlations (p = {evidence.one_group:.2f})."
        )
    if decision.degree == NOT_DECIDED and evidence.spiked > _WORTH_SAYING:
        yield (
            f"In {evidence.spiked:.0%} of the columns one value is frequent (zeros, saturated pixels): C cannot judge "
            "such columns, and only what comes back on other rows counts."
        )
    if decision.larger is not None:
        yield (
            f"C keeps rising up to {_groups(decision.larger)}, but they do not come back on other rows: the data have "
            f"more structure than {_groups(decision.n_clusters)}, and do not say how to cut it."
        )


def _reason(evidence: Evidence, K: int) -> str:
    """What speaks for a number of groups: halves, and the rules that pick it."""
    picks = {name: rule.pick(rule.values(evidence)) for name, rule in RULES.items()}
    voters = [RULES[name].label for name, picked in picks.items() if picked == K]
    halves = evidence.halves.get(K)
    text = f"{_groups(K).capitalize()}: "
    if halves is not None and np.isfinite(halves.agreement):
        error = f" ± {halves.error:.2f}" if np.isfinite(halves.error) else ""
        text += f"fits to two halves of the rows agree by {halves.agreement:.2f}{error} (1 is perfect, 0 is chance)"
    else:
        text += "halves of the rows could not be fitted"
    chosen = f"; picked by {listed(voters, 6, quoted=False)}" if voters else "; picked by no rule"
    return f"{text}{chosen}."


def _few_rows(evidence: Evidence, decision: Decision):
    best = evidence.best(decision.n_clusters)
    if best is not None and decision.n_clusters > 1 and best.smallest < _FEW_ROWS:
        yield f"The smallest group has {count(best.smallest, 'row')}: too few to say much about it."
