"""Work with a time limit: in a process of its own, which is ended when the time is up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .register import added_entries, receive_entries

__all__ = ["LimitedWorker", "TimeUpError"]


class TimeUpError(Exception):
    """The work took longer than it may, and was stopped."""


class LimitedWorker:
    """A process that does one piece of work at a time, each within a limit; a context manager.

    A thread could not be stopped, so that it would go on computing. The process is started again after a stop; what
    the work starts itself ends with it. `ready` is called in the process first, to import what the work needs: that is
    not the work's time.
    """

    def __init__(self, ready: Callable[[], None]):
        self._ready = ready
        self._executor: Any = None

    def __enter__(self) -> LimitedWorker:
        return self

    def __exit__(self, *exception) -> None:
        self.stop()

    def run(self, function: Callable, *arguments, seconds: float) -> Any:
        """function(*arguments) as another process computes it; a TimeUpError after `seconds`."""
        from concurrent.futures import TimeoutError as NotDoneError

        if self._executor is None:
            self._executor = self._started()
        task = self._executor.submit(_work, added_entries(), function, arguments)
        try:
            return task.result(timeout=seconds)
        except NotDoneError:
            self.stop()
            raise TimeUpError(f"stopped after {seconds:g} s, which is its limit") from None
        except BaseException:  # an error of the work leaves the process as it is; Ctrl-C must not wait for the work
            if not task.done():
                self.stop()
            raise

    def _started(self):
        # joblib's executor does not run the caller's script again, as that of the standard library would
        from joblib.externals.loky import ProcessPoolExecutor

        executor = ProcessPoolExecutor(max_workers=1)
        executor.submit(self._ready).result()
        return executor

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


def _work(added: dict, function: Callable, arguments: tuple) -> Any:
    receive_entries(added)
    return function(*arguments)
