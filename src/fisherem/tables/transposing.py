"""Tables with variables in rows and samples in columns, such as expression tables: detect and transpose them.

In: a `Sheet` of p rows x (a column of names and n columns). Out: a `Sheet` of n rows x (a column of ids and p columns).
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
from .kinds import repeated
from .readers import Sheet

__all__ = ["COLUMN_NAMES", "first_is_text", "hint_of_genes", "is_turned", "transposed"]

# The name of the column of ids that is made from the header of the file.
COLUMN_NAMES = "(column)"
# An expression table has tens of thousands of genes and at most hundreds of samples.
_TIMES_MORE = 100
# Row names that are inspected, and the share of them that must look like genes.
_LOOKED_AT, _SHARE = 500, 0.8
# Unambiguous probe and gene identifiers, and gene symbols such as TP53 or Cdkn2a.
_IDENTIFIER = re.compile(
    r"\w+_at|AFFX.*|ENS[A-Z]*\d{6,}(\.\d+)?|ILMN_\d+|A_\d+_P\d+|N[MR]_\d+(\.\d+)?|AT[1-5CM]G\d{5}(\.\d+)?|LOC\d+"
)
_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{1,9}([-.][A-Z0-9]{1,6})?|[A-Z][a-z]{1,5}\d{1,4}[a-z]?|C\d{1,2}orf\d+")
# Gene symbols start with many different letters; C0001, C0002, ... are more likely customer numbers.
_LEAST_STEMS = 0.3


def first_is_text(frame: pd.DataFrame) -> bool:
    """Whether the first column names the rows: it has no name, or all of its cells are text that is not a number."""
    first = frame.iloc[:, 0]
    if frame.columns[0] in ("", "Unnamed: 0"):
        return True
    if not (first.dtype == object or isinstance(first.dtype, pd.StringDtype)) or first.isna().any():
        return False
    return bool(pd.to_numeric(first, errors="coerce").isna().all()) and all(isinstance(cell, str) for cell in first)


def transposed(path: Path | str, sheet: Sheet) -> Sheet:
    """Transpose a sheet; the names in its first column become the column names."""
    frame = sheet.frame
    named = first_is_text(frame)
    names = list(map(str, frame.iloc[:, 0])) if named else [column_name(j) for j in range(len(frame))]
    if (found := repeated(names)) is not None:
        name, first, second = found
        raise TableError(
            f"{path}: rows {first:,} and {second:,} are both named {name!r}, but column names must be unique; rename "
            "or remove one"
        )
    cells = frame.iloc[:, 1:] if named else frame
    if not cells.shape[1]:
        raise TableError(f"{path}: the table has only a column of names; there is nothing to transpose")
    turned = pd.DataFrame(cells.to_numpy().T, columns=names)
    ids = [str(name) for name in cells.columns]
    turned = pd.concat([pd.DataFrame({COLUMN_NAMES: ids}), turned.infer_objects()], axis=1)
    return Sheet(turned, list(sheet.notes))


def hint_of_genes(ids: Any, shape: tuple[int, int]) -> str:
    """A hint if the rows of a table (n x p) look like genes and its columns like samples; "" otherwise."""
    n, p = shape
    names = list(dict.fromkeys(str(one) for one in islice(ids, _LOOKED_AT))) if not isinstance(ids, range) else []
    like = [name for name in names if _IDENTIFIER.fullmatch(name)]
    symbols = [name for name in names if _SYMBOL.fullmatch(name)]
    if len({re.sub(r"\d.*", "", name) for name in symbols}) >= _LEAST_STEMS * len(symbols):
        like += symbols
    if n < _TIMES_MORE * p or len(like) < max(1.0, _SHARE * len(names)):
        return ""
    return (
        f"the {n:,} rows look like genes ({listed(like[:3])}) and the {p:,} columns like samples, so genes are "
        "clustered; use --transpose to cluster the samples"
    )


def is_turned(names: Sequence[str], columns: Sequence[str], ids: Any) -> bool:
    """Whether most of the columns that a model needs are row names of a table instead of column names."""
    needed = set(map(str, names))
    if isinstance(ids, range) or len(needed & set(columns)) * 2 > len(needed):
        return False
    return len(needed & {str(one) for one in np.asarray(ids, object)}) * 2 > len(needed)
