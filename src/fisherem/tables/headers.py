"""Header lines of a table: one line of names, or several (groups of columns, units, classes of samples).

A line is a header as long as none of its cells is a number where the columns below hold numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from .missing import MISSING

__all__ = ["EXPONENT", "NUMBER", "find_headers", "headers_of", "is_value"]

EXPONENT = r"([eE][+-]?\d+)?"
NUMBER = re.compile(rf"[+-]?((\d+[.,]?\d*|[.,]\d+){EXPONENT}|inf|infinity)", re.IGNORECASE)
# Header lines that are looked for, and lines below that show which columns hold numbers.
_MOST, _BELOW = 3, 3
# A second header line must have words above this share of the numeric columns, and above at least two of them: a first
# row with one word in it is a row with an invalid cell.
_SHARE, _LEAST = 0.5, 2


def is_value(cell: str) -> bool:
    """Whether a cell is a number or a missing value."""
    return cell in MISSING or NUMBER.fullmatch(cell) is not None


def _kind(cell: Any) -> str:
    """What a cell holds: "nothing", a "number" or "text"."""
    if isinstance(cell, str):
        cell = cell.strip()
        return "nothing" if cell in MISSING else "number" if NUMBER.fullmatch(cell) else "text"
    if cell is None or pd.isna(cell):
        return "nothing"
    return "number" if isinstance(cell, (int, float)) and not isinstance(cell, bool) else "text"


def find_headers(rows: Sequence[Sequence[Any]]) -> int:
    """How many of the first rows are headers; the first of `rows` is known to be one."""
    kinds = [[_kind(cell) for cell in row] for row in rows[: _MOST + _BELOW]]
    for found in range(min(_MOST, len(kinds) - 1), 1, -1):
        numeric = _numeric(kinds[found : found + _BELOW])
        if len(numeric) >= _LEAST and all(_is_header([row[j] for j in numeric]) for row in kinds[1:found]):
            return found
    return 1


def _numeric(below: list[list[str]]) -> list[int]:
    """The columns that hold more numbers than words in these rows."""
    columns = [list(column) for column in zip(*below, strict=True)]
    return [j for j, column in enumerate(columns) if column.count("number") > column.count("text")]


def _is_header(held: list[str]) -> bool:
    """Whether a row that holds these kinds of cells above numeric columns is a header."""
    return "number" not in held and held.count("text") >= max(_SHARE * len(held), _LEAST)


def headers_of(
    rows: Sequence[Sequence[str]], lines: Sequence[int], repeats: bool, counted: str = "line"
) -> tuple[list[str], pd.DataFrame | None, list[str]]:
    """(names of the p columns, what the other header lines say of them (p rows) or None, notes).

    The names are in the first line in which they are complete, and unless `repeats` are allowed, unique; words above
    several columns, as merged cells are written, belong to all of them.
    """

    def complete(row: Sequence[str]) -> bool:
        return row[1:].count("") == 0 and (repeats or len(set(row)) == len(row))

    texts = [[str(cell).strip() for cell in row] for row in rows]
    top = next((i for i, row in enumerate(texts) if complete(row)), 0)
    about: dict[str, list[str]] = {}
    notes = []
    for i, (row, line) in enumerate(zip(texts, lines, strict=True)):
        if i == top:
            continue
        cells = list(row)
        for j in range(2, len(cells)) if i < top else ():
            cells[j] = cells[j] or cells[j - 1]
        name = row[0] if row[0] and row[0] not in about else f"{counted} {line}"
        about[name] = ["", *cells[1:]]
        shown = ", ".join(repr(cell) for cell in list(dict.fromkeys(filter(None, cells[1:])))[:3])
        notes.append(f"{counted} {line} is a second header ({shown}, ...): kept under {name!r}, not a row")
    return texts[top], (pd.DataFrame(about) if about else None), notes
