"""Tables with the variables in their rows, as expression tables come: turned round, or recognised.

A `Sheet` of p rows x (a column of names and n columns) goes in; one of n rows x (a column of ids and p columns) comes
out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import column_name, listed
from .errors import TableError
from .readers import Sheet

__all__ = ["COLUMN_NAMES", "first_is_text", "hint_of_genes", "is_turned", "transposed"]

# What the column of ids is called that was the header of the file.
COLUMN_NAMES = "(column)"
# An expression table has tens of thousands of genes and at most hundreds of samples.
_TIMES_MORE = 100
# Names of rows that are looked at, and the share of them that must look like genes.
_LOOKED_AT, _SHARE = 500, 0.8
# Probes and identifiers that nothing else is called, and symbols such as TP53 or Cdkn2a.
_IDENTIFIER = re.compile(
    r"\w+_at|AFFX.*|ENS[A-Z]*\d{6,}(\.\d+)?|ILMN_\d+|A_\d+_P\d+|N[MR]_\d+(\.\d+)?|AT[1-5CM]G\d{5}(\.\d+)?|LOC\d+"
)
_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{1,9}([-.][A-Z0-9]{1,6})?|[A-Z][a-z]{1,5}\d{1,4}[a-z]?|C\d{1,2}orf\d+")
# Symbols have many different letters in front; C0001, C0002, ... are customers, counted.
_LEAST_STEMS = 0.3


def first_is_text(frame: pd.DataFrame) -> bool:
    """Whether the first column names the rows: it has no name, or holds text, no cell empty or a number."""
    first = frame.iloc[:, 0]
    if frame.columns[0] in ("", "Unnamed: 0"):
        return True
    if not (first.dtype == object or isinstance(first.dtype, pd.StringDtype)) or first.isna().any():
        return False
    return bool(pd.to_numeric(first, errors="coerce").isna().all()) and all(isinstance(cell, str) for cell in first)


def transposed(path: Path | str, sheet: Sheet) -> Sheet:
    """The sheet with its columns as rows; the names in its first column become those of the columns."""
    frame = sheet.frame
    named = first_is_text(frame)
    names = list(map(str, frame.iloc[:, 0])) if named else [column_name(j) for j in range(len(frame))]
    _check_names(path, names)
    cells = frame.iloc[:, 1:] if named else frame
    if not cells.shape[1]:
        raise TableError(f"{path}: only a column of names: there is nothing to transpose")
    turned = pd.DataFrame(cells.to_numpy().T, columns=names)
    ids = [str(name) for name in cells.columns]
    turned = pd.concat([pd.DataFrame({COLUMN_NAMES: ids}), turned.infer_objects()], axis=1)
    return Sheet(turned, list(sheet.notes))


def _check_names(path: Path | str, names: Sequence[str]) -> None:
    """Names of rows that are to be names of columns: each its own."""
    seen: dict[str, int] = {}
    for i, name in enumerate(names, 1):
        if name in seen:
            raise TableError(
                f"{path}: rows {seen[name]:,} and {i:,} are both named {name!r}, and as columns they need names of "
                "their own; rename or remove one"
            )
        seen[name] = i


def hint_of_genes(ids: Any, shape: tuple[int, int]) -> str:
    """What to say of a table (n x p) whose rows look like genes and whose columns look like samples; "" otherwise."""
    n, p = shape
    names = list(dict.fromkeys(str(one) for one in islice(ids, _LOOKED_AT))) if not isinstance(ids, range) else []
    like = [name for name in names if _IDENTIFIER.fullmatch(name)]
    symbols = [name for name in names if _SYMBOL.fullmatch(name)]
    if len({re.sub(r"\d.*", "", name) for name in symbols}) >= _LEAST_STEMS * len(symbols):
        like += symbols
    if n < _TIMES_MORE * p or len(like) < max(1.0, _SHARE * len(names)):
        return ""
    return (
        f"the {n:,} rows look like genes ({listed(like[:3])}) and the {p:,} columns like samples, so it is genes that "
        "are put into groups: --transpose makes the samples the rows"
    )


def is_turned(names: Sequence[str], columns: Sequence[str], ids: Any) -> bool:
    """Whether most of the columns that a model needs are not columns of a table, but names of its rows."""
    needed = set(map(str, names))
    if isinstance(ids, range) or len(needed & set(columns)) * 2 > len(needed):
        return False
    return len(needed & {str(one) for one in np.asarray(ids, object)}) * 2 > len(needed)
