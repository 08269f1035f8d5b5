"""Files and folders of files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_file", "output_folder"]


@contextmanager
def atomic_file(path: Path):
    """A binary file to write to; it takes the place of `path` when the block ends without an error.

    A reader sees the old file or the new one, never half of it. The file gets the permissions of any other new file.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def output_folder(folder: Path):
    """A temporary folder inside `folder`, which is made if need be.

    When the block ends without an error, its files move to `folder` together; after an error none does.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    except OSError as error:
        raise ValueError(f"{folder}: cannot be written to ({error.strerror}); choose another folder with -o") from None
    try:
        yield temporary
        for path in sorted(temporary.iterdir()):
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
