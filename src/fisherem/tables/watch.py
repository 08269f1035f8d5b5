"""Whether a file that is read in several passes is still the file that was opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .errors import FileChangedError

__all__ = ["Watch", "changed"]


class Watch:
    """What files looked like when they were opened: their size and the time of their last change.

    A file that was replaced or deleted does not count as changed: the one that was opened is still read.
    """

    def __init__(self, paths: Iterable[Any]):
        self._before = {path: _look(path) for path in paths}

    def check(self) -> None:
        """A FileChangedError for the first file that was written to since."""
        for path, before in self._before.items():
            now = _look(path)
            if before is not None and now is not None and now[0] == before[0] and now != before:
                raise changed(path)


def changed(path: Any) -> FileChangedError:
    """The error for a file whose rows are no longer those that were read before."""
    return FileChangedError(
        f"{path} was written to while it was read, so that the passes over it saw different rows: leave the file alone "
        "during a fit, and fit again"
    )


def _look(path: Any) -> tuple[tuple[int, int], int, int] | None:
    """((device, inode), size, time of the last change); None if there is nothing to look at."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns
