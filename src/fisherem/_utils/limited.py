"""Run a function with a time limit, in a separate process that is killed on timeout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .register import added_entries, receive_entries

__all__ = ["LimitedWorker", "TimeUpError"]


class TimeUpError(Exception):
    """The function exceeded its time limit and was stopped."""


class LimitedWorker:
    """A process that does one piece of work at a time, each within a limit; a context manager.

    A process is used because threads cannot be stopped. It is restarted after a timeout, and its child processes end
    with it. `ready` is called in the process first, to import what the work needs; this does not count towards the
    limit.
    """

    def __init__(self, ready: Callable[[], None]):
        self._ready = ready
        self._executor: Any = None

    def __enter__(self) -> LimitedWorker:
        return self

    def __exit__(self, *exception) -> None:
        self.stop()

    def run(self, function: Callable, *arguments, time_limit: float) -> Any:
        """function(*arguments) as another process computes it; a TimeUpError after `time_limit` seconds."""
        from concurrent.futures import TimeoutError as NotDoneError

        if self._executor is None:
            self._executor = self._started()
        task = self._executor.submit(_work, added_entries(), function, arguments)
        try:
            return task.result(timeout=time_limit)
        except NotDoneError:
            self.stop()
            raise TimeUpError(f"stopped after {time_limit:g} s, which is its limit") from None
        except BaseException:  # Ctrl-C must not wait for the work; after other errors the process is reused
            if not task.done():
                self.stop()
            raise

    def _started(self):
        # unlike that of the standard library, joblib's executor does not rerun the caller's script
        from joblib.externals.loky import ProcessPoolExecutor

        executor = ProcessPoolExecutor(max_workers=1)
        executor.submit(self._ready).result()
        return executor

    def stop(self) -> None:
        """Kill the process."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


def _work(added: dict, function: Callable, arguments: tuple) -> Any:
    receive_entries(added)
    return function(*arguments)
