"""Categories and ordered levels as numbers: the columns of a table that are no numbers, and back.

    table (n x p: numbers, categories, ordered levels) -> numbers (n x q: a column per number or ordered variable, an
    indicator per level of a category) -> the fit

A category has a column of 0 and 1 per level, named "variable=level". Ordered levels have the scores 0, 1, 2, ... in
their order. A missing cell is missing in all columns of its variable. What the columns are divided by is decided later
(`policy.scaling`), as for every other column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import column_name, count, listed
from ..rows.variables import Blocks
from .identifiers import is_text, looks_like_dates
from .kinds import kind_of, repeated

__all__ = ["MOST_LEVELS", "Encoded", "Encoding", "by_size", "category_columns", "encoding_of", "level_of"]

# A column with more levels than this share of its rows is taken for an identifier, not for a category.
MOST_LEVELS = 0.5
# Levels that an error lists.
_LISTED = 8


class Encoding:
    """The p columns of a table as q columns of numbers.

    `names` (p) · `levels` (p lists of texts, None for numbers) · `ordered` (p, bool) · `named`: whether the table had
    names of its own.
    """

    def __init__(self, names: list[str], levels: list[list[str] | None], ordered: list[bool], named: bool = True):
        self.names, self.levels, self.ordered, self.named = names, levels, ordered, named

    def __repr__(self) -> str:
        categories = sum(known is not None and not ordered for known, ordered in self._kinds())
        return (
            f"Encoding of {count(len(self.names), 'variable')} in {count(len(self.column_names), 'column')}: "
            f"{count(categories, 'category', 'categories')}, {count(sum(self.ordered), 'ordered variable')}"
        )

    def _kinds(self):
        return zip(self.levels, self.ordered, strict=True)

    def __eq__(self, other) -> bool:
        return isinstance(other, Encoding) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def widths(self) -> list[int]:
        """How many columns each variable has."""
        return [1 if known is None or ordered else len(known) for known, ordered in self._kinds()]

    @property
    def column_names(self) -> list[str]:
        """The names of the q columns: those of the variables, and "variable=level" for indicators."""
        found = []
        for name, (known, ordered) in zip(self.names, self._kinds(), strict=True):
            found += [name] if known is None or ordered else [f"{name}={level}" for level in known]
        return found

    @property
    def blocks(self) -> Blocks:
        """Which variable each column belongs to."""
        return Blocks.of_widths(self.widths)

    def encode(self, X: pd.DataFrame, among: Sequence[int] | None = None) -> pd.DataFrame:
        """The numbers of a frame with the columns `among` (numbers of variables; all by default), in this order.

        A level that the encoding does not know raises an error, as it may be a misspelt one; unknown cells are missing.
        """
        among = range(len(self.names)) if among is None else among
        parts = []
        for place, v in enumerate(among):
            column, known = X.iloc[:, place], self.levels[v]
            if known is None:
                parts.append(_numbers(column, self.names[v])[:, None])
                continue
            codes = self._codes(column, v)
            if self.ordered[v]:
                parts.append(np.where(codes < 0, np.nan, codes)[:, None])
            else:
                indicators = (codes[:, None] == np.arange(len(known))).astype(float)
                indicators[codes < 0] = np.nan
                parts.append(indicators)
        names = np.array(self.column_names, object)[np.isin(self.blocks.variable, list(among))]
        return pd.DataFrame(np.hstack(parts), columns=list(names), index=X.index)

    def _codes(self, column: pd.Series, v: int) -> np.ndarray:
        """The place of each cell among the levels of variable v; -1 for missing cells."""
        known = self.levels[v] or []
        places = {level: k for k, level in enumerate(known)}
        texts = levels_of(column)
        codes = np.array([-1 if text is None else places.get(text, -2) for text in texts], int)
        if (codes == -2).any():
            row = int(np.argmax(codes == -2))
            raise ValueError(
                f"column {self.names[v]!r}, row {row}: {texts[row]!r} is none of the categories that the model was "
                f"fitted with ({listed(known, _LISTED)}): correct the cell, or make it missing (NaN, an empty cell of "
                "a file) where the category is unknown"
            )
        return codes

    def decode(self, values: np.ndarray, index: Any = None) -> pd.DataFrame:
        """Rows of numbers (n x q) as a frame of p columns: the level with the largest indicator, the nearest score."""
        found: dict[str, Any] = {}
        for name, known, ordered, columns in zip(
            self.names, self.levels, self.ordered, self.blocks.members, strict=True
        ):
            if known is None:
                found[name] = values[:, columns[0]]
                continue
            if ordered:
                places = np.clip(np.round(values[:, columns[0]]), 0, len(known) - 1).astype(int)
            else:
                places = values[:, columns].argmax(axis=1)
            cells = np.array(known, object)[places]
            found[name] = pd.Categorical(cells, categories=known, ordered=ordered)
        return pd.DataFrame(found, index=index)

    @property
    def categories(self) -> list[int]:
        """The numbers of the variables that are categories."""
        return [v for v, (known, ordered) in enumerate(self._kinds()) if known is not None and not ordered]


@dataclass(frozen=True)
class Encoded:
    """Rows that are encoded already: `values` (n x q) and the encoding, for fits to parts of a table."""

    values: np.ndarray
    encoding: Encoding

    def __len__(self) -> int:
        return len(self.values)


def level_of(cell: Any) -> str | None:
    """A cell as the name of a level: whole numbers without a decimal point; None for a missing cell."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell is pd.NA or cell is pd.NaT or cell != cell:
        return None
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell))
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)


def levels_of(column: pd.Series) -> list[str | None]:
    """The levels of the cells of a column."""
    return [level_of(cell) for cell in column.to_numpy(object)]


def category_columns(X: pd.DataFrame, categories: Any) -> list[int]:
    """The places of the columns of a frame that are categories or ordered levels, by their dtype or by request."""
    wanted = _requested(X, categories)
    may = {dtype: _may_hold_levels(dtype) for dtype in set(X.dtypes)}
    places = [j for j, dtype in enumerate(X.dtypes) if may[dtype] and j not in wanted]
    return sorted(wanted | {j for j in places if _holds_levels(X.iloc[:, j])})


def _may_hold_levels(dtype) -> bool:
    return (
        pd.api.types.is_object_dtype(dtype)
        or kind_of(dtype) in ("categories", "text")
        or pd.api.types.is_bool_dtype(dtype)
    )


def _requested(X: pd.DataFrame, categories: Any) -> set[int]:
    if categories is None:
        return set()
    if isinstance(categories, (str, bytes)) or not hasattr(categories, "__iter__"):
        raise TypeError(f"categories must be a list of columns, such as ['sex', 'colour']; got {categories!r}")
    names, found = list(X.columns), set()
    for one in categories:
        if one in names:
            found.add(names.index(one))
        elif isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one < len(names):
            found.add(int(one))
        else:
            raise ValueError(f"categories names {one!r}, but the columns are {listed(names, 10)}")
    return found


def _holds_levels(column: pd.Series) -> bool:
    """Whether a column is text, a category or a boolean; text that is partly numbers has a mistake in it."""
    if kind_of(column.dtype) == "categories" or pd.api.types.is_bool_dtype(column.dtype):
        return True
    cells = column.dropna()
    if len(cells) and all(isinstance(cell, (bool, np.bool_)) for cell in cells):
        return True
    return is_text(column, gaps=True) and not looks_like_dates(column[column != ""])


def encoding_of(X: pd.DataFrame, categories: Any, named: bool = True) -> Encoding | None:
    """The encoding of a frame; None if all of its columns are numbers."""
    columns = category_columns(X, categories)
    if not columns:
        return None
    names = [str(name) for name in X.columns] if named else [column_name(j) for j in range(X.shape[1])]
    if (twice := repeated(names)) is not None:
        raise ValueError(f"two columns are named {twice[0]!r}: rename or drop one")
    levels: list[list[str] | None] = [None] * X.shape[1]
    ordered = [False] * X.shape[1]
    for j in columns:
        column = X.iloc[:, j]
        is_ordered = isinstance(column.dtype, pd.CategoricalDtype) and bool(column.dtype.ordered)
        levels[j], ordered[j] = _levels(column, names[j], is_ordered), is_ordered
    encoding = Encoding(names, levels, ordered, named)
    if (twice := repeated(encoding.column_names)) is not None:
        raise ValueError(f"two columns of indicators are named {twice[0]!r}: rename the column or its category")
    return encoding


def _levels(column: pd.Series, name: str, ordered: bool) -> list[str]:
    """The levels that occur: in their order, numbers by size, text by the alphabet."""
    found = list(dict.fromkeys(text for text in levels_of(column) if text is not None))
    if not found:
        raise ValueError(f"every value is missing in {name!r}: leave out such columns")
    if len(found) > max(2, MOST_LEVELS * len(column)) and not ordered:
        raise ValueError(
            f"column {name!r} holds {len(found)} different categories in {len(column):,} rows, such as "
            f"{listed(found, 3)}: that names the rows rather than groups them; leave it out"
        )
    if isinstance(column.dtype, pd.CategoricalDtype):
        known = [level_of(one) for one in column.dtype.categories]
        return [one for one in known if one in found and one is not None]
    return sorted(found, key=by_size)


def by_size(level: str) -> tuple[bool, float, str]:
    """What levels are sorted by: numbers by size, then text by the alphabet."""
    try:
        return False, float(level), level
    except ValueError:
        return True, 0.0, level


def _numbers(column: pd.Series, name: str) -> np.ndarray:
    """A column of numbers; NaN for missing cells, an error for the first cell that is none."""
    if column.dtype == object:
        column = column.where(~column.isna().to_numpy(), np.nan)
    values = np.asarray(pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan), float)
    bad = np.isnan(values) & ~column.isna().to_numpy()
    kind = kind_of(column.dtype)
    if bad.any() or kind in ("dates", "durations"):
        row = int(np.argmax(bad))
        raise ValueError(
            f"column {name!r}, row {row} holds {str(column.iloc[row])!r}, which is neither a number nor a category: "
            "fix the cell, leave out the column, or name it in categories="
        )
    return values
