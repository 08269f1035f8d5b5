"""The conclusion at the top of the page of a table: the result in words, and its limitations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..._utils.wording import count, listed
from ..text import integer, number
from ..words.group_words import Effect, GroupWords
from .table_content import Content

__all__ = ["Conclusion", "conclude"]

# Most groups that are described at the top, and most high and low variables of each; the section on the groups lists
# all of them.
_MOST_GROUPS = 6
_MOST_NAMED = 2
# Share of uncertain rows from which a caveat is shown.
_MANY_DOUBTS = 0.1
# The standard error of the mean of fewer rows is a third of a standard deviation or more.
_FEW_ROWS = 10


@dataclass(frozen=True)
class Conclusion:
    """`sentences` describe the result, `groups` each group (empty for more than six), `caveats` the limitations."""

    sentences: list[str]
    groups: list[GroupWords]
    caveats: list[str]


def conclude(content: Content) -> Conclusion:
    """The conclusion of a page; for a single group, only whether the fit converged."""
    if content.K == 1:
        return Conclusion([], [], list(_not_converged(content)))
    shown = content.words if len(content.words) <= _MOST_GROUPS else []
    short = [GroupWords(w.k, w.count, w.share, _selected(w.high), _selected(w.low)) for w in shown]
    return Conclusion(list(_sentences(content)), short, [text for rule in _CAVEATS for text in rule(content)])


def _selected(found: list[Effect]) -> list[Effect]:
    """The selected variables with the largest effects."""
    return [e for e in found if e.selected][:_MOST_NAMED]


def _sentences(c: Content) -> Iterator[str]:
    if c.search:
        many = "One fit was judged" if c.search.n_fits == 1 else f"{integer(c.search.n_fits)} fits were compared"
        yield f"{many} by {c.search.label}; this is the best."
    if c.covariates:
        shown = "These effects were estimated with the groups and are taken out of all values shown."
        yield f"Of the covariates, {c.covariates}. {shown}"
    others = {role: c.roles.counts.get(role, 0) for role in ("redundant", "additional")} if c.roles else {}
    if c.n_selected < c.p and others.get("redundant"):
        verb = "differ" if others["redundant"] > 1 else "differs"
        yield (
            f"{count(others['redundant'], 'other variable')} also {verb} between the groups, but the selected ones "
            "explain these differences."
        )
    if c.stability and c.stability.back:
        share, seen = _percent(c.stability.back.mean), number(100 * c.stability.fraction, 0)
        yield f"When the model is refitted to {seen}% of the rows, a row is assigned to its group {share} of the time."
    if c.agreement and c.agreement.n_scored:
        yield f"The groups agree with the known classes for {_percent(c.agreement.accuracy)} of the rows."
    if c.placement and c.placement.n_elsewhere:
        share = number(100 * c.placement.n_elsewhere / c.n, 1)
        these = "The selected variables" if c.n_selected < c.p else "The variables"
        yield (
            f"The page describes the rows in the groups that they were given in. {these} alone would place "
            f"{integer(c.placement.n_elsewhere)} of {integer(c.n)} rows ({share}%) in another group."
        )
    elif c.placement:
        yield "The selected variables alone place every row in its given group."


def _percent(share: float) -> str:
    """In whole percent; with a decimal, rounded down, where it would otherwise be read as all."""
    return f"{np.floor(1000 * share) / 10:.1f}%" if 0.995 <= share < 1 else f"{100 * share:.0f}%"


# -- limitations: each function yields the sentences that apply ------------------------------------------------------


def _not_converged(c: Content) -> Iterator[str]:
    if not c.converged:
        yield "The fit did not converge: compare it with another model or another start before you rely on it."


def _of_the_verdict(c: Content) -> Iterator[str]:
    if c.verdict:
        yield from c.verdict.cautions


def _of_the_covariates(c: Content) -> Iterator[str]:
    if c.covariate_warning:
        yield f"{c.covariate_warning[0].upper()}{c.covariate_warning[1:]}."


def _of_the_number(c: Content) -> Iterator[str]:
    if c.given:
        yield (
            "The groups were given, not found. Groups that were made from the same table always differ in some "
            "variables, whether or not they are real."
        )
    elif not (c.verdict or c.search):
        yield f"The number of groups, {c.K}, was given; other numbers were not tried."


def _of_the_search(c: Content) -> Iterator[str]:
    if c.search and c.search.interrupted:
        yield f"The search was interrupted: the choice is based on {integer(c.search.n_fits)} completed fits."


def _no_better_than_one(c: Content) -> Iterator[str]:
    if c.value is not None and c.value < 0:
        yield (
            f"The gain over one group is {number(c.value, 1)}, below 0: on the selected variables {c.K} Gaussian "
            "groups describe these rows no better than a single one."
        )


def _of_the_posteriors(c: Content) -> Iterator[str]:
    if c.certainty.saturated:
        few = f" There are fewer rows ({integer(c.n_fitted)}) than variables ({integer(c.p)})."
        yield (
            "The posteriors do not indicate how certain the groups are, so the page cannot show which rows are "
            f"uncertain.{few if c.n_fitted < c.p else ''}"
        )
    elif c.n_doubts >= _MANY_DOUBTS * c.n:
        share = number(100 * c.n_doubts / c.n, 0)
        yield f"{integer(c.n_doubts)} of {integer(c.n)} rows ({share}%) have no clear group."


def _of_small_groups(c: Content) -> Iterator[str]:
    small = [k for k, rows in enumerate(c.groups.counts) if 0 < rows < _FEW_ROWS]
    said = c.verdict is not None and any("smallest group" in text for text in c.verdict.cautions)
    if small and not said:
        who = listed([c.names[k] for k in small], quoted=False)
        has, their = ("has", "its") if len(small) == 1 else ("have", "their")
        who = who if c.named else who[0].upper() + who[1:]
        yield f"{who} {has} fewer than {_FEW_ROWS} rows: {their} means and variances are uncertain."
    for k in np.flatnonzero(c.groups.counts == 0):
        yield f"No row is in {c.names[int(k)]}."


def _of_the_stability(c: Content) -> Iterator[str]:
    t = c.stability
    if t is None:
        if not (c.verdict or c.given):
            yield "The stability of groups and variables on other rows was not checked."
        return
    limit = number(100 * t.threshold, 0)
    if t.back and t.back.n_shaky:
        shaky = f"{integer(t.back.n_shaky)} of {integer(c.n)} rows"
        yield f"{shaky} were assigned to their group in fewer than {limit}% of the refits."
    rare = int((t.frequencies[c.support] < t.threshold).sum())
    if c.n_selected < c.p and rare:
        yield (
            f"{integer(rare)} of the {integer(c.n_selected)} selected variables are selected in fewer than {limit}% of "
            "the refits: on other rows, different variables may be selected."
        )


def _of_missing_cells(c: Content) -> Iterator[str]:
    if c.n_missing:
        share = number(100 * c.n_missing / (c.n * c.p), 1)
        cells = f"{count(c.n_missing, 'cell')} ({share}%) {'are' if c.n_missing > 1 else 'is'} missing"
        yield f"{cells}: figures and means use the observed cells."


def _of_the_rows(c: Content) -> Iterator[str]:
    if c.n_fitted != c.n and not c.given:
        yield f"The page shows {integer(c.n)} rows; the model was fitted to {integer(c.n_fitted)} rows."


# In order of importance.
_CAVEATS: tuple[Callable[[Content], Iterator[str]], ...] = (
    _not_converged, _of_the_covariates, _no_better_than_one, _of_the_posteriors, _of_the_verdict, _of_the_number,
    _of_the_search, _of_small_groups, _of_the_stability, _of_missing_cells, _of_the_rows,
)  # fmt: skip
