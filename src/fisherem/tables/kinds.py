"""What is given: a path or a table; and what a column holds, from the type that pandas, polars, NumPy or Arrow has."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._utils.wording import listed

__all__ = ["NUMBERS", "describe_refused", "is_path", "is_stored", "kind_of"]

NUMBERS = "numbers"
# How the names of types begin, in any of the libraries, in lower case; the first that fits decides. Dates and durations
# stand before the numbers: "timestamp" and "time64" are no text, and "interval" is no integer.
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
    """ "numbers", "dates", "text", ...: what a column of this type holds; a type that no rule knows is text."""
    name = str(dtype).lower().removeprefix("sparse[")
    for kind, beginnings in _BEGINNINGS:
        if name.startswith(beginnings):
            return kind
    return "text"


def describe_refused(columns: Iterable[tuple[str, str]]) -> str:
    """ "'a', 'b' hold text; 'day' holds dates": for (name, kind) of the columns that hold no numbers."""
    by_kind: dict[str, list[str]] = {}
    for name, kind in columns:
        by_kind.setdefault(kind, []).append(name)
    parts = [f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} {kind}" for kind, names in by_kind.items()]
    return "; ".join(parts)


def is_path(X: Any) -> bool:
    """Whether X is the path of a file, not a table itself."""
    return isinstance(X, (str, os.PathLike))


def is_stored(X: Any) -> bool:
    """Whether X is a table in a file: a path, a memory map of rows x columns or a Zarr array; nothing is imported."""
    if isinstance(X, np.memmap):
        return X.ndim == 2
    return is_path(X) or (type(X).__module__.partition(".")[0] == "zarr" and hasattr(X, "chunks"))
