"""The verdict, from three questions to which every fit has an answer.

1. Are there groups at all? Overlapping groups must explain the rows better than one group does, on scores without skew
   and tails. If no number of groups gains, there is one group, or the rows do not decide: where a single column shows
   groups that no fit has found, where rows are far out in several columns at once (groups that differ in spread alone
   look like that), where halves agree all the same, or where the judge cannot ask any column.
2. Are they reproducible? Fits to halves of the rows agree.
3. Which number? Of those that gain, the one that gains most among those whose groups are apart and reproducible. The
   gain alone takes too many: more groups follow any curved shape a little better, but are not apart. Reproducible
   groups that are nearly apart are taken if they gain much more.

The verdict is *clear* if nothing speaks against it, *not decided* if the groups are neither apart nor reproducible, if
they touch or if tables of one group gain as much, and *leaning* otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..thresholds import THRESHOLDS
from .evidence import Evidence

__all__ = [
    "CLEAR",
    "LEANING",
    "NOT_DECIDED",
    "NumberDecision",
    "Verdict",
    "apart",
    "decide",
    "leading",
    "much_more",
    "nearly_apart",
    "reproducible",
]

LIMITS = THRESHOLDS.number_of_groups

CLEAR, LEANING, NOT_DECIDED = "clear", "leaning", "not decided"
# More runners-up than this are not named.
_MOST_NAMED = 3


@dataclass(frozen=True)
class Verdict:
    """How many groups, how sure that is, and why.

    Attributes
    ----------
    n_clusters : int
        The number of groups; if the data do not decide, the leading one.
    confidence : {"clear", "leaning", "not decided"}
        How sure the number is.
    runners_up : tuple of int
        Other numbers that the data leave open, the next best first.
    reasons : tuple of str
        What speaks for and against them, in plain words, and what to do next where the data do not decide.
    cautions : tuple of str
        What to keep in mind: an end of the range, a sample of the rows, few rows.
    rules : DataFrame
        A row per rule: rule, label, says, votes, picks (the number of groups), and its value for every number.
    headline : str
        The verdict in one sentence.
    """

    n_clusters: int
    confidence: str
    runners_up: tuple[int, ...]
    reasons: tuple[str, ...]
    cautions: tuple[str, ...]
    rules: pd.DataFrame
    headline: str

    @property
    def text(self) -> str:
        """The verdict in plain words, a line per sentence."""
        return "\n".join((self.headline, *self.reasons, *self.cautions))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NumberDecision:
    """The numbers of a verdict, before they are put into words.

    `gaining` are the numbers of groups that gain over one group; `against` names what keeps the verdict from being
    clear, as keys of `wording.AGAINST`.
    """

    n_clusters: int
    confidence: str
    runners_up: tuple[int, ...] = ()
    gaining: tuple[int, ...] = ()
    against: tuple[str, ...] = ()


def decide(evidence: Evidence) -> NumberDecision:
    """Weigh the evidence."""
    gaining = [K for K in evidence.usable if evidence.gain(K) > 0] or _nearly_gaining(evidence)
    return _which(evidence, gaining) if gaining else _one_group(evidence)


def leading(evidence: Evidence) -> int | None:
    """The number of groups that gains most, whether or not it gains more than one group."""
    return max(evidence.usable, key=evidence.gain, default=None)


def _nearly_gaining(evidence: Evidence) -> list[int]:
    """The leading number, where its gain is close to 0 but tables of one group gain less, and its groups are found."""
    K = leading(evidence)
    if K is None or not evidence.gain(K) > -LIMITS.close or not evidence.one_group <= LIMITS.significant:
        return []
    return [K] if apart(evidence, K) and reproducible(evidence, K) else []


def apart(evidence: Evidence, K: int) -> bool:
    """Whether no two of the K groups touch."""
    return _valley(evidence, K) <= LIMITS.apart


def nearly_apart(evidence: Evidence, K: int) -> bool:
    """Whether the K groups may touch, but are no cuts of one cloud."""
    return _valley(evidence, K) <= LIMITS.nearly_apart


def _valley(evidence: Evidence, K: int) -> float:
    found = evidence.best(K)
    return float("nan") if found is None else found.valley


def reproducible(evidence: Evidence, K: int) -> bool:
    """Whether fits to halves of the rows agree, and no group falls apart on the other half."""
    return evidence.agreement(K) >= LIMITS.reproducible and evidence.strength(K) >= LIMITS.holds_together


# -- one group ---------------------------------------------------------------------------------------------------------


def _one_group(evidence: Evidence) -> NumberDecision:
    best = leading(evidence)
    others = () if best is None else (best,)
    doubts = tuple(name for name, found in _doubts_about_one(evidence, best) if found)
    # groups that are found again, and are apart or where one group does not fit, are shown
    if best is not None and "halves" in doubts and ("spread" in doubts or apart(evidence, best)):
        return NumberDecision(best, NOT_DECIDED, (1,), (), doubts)
    if doubts:
        return NumberDecision(1, NOT_DECIDED, others, (), doubts)
    against = tuple(name for name, found in _signs_against_one(evidence, best) if found)
    return NumberDecision(1, LEANING, others, (), against) if against else NumberDecision(1, CLEAR)


def _doubts_about_one(evidence: Evidence, best: int | None):
    """What one group does not explain."""
    yield "mute", not evidence.judged
    yield "column", evidence.column > LIMITS.column
    yield "spread", evidence.joint_tails > LIMITS.tails
    yield "halves", best is not None and reproducible(evidence, best)


def _signs_against_one(evidence: Evidence, best: int | None):
    """What keeps one group from being clear."""
    n, p = evidence.data.values.shape
    yield "close", best is not None and evidence.gain(best) >= -LIMITS.close
    yield "unlikely", evidence.one_group <= LIMITS.significant
    yield "components", evidence.on_components
    yield "hint", evidence.column + np.log(p) > LIMITS.hint  # the price of having looked at p columns is left out
    yield "flat", evidence.flatness > LIMITS.flat
    yield "again", best is not None and evidence.agreement(best) >= LIMITS.hopeless
    yield "few", n < LIMITS.rows or n < LIMITS.rows_per_column * p


# -- which number ------------------------------------------------------------------------------------------------------


def _which(evidence: Evidence, gaining: list[int]) -> NumberDecision:
    separate = [K for K in gaining if apart(evidence, K)]
    back = [K for K in gaining if reproducible(evidence, K)]
    best = _best(evidence, gaining, separate, back)
    others = sorted(
        (K for K in gaining if best != K), key=lambda K: (K not in separate, K not in back, -evidence.gain(K))
    )
    against = tuple(name for name, found in _doubts_about(evidence, best, gaining) if found)
    if "neither" in against and (best not in separate or "chance" in against):  # nothing but the gain speaks for them
        return NumberDecision(1, NOT_DECIDED, (best, *others)[:_MOST_NAMED], tuple(gaining), against)
    if "neither" in against or "chance" in against:
        likely = () if evidence.gain(best) > LIMITS.close and "chance" not in against else (1,)
        return NumberDecision(best, NOT_DECIDED, (*likely, *others)[:_MOST_NAMED], tuple(gaining), against)
    if not against:
        return NumberDecision(best, CLEAR, (), tuple(gaining))
    first = (1,) if "small" in against else ()
    return NumberDecision(best, LEANING, (*first, *others)[:_MOST_NAMED], tuple(gaining), against)


def _best(evidence: Evidence, gaining: list[int], separate: list[int], back: list[int]) -> int:
    both = [K for K in separate if K in back]
    if evidence.data.judge.wide and both:
        strong = [K for K in both if evidence.strength(K) >= LIMITS.strong]
        return max(strong) if strong else max(both, key=evidence.agreement)
    best = max(both or separate or back or gaining, key=evidence.gain)
    if not both:
        return best
    found_again = [K for K in separate if evidence.agreement(K) >= LIMITS.hopeless]
    rivals = [K for K in much_more(evidence, gaining, best) if K in back or K in found_again]
    if rivals:
        return max(rivals, key=evidence.gain)
    # of numbers that gain the same, the larger one describes more, unless it sets a few rows apart
    same = [K for K in both if evidence.gain(K) > evidence.gain(best) - LIMITS.close]
    return max(K for K in same if best >= K or evidence.smallest(K) >= LIMITS.share * evidence.n)


def much_more(evidence: Evidence, gaining: list[int], best: int) -> list[int]:
    """Numbers whose groups are nearly apart and gain so much more that they can replace groups that are apart."""
    least = LIMITS.much_more * evidence.gain(best)
    return [K for K in gaining if evidence.gain(K) > least and nearly_apart(evidence, K)]


def _doubts_about(evidence: Evidence, best: int, gaining: list[int]):
    """What keeps the number from being clear."""
    agreement, separate, back = evidence.agreement(best), apart(evidence, best), reproducible(evidence, best)
    less = evidence.gain(best) - max(LIMITS.close, LIMITS.less * evidence.gain(best))
    larger, beyond = [K for K in gaining if best < K], evidence.candidates.get(best + 1)
    found_again = (back and nearly_apart(evidence, best)) or (separate and agreement >= LIMITS.hopeless)
    yield "neither", not found_again
    yield "touch", not _valley(evidence, best) <= LIMITS.clearly_apart
    yield "halves", not (back and min(agreement, evidence.strength(best)) >= LIMITS.clearly_reproducible)
    yield "chance", evidence.one_group > LIMITS.significant
    yield "small", evidence.gain(best) <= LIMITS.close
    yield "more", any(evidence.gain(K) > (LIMITS.much_more if best < K else 1) * evidence.gain(best) for K in gaining)
    yield "larger", any(nearly_apart(evidence, K) and reproducible(evidence, K) for K in larger)
    yield "near", any(nearly_apart(evidence, K) and evidence.gain(K) > less for K in larger)
    yield "column", evidence.column > evidence.gain(best)
    yield "inside", evidence.inside.get(best, 0.0) > 0
    yield "components", evidence.on_components
    yield "tiny", evidence.smallest(best) < THRESHOLDS.small_rows
    yield "end", beyond is None or bool(beyond.reason)
