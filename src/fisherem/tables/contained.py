"""Tables that are folders of files: a link to a file outside the folder is not followed.

Without this check, a folder from an untrusted source could make the reader open any file of the machine.
"""

from __future__ import annotations

import os
from pathlib import Path

from .errors import TableError

__all__ = ["check_links"]


def check_links(path: Path) -> None:
    """Raise an error if a file or folder inside the folder `path` is a link that leads out of it."""
    inside = path.resolve()
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            found = Path(folder, name)
            if found.is_symlink() and not found.resolve().is_relative_to(inside):
                raise TableError(
                    f"{path}: {found.relative_to(path)} is a link to a place outside this folder, which is not "
                    "followed: copy the file into the folder"
                )
