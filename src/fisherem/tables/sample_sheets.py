"""Join a sample sheet to a table: a row per sample, with its id and whatever is known of it.

In: the ids of the rows (n) and the path of the sheet. Out: a frame of n rows in the order of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .._utils.wording import count, listed
from .errors import TableError
from .identifiers import as_names
from .kinds import repeated
from .readers import Sheet, reader_of

__all__ = ["joined", "read_sheet"]


def read_sheet(path: Path, memory: int) -> Sheet:
    """Read a sample sheet: any kind of file that is read whole, or Parquet."""
    reader = reader_of(path)
    if reader.whole is None:
        assert reader.streamed is not None
        source = reader.streamed(path)
        names = source.names or []
        return Sheet(pd.DataFrame({name: source.column(j) for j, name in enumerate(names)}))
    return reader.whole(path, **({"memory": memory} if "memory" in reader.options else {}))


def joined(ids: Sequence | Any, path: Path, memory: int, notes: list[str]) -> pd.DataFrame:
    """The columns of the sample sheet for each of the rows `ids` (n), matched by the column that holds most of them.

    An error if no column holds one of them, or if one of them is there twice. Rows that are not in the sheet have
    missing values, and a note says how many there are.
    """
    sheet = read_sheet(path, memory)
    frame, wanted = sheet.frame, as_names(ids)
    found = [len(set(wanted) & set(as_names(frame.iloc[:, j]))) for j in range(frame.shape[1])]
    j = max(range(len(found)), key=found.__getitem__, default=0)
    if not found or not found[j]:
        raise TableError(
            f"{path}: no column of the sample sheet ({listed(frame.columns)}) holds the ids of the rows "
            f"({listed(wanted, 3)}): is it the sheet of another table, or does --id-column name the ids?"
        )
    name, keys = frame.columns[j], as_names(frame.iloc[:, j])
    places = {key: i for i, key in reversed(list(enumerate(keys)))}
    used = [i for i, key in enumerate(keys) if key in set(wanted)]
    if (twice := repeated([keys[i] for i in used])) is not None:
        key, first, second = twice
        raise TableError(
            f"{path}: {sheet.place(used[first - 1])} and {sheet.place(used[second - 1])} of the sample sheet are both "
            f"for {key!r}; keep one of them"
        )
    absent = [key for key in wanted if key not in places]
    said = f"the sample sheet {path.name} was joined by its column {str(name)!r}"
    if absent:
        said += f"; it lacks {count(len(absent), 'row')} of the table ({listed(absent, 3)})"
    if len(set(places) - set(wanted)):
        said += f"; {count(len(set(places) - set(wanted)), 'row')} of it are not in the table"
    notes.append(said)
    chosen = frame.drop(columns=name).reset_index(drop=True)
    return chosen.reindex([places.get(key, -1) for key in wanted]).reset_index(drop=True)
