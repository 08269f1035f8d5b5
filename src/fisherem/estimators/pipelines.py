"""Pipelines that end in one of our estimators, and fitted models restricted to their selected variables.

In: a fitted or unfitted pipeline. Out: its two parts, the rows (n x p) that the estimator gets, and the names of these
columns. Everything that takes a fitted estimator uses these functions, so that
``make_pipeline(StandardScaler(), SparseFisherEM())`` can be given instead.

With latent means and a common noise variance, posteriors and coordinates depend only on the selected variables, so a
table that has these, by name, is enough to predict. Densities and criteria still need all variables.
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
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from .._utils.wording import column_name, listed
from ..core.dlm.family import Means
from ..tables.checking import open_rows
from ..tables.file_table import FileTable
from .mixed import in_numbers, is_in_numbers

__all__ = [
    "columns_of", "fit_steps", "last_step", "names_of", "needed_names", "on_its_rows", "on_selected", "rows_after",
    "steps_in_words", "support_on", "whole_pipeline",
]  # fmt: skip

# Fitted attributes of estimators and scalers by what their entries belong to.
_PER_VARIABLE = (
    "centre_", "row_centre_", "scales_", "exponents_", "mean_", "var_", "support_", "feature_names_in_", "loadings_",
    "sparse_loadings_",
)  # fmt: skip
_PER_GROUP_AND_VARIABLE = ("means_", "row_means_", "group_means_", "bending_", "covariate_effects_")


def last_step(model) -> tuple[Pipeline | None, Any]:
    """(the steps before, the estimator) of a pipeline; (None, the model) of anything else. Pipelines may be nested."""
    if not isinstance(model, Pipeline):
        return None, model
    inner, estimator = last_step(model.steps[-1][1])
    steps = [*model.steps[:-1], *([] if inner is None else inner.steps)]
    steps = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]  # "passthrough"
    return (Pipeline(steps) if steps else None), estimator


def fit_steps(before: Pipeline, X) -> tuple[Pipeline, Any]:
    """(a clone of the steps fitted to all rows, X in memory); X is an array, a frame or a file that fits in memory."""
    X = _in_memory(X)
    return clone(before).fit(X), X


def whole_pipeline(before: Pipeline, estimator, model: Pipeline, X) -> Pipeline:
    """A pipeline of steps fitted to X and an estimator fitted to their named output.

    The estimator has the same name as in the pipeline `model`. Where the steps return arrays, its feature names are
    removed, as scikit-learn would warn that they are missing.
    """
    while isinstance(model.steps[-1][1], Pipeline):
        model = model.steps[-1][1]
    gives_names = hasattr(before.transform(_safe_indexing(X, [0])), "columns")
    if not gives_names and hasattr(estimator, "feature_names_in_"):
        estimator = copy.copy(estimator)
        del estimator.feature_names_in_
    return Pipeline([*before.steps, (model.steps[-1][0], estimator)])


def rows_after(before: Pipeline, X) -> Any:
    """X transformed by fitted steps (n x q): a frame with the index of X where the names are known.

    Rows in a file are transformed block by block as they are read.
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
    """(estimator, rows): the last step of a fitted pipeline, or of a search with one, and X as that estimator gets it.

    The estimator has the names of its columns. Without a pipeline both are returned unchanged, but for tables with
    categories, which become numbers as in a pipeline.
    """
    best = getattr(model, "best_estimator_", model)
    before, estimator = last_step(best)
    if before is None:
        return _in_numbers(model, best, X)
    estimator = _named(estimator, names_of(best))
    rows = None if X is None else rows_after(before, open_rows(estimator, X))
    if best is model:
        return _in_numbers(estimator, estimator, rows)
    search = copy.copy(model)
    search.estimator, search.best_estimator_ = last_step(model.estimator)[1], estimator
    return _in_numbers(search, estimator, rows)


def _in_numbers(model, best, X) -> tuple[Any, Any]:
    if is_in_numbers(best):
        return model, X
    inner, rows = in_numbers(best, X)
    if best is model:
        return inner, rows
    search = copy.copy(model)
    search.best_estimator_ = inner
    for name in ("encoding_", "count_total_", "support_", "feature_names_in_", "n_features_in_"):
        search.__dict__.pop(name, None)
    search.n_features_in_ = inner.n_features_in_
    if hasattr(inner, "feature_names_in_"):
        search.feature_names_in_ = inner.feature_names_in_
    return search, rows


def names_of(model) -> list[str] | None:
    """The names of the columns that the last step of a fitted model gets; None where no step knows them."""
    before, estimator = last_step(model)
    known = getattr(estimator, "feature_names_in_", None)
    if before is None:
        return None if known is None else [str(name) for name in known]
    names, _ = _names_through(before)
    return names if names is not None or known is None else [str(name) for name in known]


def columns_of(model) -> np.ndarray | None:
    """For each input column of the last step, the index of the same column of X; None where the steps mix columns.

    The columns keep their identity in a scaler, but not in PCA.
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
    """One value per column of X (p) from one per input column of the last step; 0 for columns that it does not get.

    Where the steps mix the columns of X, the value is 1 for all of them.
    """
    values = np.asarray(values)
    places = columns_of(model) if isinstance(model, Pipeline) else np.arange(p)
    if places is None:
        return np.ones(p, values.dtype)
    spread = np.zeros(p, values.dtype)
    spread[places] = values
    return spread


def steps_in_words(model) -> list[str]:
    """A note about the steps before the last one, as a list; empty without a pipeline."""
    before, _ = last_step(getattr(model, "best_estimator_", model))
    if before is None:
        return []
    steps = [type(step).__name__ for _, step in before.steps]
    return [f"values are those after {listed(steps, quoted=False)}"]


# -- the selected variables only --------------------------------------------------------------------------------------


def needed_names(model, given) -> list | None:
    """The names of the selected variables if the model can predict from these columns of a table named `given`.

    None if the table has exactly the columns of the fit, lacks a selected one, or if all variables affect the
    posteriors; the usual checks then report errors, if any.
    """
    known, fitted = getattr(model, "feature_names_in_", None), last_step(model)[1]
    if known is None or given is None or not _selected_decide(model) or set(known) == set(given):
        return None
    names = [name for name, selected in zip(known, fitted.support_, strict=True) if selected]
    return names if names and set(names) <= set(given) else None


def _selected_decide(model) -> bool:
    """Whether the groups depend on a proper subset of the variables: latent means and a common noise variance."""
    fitted = last_step(model)[1]
    noises = getattr(fitted, "noise_variances_", None)
    if hasattr(fitted, "count_total_"):  # totals are those of all columns
        return False
    if noises is None or getattr(fitted, "means", "") != Means.LATENT.value or fitted.support_.all():
        return False
    scalers = isinstance(model, Pipeline) and not all(isinstance(step, StandardScaler) for step in model[:-1])
    return bool((noises == noises[0]).all()) and not scalers


def on_selected(model):
    """A copy of an estimator, or of a pipeline of scalers and an estimator, that takes the selected columns only."""
    support = last_step(model)[1].support_
    if isinstance(model, Pipeline):
        return Pipeline([(name, _restricted(step, support)) for name, step in model.steps])
    return _restricted(model, support)


def _restricted(step, support: np.ndarray):
    """A copy of a fitted step whose per-variable attributes are restricted to the selected variables."""
    small = copy.copy(step)
    of_rows = [*_PER_VARIABLE, *(["scale_"] if isinstance(step, StandardScaler) else [])]  # elsewhere it is a name
    for names, index in ((of_rows, support), (_PER_GROUP_AND_VARIABLE, (slice(None), support))):
        for name in names:
            if getattr(step, name, None) is not None:
                setattr(small, name, getattr(step, name)[index])
    if getattr(step, "roles_", None) is not None and len(step.roles_) == len(support):
        small.roles_ = step.roles_[support].reset_index(drop=True)
    if hasattr(step, "noise_loadings_"):  # I + F F' of the selected variables, with orthogonal columns again
        left, lengths, _ = np.linalg.svd(step.noise_loadings_[support], full_matrices=False)
        small.noise_loadings_ = left * lengths
    if hasattr(step, "distance_moments_"):
        small.distance_moments_ = None  # they are of all variables
    small.n_features_in_ = int(support.sum())
    return small


# -- names ---------------------------------------------------------------------------------------------------------


def _names_through(before: Pipeline) -> tuple[list[str] | None, list[str]]:
    """(output names of fitted steps, or None where a step does not provide them; input names)."""
    known = getattr(before, "feature_names_in_", None)
    if known is None:
        given = [column_name(j) for j in range(int(before.n_features_in_))]
    else:
        given = [str(name) for name in known]
    try:
        found = before.get_feature_names_out(None if known is not None else np.array(given, object))
    except (AttributeError, ValueError, NotImplementedError):  # a step without feature names
        return None, given
    return _without_prefixes([str(name) for name in found], given), given


def _without_prefixes(names: Sequence[str], given: Sequence[str]) -> list[str]:
    """ "num__alcohol" as "alcohol", where that is a column of the table and the name stays unique.

    ColumnTransformer adds the name of the transformer as a prefix.
    """
    columns = set(given)
    short = [name if name in columns else name.split("__", 1)[-1] for name in names]
    times = Counter(short)
    usable = [one if one in columns and times[one] == 1 else name for one, name in zip(short, names, strict=True)]
    return usable if len(set(usable)) == len(usable) else list(names)


def _named(estimator, names: list[str] | None):
    """A copy of a fitted estimator with names of its columns, also in the table of roles."""
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
            "the steps of a pipeline are fitted to all rows at once, and this file needs more than half of the memory "
            "budget: raise memory, or fit the steps to a sample and pass the transformed file"
        )
    return whole if X.names is None else pd.DataFrame(whole, columns=X.names)
