"""Detect the layout of a text file: its records and their lines, the separator, the header, the meaning of commas.

If the text can be read in two ways that give different numbers, an error asks the user to choose.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from .._utils.spreadsheets import unmarked
from .._utils.wording import count
from .errors import TableError
from .headers import EXPONENT, NUMBER, find_headers, headers_of, is_value
from .missing import MISSING
from .readers import check_names

__all__ = ["COMMAS", "MISSING", "Layout", "cut", "find_layout"]

# The possible meanings of a comma inside a number, with the decimal sign that each implies.
COMMAS = {"decimal": ",", "thousands": "."}
# In order of preference for ties: commas occur inside numbers and names more often than the others do.
_SEPARATORS = ("\t", ";", "|", ",")
_COMMA, _POINT = (re.compile(rf"[+-]?\d+{sign}\d+{EXPONENT}") for sign in (",", r"\."))
# A number that may have thousands separators: no leading zero, and every comma is followed by exactly three digits.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
# A quoted cell. A quote counts only at the beginning of a cell: the one in 5" pipe does not.
# Nothing is tried twice: a quote that is never closed may have millions of characters after it.
_QUOTED = re.compile(r'(?:^|(?<=[\t;|,])) *+"[^"]*+(?:""[^"]*+)*+"', re.MULTILINE)
# Lines used to detect the separator, cells inspected in each of them (a line may have 100,000), and records with commas
# used to detect the decimal sign.
_SEPARATOR_LINES, _CELLS, _DECIMAL_RECORDS = 50, 100, 2000
# Rows inspected to distinguish row numbers (1, 2, 3) from measurements, and rows that are read to find the headers.
_COUNTED, _TOP = 3, 6
# A cell between blanks, quoted or not; R puts a backslash before a quote inside of quotes.
_WORD = re.compile(r'"((?:[^"\\]|\\.|"")*)"|(\S+)')


@dataclass(frozen=True)
class Layout:
    """The layout of a text file.

    separator · decimal sign · header, the names or None · body, the text of the rows without header and blank lines ·
    lines, the number of the line on which each row begins · about, what further header lines say of the columns (a row
    for each), or None · notes on the header
    """

    separator: str
    decimal: str
    header: list[str] | None
    body: str
    lines: list[int]
    about: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def find_layout(path: Path, text: str, comma: str | None = None, repeats: bool = False) -> Layout:
    """Detect the layout of a text; an error if its lines are inconsistent or ambiguous.

    `comma` is the meaning of a comma inside a number: "decimal", "thousands", or None to detect it. With `repeats`,
    columns may have the same name.
    """
    # not str.splitlines: names may contain other characters that Unicode counts as line breaks
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    separator, notes = _separator(lines), []
    if _between_blanks(lines, separator):
        lines, separator = [_tabbed(line) for line in lines], "\t"
        notes.append("columns are separated by blanks")
    records = _records(path, lines, separator)
    top = [cut(record, separator) for _, record in records[:_TOP]]
    header, about = _header(path, records[0][0], top[: 1 + _COUNTED]), None
    if header is not None:
        if len(records) == 1:
            raise TableError(f"{path}: the file has a header line but no rows")
        found = find_headers(top)
        header, about, said = headers_of(top[:found], [line for line, _ in records[:found]], repeats)
        notes += said
        header = [unmarked(name) for name in header]
        check_names(path, header, repeats)
        records = records[found:]
    decimal = COMMAS[comma] if comma else _decimal(path, records, separator)
    body, numbers = "\n".join(r for _, r in records), [i for i, _ in records]
    return Layout(separator, decimal, header, body, numbers, about, tuple(notes))


def cut(record: str, separator: str) -> list[str]:
    """The cells of a record, without surrounding quotes and blanks."""
    if '"' not in record:
        return [cell.strip() for cell in record.split(separator)]
    lines = (f"{line}\n" for line in record.split("\n"))
    return [cell.strip() for cell in next(csv.reader(lines, delimiter=separator, skipinitialspace=True))]


# -- separator and records -----------------------------------------------------------------------------------------


def _separator(lines: list[str]) -> str:
    """The separator that gives the most lines with as many cells as the first line, and the most numeric cells."""
    filled = list(islice((line for line in lines if line.strip()), _SEPARATOR_LINES))
    # where all cells are quoted, tabs alone are left: not a blank line
    sample = [line for line in _QUOTED.sub("", "\n".join(filled)).split("\n") if line.strip(" ")] or filled

    def score(separator: str) -> tuple[bool, int, float]:
        widths = [line.count(separator) for line in sample]
        cells = [cell for line in sample for cell in line.split(separator, _CELLS)[:_CELLS]]
        numeric = sum(bool(NUMBER.fullmatch(cell.strip())) for cell in cells)
        same = widths.count(widths[0])
        if widths[0] and widths[1:] and widths[1] == widths[0] + 1:  # R leaves out the name of the row names
            same += widths.count(widths[1])
        return widths[0] > 0, same, numeric / len(cells)

    return max(_SEPARATORS, key=score)


def _words(line: str) -> list[str]:
    """The cells of a line that are separated by blanks."""
    return [
        found[2] if found[2] is not None else re.sub(r'\\(.)|""', lambda m: m[1] or '"', found[1])
        for found in _WORD.finditer(line)
    ]


def _between_blanks(lines: list[str], separator: str) -> bool:
    """Whether columns are separated by blanks, as R's write.table and numpy.savetxt do, and not by `separator`.

    Most lines must have as many cells as each other, but for one name fewer in the first, and mostly numbers.
    """
    first, *others = list(islice((line for line in lines if line.strip()), _SEPARATOR_LINES)) or [""]
    if separator in _QUOTED.sub("", first) or not others:
        return False
    top, rows = _words(first), [_words(line) for line in others]
    widths = [len(row) for row in rows]
    width = max(widths, key=widths.count)
    if width < 2 or len(top) not in (width, width - 1) or 2 * widths.count(width) < len(widths):
        return False
    if len(top) == 1 and any(NUMBER.fullmatch(line.split()[0]) for line in others):
        return False  # a column of numbers such as 1 200
    cells = [cell for row in rows for cell in row]
    return 2 * sum(is_value(cell) for cell in cells) >= len(cells)


def _tabbed(line: str) -> str:
    """A line of cells between blanks, with tabs between them."""
    words = [word.replace("\t", " ") for word in _words(line)]
    return "\t".join('"' + word.replace('"', '""') + '"' if '"' in word or not word else word for word in words)


def _records(path: Path, lines: list[str], separator: str) -> list[tuple[int, str]]:
    """(number of the first line, text) of every record that is not blank; all must have the same number of cells."""
    blank = " " if separator == "\t" else None  # a line of tabs is a row of empty cells, not a blank line
    records: list[tuple[int, str]] = []
    expected, short = None, False
    for line, text, width in _spans(path, lines, separator):
        if not text.strip(blank):
            continue
        expected = expected or width
        if len(records) == 1 and width == expected + 1 and _lacks_a_name(records[0][1], lines, separator):
            expected, short = width, True
        if width != expected:
            hint = "close its quote" if "\n" in text else "fix that line"
            before = "the lines before have" if short else "the first line has"
            fields = f"line {line} has {count(width, 'field')} where {before} {expected}"
            raise TableError(f"{path}: {fields}; {hint}")
        records.append((line, text))
    if short:  # the names of the rows have no name of their own
        records[0] = (records[0][0], f"{separator}{records[0][1]}")
    return records


def _lacks_a_name(first: str, lines: list[str], separator: str) -> bool:
    """Whether the first line has names for all columns but that of the row names, as R's write.table writes them.

    The row names are then different, and text or whole numbers; rows that end in a separator have no column more.
    """
    if all(is_value(cell) for cell in cut(first, separator)):
        return False
    rows = [cut(line, separator) for line in lines if line.strip()][1:]
    names = [row[0] for row in rows if row]
    named = all(not NUMBER.fullmatch(name) or name.isdigit() for name in names)
    return len(set(names)) == len(names) and named and any(row[-1] for row in rows if row)


def _spans(path: Path, lines: list[str], separator: str) -> Iterator[tuple[int, str, int]]:
    """(number of the first line, text, number of cells) of every record; quoted cells may span several lines."""
    if not any('"' in line for line in lines):
        yield from ((i, line, line.count(separator) + 1) for i, line in enumerate(lines, 1))
        return
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True)
    begin = 0
    try:
        for cells in reader:
            yield begin + 1, "\n".join(lines[begin : reader.line_num]), len(cells)
            begin = reader.line_num
    except csv.Error as error:  # a cell longer than the parser's limit
        raise TableError(f"{path}: line {begin + 1}: {error}; is a closing quote missing?") from None


# -- header and decimal sign ---------------------------------------------------------------------------------------


def _header(path: Path, line: int, rows: list[list[str]]) -> list[str] | None:
    """The names in the first row; None if it contains only numbers and missing values, like the other rows."""
    first, *others = rows
    if not all(is_value(cell) for cell in first):
        _check_header(path, line, first, others)
        return first
    # numeric names after an empty first cell: a header if the first column holds row names or row numbers
    begin = [row[0] for row in others]
    named = any(not is_value(cell) for cell in begin)
    counted = any(begin == [str(i + least) for i in range(len(begin))] for least in (0, 1))
    corner = first[0] == "" and len(first) > 1 and "" not in first[1:]
    return first if corner and others and (named or counted) else None


def _check_header(path: Path, line: int, first: list[str], others: list[list[str]]) -> None:
    """Raise an error if the first row may be either a header or a row with an invalid cell.

    Numeric names, such as wavelengths or a count, are accepted if they are in order or if text columns are below.
    """
    words = [j for j, cell in enumerate(first) if not is_value(cell)]
    scale = [float(cell.replace(",", ".")) for cell in first if NUMBER.fullmatch(cell)]
    steps = {np.sign(after - before) for before, after in pairwise(scale)}
    # up to three numbers with decimals are too often in order by chance
    in_order = steps in (set(), {1.0}, {-1.0}) and (len(scale) > 3 or all(value.is_integer() for value in scale))
    above_text = any(not is_value(row[j]) for row in others for j in words)
    if others and len(words) < len(scale) and not in_order and not above_text:
        raise TableError(
            f"{path}: line {line}: {first[words[0]]!r} is next to numbers: name every column if this line is a "
            "header, or fix the cell if it is a row"
        )


def _decimal(path: Path, records: list[tuple[int, str]], separator: str) -> str:
    """The decimal sign; an error if commas may also be thousands separators."""
    if separator == ",":
        return "."
    commas = list(_cells_like(records, separator, ",", (_COMMA, _THOUSANDS)))
    if not commas:
        return "."
    remedy = "choose with --comma thousands or --comma decimal (in Python, read the file with pandas)"
    if all(_THOUSANDS.fullmatch(cell) for _, cell in commas):
        line, cell = commas[0]
        raise TableError(
            f"{path}: line {line}: {cell!r} may have a thousands separator or a decimal comma, as every comma is "
            f"followed by exactly three digits: {remedy}"
        )
    if points := list(_cells_like(records, separator, ".", (_POINT,))):
        raise TableError(
            f"{path}: decimal commas ({len(commas)} cells, such as {commas[0][1]!r} in line {commas[0][0]}) and points "
            f"({len(points)}, such as {points[0][1]!r} in line {points[0][0]}) are mixed; use one of them"
        )
    return ","


def _cells_like(
    records: list[tuple[int, str]], separator: str, sign: str, patterns: tuple[re.Pattern, ...]
) -> Iterator[tuple[int, str]]:
    """(line, cell) of the cells that match one of the patterns, among the first records that contain the sign."""
    for line, text in islice((r for r in records if sign in r[1]), _DECIMAL_RECORDS):
        for cell in cut(text, separator):
            if any(pattern.fullmatch(cell) for pattern in patterns):
                yield line, cell
