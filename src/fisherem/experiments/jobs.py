"""Jobs of an experiment: run in parallel, each within its time limit, and never twice."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils.parallel import run_tasks
from .records import Records

__all__ = ["Job", "OutOfTimeError", "complete", "time_limit"]


class OutOfTimeError(BaseException):
    """A job has run out of time. Not an Exception: a method that skips failing candidates must not swallow it."""


@contextmanager
def time_limit(seconds: float | None):
    """Raise OutOfTimeError in the block after `seconds`, where the system has alarms (Windows has none)."""
    alarms = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if seconds is None or not alarms:
        yield
        return

    def ring(*_):
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Job:
    """`function(*arguments)` makes the record; the name of a job holds its arguments."""

    function: Callable[..., dict]
    arguments: tuple[Any, ...]
    seconds: float | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The function's name and its arguments: what the record is kept under."""
        return " ".join(map(str, (self.function.__name__, *self.arguments)))

    def __call__(self) -> dict:
        """The record with the seconds it took; after a failure, a record with the reason."""
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings(), time_limit(self.seconds):
                warnings.simplefilter("ignore")  # what did not converge is part of the result
                record = self.function(*self.arguments)
        except OutOfTimeError:
            record = {"failed": f"not finished within {self.seconds:.0f} s", "limit": self.seconds}
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, MemoryError, OSError) as error:
            record = {"failed": " ".join(str(error).split())}
        return {"seconds": time.perf_counter() - begin} | record


def complete(jobs: Sequence[Job], records: Records, n_jobs: int, bar) -> dict[Job, dict]:
    """The record of every job. Kept records are used as they are; what ran out of a shorter time limit runs again."""
    found: dict[Job, dict] = {}
    for job in dict.fromkeys(jobs):
        kept = records.get(job.name)
        if kept is not None and kept.get("limit", np.inf) >= (job.seconds or 0):
            found[job] = kept
    missing = [job for job in dict.fromkeys(jobs) if job not in found]
    bar.add(len(missing))
    for index, record in run_tasks(Job.__call__, [(job,) for job in missing], n_jobs):
        found[missing[index]] = record
        records.put(missing[index].name, record)
        bar.step(missing[index].name[:40])
    return found
