"""Estimators that were fitted to tables with categories, as the estimators of numbers that they are inside.

In: a fitted estimator with `encoding_`, and rows as users have them. Out: a copy whose variables are the columns of the
encoding, and the rows in these columns. Whatever computes with rows or draws them uses both.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import group_name
from ..tables.checking import check_table, open_rows
from ..tables.counts import check_counts, log_counts
from ..tables.encoding import Encoding
from ..tables.mixed import check_encoded
from .fitting import feature_names

__all__ = [
    "in_numbers", "is_in_numbers", "of_columns",
    "shares_of", "variable_sizes",
]  # fmt: skip


def in_numbers(model: Any, X: Any = None) -> tuple[Any, Any]:
    """(the estimator of the encoded columns, X in these columns); both unchanged where all columns are numbers.

    Of counts, X becomes their logarithms, and the estimator that of those.
    """
    if hasattr(model, "count_total_"):
        return _in_logarithms(model, X)
    encoding: Encoding | None = getattr(model, "encoding_", None)
    if encoding is None:
        return model, X
    inner = copy.copy(model)
    del inner.encoding_
    names = encoding.column_names
    inner.feature_names_in_, inner.n_features_in_ = np.array(names, object), len(names)
    blocks = encoding.blocks
    inner.support_ = model.sparse_loadings_.any(axis=1)
    if hasattr(model, "roles_"):
        inner.roles_ = model.roles_.iloc[blocks.variable].assign(variable=names).reset_index(drop=True)
    if hasattr(model, "minimal_support_"):
        inner.minimal_support_ = np.asarray(model.minimal_support_)[blocks.variable]
    return inner, None if X is None else check_encoded(model, open_rows(model, X))


def of_columns(stability: Any, model: Any) -> Any:
    """The result of `stability` for a model's variables as that of the columns that it computes with."""
    encoding: Encoding | None = getattr(model, "encoding_", None)
    if stability is None or encoding is None:
        return stability
    variable = encoding.blocks.variable
    return replace(
        stability, frequencies=stability.frequencies[variable], selected=stability.selected[variable],
        names=encoding.column_names,
    )  # fmt: skip


def is_in_numbers(model: Any) -> bool:
    """Whether `in_numbers` changes nothing."""
    return not hasattr(model, "encoding_") and not hasattr(model, "count_total_")


def _in_logarithms(model: Any, X: Any) -> tuple[Any, Any]:
    inner = copy.copy(model)
    del inner.count_total_
    inner.transformation = "none"
    if X is None:
        return inner, None
    table = check_table(inner, X, reset=False, elsewhere=True)
    names = feature_names(inner)
    check_counts(table, names)
    logs = log_counts(table, model.count_total_)
    index = X.index if isinstance(X, pd.DataFrame) else None
    return inner, pd.DataFrame(logs, index, names) if isinstance(logs, np.ndarray) and names is not None else logs


def variable_sizes(model: Any) -> np.ndarray:
    """The length of the loadings of each variable, over all columns of a category."""
    squares = np.square(model.loadings_).sum(axis=1)
    encoding: Encoding | None = getattr(model, "encoding_", None)
    if encoding is not None:
        squares = np.bincount(encoding.blocks.variable, squares, len(encoding.names))
    return np.sqrt(squares)


def shares_of(model: Any, X: Any = None) -> pd.DataFrame:
    """The share of every category in every group, of a model that was fitted to a table with categories.

    A row per category: variable, category, selected, all (its share of all rows), and a column per group. They are
    shares of the rows of X (n x p) whose category is known; without X those of the model (`group_means_`).
    """
    encoding: Encoding | None = getattr(model, "encoding_", None)
    columns = ["variable", "category", "selected", "all", *(group_name(k) for k in range(len(model.weights_)))]
    if encoding is None:
        return pd.DataFrame(columns=columns)
    every, means = model.centre_, model.group_means_
    if X is not None:
        inner, numbers = in_numbers(model, X)
        labels = inner.predict(numbers)
        every = numbers.mean().to_numpy()
        means = numbers.groupby(labels).mean().reindex(range(len(model.weights_))).to_numpy()
    rows = []
    for v in encoding.categories:
        known = encoding.levels[v] or []
        for level, j in zip(known, encoding.blocks.members[v], strict=True):
            shares = np.clip([every[j], *means[:, j]], 0.0, 1.0)
            rows.append([encoding.names[v], level, bool(model.support_[v]), *map(float, shares)])
    return pd.DataFrame(rows, columns=columns)
