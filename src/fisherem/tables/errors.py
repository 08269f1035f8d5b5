"""Errors for files that should contain a table."""

from __future__ import annotations

__all__ = ["FileChangedError", "MissingFileError", "TableError"]


class TableError(ValueError):
    """A file that cannot be read as a table; the message names the file, the place and a remedy."""


class MissingFileError(TableError, FileNotFoundError):
    """There is no file at the path."""


class FileChangedError(OSError):
    """The file has changed since it was opened."""
