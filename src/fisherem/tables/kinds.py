"""Classify inputs (a path or a table) and columns (by the dtype that pandas, polars, NumPy or Arrow reports)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._utils.wording import listed

__all__ = ["NUMBERS", "describe_refused", "is_path", "is_stored", "kind_of", "repeated"]

NUMBERS = "numbers"
# Prefixes of dtype names in any of the libraries, in lower case; the first match decides. Dates, durations and
# intervals precede the numbers because "interval" also starts with "int".
_BEGINNINGS = (
    ("dates", ("datetime", "timestamp", "date", "period")),
    ("durations", ("timedelta", "duration")),
    ("times of day", ("time",)),
    ("intervals", ("interval", "month")),
    ("categories", ("category", "categorical", "dictionary", "enum")),
    ("complex numbers", ("complex",)),
    ("lists", ("list", "array", "large_list", "fixed_size_list", "struct", "map")),
    (NUMBERS, ("int", "uint", "float", "double", "halffloat", "bool", "decimal", "null")),
)


def kind_of(dtype) -> str:
    """What a column of this dtype holds: "numbers", "dates", ...; unknown dtypes count as "text"."""
    name = str(dtype).lower().removeprefix("sparse[")
    for kind, beginnings in _BEGINNINGS:
        if name.startswith(beginnings):
            return kind
    return "text"


def describe_refused(columns: Iterable[tuple[str, str]]) -> str:
    """List non-numeric columns, given as (name, kind): "'a', 'b' hold text; 'day' holds dates"."""
    by_kind: dict[str, list[str]] = {}
    for name, kind in columns:
        by_kind.setdefault(kind, []).append(name)
    parts = [f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} {kind}" for kind, names in by_kind.items()]
    return "; ".join(parts)


def repeated(names: Iterable[str]) -> tuple[str, int, int] | None:
    """(name, first position, second position), counted from 1, of the first duplicate name; None if there is none."""
    seen: dict[str, int] = {}
    for j, name in enumerate(names, 1):
        if seen.setdefault(name, j) != j:
            return name, seen[name], j
    return None


def is_path(X: Any) -> bool:
    """Whether X is the path of a file rather than a table."""
    return isinstance(X, (str, os.PathLike))


def is_stored(X: Any) -> bool:
    """Whether X is a table on disk: a path, a two-dimensional memory map or a Zarr array. Does not import zarr."""
    if isinstance(X, np.memmap):
        return X.ndim == 2
    return is_path(X) or (type(X).__module__.partition(".")[0] == "zarr" and hasattr(X, "chunks"))
