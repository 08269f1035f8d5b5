"""The error message for missing cells: how many there are, where they are, and what the user can do about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._utils.wording import count, listed

__all__ = ["MISSING", "SPREADSHEETS", "describe_missing"]

# What spreadsheets write into cells without a value: their errors, and dashes.
SPREADSHEETS = frozenset({"#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "--", "---"})
# All strings that are read as missing values: those, and the ones that pandas reads so.
MISSING = SPREADSHEETS | {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
}  # fmt: skip

# Columns and rows that are named before the rest is only counted.
_MOST_NAMED = 5


def describe_missing(
    mask: np.ndarray,
    names: Sequence[str],
    place: Callable[[int], str],
    written: Callable[[int, str], str] | None = None,
) -> str:
    """Describe the missing cells of a table, given as a mask (n x p, bool) with at least one True.

    `place(row)` says where a row is in the file ("line 5"), `written(row, name)` what a cell of the file contains.
    """
    n, p = mask.shape
    rows, counts = np.flatnonzero(mask.any(axis=1)), mask.sum(axis=0)
    first = int(rows[0])
    name = str(names[int(np.argmax(mask[first]))])
    text = "" if written is None else written(first, name)
    held = f" (it contains {text!r})" if text else ""
    columns = [(str(names[j]), counts[j]) for j in np.argsort(-counts, kind="stable") if counts[j]]
    in_columns = listed([f"{name!r} {times:,}" for name, times in columns], _MOST_NAMED, quoted=False)
    in_rows = listed([place(int(row)) for row in rows], _MOST_NAMED, quoted=False)
    drop = " ".join(f"--drop {name!r}" for name, _ in columns[:_MOST_NAMED])
    return (
        f"{place(first)}, column {name!r}: the cell is empty{held}; {int(counts.sum()):,} of {n * p:,} cells are "
        f"missing, in {len(columns):,} of {count(p, 'column')} ({in_columns}) and {len(rows):,} of {count(n, 'row')} "
        f"({in_rows}): fill them in, remove these rows, or leave out the columns "
        f"({drop}{' ...' if len(columns) > _MOST_NAMED else ''}); --missing model fits the model to the observed cells"
    )
