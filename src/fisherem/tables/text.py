"""Read text files (CSV or TSV, optionally compressed with gzip): decode, detect the layout, parse.

Errors name the line as an editor counts it.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .._utils.spreadsheets import unmarked
from .._utils.wording import column_name, count
from .errors import TableError
from .identifiers import ROW_NAMES
from .layout import COMMAS, Layout, find_layout
from .limits import NO_LIMIT, too_large
from .missing import SPREADSHEETS
from .readers import READERS, Reader, Sheet
from .series_matrix import is_series, sample_annotation, without_description

__all__ = ["decode", "read_text"]

# Bytes that are read, or decompressed, at a time.
_PIECE = 2**22
# Numbers with thousands separators: groups of exactly three digits, so "1,5" does not match.
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?\s*")


def read_text(
    path: Path, *, as_text: Sequence[str] = (), comma: str | None = None, memory: int = NO_LIMIT, repeats: bool = False
) -> Sheet:
    """Read a text file; the notes of the sheet say which layout was detected.

    The columns named in `as_text`, and a first column without a name, are kept as text. `comma` is the meaning of a
    comma inside a number: "decimal", "thousands", or None to detect it. A text of more than `memory` bytes is refused,
    and so are columns of the same name unless `repeats` are allowed.
    """
    if comma is not None and comma not in COMMAS:
        raise TableError(f"comma must be one of {', '.join(map(repr, COMMAS))}; got {comma!r}")
    raw = decode(path, memory)
    text, about = without_description(raw)
    if about and not text.strip():
        raise TableError(f"{path}: the file has only description lines (starting with !) and no table")
    layout = find_layout(path, text, comma, repeats)
    notes = [f"read with separator {layout.separator!r} and decimal {layout.decimal!r}", *layout.notes]
    if layout.header is None:
        notes.append("no header line: columns are named x1, x2, ...")
    frame = _parse(path, layout)
    if comma == "thousands":
        notes.append("commas inside numbers were read as thousands separators")
        frame = frame.apply(_without_thousands)
    for j, name in enumerate(frame.columns):
        if name in as_text or (j == 0 and name == ""):
            frame.isetitem(j, _text_column(layout, j).to_numpy())
    for j, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            frame.isetitem(j, frame.iloc[:, j].map(unmarked, na_action="ignore").array)
    names = [ROW_NAMES if j == 0 and name == "" else name for j, name in enumerate(frame.columns)]
    frame.columns = pd.Index(names)

    def written(row: int, name: str) -> str:
        return str(_text_column(layout, names.index(name)).iloc[row])

    series = bool(about) and is_series(frame)
    described = layout.about
    if about:
        described, same = sample_annotation(raw, names) if series else (None, 0)
        held = 0 if described is None else described.shape[1]
        kept = f"{count(held, 'description')} of the samples {'is' if held == 1 else 'are'} kept, " if held else ""
        notes.append(
            f"{count(about, 'line')} of description (starting with !) were skipped"
            + (f"; {kept}{same:,} that {'is' if same == 1 else 'are'} the same for all left out" if series else "")
        )
    return Sheet(
        frame, notes, lines=layout.lines, written=written, samples_in_columns=series, about=described,
    )  # fmt: skip


for _suffix in (".csv", ".tsv", ".txt"):
    READERS.provide(_suffix, Reader(whole=read_text, packed=True, options=("as_text", "comma", "memory", "repeats")))


def decode(path: Path, memory: int = NO_LIMIT) -> str:
    """The text of a file, decompressed if it ends in .gz: UTF-8, UTF-16 with a byte-order mark, otherwise Latin-1.

    Reading stops with an error as soon as there are more than `memory` bytes.
    """
    try:
        raw = _bytes(path, memory)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path}: cannot be read ({error})") from None
    # spreadsheets export "Unicode text" as UTF-16; its byte-order mark is not valid UTF-8
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    if not text.strip():
        raise TableError(f"{path}: the file is empty")
    return text


def _bytes(path: Path, memory: int) -> bytes:
    parts, size = [], 0
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        while part := file.read(_PIECE):
            parts.append(part)
            size += len(part)
            if size > memory:
                raise too_large(path, "the text", size, memory)
    return b"".join(parts)


def _parse(path: Path, layout: Layout) -> pd.DataFrame:
    try:
        frame = pd.read_csv(
            io.StringIO(layout.body), sep=layout.separator, decimal=layout.decimal, header=None,
            skip_blank_lines=False, skipinitialspace=True, low_memory=False, na_values=list(SPREADSHEETS),
        )  # fmt: skip
    except (pd.errors.ParserError, ValueError) as error:
        if "EOF inside string" in str(error):
            raise TableError(f"{path}: line {layout.lines[-1]}: a quote is opened but not closed") from None
        raise TableError(f"{path}: {str(error).strip()}") from None
    if len(frame) != len(layout.lines):
        raise TableError(
            f"{path}: the quotes do not match; a cell that contains a quote must be quoted, with the quote doubled"
        )
    frame.columns = pd.Index(layout.header or [column_name(j) for j in range(frame.shape[1])])
    return frame


def _text_column(layout: Layout, j: int) -> pd.Series:
    """Column j as text: "007" and "NA" are kept as written."""
    return pd.read_csv(
        io.StringIO(layout.body), sep=layout.separator, header=None, skip_blank_lines=False, skipinitialspace=True,
        usecols=[j], dtype=str, na_filter=False,
    ).iloc[:, 0]  # fmt: skip


def _without_thousands(column: pd.Series) -> pd.Series:
    """Replace "1,200" by "1200"; other cells are not changed, so that invalid ones raise an error later."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    return column.map(lambda cell: cell.replace(",", "") if _THOUSANDS.fullmatch(str(cell)) else cell)
