"""Wording of messages: abbreviated lists, plurals, names of groups and columns counted from 1."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["column_name", "count", "group_name", "group_names_of", "listed", "ranges", "shorten"]

# Maximum number of names listed in a message; the others are only counted.
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
    """The name of group k (from 0, as in arrays), counted from 1 in pages, terminals, CSV files and maps."""
    return f"group {k + 1}"


def group_names_of(names: Iterable | None, K: int) -> list[str]:
    """K names of groups: those given, checked, or "group 1", "group 2", ..."""
    if names is None:
        return [group_name(k) for k in range(K)]
    if isinstance(names, str):
        raise TypeError(f"group_names must be a sequence of {K} names; got the text {names!r}")
    found = [str(name).strip() for name in names]
    if len(found) != K:
        raise ValueError(f"group_names must have a name for each of the {K} groups; got {len(found)}: {listed(found)}")
    if "" in found:
        raise ValueError(f"group_names must not be empty; the name of {group_name(found.index(''))} is")
    if len(set(found)) < K:
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"group_names must be different; {twice!r} is given twice")
    return found


def column_name(j: int) -> str:
    """The name of column j (from 0) if it has none: "x1", "x2", ..."""
    return f"x{j + 1}"


def shorten(name: str, limit: int) -> str:
    """The name, shortened in the middle to `limit` characters, as names often differ only at the end."""
    if len(name) <= limit:
        return name
    end = (limit - 1) // 2
    return f"{name[: limit - 1 - end].rstrip()}…{name[len(name) - end :].lstrip()}"


def ranges(numbers: Iterable[int]) -> str:
    """ "3, 5-8, 12": ascending numbers, with consecutive ones as a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
