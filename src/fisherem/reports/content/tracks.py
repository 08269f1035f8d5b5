"""Annotation of the rows beside the heat map: a line of cells per column of a frame that the user gives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..._utils.wording import listed
from ..text import clean

__all__ = ["STEPS", "Track", "annotation", "tracks"]

# More tracks would push the map off the screen; more categories could not be told apart.
_MOST_TRACKS = 12
_MOST_CATEGORIES = 12
# Steps of a numeric track.
STEPS = 15


@dataclass(frozen=True)
class Track:
    """The values of one column in the m rows of the map.

    `levels` (m): places in `categories`, or steps from `low` to `high` where that is None; -1 where missing. `texts`
    (m) are the values. Categories beyond the commonest are "other".
    """

    name: str
    levels: np.ndarray
    texts: list[str]
    categories: list[str] | None
    low: str
    high: str


def annotation(given: Any, X: Any, n: int) -> pd.DataFrame | None:
    """The frame of n rows that a caller gives with a page, in the order of X; None where none was given.

    Rows are matched by their index where both have one, and by their place otherwise.
    """
    if given is None:
        return None
    if isinstance(given, pd.Series):
        given = given.to_frame()
    if not isinstance(given, pd.DataFrame):
        raise TypeError(f"annotate must be a frame with a row per row of X; got {type(given).__name__}")
    index: Any = getattr(X, "index", None)
    named = isinstance(X, pd.DataFrame) and not isinstance(given.index, pd.RangeIndex)
    if named and not given.index.equals(index):
        missing = index.difference(given.index)
        if len(missing) or not given.index.is_unique:
            what = f"no row for {listed(missing)}" if len(missing) else "rows of the same name"
            raise ValueError(f"annotate is matched with X by the index, and has {what}: give it the index of X")
        given = given.loc[index]
    if len(given) != n:
        raise ValueError(f"annotate must have one row per row of X ({n}); got {len(given)}")
    if len(given.columns) > _MOST_TRACKS:
        raise ValueError(
            f"annotate has {len(given.columns)} columns, and at most {_MOST_TRACKS} can be shown: "
            f"choose some of {listed(given.columns)}"
        )
    return given


def tracks(frame: pd.DataFrame | None, rows: np.ndarray) -> list[Track]:
    """A track per column of the frame (n rows), for the rows of these numbers."""
    return [] if frame is None else [_track(str(name), frame.iloc[:, j], rows) for j, name in enumerate(frame.columns)]


def _track(name: str, column: pd.Series, rows: np.ndarray) -> Track:
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _numeric(name, column.to_numpy(float, na_value=np.nan), rows)
    texts = np.array(["" if gone else clean(v, 60) for v, gone in zip(column, column.isna(), strict=True)], object)
    counts = pd.Series(texts[texts != ""]).value_counts(sort=False)
    commonest = counts.sort_values(ascending=False, kind="stable").index[:_MOST_CATEGORIES].tolist()
    if len(counts) > _MOST_CATEGORIES:
        commonest = [*sorted(commonest[:-1], key=_natural), "other"]
    else:
        commonest.sort(key=_natural)
    place = {text: i for i, text in enumerate(commonest)}
    shown = texts[rows]
    levels = np.array([-1 if not text else place.get(text, len(commonest) - 1) for text in shown])
    return Track(clean(name, 40), levels, [text or "missing" for text in shown], commonest, "", "")


def _natural(text: str) -> list[tuple[str, int]]:
    """A key that puts "batch 2" before "batch 10"."""
    return [(words, int(number or 0)) for words, number in re.findall(r"([^0-9]*)([0-9]*)", text)]


def _numeric(name: str, values: np.ndarray, rows: np.ndarray) -> Track:
    values = np.where(np.isfinite(values), values, np.nan)
    known = values[~np.isnan(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    shown = values[rows]
    steps = np.round((np.nan_to_num(shown, nan=low) - low) / ((high - low) or 1.0) * (STEPS - 1)).astype(int)
    texts = ["missing" if np.isnan(v) else f"{v:.6g}" for v in shown]
    return Track(clean(name, 40), np.where(np.isnan(shown), -1, steps), texts, None, f"{low:.4g}", f"{high:.4g}")
