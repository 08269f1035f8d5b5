"""Missing cells: how many there are, where, and what can be done about them.

A mask of the empty cells (n x p) goes in, with the names of the columns and the places of the rows; a sentence that
people can act on comes out. `remedies` is the one place that lists what they can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from .._utils.wording import count, listed

__all__ = ["MissingCells", "found_missing", "remedies"]

# Columns and rows that are named before the rest is counted.
_MOST_NAMED = 5


@dataclass(frozen=True)
class MissingCells:
    """The missing cells of a table of n rows and p columns.

    shape (n, p) · first, where the first one is ("line 5, column 'Mg'") · held, what is written there ("NA"), "" for
    nothing · n_cells · columns, the names with the number of missing cells, most first · rows, the places of the rows
    that have any ("line 5")
    """

    shape: tuple[int, int]
    first: str
    held: str
    n_cells: int
    columns: list[tuple[str, int]]
    rows: list[str]

    def __str__(self) -> str:
        n, p = self.shape
        held = f" (it holds {self.held!r})" if self.held else ""
        columns = listed([f"{name!r} {times:,}" for name, times in self.columns], _MOST_NAMED, quoted=False)
        rows = listed(self.rows, _MOST_NAMED, quoted=False)
        return (
            f"{self.first}: the cell is empty{held}; {self.n_cells:,} of {n * p:,} cells are, in "
            f"{len(self.columns):,} of {count(p, 'column')} ({columns}) and {len(self.rows):,} of {count(n, 'row')} "
            f"({rows}): {remedies(self)}"
        )


def remedies(found: MissingCells) -> str:
    """What can be done about missing cells, in words."""
    names = [name for name, _ in islice(found.columns, _MOST_NAMED)]
    drop = " ".join(f"--drop {name!r}" for name in names) + (" ..." if len(found.columns) > len(names) else "")
    return f"fill them in, remove these rows, or leave out the columns ({drop}); --missing model fits around them"


def found_missing(
    mask: np.ndarray,
    names: Sequence[str],
    place: Callable[[int], str],
    written: Callable[[int, str], str] | None = None,
) -> MissingCells | None:
    """What is missing where `mask` (n x p, bool) says so; None where nothing is.

    place(row) says where a row stands ("line 5"), written(row, name) what a cell of the file holds.
    """
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return None
    counts = mask.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    first = int(rows[0])
    name = str(names[int(np.argmax(mask[first]))])
    return MissingCells(
        shape=(int(mask.shape[0]), int(mask.shape[1])),
        first=f"{place(first)}, column {name!r}",
        held="" if written is None else written(first, name),
        n_cells=int(counts.sum()),
        columns=[(str(names[j]), int(counts[j])) for j in order if counts[j]],
        rows=[place(int(row)) for row in rows],
    )
