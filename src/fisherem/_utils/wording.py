"""Words for people: lists that do not grow without end, plurals, groups and columns as people count them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["column_name", "count", "group_name", "listed", "ranges"]

# Names that an error or a note shows before it says how many more there are.
MOST_LISTED = 5


def listed(names: Iterable, most: int = MOST_LISTED, *, quoted: bool = True) -> str:
    """'a', 'b' and 3 more."""
    texts = [repr(str(name)) if quoted else str(name) for name in names]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def count(number: int, noun: str, plural: str | None = None) -> str:
    """ "1 row", "2,000 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def group_name(k: int) -> str:
    """Group k (from 0, as in arrays) as people read it: counted from 1, in pages, terminals, CSV files and maps."""
    return f"group {k + 1}"


def column_name(j: int) -> str:
    """The name of a column that has none: column j (from 0) is "x1", "x2", ... everywhere."""
    return f"x{j + 1}"


def ranges(numbers: Iterable[int]) -> str:
    """ "3, 5-8, 12": ascending numbers, with what follows each other as one range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
