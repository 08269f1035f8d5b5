"""Text files (CSV, TSV; gzipped or not) as sheets: decode, look at the layout, parse.

What is wrong is named by its line, as an editor counts them.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .._utils.wording import column_name, count
from .errors import TableError
from .layout import COMMAS, Layout, find_layout
from .readers import READERS, Reader, Sheet
from .series_matrix import is_series, without_description

__all__ = ["decode", "read_text"]

# Numbers with thousands: groups of three digits, and nothing else. "1,5" is none.
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?\s*")


def read_text(path: Path, *, as_text: Sequence[str] = (), comma: str | None = None) -> Sheet:
    """The sheet in a text file, with the layout that was found among its notes.

    The columns named in `as_text` are kept as they are written, and so is a first column without a name. `comma` says
    what a comma inside of a number is: "decimal", "thousands", or None to find out.
    """
    if comma is not None and comma not in COMMAS:
        raise TableError(f"comma must be one of {', '.join(map(repr, COMMAS))}; got {comma!r}")
    text, about = without_description(decode(path))
    if about and not text.strip():
        raise TableError(f"{path}: only description (lines that begin with !), no table")
    layout = find_layout(path, text, comma)
    notes = [f"read with separator {layout.separator!r} and decimal {layout.decimal!r}"]
    if about:
        notes.append(f"{count(about, 'line')} of description (beginning with !) were left out")
    if comma == "thousands":
        notes.append("commas inside of numbers were read as thousands separators")
    if layout.header is None:
        notes.append("no header line: columns are named x1, x2, ...")
    frame = _parse(path, layout)
    if comma == "thousands":
        frame = frame.apply(_without_thousands)
    for j, name in enumerate(frame.columns):
        if name in as_text or (j == 0 and name == ""):
            frame.isetitem(j, _text_column(layout, j).to_numpy())
    names = list(frame.columns)

    def written(row: int, name: str) -> str:
        return str(_text_column(layout, names.index(name)).iloc[row])

    return Sheet(frame, notes, lines=layout.lines, written=written, samples_in_columns=bool(about) and is_series(frame))


for _suffix in (".csv", ".tsv", ".txt"):
    READERS.provide(_suffix, Reader(whole=read_text, packed=True, options=("as_text", "comma")))
READERS.seal()


# -- decode --------------------------------------------------------------------------------------------------------


def decode(path: Path) -> str:
    """The characters of a file, unpacked if it is gzipped: UTF-8, UTF-16 with its mark, or else Latin-1."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
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


# -- parse ---------------------------------------------------------------------------------------------------------


def _parse(path: Path, layout: Layout) -> pd.DataFrame:
    try:
        frame = pd.read_csv(
            io.StringIO(layout.body), sep=layout.separator, decimal=layout.decimal, header=None,
            skip_blank_lines=False, skipinitialspace=True, low_memory=False,
        )  # fmt: skip
    except (pd.errors.ParserError, ValueError) as error:
        if "EOF inside string" in str(error):
            raise TableError(f"{path}: line {layout.lines[-1]}: a quote is opened and not closed") from None
        raise TableError(f"{path}: {str(error).strip()}") from None
    if len(frame) != len(layout.lines):
        raise TableError(
            f"{path}: quotes that do not match; a cell with a quote in it is quoted, and the quote doubled"
        )
    frame.columns = pd.Index(layout.header or [column_name(j) for j in range(frame.shape[1])])
    return frame


def _text_column(layout: Layout, j: int) -> pd.Series:
    """Column j as it is written: "007" stays what it is, and so does "NA"."""
    return pd.read_csv(
        io.StringIO(layout.body), sep=layout.separator, header=None, skip_blank_lines=False, skipinitialspace=True,
        usecols=[j], dtype=str, na_filter=False,
    ).iloc[:, 0]  # fmt: skip


def _without_thousands(column: pd.Series) -> pd.Series:
    """A column with "1,200" as "1200"; cells that are not numbers with thousands stay as they are, to be refused."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    return column.map(lambda cell: cell.replace(",", "") if _THOUSANDS.fullmatch(str(cell)) else cell)
