"""Covariates of the rows, such as a batch or a size: checked and coded as numbers.

In: an array, a series or a frame of n rows and c covariates. Out: a frame of n rows, its `coding` (a row per column of
the coded covariates) and the coded values Z (n x q). Numbers stay as they are, less their mean; every level of a
category but the most frequent one becomes an indicator, less its share. B'z is then 0 for an average row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import count, listed
from .frames import as_frame

__all__ = ["CODING", "coded", "coding_of", "covariate_frame", "covariate_names", "described_coding"]

# The columns of a coding.
CODING = ["covariate", "level", "centre", "spread"]
# The level of a covariate that is a number.
_NUMBER = ""
# Covariates whose columns are combinations of the others up to this share of their variance.
_REDUNDANT = 1e-8
# With more columns than this share of the rows the groups cannot be estimated.
_MOST_SHARE = 0.5


def covariate_frame(covariates: Any, n: int | None = None) -> pd.DataFrame:
    """The covariates as a frame with named columns, one row per row of the table and no missing cells."""
    given = covariates
    if isinstance(given, dict):
        given = pd.DataFrame(given)
    elif hasattr(given, "columns"):
        given = as_frame(given)
    elif getattr(given, "name", None) is not None or isinstance(given, pd.Series):  # a series of any library
        given = pd.Series(given).rename("covariate" if given.name is None else str(given.name)).to_frame()
    if not isinstance(given, pd.DataFrame):
        values = given if isinstance(given, np.ndarray) else _array(given)
        if values.ndim not in (1, 2):
            raise ValueError(f"covariates must have one or two dimensions; got {values.ndim}")
        values = values.reshape(len(values), -1)
        one = values.shape[1] == 1
        names = ["covariate"] if one else [f"covariate {j + 1}" for j in range(values.shape[1])]
        given = pd.DataFrame(values, columns=names).infer_objects()
    frame = given.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    if not frame.shape[1]:
        raise ValueError("covariates has no columns: leave it out")
    if frame.columns.duplicated().any():
        raise ValueError(f"two covariates are named {frame.columns[frame.columns.duplicated()][0]!r}: rename one")
    if n is not None and len(frame) != n:
        raise ValueError(f"covariates must have one row per row of X ({n:,}); got {len(frame):,}")
    for name in map(str, frame):
        _check_complete(name, frame[name])
    return frame


def _array(values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError("covariates must be an array or a frame with one row per row of X") from None


def _check_complete(name: str, column: pd.Series) -> None:
    gone = column.isna().to_numpy()
    if _is_number(column):
        gone = gone | ~np.isfinite(column.to_numpy(float, na_value=np.nan))
    if gone.any():
        more = f" (and {int(gone.sum()) - 1:,} more)" if gone.sum() > 1 else ""
        raise ValueError(
            f"covariate {name!r} has no finite value in row {int(gone.argmax())}{more}: fill it in, or leave out these "
            "rows"
        )


def _is_number(column: pd.Series) -> bool:
    dtype = column.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def coding_of(frame: pd.DataFrame, weights: np.ndarray | None, n_clusters: int, most_levels: int) -> pd.DataFrame:
    """How covariates are coded: a row per column of Z, with covariate, level ("" for numbers), centre and spread.

    Whole numbers with at most `most_levels` different values are categories: they are mostly numbers of batches. An
    error if a covariate has one value only, is a combination of the others, or has too many levels.
    """
    w = np.ones(len(frame)) if weights is None else weights
    counted, share = frame.loc[w > 0], w[w > 0] / w.sum()
    rows: list[tuple[str, str, float, float]] = []
    for name in map(str, frame):
        column = counted[name]
        if column.nunique() < 2:
            raise ValueError(f"covariate {name!r} has the same value in every row and explains nothing: leave it out")
        if _is_category(column, most_levels):
            rows += _levels(name, column, share)
        else:
            values = column.to_numpy(float)
            rows.append((name, _NUMBER, *_centre_and_spread(values, share)))
    q = sum(spread > 0 for *_, spread in rows)
    if q + n_clusters > _MOST_SHARE * len(counted):
        most = max(map(str, frame), key=lambda name: sum(row[0] == name for row in rows))
        raise ValueError(
            f"covariates take {count(q, 'column')} for {count(len(counted), 'row')}, most of them for the levels "
            f"of {most!r}: with so many nothing is left to cluster (is it an identifier?)"
        )
    coding = pd.DataFrame(rows, columns=CODING)
    _check_independent(coding, coded(coding, counted) * np.sqrt(share)[:, None])
    return coding


def _is_category(column: pd.Series, most_levels: int) -> bool:
    if not _is_number(column):
        return True
    return pd.api.types.is_integer_dtype(column.dtype) and column.nunique() <= most_levels


def _centre_and_spread(values: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """The mean and the standard deviation of the values (n), in any unit that a double can hold."""
    size = np.abs(values).max()
    unit = 2.0 ** (np.frexp(size)[1] - 1)  # a power of two: nothing is rounded, and no square overflows
    scaled = values / unit
    centre = float(share @ scaled)
    return centre * unit, float(np.sqrt(share @ (scaled - centre) ** 2)) * unit


def _levels(name: str, column: pd.Series, share: np.ndarray) -> list[tuple[str, str, float, float]]:
    """A row for every level but the most frequent one."""
    levels, place = np.unique(_texts(column), return_inverse=True)
    shares = np.bincount(place, share)
    reference = int(shares.argmax())
    used = [
        (name, str(level), float(s), 1.0)
        for k, (level, s) in enumerate(zip(levels, shares, strict=True))
        if k != reference
    ]
    return [*used, (name, f"={levels[reference]}", float(shares[reference]), 0.0)]


def _check_independent(coding: pd.DataFrame, Z: np.ndarray) -> None:
    """Raise an error for the first covariate that is a combination of those before it."""
    used = coding.loc[coding["spread"] > 0, "covariate"].to_numpy()
    scaled = Z / np.linalg.norm(Z, axis=0)
    for j in range(1, Z.shape[1]):
        left = scaled[:, j] - scaled[:, :j] @ np.linalg.lstsq(scaled[:, :j], scaled[:, j], rcond=None)[0]
        if left @ left < _REDUNDANT:
            before = listed(dict.fromkeys(used[:j]))
            raise ValueError(f"covariate {used[j]!r} follows from {before}: leave one of them out")


def covariate_names(coding: pd.DataFrame) -> list[str]:
    """The names of the covariates, in their order."""
    return list(dict.fromkeys(coding["covariate"]))


def coded(coding: pd.DataFrame, frame: pd.DataFrame) -> np.ndarray:
    """Z (n x q) of a frame of covariates; an error for missing covariates and for levels that the fit has not seen."""
    names = covariate_names(coding)
    frame = frame.rename(columns=str)
    if absent := [name for name in names if name not in frame]:
        if list(frame.columns) == ["covariate"] and len(names) == 1:  # an array for a named covariate
            frame = frame.set_axis(names, axis=1)
        else:
            raise ValueError(f"covariates lacks {listed(absent)}: the model was fitted with {listed(names)}")
    parts = []
    for name in names:
        own, column = coding[coding["covariate"] == name], frame[name]
        if (own["level"] == _NUMBER).all():
            parts.append(_numbers(name, column, own))
        else:
            parts.append(_indicators(name, column, own))
    return np.concatenate(parts, axis=1)


def _numbers(name: str, column: pd.Series, own: pd.DataFrame) -> np.ndarray:
    try:
        values = column.to_numpy(float)
    except (TypeError, ValueError):
        raise ValueError(f"covariate {name!r} was a number in the fit; now it is {str(column.iloc[0])!r}") from None
    return (values[:, None] - own["centre"].to_numpy(float)) / own["spread"].to_numpy(float)


def _indicators(name: str, column: pd.Series, own: pd.DataFrame) -> np.ndarray:
    texts = _texts(column)
    levels, used = _level_names(own), own["spread"].to_numpy(float) > 0
    new = ~np.isin(texts, levels)
    if new.any():
        raise ValueError(
            f"covariate {name!r} is {texts[new][0]!r} in row {int(new.argmax())}, a level that the fit has not seen "
            f"(it knows {listed(levels)})"
        )
    out: np.ndarray = (texts[:, None] == np.array(levels, object)) - own["centre"].to_numpy(float)
    return out[:, used]


def _texts(column: pd.Series) -> np.ndarray:
    """The values of a category as texts; whole numbers have no decimal point, whatever their type."""
    if _is_number(column) and (column.to_numpy(float) % 1 == 0).all():
        column = column.astype(np.int64)
    return column.astype(str).to_numpy(object)


def _level_names(own: pd.DataFrame) -> list[str]:
    """The levels of a category; that of the reference is written "=level" in the coding."""
    pairs = zip(own["level"], own["spread"], strict=True)
    return [level if spread > 0 else level[1:] for level, spread in pairs]


def described_coding(coding: pd.DataFrame) -> list[str]:
    """How each covariate was taken: "batch (3 levels)", "size (a number)"."""
    found = []
    for name in covariate_names(coding):
        own = coding[coding["covariate"] == name]
        number = (own["level"] == _NUMBER).all()
        found.append(f"{name} ({'a number' if number else count(len(own), 'level')})")
    return found
