"""Jobs of an experiment, run in parallel, each within its time limit, and their records on disk.

There is one small JSON file per finished job, so that an interrupted run can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.atomic import atomic_file
from .._utils.parallel import run_tasks

__all__ = ["Job", "OutOfTimeError", "Records", "complete", "time_limit"]


class OutOfTimeError(BaseException):
    """A job exceeded its time limit. Not an Exception, so that methods that skip failing candidates do not catch it."""


@contextmanager
def time_limit(seconds: float | None):
    """Raise OutOfTimeError in the block after `seconds`, on systems with alarms (not Windows)."""
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
    """A call `function(*arguments)` that returns a record."""

    function: Callable[..., dict]
    arguments: tuple[Any, ...]
    seconds: float | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The function's name and its arguments, the key of the record."""
        return " ".join(map(str, (self.function.__name__, *self.arguments)))

    def __call__(self) -> dict:
        """The record with the elapsed seconds; after a failure, a record with the reason."""
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings(), time_limit(self.seconds):
                warnings.simplefilter("ignore")  # a lack of convergence is part of the result
                record = self.function(*self.arguments)
        except OutOfTimeError:
            record = {"failed": f"not finished within {self.seconds:.0f} s", "limit": self.seconds}
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, MemoryError, OSError) as error:
            record = {"failed": " ".join(str(error).split())}
        return {"seconds": time.perf_counter() - begin} | record


class Records:
    """Records in a folder, by the name of the job. A file that cannot be read is reported, and the job runs again."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, name: str) -> Path:
        readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        return self.folder / f"{readable[:80]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json"

    def get(self, name: str) -> dict | None:
        """The record of a job; None if there is none or it cannot be used."""
        path = self._path(name)
        if not path.exists():
            return None
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["name"] != name:
                raise ValueError("it belongs to another job")
            return kept["record"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"{path} cannot be used ({error}); the job runs again", stacklevel=2)
            return None

    def put(self, name: str, record: dict) -> None:
        """Store the record of a job."""
        with atomic_file(self._path(name)) as file:
            file.write(json.dumps({"name": name, "record": record}, indent=1).encode())


def complete(jobs: Sequence[Job], records: Records, n_jobs: int, bar) -> dict[Job, dict]:
    """The record of every job. Stored records are reused, unless the job exceeded a shorter time limit."""
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
