"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_file"]


@contextmanager
def atomic_file(path: Path):
    """A binary file to write to; it takes the place of `path` when the block ends without an error."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
