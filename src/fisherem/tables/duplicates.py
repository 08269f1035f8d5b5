"""Several columns of one name, such as the probes of a gene: one of them, their mean or their maximum is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from .._utils.register import Register
from .._utils.wording import count, listed
from .errors import TableError
from .identifiers import dates_for_names
from .kinds import repeated

__all__ = ["DUPLICATES", "REFUSE", "check_repeats", "merged"]

REFUSE = "error"


def _grouped(frame: pd.DataFrame, how: str) -> pd.DataFrame:
    turned = frame.T
    return getattr(turned.groupby(turned.index, sort=False), how)().T.reset_index(drop=True)


# Each takes a numeric frame with repeated column names and returns one with every name once, in the order of the file.
DUPLICATES: Register[Callable[[pd.DataFrame], pd.DataFrame]] = Register(
    "treatment of repeated names",
    {
        REFUSE: lambda frame: frame,
        "first": lambda frame: frame.loc[:, ~frame.columns.duplicated()],
        "mean": lambda frame: _grouped(frame, "mean"),
        "max": lambda frame: _grouped(frame, "max"),
    },
)


def check_repeats(path: Path | str, names: list[str], how: str, place: Callable[[int], str]) -> None:
    """Raise an error for the first name that occurs twice, if that is to be refused; `place(row)` says where it is."""
    if how != REFUSE or (found := repeated(names)) is None:
        return
    name, first, second = found
    more = len(names) - len(set(names))
    said = dates_for_names([name])
    raise TableError(
        f"{path}: {place(first - 1)} and {place(second - 1)} are both named {name!r} ({count(more, 'name')} too many), "
        "but the names of variables must be unique: --duplicates first, mean or max combines them, --id-column chooses "
        f"another column{'; ' if said else ''}{said}"
    )


def merged(frame: pd.DataFrame, how: str, notes: list[str]) -> pd.DataFrame:
    """A numeric frame with every column name once; a note says what was combined. Missing cells are left out."""
    names = frame.columns
    if names.is_unique:
        return frame
    twice = list(dict.fromkeys(names[names.duplicated()]))
    found = DUPLICATES.find(how)(frame)
    notes.append(
        f"{count(len(twice), 'name')} occurred more than once ({listed(twice, 3)}): {count(len(names), 'variable')} "
        f"became {len(found.columns):,} (--duplicates {how})"
    )
    return found
