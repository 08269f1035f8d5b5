"""The verdict: groups that come back on other rows first, the likelihood among those.

1. A number of groups *comes back* if fits to halves of the rows agree (adjusted Rand index of at least 0.6, prediction
   strength of at least 0.5), and *gains* if overlapping Gaussian groups explain columns without skew better than one
   group does: by 10 nats if it does not come back.
2. If no number gains, there is one group. If none that gains comes back, the data do not decide.
3. Of the numbers that come back and gain, the one with the largest C on columns without skew is chosen.
4. The choice is *clear* if every variant of C prefers it to the others that come back, by enough, and *leaning* if not.
   C cannot be trusted if every variant of it sees much more in a larger number whose groups do not come back, or if
   most columns have a frequent value (saturated pixels, zeros): of those that come back the steadiest leads then, and
   the verdict is *not decided*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .evidence import Evidence
from .partition_values import WITHOUT_SKEW
from .rules import RULES

__all__ = ["CLEAR", "COMES_BACK", "LEANING", "NOT_DECIDED", "Verdict", "decide"]

CLEAR, LEANING, NOT_DECIDED = "clear", "leaning", "not decided"

# Fits to halves agree by 0.65 to 1 on classes that are known to exist, by 0.1 to 0.4 in most pure noise. Noise with a
# common factor reaches 0.6, and a few selected columns 0.9: coming back is not enough, the groups must gain as well.
COMES_BACK = 0.6
# At least half of the pairs of rows in every group stay together on the other half: the index alone does not see one
# group that falls apart among many that do not.
_HOLDS_TOGETHER = 0.5
# Groups that come back as well as this are not in doubt for that reason.
_SURELY = 0.75
# Kass and Raftery (1995) call a difference of 5 nats very strong; the best of several candidates per K is better by
# chance alone, so twice that.
_MARGIN = 10.0
# What C may see beyond the choice, in nats, before the choice is called undecided.
_MUCH_MORE = 20.0
# Share of columns in which one value is frequent, beyond which C cannot be trusted: no transformation makes groups of
# such columns Gaussian.
_SPIKED = 0.5
# Numbers of groups that are further below the choice are not named as runners-up, nor are more than this many.
_OPEN, _MOST_NAMED = 40.0, 3
# Variants of C that have to agree for a clear verdict. BIC, ICL and AIC take skew for groups and have no vote.
_VOTERS = ("c2_plain", "c1_scores", "c2_scores", "c1_power", "c2_power")


@dataclass(frozen=True)
class Verdict:
    """How many groups, how sure that is, and why.

    Attributes
    ----------
    n_clusters : int
        The number of groups; if the data do not decide, the leading one.
    degree : {"clear", "leaning", "not decided"}
        How sure the number is.
    runners_up : tuple of int
        Other numbers that the data leave open, the next best first.
    reasons : tuple of str
        What speaks for each of them, in plain words.
    cautions : tuple of str
        What to keep in mind: an end of the range, a sample of the rows, few rows.
    rules : DataFrame
        A row per rule: rule, label, says, picks (the number of groups), and its value for every number of groups.
    headline : str
        The verdict in one sentence.
    """

    n_clusters: int
    degree: str
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
class Decision:
    """The numbers of a verdict, before they are put into words.

    `gains` and `back` are the numbers of groups that gain over one group and that come back; `larger` is the number
    in which C sees much more than in the chosen one, None if there is none.
    """

    n_clusters: int
    degree: str
    runners_up: tuple[int, ...]
    gains: tuple[int, ...]
    back: tuple[int, ...]
    larger: int | None


def decide(evidence: Evidence) -> Decision:
    """Weigh the evidence."""
    numbers = evidence.usable
    scores = RULES["groups"].values(evidence)
    back = tuple(K for K in numbers if _comes_back(evidence, K))
    # the best of many subsets and starts gains a little in pure noise, too; such groups do not come back
    gains = tuple(K for K in numbers if scores[K] > (0 if K in back else _MARGIN))
    if not gains:
        best = max((scores[K] for K in numbers), default=-np.inf)
        degree = CLEAR if best < -_MARGIN / 2 or not back else LEANING
        return Decision(1, degree, back[:1] if degree == LEANING else (), gains, back, None)
    both = sorted((K for K in gains if K in back), key=lambda K: -_robust(evidence, K))
    if not both:
        leading = max(gains, key=lambda K: (round(_agreement(evidence, K), 2), _robust(evidence, K)))
        return Decision(leading, NOT_DECIDED, (1, *(K for K in gains if leading != K)), gains, back, None)
    best = both[0]
    larger = _much_more(evidence, best, numbers)
    if larger is not None or evidence.spiked > _SPIKED:
        best = max(both, key=lambda K: _agreement(evidence, K))
        others = [K for K in both if best != K] or [K for K in numbers if best != K][:1]
        return Decision(best, NOT_DECIDED, tuple(sorted(others)), gains, back, larger)
    others = [K for K in both[1:] if _robust(evidence, best) - _robust(evidence, K) <= _OPEN][:_MOST_NAMED]
    return Decision(best, _degree(evidence, best, both[1:]), tuple(others), gains, back, None)


def _comes_back(evidence: Evidence, K: int) -> bool:
    halves = evidence.halves.get(K)
    return halves is not None and halves.agreement >= COMES_BACK and halves.strength >= _HOLDS_TOGETHER


def _agreement(evidence: Evidence, K: int) -> float:
    return evidence.halves[K].agreement if K in evidence.halves else float("nan")


def _robust(evidence: Evidence, K: int) -> float:
    best = evidence.best(K)
    return -np.inf if best is None else best.robust


def _value(evidence: Evidence, K: int, name: str) -> float:
    best = evidence.best(K)
    return -np.inf if best is None else best.values[name]


def _much_more(evidence: Evidence, chosen: int, numbers: list[int]) -> int | None:
    """The number of groups, not coming back, in which C sees much more than in the choice, whatever the variant."""

    def beyond(K: int) -> float:
        return min(_value(evidence, K, name) - _value(evidence, chosen, name) for name in WITHOUT_SKEW)

    return max((K for K in numbers if chosen < K and beyond(K) > _MUCH_MORE), key=beyond, default=None)


def _degree(evidence: Evidence, chosen: int, rivals: list[int]) -> str:
    lead = all(_robust(evidence, chosen) - _robust(evidence, K) >= _MARGIN for K in rivals)
    agreed = all(_value(evidence, chosen, name) >= _value(evidence, K, name) for name in _VOTERS for K in rivals)
    return CLEAR if lead and agreed and _agreement(evidence, chosen) >= _SURELY else LEANING
