"""The register of readers: which kinds of files hold tables, and how each of them is read.

A reader goes from a path to a table, in one of two ways: `whole` gives a `Sheet` (a frame of n rows), `streamed` gives
a `Source` that reads any range of rows. A new kind of file is one more entry:

    READERS.add(".foo", Reader(whole=read_foo))

A reader may take options: `as_text`, names of columns whose cells are to be kept as they are written, and `comma`, what
a comma inside of a number means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from .._utils.register import Register
from .errors import MissingFileError, TableError
from .sources import Source

__all__ = ["READERS", "Reader", "Sheet", "check_names", "reader_of"]


@dataclass
class Sheet:
    """A table as a file holds it: all its columns, text included, and how it was read."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    first_line: int | None = None  # the line of the first row, for files that people look at by line
    lines: Sequence[int] | None = None  # the line of every row, where they do not simply follow each other
    written: Callable[[int, str], str] | None = (
        None  # (row, name) -> what the file holds in that cell, as it is written
    )
    samples_in_columns: bool = False  # whether this kind of file has variables in its rows, as expression tables do

    def line(self, row: int) -> int | None:
        """The line on which a row stands in the file; None where there are no lines."""
        if self.lines is not None:
            return self.lines[row]
        return None if self.first_line is None else self.first_line + row


@dataclass(frozen=True)
class Reader:
    """How a kind of file is read: by ranges of rows if it has `streamed`, otherwise as a whole."""

    whole: Callable[..., Sheet] | None = None  # (path, **options) -> sheet
    streamed: Callable[[Path], Source] | None = None
    packed: bool = False  # whether files of this kind may be gzipped: name.csv.gz
    options: tuple[str, ...] = ()  # those of as_text and comma that `whole` takes

    def __post_init__(self):
        if self.whole is None and self.streamed is None:
            raise TypeError("a reader needs a function: whole(path) -> Sheet or streamed(path) -> Source")


# Suffix -> reader. The modules of the readers fill it, when the first file is opened or the register is asked.
READERS: Register[Reader] = Register("kind of file", filled_by="fisherem.tables.opening")


def reader_of(path: Path) -> Reader:
    """The reader for a path; an error if its kind is not known or nothing is there."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"] and len(suffixes) > 1
    kind = suffixes[-2] if packed else (suffixes or [""])[-1]
    reader = READERS.get(kind)
    if reader is None or (packed and not reader.packed):
        known = ", ".join(READERS)
        raise TableError(f"{path}: unknown kind of file {kind!r}; tables are read from {known} (text also as .gz)")
    if not path.exists():
        raise MissingFileError(f"{path}: no such file")
    if path.is_dir() and reader.streamed is None:
        raise TableError(f"{path}: a folder; give the path of a file")
    return reader


def check_names(path: Path, names: list[str]) -> None:
    """Refuse a header in which two columns have the same name, or none."""
    seen: dict[str, int] = {}
    for j, name in enumerate(names, 1):
        if name in seen and not name.strip():
            raise TableError(f"{path}: columns {seen[name]} and {j} have no name; name them or remove one")
        if name in seen:
            raise TableError(f"{path}: two columns are named {name!r} ({seen[name]} and {j}); rename or remove one")
        seen[name] = j
