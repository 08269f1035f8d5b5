"""Run a function with a time limit, in a separate process that is killed on timeout."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from typing import Any

from .register import added_entries, receive_entries

__all__ = ["LimitedWorker", "TimeUpError"]


# Seconds in which stopped work can release what it shares with its own workers before it is killed.
_GRACE = 3.0


class TimeUpError(Exception):
    """The function exceeded its time limit and was stopped."""


class LimitedWorker:
    """A process that runs one function call at a time, each with a time limit; a context manager.

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
        """The result of function(*arguments) in the process; a TimeUpError after `time_limit` seconds."""
        from concurrent.futures import TimeoutError as NotDoneError

        if self._executor is None:
            self._executor = self._started()
        task = self._executor.submit(_work, added_entries(), function, arguments)
        try:
            return task.result(timeout=time_limit)
        except NotDoneError:
            self._ask_to_end(task)
            self.stop()
            raise TimeUpError(f"stopped at its time limit of {time_limit:g} s") from None
        except BaseException:  # Ctrl-C must not wait for the work; after other errors the process is reused
            if not task.done():
                self._ask_to_end(task)
                self.stop()
            raise

    def _ask_to_end(self, task: Any) -> None:
        """Let the work end its own workers first: a killed process leaks semaphores, and Python warns about them."""
        for process in list(self._executor._processes.values()):
            with contextlib.suppress(OSError):
                process.terminate()
        with contextlib.suppress(BaseException):
            task.exception(timeout=_GRACE)

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


class _EndedError(BaseException):
    """Raised inside the work when it is asked to stop."""


def _work(added: dict, function: Callable, arguments: tuple) -> Any:
    receive_entries(added)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        return function(*arguments)
    except _EndedError:
        _give_back()
        raise TimeUpError("ended") from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: Any) -> None:
    raise _EndedError


def _give_back() -> None:
    """Kill the workers of this process and unlink the semaphores and folders that it shared with them."""
    import atexit

    from joblib.externals.loky import reusable_executor

    if (executor := reusable_executor._executor) is not None:
        executor.shutdown(wait=True, kill_workers=True)
    atexit._run_exitfuncs()
