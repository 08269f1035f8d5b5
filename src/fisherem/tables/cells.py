"""From the cells of a sheet to numbers: what is not a finite number is named by its line and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .errors import TableError

__all__ = ["check_cells", "numbers_of"]


def numbers_of(path: Path | str, frame: pd.DataFrame, first_line: int | None = None) -> pd.DataFrame:
    """The frame in float64; a TableError for the first cell that is empty or holds no finite number."""
    return pd.DataFrame({str(name): _numbers(path, frame[name], first_line) for name in frame.columns})


def check_cells(path: Path | str, frame: pd.DataFrame) -> None:
    """The same errors for a frame that is known to hold numbers; nothing is copied."""
    values = frame.to_numpy()
    if not np.isfinite(values.sum()):  # a sum is not finite if any term is not; overflow is sorted out below
        for name in frame.columns:
            _numbers(path, frame[name], None)


def _numbers(path: Path | str, column: pd.Series, first_line: int | None) -> np.ndarray:
    values = pd.to_numeric(column, errors="coerce").to_numpy(float)
    bad = ~np.isfinite(values)
    if not bad.any():
        return values
    row = int(np.argmax(bad))
    cell = column.iloc[row]
    line = f"row {row + 1}" if first_line is None else f"line {row + first_line}"
    where = f"{path}: {line}, column {column.name!r}"
    if pd.isna(cell):
        raise TableError(f"{where}: the cell is empty; fill it, remove the row or use --drop {column.name!r}")
    if bad.all():
        raise TableError(
            f"{path}: column {column.name!r} holds text ({cell!r}, ...): leave it out or encode it "
            f"(on the command line: --drop, --id-column or --label-column {column.name!r})"
        )
    raise TableError(f"{where}: {str(cell)!r} is not a finite number; fix the cell or remove the row")
