"""Text files (CSV, TSV; gzipped or not) as sheets: decode, look at the layout, parse.

The encoding, the separator and the decimal sign are found by looking at the file. What is wrong is named by its line.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from .._utils.wording import column_name
from .errors import TableError
from .readers import READERS, Reader, Sheet, check_names

__all__ = ["Layout", "decode", "find_layout", "read_text"]

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
# Lines that decide on the separator (they differ early or not at all), on quotes, and on the decimal sign.
_SEPARATOR_LINES, _QUOTE_LINES, _DECIMAL_LINES = 50, 1000, 2000


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out: separator, decimal sign, and the header's names or None."""

    separator: str
    decimal: str
    header: list[str] | None


def read_text(path: Path) -> Sheet:
    """The sheet in a text file, with the layout that was found among its notes."""
    text = decode(path)
    layout = find_layout(path, text.splitlines())
    notes = [f"read with separator {layout.separator!r} and decimal {layout.decimal!r}"]
    if layout.header is None:
        notes.append("no header line: columns are named x1, x2, ...")
    return Sheet(_parse(path, text, layout), notes, first_line=1 if layout.header is None else 2)


for _suffix in (".csv", ".tsv", ".txt"):
    READERS.add(_suffix, Reader(whole=read_text, packed=True))
READERS.seal()


# -- decode --------------------------------------------------------------------------------------------------------


def decode(path: Path) -> str:
    """The characters of a file, unpacked if it is gzipped: UTF-8, UTF-16 with its mark, or else Latin-1."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (OSError, EOFError) as error:
        raise TableError(f"{path}: cannot be read ({error})") from None
    # spreadsheets write "Unicode text" in UTF-16; its byte-order mark is not valid UTF-8
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    if not text.strip():
        raise TableError(f"{path}: the file is empty")
    return text


# -- look at the layout --------------------------------------------------------------------------------------------


def find_layout(path: Path, lines: list[str]) -> Layout:
    """The layout of a file's lines; an error where they contradict each other."""
    separator = _separator(lines)
    _check_width(path, lines, separator)
    decimal = _decimal(path, lines, separator)
    cells = [cell.strip() for cell in next(csv.reader([lines[0]], delimiter=separator))]
    if all(re.fullmatch(_NUMBER, cell.replace(decimal, ".")) for cell in cells):
        return Layout(separator, decimal, None)
    if not any(line.strip() for line in lines[1:]):
        raise TableError(f"{path}: only a header line, no rows")
    check_names(path, cells)
    return Layout(separator, decimal, cells)


def _separator(lines: list[str]) -> str:
    """The separator that cuts the first line into columns and, if possible, the other lines into the same number."""
    sample = [line for line in lines[:_SEPARATOR_LINES] if line.strip()]

    def score(separator: str) -> tuple[bool, bool, int]:
        widths = [len(row) for row in csv.reader(sample, delimiter=separator)]
        return (widths[0] > 1, len(set(widths)) == 1, widths[0])

    # decimal commas make a ;-separated file look comma-separated as well: where there is a semicolon, it separates
    return ";" if score(";")[0] else max(_SEPARATORS, key=score)


def _check_width(path: Path, lines: list[str], separator: str) -> None:
    expected = None
    if '"' in "".join(lines[:_QUOTE_LINES]):
        counted = ((i, len(row)) for i, row in enumerate(csv.reader(lines, delimiter=separator), 1) if row)
    else:
        counted = ((i, line.count(separator) + 1) for i, line in enumerate(lines, 1) if line.strip())
    for i, width in counted:
        expected = expected or width
        if width != expected:
            raise TableError(f"{path}: line {i} has {width} fields where the first line has {expected}; fix that line")


def _decimal(path: Path, lines: list[str], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [c.strip() for row in csv.reader(lines[:_DECIMAL_LINES], delimiter=separator) for c in row]
    commas = sum(bool(re.fullmatch(r"[+-]?\d+,\d+([eE][+-]?\d+)?", c)) for c in cells)
    points = sum(bool(re.fullmatch(r"[+-]?\d+\.\d+([eE][+-]?\d+)?", c)) for c in cells)
    if commas and points:
        raise TableError(f"{path}: decimal commas ({commas} cells) and points ({points}) are mixed; use one of them")
    return "," if commas else "."


# -- parse ---------------------------------------------------------------------------------------------------------


def _parse(path: Path, text: str, layout: Layout) -> pd.DataFrame:
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=layout.separator, decimal=layout.decimal,
            header=None if layout.header is None else 0, skipinitialspace=True, low_memory=False,
        )  # fmt: skip
    except (pd.errors.ParserError, ValueError) as error:
        raise TableError(f"{path}: {str(error).strip()}") from None
    frame.columns = layout.header or [column_name(j) for j in range(frame.shape[1])]
    return frame
