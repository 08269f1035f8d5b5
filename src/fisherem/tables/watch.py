"""Detect whether a file that is read in several passes has been written to since it was opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .errors import FileChangedError

__all__ = ["Watch", "changed"]


class Watch:
    """The sizes and modification times of files when they were opened.

    A file that was replaced or deleted does not count as changed: the open file handle still reads the original.
    """

    def __init__(self, paths: Iterable[Any]):
        self._before = {path: _look(path) for path in paths}

    def check(self) -> None:
        """Raise a FileChangedError for the first file that has been written to since."""
        for path, before in self._before.items():
            now = _look(path)
            if before is not None and now is not None and now[0] == before[0] and now != before:
                raise changed(path)


def changed(path: Any) -> FileChangedError:
    """The error for a file whose rows have changed between two passes."""
    return FileChangedError(
        f"{path} was written to while it was being read, so different passes saw different rows: do not modify the "
        "file during a fit, and fit again"
    )


def _look(path: Any) -> tuple[tuple[int, int], int, int] | None:
    """((device, inode), size, modification time); None if the file does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns
