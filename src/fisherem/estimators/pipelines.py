"""Pipelines that end in one of our estimators: the steps before it, the estimator, and the names between them.

A fitted or unfitted pipeline goes in. Out come its two parts, the rows (n x p) as the estimator sees them, and the
names of these columns as the steps pass them on. Everything that takes a fitted estimator asks here, so that
``make_pipeline(StandardScaler(), SparseFisherEM())`` is as good as the estimator itself.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from .._utils.wording import column_name, listed
from ..tables.checking import open_rows
from ..tables.file_table import FileTable

__all__ = [
    "columns_of", "fit_steps", "last_step", "names_of", "on_its_rows", "rows_after", "steps_in_words", "support_on",
    "whole_pipeline",
]  # fmt: skip


def last_step(model) -> tuple[Pipeline | None, Any]:
    """(the steps before, the estimator) of a pipeline; (None, the model) of anything else. Pipelines may be nested."""
    if not isinstance(model, Pipeline):
        return None, model
    inner, estimator = last_step(model.steps[-1][1])
    steps = [*model.steps[:-1], *([] if inner is None else inner.steps)]
    steps = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]  # "passthrough"
    return (Pipeline(steps) if steps else None), estimator


def fit_steps(before: Pipeline, X) -> tuple[Pipeline, Any]:
    """(a clone of the steps fitted to all rows, X in memory): X is an array, a frame or a file that fits the budget."""
    X = _in_memory(X)
    return clone(before).fit(X), X


def whole_pipeline(before: Pipeline, estimator, model: Pipeline, X) -> Pipeline:
    """A pipeline of steps that are fitted to X and an estimator that is fitted to the named rows that they give.

    The estimator is called as in the pipeline `model`. Steps that give arrays would have it warn of missing names.
    """
    while isinstance(model.steps[-1][1], Pipeline):
        model = model.steps[-1][1]
    gives_names = hasattr(before.transform(_safe_indexing(X, [0])), "columns")
    if not gives_names and hasattr(estimator, "feature_names_in_"):
        estimator = copy.copy(estimator)
        del estimator.feature_names_in_
    return Pipeline([*before.steps, (model.steps[-1][0], estimator)])


def rows_after(before: Pipeline, X) -> Any:
    """The rows (n x q) that fitted steps make of X: a frame where the names are known, with the index of X.

    Rows that stay in a file are transformed block by block, as they are read.
    """
    names, _ = _names_through(before)
    if isinstance(X, FileTable):
        table = X.transformed(before)
        return FileTable(table.source, table.memory, names if names and len(names) == table.shape[1] else None)
    found = before.transform(X)
    named = hasattr(found, "columns")
    if not (named or isinstance(found, np.ndarray)) or (names is None and not named):
        return found
    if names is None or len(names) != found.shape[1]:
        names = list(found.columns) if named else None
    index = X.index if isinstance(X, pd.DataFrame) and len(X) == len(found) else None
    return pd.DataFrame(np.asarray(found), columns=names, index=index, copy=False)


def on_its_rows(model, X=None) -> tuple[Any, Any]:
    """(estimator, rows): what a fitted pipeline, or a search with one, ends in, and X as that estimator sees it.

    The estimator knows the names of its columns. Without a pipeline both come back as they are.
    """
    best = getattr(model, "best_estimator_", model)
    before, estimator = last_step(best)
    if before is None:
        return model, X
    estimator = _named(estimator, names_of(best))
    rows = None if X is None else rows_after(before, open_rows(estimator, X))
    if best is model:
        return estimator, rows
    search = copy.copy(model)
    search.estimator, search.best_estimator_ = last_step(model.estimator)[1], estimator
    return search, rows


def names_of(model) -> list[str] | None:
    """The names of the columns that a fitted model's last step sees; None where no step knows them."""
    before, estimator = last_step(model)
    known = getattr(estimator, "feature_names_in_", None)
    if before is None:
        return None if known is None else [str(name) for name in known]
    names, _ = _names_through(before)
    return names if names is not None or known is None else [str(name) for name in known]


def columns_of(model) -> np.ndarray | None:
    """For each column that the last step sees, the number of the column of X that it is; None where it mixes several.

    A scaler changes the values of a column, and the column stays what it is. PCA makes new ones.
    """
    before, estimator = last_step(model)
    if before is None:
        return np.arange(estimator.n_features_in_)
    names, given = _names_through(before)
    places = {name: j for j, name in enumerate(given)}
    if names is None or not set(names) <= set(places):
        return None
    return np.array([places[name] for name in names], int)


def support_on(model, values, p: int) -> np.ndarray:
    """One value per column of X (p) from one per column of the last step; 0 for those that it does not see.

    Where the steps mix the columns of X, all of them take part: 1 for each.
    """
    values = np.asarray(values)
    places = columns_of(model) if isinstance(model, Pipeline) else np.arange(p)
    if places is None:
        return np.ones(p, values.dtype)
    spread = np.zeros(p, values.dtype)
    spread[places] = values
    return spread


def steps_in_words(model) -> list[str]:
    """What was done to the rows before the last step, as a note for people; none without a pipeline."""
    before, _ = last_step(getattr(model, "best_estimator_", model))
    if before is None:
        return []
    steps = [type(step).__name__ for _, step in before.steps]
    return [f"the columns went through {listed(steps, quoted=False)} first: values are what came out of it"]


# -- names ---------------------------------------------------------------------------------------------------------


def _names_through(before: Pipeline) -> tuple[list[str] | None, list[str]]:
    """(names of the columns that fitted steps give, or None where a step cannot say; names of those that they take)."""
    known = getattr(before, "feature_names_in_", None)
    if known is None:
        given = [column_name(j) for j in range(int(before.n_features_in_))]
    else:
        given = [str(name) for name in known]
    try:
        found = before.get_feature_names_out(None if known is not None else np.array(given, object))
    except (AttributeError, ValueError, NotImplementedError):  # a step that does not say what becomes of its columns
        return None, given
    return _without_prefixes([str(name) for name in found], given), given


def _without_prefixes(names: Sequence[str], given: Sequence[str]) -> list[str]:
    """ "num__alcohol" as "alcohol", where that is a column of the table and no other result has its name.

    A ColumnTransformer puts the name of the part that made a column before it.
    """
    columns = set(given)
    short = [name if name in columns else name.split("__", 1)[-1] for name in names]
    times = Counter(short)
    usable = [one if one in columns and times[one] == 1 else name for one, name in zip(short, names, strict=True)]
    return usable if len(set(usable)) == len(usable) else list(names)


def _named(estimator, names: list[str] | None):
    """A copy of a fitted estimator that knows the names of its columns, also in the table of roles."""
    if names is None or len(names) != estimator.n_features_in_:
        return estimator
    named = copy.copy(estimator)
    named.feature_names_in_ = np.array(names, object)
    if hasattr(estimator, "best_estimator_"):  # a search at the end of a pipeline
        named.best_estimator_ = _named(estimator.best_estimator_, names)
        return named
    if getattr(estimator, "roles_", None) is not None:
        roles = estimator.roles_.copy()
        real = {str(old): new for old, new in zip(roles["variable"], names, strict=True)}
        roles["variable"] = names
        if "explained_by" in roles:
            roles["explained_by"] = [
                ", ".join(real.get(one, one) for one in text.split(", ")) for text in roles["explained_by"]
            ]
        named.roles_ = roles
    return named


def _in_memory(X) -> Any:
    if not isinstance(X, FileTable):
        return X
    whole = X.whole()
    if whole is None:
        raise ValueError(
            "the steps of a pipeline are fitted to all rows at once, and this file takes more than half of the memory "
            "budget: raise memory, or fit the steps to a sample and give what they make of the file"
        )
    return whole if X.names is None else pd.DataFrame(whole, columns=X.names)
