"""What can be wrong with a file that should hold a table."""

from __future__ import annotations

__all__ = ["FileChangedError", "MissingFileError", "TableError"]


class TableError(ValueError):
    """A file that is not what it claims to be; the message names the file, the place and the remedy."""


class MissingFileError(TableError, FileNotFoundError):
    """There is no file at the path."""


class FileChangedError(OSError):
    """The file is no longer what it was when it was opened."""
