"""The register of readers: which kinds of files hold tables, and how each of them is read.

A reader converts a path to a table in one of three ways: `whole` returns a `Sheet` (a frame of n rows), `streamed`
returns a `Source` that reads any range of rows, `annotated` returns a matrix with what is known of its rows and
columns. A new kind of file needs one entry:

    READERS.add(".foo", Reader(whole=read_foo))

A reader may take options: `as_text`, the names of columns whose cells are kept as written, `comma`, the meaning of a
comma inside a number, `memory`, the number of bytes that it may use, `repeats`, whether columns may have the same
name, and `sheet`, the sheet of a workbook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from .._utils.register import Register
from .errors import MissingFileError, TableError
from .kinds import repeated
from .sources import Source

__all__ = [
    "FOLDER_10X", "READERS", "Reader", "Sheet", "check_names", "in_10x_folder", "kinds_of_files", "reader_of",
]  # fmt: skip


@dataclass
class Sheet:
    """A table as a file holds it: all of its columns, including text, and how it was read."""

    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    lines: Sequence[int] | None = None  # the line number of every row, for text files and workbooks
    counted: str = "line"  # what `lines` are
    written: Callable[[int, str], str] | None = None  # (row, name) -> the cell's text in the file
    samples_in_columns: bool = False  # whether the variables are in the rows, as in expression tables
    about: pd.DataFrame | None = None  # what the file says of its columns, a row for each: second header, description

    def take(self, rows: Sequence[int]) -> Sheet:
        """The sheet with only these rows; their places in the file are kept."""
        written = self.written
        return replace(
            self,
            frame=self.frame.iloc[list(rows)].reset_index(drop=True),
            lines=[int(row) + 1 if self.lines is None else self.lines[row] for row in rows],
            counted="row" if self.lines is None else self.counted,
            written=None if written is None else lambda row, name: written(rows[row], name),
        )

    def place(self, row: int) -> str:
        """Where a row is in the file: "line 5", or "row 5" for files without lines."""
        return f"row {row + 1}" if self.lines is None else f"{self.counted} {self.lines[row]}"


@dataclass(frozen=True)
class Reader:
    """How a kind of file is read: by ranges of rows if `streamed` is given, otherwise as a whole."""

    whole: Callable[..., Sheet] | None = None  # (path, **options) -> sheet
    streamed: Callable[[Path], Source] | None = None
    annotated: Callable[..., Any] | None = None  # (path, memory=) -> a matrix with annotation, `Annotated`
    packed: bool = False  # whether files of this kind may be compressed with gzip: name.csv.gz
    options: tuple[str, ...] = ()  # those of as_text, comma, memory, repeats and sheet that `whole` takes

    def __post_init__(self):
        if self.whole is None and self.streamed is None and self.annotated is None:
            raise TypeError("a reader needs a function: whole(path) -> Sheet or streamed(path) -> Source")


# Readers by suffix. The modules that define them fill the register when it is first used.
READERS: Register[Reader] = Register("kind of file", filled_by="fisherem.tables.opening")


# The name of the reader of folders with matrix.mtx, barcodes.tsv and features.tsv, which have no suffix.
FOLDER_10X = "10x folder"


def in_10x_folder(path: Path) -> bool:
    """Whether a folder has a matrix and the names of its cells, as those of 10x Genomics."""
    return path.is_dir() and all(
        any((path / f"{name}{end}").is_file() for end in ("", ".gz")) for name in ("matrix.mtx", "barcodes.tsv")
    )


def kinds_of_files() -> str:
    """The suffixes that have a reader, as text: for errors and for the help of the command line."""
    packed = [f"{suffix}.gz" for suffix, reader in READERS.items() if reader.packed]
    return ", ".join([*READERS, *packed])


def reader_of(path: Path) -> Reader:
    """The reader for a path; an error if its suffix is unknown or the file does not exist."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"] and len(suffixes) > 1
    kind = suffixes[-2] if packed else (suffixes or [""])[-1]
    if in_10x_folder(path):
        kind, packed = FOLDER_10X, False
    reader = READERS.get(kind)
    if reader is None or (packed and not reader.packed):
        raise TableError(f"{path}: unknown kind of file {kind!r}; tables are read from {kinds_of_files()}")
    if not path.exists():
        raise MissingFileError(f"{path}: no such file")
    if path.is_dir() and reader.streamed is None and kind != FOLDER_10X:
        raise TableError(f"{path}: a folder; give the path of a file")
    return reader


def check_names(path: Path, names: list[str], repeats: bool = False, places: Sequence[Any] | None = None) -> None:
    """Raise an error if two columns have no name, or the same name unless `repeats` are allowed.

    `places` are what the columns are called in the file, such as letters; their numbers from 1 by default.
    """
    places = range(1, len(names) + 1) if places is None else places
    empty = [place for place, name in zip(places, names, strict=True) if not name.strip()]
    if len(empty) > 1:
        raise TableError(f"{path}: columns {empty[0]} and {empty[1]} have no name; name them or remove one")
    if not repeats and (found := repeated(names)) is not None:
        name, first, second = found
        raise TableError(
            f"{path}: two columns are named {name!r} ({places[first - 1]} and {places[second - 1]}); rename or remove "
            "one, or combine them with --duplicates first, mean or max"
        )
