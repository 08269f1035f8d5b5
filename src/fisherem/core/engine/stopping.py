"""When to stop: Aitken's estimate of the final log-likelihood, or the change of Fisher's criterion."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ..._utils.register import Register

__all__ = ["STOPPING", "AitkenStop", "FisherStop", "Stop", "StopKind"]


class AitkenStop:
    """Stop when two successive Aitken estimates of the limit of the log-likelihood (per observation) agree.

    With a = (l2 - l1) / (l1 - l0), the limit of a geometric sequence is l1 + (l2 - l1) / (1 - a). The likelihood of
    Fisher-EM is not monotone; where a is not in [0, 1) the sequence is not geometric and the last value itself stands
    for the limit.
    """

    def __init__(self, tol: float):
        self.tol = tol
        self.values: list[float] = []
        self.limit = math.nan

    def __call__(self, mean_log_likelihood: float, fisher: float) -> bool:
        self.values.append(mean_log_likelihood)
        if len(self.values) < 3:
            return False
        l0, l1, l2 = self.values[-3:]
        last = self.limit
        change, before = l2 - l1, l1 - l0
        if change == 0:
            self.limit = l2
        else:
            a = change / before if before else math.inf
            self.limit = l1 + change / (1 - a) if 0 <= a < 1 else l2
        return abs(self.limit - last) < self.tol  # False while `last` is nan


class FisherStop:
    """Stop when the criterion of eq. (6) changes by less than `tol`; it lies between 0 and K - 1."""

    def __init__(self, tol: float):
        self.tol = tol
        self.last = math.nan

    def __call__(self, mean_log_likelihood: float, fisher: float) -> bool:
        change, self.last = abs(fisher - self.last), fisher
        return change < self.tol


# tol -> a rule, called once per iteration with the log-likelihood per observation and Fisher's criterion.
STOPPING: Register[Callable[[float], Callable[[float, float], bool]]] = Register(
    "stopping rule", {"aitken": AitkenStop, "fisher": FisherStop}
)


class StopKind(Enum):
    """How a run ended."""

    RUNNING = ""
    CONVERGED = "converged"
    CYCLE = "cycle"
    MAX_ITER = "max_iter"
    COLLAPSED = "collapsed"
    JOINED = "joined"  # of several starts: another had met the same partition
    BEHIND = "behind"  # of several starts: most of the others were more likely


@dataclass(frozen=True)
class Stop:
    """How a run ended: the kind, and the rule that was met or the groups that were lost."""

    kind: StopKind
    detail: str = ""

    def __str__(self) -> str:
        """The word that users read in `stop_reason_`: the rule's name, "cycle", "max_iter", "collapsed (group 2)"."""
        if self.kind is StopKind.CONVERGED:
            return self.detail
        return self.kind.value + (f" ({self.detail})" if self.detail else "")

    @classmethod
    def parse(cls, text: str) -> Stop:
        """The stop of that word, as it stands in a checkpoint."""
        word, _, rest = text.partition(" (")
        for kind in (StopKind.CYCLE, StopKind.MAX_ITER, StopKind.COLLAPSED):
            if word == kind.value:
                return cls(kind, rest.removesuffix(")"))
        return cls(StopKind.CONVERGED, text)
