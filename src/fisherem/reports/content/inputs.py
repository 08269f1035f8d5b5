"""What a caller gives for a page, checked: the model, the rows, their ids, known classes, notes."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..._utils.wording import column_name
from ...estimators import BayesianFisherEM, FisherEM
from ...estimators.naming import names_of_groups
from ...search.model_search import ModelSearch
from ...tables.kinds import is_anndata
from ...tables.rows_by_group import TableRows
from ..text import clean

__all__ = [
    "column_names", "fitted_model", "group_names", "known_classes", "note_list", "raw_names", "row_ids",
]  # fmt: skip


def fitted_model(model) -> tuple[ModelSearch | None, Any]:
    """(the search or None, the fitted estimator) of what was given."""
    if isinstance(model, ModelSearch):
        check_is_fitted(model, "best_estimator_")
        return model, model.best_estimator_
    if not isinstance(model, (FisherEM, BayesianFisherEM)):
        given = "the class " + model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(
            "the page is made from a fitted FisherEM, SparseFisherEM, BayesianFisherEM, FactorMixture or ModelSearch "
            f"(it shows their groups and posteriors); got {given}"
        )
    check_is_fitted(model)
    return None, model


def column_names(model: FisherEM, X: Any, rows: TableRows) -> list[str]:
    """p names: those that the model was fitted with, else those of the frame or file, else x1, x2, ..."""
    return [clean(name) for name in raw_names(model, X, rows)]


def raw_names(model: FisherEM, X: Any, rows: TableRows) -> list[str]:
    """The same as they are, not made safe to show."""
    p = rows.shape[1]
    candidates = (getattr(model, "feature_names_in_", None), getattr(X, "columns", None), rows.names)
    found = next((names for names in candidates if names is not None and len(names) == p), None)
    return [str(name) for name in (found if found is not None else map(column_name, range(p)))]


def group_names(model, given) -> list[str]:
    """K names of the groups, safe to show: those given, else those of the model."""
    return [clean(name, 60) for name in names_of_groups(model, given)]


def row_ids(ids, X: Any, n: int):
    """One name per row: those given, else the frame's index, else the rows' numbers from 1."""
    if ids is None:
        if is_anndata(X):
            return list(X.obs_names)
        index = getattr(X, "index", None)
        return index if index is not None and not callable(index) else range(1, n + 1)
    _check_length("ids", "value", ids, n)
    return list(ids)


def known_classes(labels, n: int) -> list[str | None] | None:
    """Known classes as text, None for a missing one; None if no labels were given."""
    if labels is None:
        return None
    _check_length("labels", "class", labels, n)
    values = list(labels)
    missing = pd.isna(pd.Series(values, dtype=object))
    return [None if gone else clean(value, 40) for value, gone in zip(values, missing, strict=True)]


def _check_length(name: str, what: str, given, n: int) -> None:
    if isinstance(given, str) or _num_samples(given) != n:
        came = "a text" if isinstance(given, str) else _num_samples(given)
        raise ValueError(f"{name} must have one {what} per row of X ({n}); got {came}")


def note_list(notes) -> list[str]:
    """Notes as safe lines; a single text is one note."""
    return [clean(note, 400) for note in ([notes] if isinstance(notes, str) else notes or [])]
