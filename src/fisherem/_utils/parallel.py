"""Independent tasks on several cores: results are yielded as they finish and do not depend on the number of cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .register import added_entries, receive_entries

__all__ = ["run_tasks"]

# Starting worker processes takes a second or two, so work begins in this process. After _BEGIN_SECONDS, the remaining
# tasks are sent to workers if they are estimated to take at least _WORTH_SECONDS.
_BEGIN_SECONDS = 0.5
_WORTH_SECONDS = 4.0


def run_tasks(function: Callable, tasks: Sequence[tuple], n_jobs: int) -> Iterator[tuple[int, Any]]:
    """(index, function(*tasks[index])) of every task, in the order in which they end."""
    begin = time.perf_counter()
    done = 0
    while done < len(tasks):
        yield done, function(*tasks[done])
        done += 1
        elapsed = time.perf_counter() - begin
        left = elapsed / done * (len(tasks) - done)
        if n_jobs > 1 and elapsed > _BEGIN_SECONDS and left > _WORTH_SECONDS:
            break
    if done < len(tasks):
        from joblib import Parallel, delayed

        workers = Parallel(n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
        added = added_entries()  # workers import the package anew, so added entries are sent to them
        left_over = range(done, len(tasks))
        yield from workers(delayed(_numbered)(added, function, index, tasks[index]) for index in left_over)


def _numbered(added: dict, function: Callable, index: int, task: tuple) -> tuple[int, Any]:
    receive_entries(added)
    return index, function(*task)
