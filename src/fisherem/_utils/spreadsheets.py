"""CSV files that are safe to open in spreadsheets: text that begins like a formula is marked as text.

Spreadsheets evaluate cells that begin with =, +, -, @, a tab or a carriage return. A leading apostrophe makes them
plain text. Numbers are not changed. `unmarked` removes the apostrophe and restores the original text exactly.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, Any

import pandas as pd

__all__ = ["marked", "unmarked", "write_csv"]

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MARKED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?")


def marked(text: Any) -> Any:
    """A text with an apostrophe in front if it begins like a formula and is not a number; other values unchanged."""
    if not isinstance(text, str) or not _FORMULA.match(text) or _NUMBER.fullmatch(text):
        return text
    return f"'{text}"


def unmarked(text: Any) -> Any:
    """The original value: the inverse of `marked`."""
    return text[1:] if isinstance(text, str) and _MARKED.match(text) else text


def write_csv(frame: pd.DataFrame, target: Path | IO[bytes]) -> None:
    """Write a frame without its index as CSV, with names and text marked."""
    safe = frame.copy()
    for j, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            safe.isetitem(j, frame.iloc[:, j].astype(object).map(marked).to_numpy(object))
    safe.columns = pd.Index([marked(name) for name in frame.columns])
    safe.to_csv(target, index=False)
