"""How a text file is laid out: its records and their lines, the separator, the header, and what its commas mean.

All of it is found by looking at the text. Where two readings are possible and would give different numbers, the file is
refused with the question.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from .._utils.wording import count
from .errors import TableError
from .readers import check_names

__all__ = ["COMMAS", "MISSING", "Layout", "cut", "find_layout"]

# What commas may stand for inside of numbers, by the words of the option.
COMMAS = ("decimal", "thousands")
# What stands for a missing value, as pandas reads it.
MISSING = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip
# In the order in which they are preferred where two cut equally well: commas stand inside of numbers and names more
# often than the others do.
_SEPARATORS = ("\t", ";", "|", ",")
_EXPONENT = r"([eE][+-]?\d+)?"
_NUMBER = re.compile(rf"[+-]?((\d+[.,]?\d*|[.,]\d+){_EXPONENT}|inf|infinity)", re.IGNORECASE)
_COMMA, _POINT = (re.compile(rf"[+-]?\d+{sign}\d+{_EXPONENT}") for sign in (",", r"\."))
# A number that reads as well with thousands: no zero in front, and every comma before exactly three digits.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
# A quoted cell, which begins where a cell begins. Quotes elsewhere, as in 5" pipe, mean nothing.
_QUOTED = re.compile(r'(?:^|(?<=[\t;|,])) *"(?:[^"]|"")*"', re.MULTILINE)
# Lines that decide on the separator (they differ early or not at all), the cells of each that are looked at (a line may
# have 100,000), and the records with a comma that decide on the decimal sign.
_SEPARATOR_LINES, _CELLS, _DECIMAL_RECORDS = 50, 100, 2000
# Rows that tell names of rows from numbers: 1, 2, 3 are counted, not measured.
_COUNTED = 3


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out.

    separator · decimal, the sign · header, the names or None · body, the text of the rows, without header and blank
    lines · lines, the number of the line on which each row begins
    """

    separator: str
    decimal: str
    header: list[str] | None
    body: str
    lines: list[int]


def find_layout(path: Path, text: str, comma: str | None = None) -> Layout:
    """The layout of a text; an error where its lines contradict each other, or could mean two things.

    `comma` says what a comma inside of a number is: "decimal", "thousands", or None to look.
    """
    # other characters that Unicode counts as line breaks may stand in a name
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    separator = _separator(lines)
    records = _records(path, lines, separator)
    header = _header(path, records[0][0], [cut(record, separator) for _, record in records[: 1 + _COUNTED]])
    if header is not None:
        if len(records) == 1:
            raise TableError(f"{path}: only a header line, no rows")
        check_names(path, header)
        records = records[1:]
    decimal = {"decimal": ",", "thousands": "."}[comma] if comma else _decimal(path, records, separator)
    return Layout(separator, decimal, header, "\n".join(r for _, r in records), [i for i, _ in records])


def cut(record: str, separator: str) -> list[str]:
    """The cells of a record, without quotes and blanks around them."""
    if '"' not in record:
        return [cell.strip() for cell in record.split(separator)]
    lines = (f"{line}\n" for line in record.split("\n"))
    return [cell.strip() for cell in next(csv.reader(lines, delimiter=separator, skipinitialspace=True))]


# -- separator and records -----------------------------------------------------------------------------------------


def _separator(lines: list[str]) -> str:
    """The separator that cuts the most lines into as many cells as the first, and the most cells into numbers."""
    filled = list(islice((line for line in lines if line.strip()), _SEPARATOR_LINES))
    sample = [line for line in _QUOTED.sub("", "\n".join(filled)).split("\n") if line.strip()] or filled

    def score(separator: str) -> tuple[bool, int, float]:
        widths = [line.count(separator) for line in sample]
        cells = [cell for line in sample for cell in line.split(separator, _CELLS)[:_CELLS]]
        numeric = sum(bool(_NUMBER.fullmatch(cell.strip())) for cell in cells)
        return widths[0] > 0, widths.count(widths[0]), numeric / len(cells)

    return max(_SEPARATORS, key=score)


def _records(path: Path, lines: list[str], separator: str) -> list[tuple[int, str]]:
    """(number of the first line, text) of every record that is not blank; all must have as many cells as the first."""
    blank = " " if separator == "\t" else None  # tabs alone are a row of empty cells where tabs separate
    records, expected = [], None
    for line, text, width in _spans(path, lines, separator):
        if not text.strip(blank):
            continue
        expected = expected or width
        if width != expected:
            hint = "close its quote" if "\n" in text else "fix that line"
            fields = f"line {line} has {count(width, 'field')} where the first line has {expected}"
            raise TableError(f"{path}: {fields}; {hint}")
        records.append((line, text))
    return records


def _spans(path: Path, lines: list[str], separator: str) -> Iterator[tuple[int, str, int]]:
    """(number of the first line, text, number of cells) of every record: a quoted cell may go on over several lines."""
    if not any('"' in line for line in lines):
        yield from ((i, line, line.count(separator) + 1) for i, line in enumerate(lines, 1))
        return
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True)
    begin = 0
    try:
        for cells in reader:
            yield begin + 1, "\n".join(lines[begin : reader.line_num]), len(cells)
            begin = reader.line_num
    except csv.Error as error:  # a cell that is longer than the parser's limit
        raise TableError(f"{path}: line {begin + 1}: {error}; is there a quote that is not closed?") from None


# -- header and decimal sign ---------------------------------------------------------------------------------------


def _header(path: Path, line: int, rows: list[list[str]]) -> list[str] | None:
    """The names in the first row; None if it is a row like the others, of numbers and gaps."""
    first, *others = rows
    if not all(_is_value(cell) for cell in first):
        _check_header(path, line, first, others)
        return first
    # numbers as names, after an empty corner: above names of rows, or above a count of them
    begin = [row[0] for row in others]
    named = any(not _is_value(cell) for cell in begin)
    counted = any(begin == [str(i + least) for i in range(len(begin))] for least in (0, 1))
    corner = first[0] == "" and len(first) > 1 and "" not in first[1:]
    return first if corner and others and (named or counted) else None


def _check_header(path: Path, line: int, first: list[str], others: list[list[str]]) -> None:
    """Refuse a first row that may be a header or a row with a cell that is no number.

    Names may be numbers, such as wavelengths or a count; those are in order. So may a row be that stands above text.
    """
    words = [j for j, cell in enumerate(first) if not _is_value(cell)]
    scale = [float(cell.replace(",", ".")) for cell in first if _NUMBER.fullmatch(cell)]
    steps = {np.sign(after - before) for before, after in pairwise(scale)}
    # up to three numbers with decimals are in order by chance too often
    in_order = steps in (set(), {1.0}, {-1.0}) and (len(scale) > 3 or all(value.is_integer() for value in scale))
    above_text = any(not _is_value(row[j]) for row in others for j in words)
    if others and len(words) < len(scale) and not in_order and not above_text:
        raise TableError(
            f"{path}: line {line}: {first[words[0]]!r} stands beside numbers: name every column if this is a header, "
            "or fix the cell if it is a row"
        )


def _is_value(cell: str) -> bool:
    """Whether a cell is a number or a gap."""
    return cell in MISSING or _NUMBER.fullmatch(cell) is not None


def _decimal(path: Path, records: list[tuple[int, str]], separator: str) -> str:
    """The decimal sign; an error where commas could as well separate thousands."""
    if separator == ",":
        return "."
    commas = list(_cells_like(records, separator, ",", (_COMMA, _THOUSANDS)))
    if not commas:
        return "."
    remedy = "say which with --comma thousands or --comma decimal (in Python, read the file with pandas)"
    if all(_THOUSANDS.fullmatch(cell) for _, cell in commas):
        line, cell = commas[0]
        raise TableError(
            f"{path}: line {line}: {cell!r} may have a thousands separator or a decimal comma, as every comma "
            f"stands before exactly three digits: {remedy}"
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
    """(line, cell) of the cells that one of the patterns fits, among the first records that have the sign at all."""
    for line, text in islice((r for r in records if sign in r[1]), _DECIMAL_RECORDS):
        for cell in cut(text, separator):
            if any(pattern.fullmatch(cell) for pattern in patterns):
                yield line, cell
