"""Independent tasks on several cores: results are yielded as tasks finish and do not depend on the number of cores.

The main process also runs tasks. Worker processes take a second or two to start; once a worker is ready, it takes tasks
from the same queue. Data shared by all tasks are written to disk once, and workers map the arrays into memory.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import RLock
from typing import Any

import numpy as np

from .register import added_entries, receive_entries

__all__ = ["run_as_they_come", "run_tasks"]

# Workers are started after this many seconds of work in the main process, if the remaining work is estimated to take
# longer than starting them (an import of the package), or immediately if the caller asks for it.
_BEGIN_SECONDS = 0.3
_WORTH_SECONDS = 2.0
# Idle workers exit after this many seconds; until then they are reused.
_IDLE_SECONDS = 60
# Workers use one thread each: more would oversubscribe the cores.
_THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
_ALIGNED = 64


def run_tasks(function: Callable, tasks: Sequence[tuple], n_jobs: int) -> Iterator[tuple[int, Any]]:
    """(index, function(*tasks[index])) of every task, in the order in which they finish."""
    batches = iter([tasks])
    yield from run_as_they_come(function, lambda: next(batches, ()), n_jobs)


def run_as_they_come(
    function: Callable, due: Callable[[], Sequence[tuple]], n_jobs: int, expected: int = 0, at_once: bool = False
) -> Iterator[tuple[int, Any]]:
    """(index, function(*task)) of every task, where `due`, called after each result, returns new tasks.

    Tasks are numbered in the order in which `due` gave them. `expected` is an estimate of their total number.
    `at_once` is for tasks known to be long: workers are started before the first task is done.
    """
    tasks: list[tuple] = []
    waiting: deque[int] = deque()
    ended: SimpleQueue[tuple[int, Future]] = SimpleQueue()
    helpers: _Helpers | None = None
    begin, done = time.perf_counter(), 0
    try:
        while True:
            new = list(due())
            tasks += new
            waiting.extend(range(len(tasks) - len(new), len(tasks)))
            if done == len(tasks):
                return
            if helpers is not None:
                helpers.feed()
            elif n_jobs > 1 and (at_once or _worth(time.perf_counter() - begin, done, max(len(tasks), expected))):
                helpers = _Helpers(function, tasks, n_jobs - 1, waiting, ended)
            if (found := _next(waiting, ended)) is None:
                index = waiting.popleft()
                result = function(*tasks[index])
            else:
                index, result = found[0], found[1].result()
            done += 1
            yield index, result
    finally:
        if helpers is not None:
            helpers.leave(interrupted=done < len(tasks))


def _worth(elapsed: float, done: int, total: int) -> bool:
    return done > 0 and elapsed > _BEGIN_SECONDS and elapsed / done * (total - done) > _WORTH_SECONDS


def _next(waiting: deque[int], ended: SimpleQueue) -> tuple[int, Future] | None:
    """A task that a worker has finished; None if there is none and the main process can run a task."""
    while True:
        try:
            return ended.get(block=not waiting)
        except Empty:
            if waiting:
                return None


class _Helpers:
    """Worker processes that take tasks from the left of `waiting` and put (index, future) into `ended`."""

    def __init__(self, function: Callable, tasks: list[tuple], number: int, waiting: deque[int], ended: SimpleQueue):
        from joblib.externals.loky import get_reusable_executor

        self._tasks, self._waiting, self._ended = tasks, waiting, ended
        self._lock, self._idle = RLock(), 0
        one_thread = {f"{name}_NUM_THREADS": "1" for name in _THREADS}
        with warnings.catch_warnings():
            # workers of the last call may still be starting, and changing their number waits for them
            warnings.filterwarnings("ignore", "Trying to resize an executor", UserWarning)
            self._pool = get_reusable_executor(number, timeout=_IDLE_SECONDS, env=one_thread)
        self._folder = tempfile.TemporaryDirectory(prefix="fisherem-")
        self._path = os.path.join(self._folder.name, "shared")
        try:
            _share((added_entries(), function), self._path)
        except BaseException:
            self._folder.cleanup()
            raise
        for _ in range(number):
            self._pool.submit(_shared, self._path).add_done_callback(self._ready)

    def _ready(self, future: Future) -> None:
        if future.cancelled() or future.exception() is not None:
            return  # continue without this worker
        with self._lock:
            self._idle += 1
        self.feed()

    def feed(self) -> None:
        """Give tasks to workers without one."""
        with self._lock:
            while self._idle:
                try:
                    index = self._waiting.popleft()
                except IndexError:
                    return
                self._idle -= 1
                try:
                    future = self._pool.submit(_work, self._path, self._tasks[index])
                except Exception:  # the pool was shut down: the main process runs the task
                    self._waiting.appendleft(index)
                    return
                future.add_done_callback(lambda future, index=index: self._finished(index, future))

    def _finished(self, index: int, future: Future) -> None:
        self._ended.put((index, future))
        self._ready(future)

    def leave(self, interrupted: bool) -> None:
        """Give out no more tasks; if `interrupted`, also kill the workers."""
        with self._lock:
            self._idle = 0
            self._waiting.clear()
        if interrupted:
            self._pool.shutdown(wait=True, kill_workers=True)
        self._folder.cleanup()


def _share(content: Any, path: str) -> None:
    """Write an object: its arrays to one file, the rest to another."""
    from joblib.externals.loky.cloudpickle_wrapper import dumps  # cloudpickle, wherever joblib imports it from

    buffers: list[pickle.PickleBuffer] = []
    rest = dumps(content, protocol=5, buffer_callback=buffers.append)
    places = []
    with open(path, "wb") as file:
        for buffer in buffers:
            raw = buffer.raw()
            places.append((file.tell(), raw.nbytes))
            file.write(raw)
            file.write(bytes(-raw.nbytes % _ALIGNED or _ALIGNED))
        file.write(b"\0")  # an empty file has no memory map
    Path(f"{path}.rest").write_bytes(pickle.dumps((places, rest)))


# In a worker: the file with the shared data, and the function to call.
_held: tuple[str, Callable] | None = None


def _shared(path: str) -> bool:
    """Read what the tasks share, once."""
    global _held
    if _held is None or _held[0] != path:
        _held = None
        places, rest = pickle.loads(Path(f"{path}.rest").read_bytes())
        memory = np.memmap(path, np.uint8, mode="c")  # copy-on-write, as a task may write into an array
        added, function = pickle.loads(rest, buffers=[memory[start : start + size] for start, size in places])
        receive_entries(added)  # workers import the package anew, so added entries are sent to them
        _held = (path, function)
    return True


def _work(path: str, task: tuple) -> Any:
    _shared(path)
    assert _held is not None
    return _held[1](*task)
