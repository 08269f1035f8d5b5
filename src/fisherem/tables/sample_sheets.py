"""Join a sample sheet to a table: a row per sample, with its id and whatever is known of it.

In: the ids of the rows (n) and the path of the sheet. Out: a frame of n rows in the order of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .._utils.wording import count, listed
from .errors import TableError
from .identifiers import as_names
from .kinds import repeated
from .readers import Sheet, reader_of

__all__ = ["Joined", "joined"]


@dataclass(frozen=True)
class Joined:
    """The columns of a sample sheet (n rows, in the order of the table), and where each of the rows stands in it."""

    frame: pd.DataFrame
    places: list[str]


def _read(path: Path, memory: int, as_text: Sequence[str] = ()) -> Sheet:
    """Read a sample sheet: any kind of file that is read whole, or Parquet."""
    reader = reader_of(path)
    if reader.whole is None:
        source = None if reader.streamed is None else reader.streamed(path)
        names = [] if source is None else source.names or []
        if source is None or not names:
            raise TableError(
                f"{path}: a sample sheet needs named columns, one of them with the ids of the rows: save it as .csv, "
                ".xlsx or .parquet"
            )
        return Sheet(pd.DataFrame({name: source.column(j) for j, name in enumerate(names)}))
    options = {"memory": memory, "as_text": as_text}
    return reader.whole(path, **{name: given for name, given in options.items() if name in reader.options})


def _keys(path: Path, sheet: Sheet, memory: int, wanted: set[str]) -> tuple[str, list[str]]:
    """(the column that holds most of the ids, its cells as names): as numbers, or as they are written ("007")."""
    written = _read(path, memory, [str(name) for name in sheet.frame.columns]).frame
    best, name, keys = 0, "", []
    for frame in (sheet.frame, written):
        for j in range(frame.shape[1]):
            cells = as_names(frame.iloc[:, j])
            if (found := len(wanted & set(cells))) > best:
                best, name, keys = found, str(frame.columns[j]), cells
    if not best:
        raise TableError(
            f"{path}: no column of the sample sheet ({listed(sheet.frame.columns)}) holds the ids of the rows "
            f"({listed(sorted(wanted), 3)}): is it the sheet of another table, or does --id-column name the ids?"
        )
    return name, keys


def joined(ids: Sequence | Any, path: Path, memory: int, notes: list[str]) -> Joined:
    """The columns of the sample sheet for each of the rows `ids` (n), matched by the column that holds most of them.

    An error if no column holds one of them, or if one of them is there twice. Rows that are not in the sheet have
    missing values, and a note says how many there are.
    """
    sheet = _read(path, memory)
    wanted = as_names(ids)
    name, keys = _keys(path, sheet, memory, set(wanted))
    rows = {key: i for i, key in enumerate(keys)}
    used = [i for i, key in enumerate(keys) if key in set(wanted)]
    if (twice := repeated([keys[i] for i in used])) is not None:
        key, first, second = twice
        raise TableError(
            f"{path}: {sheet.place(used[first - 1])} and {sheet.place(used[second - 1])} of the sample sheet are both "
            f"for {key!r}; keep one of them"
        )
    absent = [key for key in wanted if key not in rows]
    said = f"the sample sheet {path.name} was joined by its column {name!r}"
    if absent:
        said += f"; it lacks {count(len(absent), 'row')} of the table ({listed(absent, 3)})"
    if others := len(set(rows) - set(wanted)):
        said += f"; {count(others, 'row')} of it {'is' if others == 1 else 'are'} not in the table"
    notes.append(said)
    frame = sheet.frame.loc[:, [str(column) != name for column in sheet.frame.columns]].reset_index(drop=True)
    places = [f"{path}: {sheet.place(rows[key])}" if key in rows else f"{path}: no row for {key!r}" for key in wanted]
    return Joined(frame.reindex([rows.get(key, -1) for key in wanted]).reset_index(drop=True), places)
