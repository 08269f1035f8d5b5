"""Progress of long work: a bar with a time estimate in a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager

__all__ = ["progress_bar"]


class _Silent:
    def add(self, count: int) -> None:
        pass

    def step(self, note: str = "") -> None:
        pass


class _Bar:
    def __init__(self, progress, task):
        self._progress, self._task, self._total = progress, task, 0

    def add(self, count: int) -> None:
        """Increase the total number of steps by `count`."""
        self._total += count
        self._progress.update(self._task, total=self._total)

    def step(self, note: str = "") -> None:
        """Advance by one step and show `note`, such as the best result so far."""
        self._progress.update(self._task, advance=1, note=note)


@contextmanager
def progress_bar(what: str, show: bool | str = "auto"):
    """A bar on standard error with the methods `add` and `step`; with "auto", shown only in a terminal."""
    if show is False or (show == "auto" and not sys.stderr.isatty()):
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(
        *columns, console=Console(stderr=True, force_terminal=show is True or None), transient=True
    ) as progress:
        yield _Bar(progress, progress.add_task(what, total=None, note=""))
