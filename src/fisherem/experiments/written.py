"""Tables as Markdown and CSV."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .._utils.atomic import atomic_file

__all__ = ["cell", "markdown", "signed", "write_csv", "write_text"]


def cell(value, deviation=None, digits: int = 3) -> str:
    """ "0.965 ± 0.003"; empty if there is no value."""
    if value is None or pd.isna(value):
        return ""
    text = f"{value:.{digits}f}"
    return text if deviation is None or pd.isna(deviation) else f"{text} ± {deviation:.{digits}f}"


def signed(value, digits: int = 3) -> str:
    """ "+0.012"; empty if there is no value."""
    return "" if value is None or pd.isna(value) else f"{value:+.{digits}f}"


def markdown(table: pd.DataFrame) -> str:
    """A frame of texts as a Markdown table."""
    lines = ["| " + " | ".join(map(str, table.columns)) + " |", "|" + "---|" * len(table.columns)]
    for row in table.itertuples(index=False):
        lines.append("| " + " | ".join(str(v).replace("|", "\\|") for v in row) + " |")
    return "\n".join(lines) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as file:
        file.write(text.encode())


def write_csv(path: Path, numbers: pd.DataFrame) -> None:
    """Write a table as CSV with six significant digits, atomically."""
    write_text(path, numbers.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
