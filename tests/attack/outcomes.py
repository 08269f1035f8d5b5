"""What became of a hostile case, and the table of all of them.

    ok           a result, and everything that must hold of it holds
    clear error  one of the errors that we raise, on one line, that names the argument, column, row, field or file
    unclear      such an error that names nothing, or a raw message of a library, also as a warning
    traceback    any other exception
    hang         no end within the time limit
    wrong        a result that breaks an invariant, or an answer where an error was due (or the other way round)

A generator makes `Case`s from what hypothesis draws and hands them to `attack`, which runs and classes them:

    attack("tables", strategy, case_of)          case_of(drawn) -> Case

Without `FISHEREM_ATTACK` the same few cases are run every time, and the first bad one fails the test with its smallest
example. With it, that many cases are run for every generator from a fresh seed (or `FISHEREM_ATTACK_SEED`), bad ones
are collected and shown below the table at the end.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from sklearn.exceptions import NotFittedError

__all__ = ["TALLY", "Case", "Outcome", "Tally", "Verdict", "attack", "judge", "number_of_cases"]

# Seconds of work; a case takes milliseconds. A machine that is busy with something else, or a case that waits for what
# never comes, is given longer by the clock.
TIME_LIMIT = 20.0
_PATIENCE = 10
# The plain errors that we raise ourselves, besides those that are defined in fisherem. Subclasses, such as
# UnicodeDecodeError or JSONDecodeError, come from somewhere else.
PLAIN = (ValueError, TypeError, FileNotFoundError, ImportError, NotFittedError)
# Beginnings of messages that libraries raise when they are given what we should have looked at.
RAW = (
    "could not convert", "invalid literal", "unsupported operand", "'<' not supported", "object is not iterable",
    "cannot reshape", "operands could not be broadcast", "Found array with dim", "The truth value of",
)  # fmt: skip


class Outcome(StrEnum):
    """How a case ended."""

    OK = "ok"
    CLEAR = "clear error"
    UNCLEAR = "unclear"
    TRACEBACK = "traceback"
    HANG = "hang"
    WRONG = "wrong"

    @property
    def good(self) -> bool:
        """Whether this is as it should be."""
        return self in (Outcome.OK, Outcome.CLEAR)


@dataclass(frozen=True)
class Case:
    """Something hostile to be done.

    run() does it · check(result) asserts what must hold of the result · names, of which an error must contain one ·
    valid: True if it must succeed, False if it must be refused, None if both are right
    """

    run: Callable[[], Any]
    names: tuple[str, ...] = ()
    check: Callable[[Any], None] = lambda result: None
    valid: bool | None = None


@dataclass(frozen=True)
class Verdict:
    """An outcome, and the words that explain it."""

    outcome: Outcome
    detail: str = ""


class _TookTooLongError(BaseException):
    """Raised by the alarm; no `except Exception` swallows it."""


def judge(case: Case, limit: float = TIME_LIMIT) -> Verdict:
    """Run a case and say what became of it."""
    try:
        with _alarm(limit), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = case.run()
    except _TookTooLongError:
        return Verdict(Outcome.HANG, f"no end after {limit:g} s")
    except Exception as error:
        return _judge_error(error, case)
    if case.valid is False:
        return Verdict(Outcome.WRONG, f"accepted what had to be refused: {result!r:.300}")
    for warning in said:  # one of ours is an answer as well
        if issubclass(warning.category, RuntimeWarning):
            where = f"{warning.filename}:{warning.lineno}"
            return Verdict(Outcome.UNCLEAR, f"{warning.category.__name__}: {warning.message} ({where})")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.check(result)
    except Exception:
        return Verdict(Outcome.WRONG, traceback.format_exc(limit=-4))
    return Verdict(Outcome.OK)


def _judge_error(error: Exception, case: Case) -> Verdict:
    kind, message = type(error), str(error)
    told = f"{kind.__name__}: {message}"
    ours = kind in PLAIN or kind.__module__.partition(".")[0] == "fisherem"
    if not ours:
        return Verdict(Outcome.TRACEBACK, "".join(traceback.format_exception(error, limit=-4)))
    if case.valid:
        return Verdict(Outcome.WRONG, f"refused what is valid: {told}")
    named = not case.names or any(name in message for name in case.names)
    if not named or not message.strip() or message.startswith(RAW):
        return Verdict(Outcome.UNCLEAR, told)
    return Verdict(Outcome.CLEAR, told)


@contextmanager
def _alarm(limit: float):
    """Raise inside the block when the time is up; only where the system and the thread allow it."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number, frame):
        raise _TookTooLongError

    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, limit), signal.SIGALRM: (signal.ITIMER_REAL, _PATIENCE * limit)}
    before = {number: signal.signal(number, ring) for number in clocks}
    for timer, seconds in clocks.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in clocks.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


# -- many cases ----------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Outcomes by generator, the bad ones with what was drawn for them."""

    counts: dict[str, Counter] = field(default_factory=dict)
    bad: list[tuple[str, Verdict, str]] = field(default_factory=list)

    def add(self, kind: str, verdict: Verdict, drawn: Any) -> None:
        """Count a verdict; a bad one is kept with its example."""
        self.counts.setdefault(kind, Counter())[verdict.outcome] += 1
        if not verdict.outcome.good:
            self.bad.append((kind, verdict, f"{drawn!r:.1000}"))

    def table(self) -> str:
        """A line per generator and a column per outcome."""
        header = ["generator", *(outcome.value for outcome in Outcome), "cases"]
        lines = [[kind, *(n[o] for o in Outcome), sum(n.values())] for kind, n in self.counts.items()]
        total = [sum(line[j] for line in lines) for j in range(1, len(header))]
        cells = [[str(cell) for cell in line] for line in [header, *lines, ["all", *total]]]
        widths = [max(len(line[j]) for line in cells) for j in range(len(header))]
        return "\n".join(
            "  ".join(c.ljust(w) if j == 0 else c.rjust(w) for j, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in cells
        )

    def examples(self, most: int = 20) -> str:
        """The bad cases, some of them."""
        shown = [f"{kind}: {v.outcome.value}: {v.detail}\n    drawn: {drawn}" for kind, v, drawn in self.bad[:most]]
        more = len(self.bad) - len(shown)
        return "\n".join([*shown, *([f"... and {more} more"] if more else [])])


TALLY = Tally()


def number_of_cases(default: int, seconds: int) -> int:
    """How many cases to run: `FISHEREM_ATTACK`, of cases that take seconds as many fewer, or the few of the normal
    tests."""
    asked = int(os.environ.get("FISHEREM_ATTACK") or 0)
    return -(-asked // max(1, seconds)) or default


def attack(
    kind: str, strategy, case_of: Callable[[Any], Case], *, default: int, tally: Tally = TALLY, seconds: int = 0
) -> None:
    """Run and class cases of one generator; fails at a bad one, or at the end when many were asked for.

    `seconds` are those that a case takes, where it takes more than one.
    """
    many = bool(os.environ.get("FISHEREM_ATTACK"))
    first = len(tally.bad)

    def one(drawn):
        verdict = judge(case_of(drawn))
        tally.add(kind, verdict, drawn)
        assert many or verdict.outcome.good, f"{verdict.outcome.value}: {verdict.detail}"

    test = settings(
        max_examples=number_of_cases(default, seconds),
        derandomize=not many,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate] if many else [Phase.explicit, Phase.generate, Phase.shrink],
    )(given(strategy)(one))
    if many:
        number = int(os.environ.get("FISHEREM_ATTACK_SEED") or time.time_ns() % 2**32)
        print(f"{kind}: FISHEREM_ATTACK_SEED={number}")
        test = seed(number)(test)
    test()
    found = tally.bad[first:]
    assert not found, f"{len(found)} bad outcomes of {kind}:\n{Tally(bad=found).examples()}"
