"""Write files and folders of files atomically."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_file", "check_targets", "output_folder"]


def check_targets(folder: Path, names: Iterable[str]) -> None:
    """Raise an error if something other than a file exists at one of these names."""
    for name in names:
        target = folder / name
        if target.exists() and not target.is_file():
            raise ValueError(f"{target}: is not a file, but a file of that name is to be written; remove it first")


@contextmanager
def _named(path: Path):
    """Add the name of the file to an OSError without one, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def atomic_file(path: Path):
    """A binary file to write to; it replaces `path` when the block ends without an error.

    Readers see either the old or the new file, never a partial one. The file has the default permissions.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with _named(path), open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _being_written(error: OSError, temporary: Path, folder: Path) -> Path | None:
    """The file in `folder` that was being written when an OSError occurred; None if the error is about another file."""
    if error.filename is None:  # the error of a full disk has no file name: take the file that was started last
        names = sorted(temporary.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        return folder / names[-1].name if names else folder
    path = Path(os.fsdecode(error.filename))
    return folder / path.relative_to(temporary) if path.is_relative_to(temporary) else None


@contextmanager
def output_folder(folder: Path):
    """A temporary folder inside `folder`, which is created if necessary.

    When the block ends without an error, its files move to `folder` together; after an error, none is moved.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    except OSError as error:
        raise ValueError(f"{folder}: cannot be written to ({error.strerror}); choose another folder with -o") from None
    try:
        try:
            yield temporary
        except OSError as error:
            if error.errno is not None and (target := _being_written(error, temporary, folder)) is not None:
                raise OSError(error.errno, error.strerror, str(target)) from error
            raise
        written = sorted(temporary.iterdir())
        check_targets(folder, [path.name for path in written])
        for path in written:
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
