"""The memory budget while a file is read whole: what would exceed it is refused, before or while it is unpacked.

A small file can unpack to any size, so sizes are counted as they are met.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from .errors import TableError

__all__ = ["NO_LIMIT", "check_archive", "too_large"]

# A budget that nothing exceeds.
NO_LIMIT = 2**62


def too_large(path: Any, what: str, size: float, memory: int) -> TableError:
    """The error for `what` ("the text") of `size` bytes that exceeds the budget of `memory` bytes."""
    return TableError(
        f"{path}: {what} takes {size / 1e6:,.3g} MB or more, which exceeds the memory budget ({memory / 1e6:,.3g} MB): "
        "increase memory (--memory), or convert the file to .parquet or .npy, which can be read in blocks"
    )


def check_archive(path: Path, memory: int) -> None:
    """Raise an error if the members of a zip archive unpack to more than the budget.

    Python's zipfile reads no more of a member than the size in the directory of the archive.
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > memory:
        raise too_large(path, "the unpacked file", size, memory)
