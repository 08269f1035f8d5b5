"""Groups inside a group: the variables are chosen anew among its rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import count, listed
from ..estimators import SparseFisherEM
from ..estimators.describing import Summary
from ..estimators.naming import names_of_groups
from ..tables.checking import check_number, open_rows
from .model_search import ModelSearch

__all__ = ["LEAST_ROWS", "Subclusters", "split", "splitter"]

AUTO = "auto"
# Rows that a group needs: the smallest number that could be split into two.
LEAST_ROWS = 4


@dataclass(repr=False)
class Subclusters:
    """The groups inside one group of a fitted model.

    `labels` (n) are texts: "1", "2.1", "2.2", "3" where group 2 was split · `inside` (n) bool, the rows of the group ·
    `group` the number of the group, from 0 · `model` the fit to its rows, with its own selected variables ·
    `fitted` the search that chose their number, or the model itself · `parent` the model that was split.
    """

    labels: np.ndarray
    inside: np.ndarray
    group: int
    model: Any
    fitted: Any
    parent: Any

    @property
    def names(self) -> list[str]:
        """The labels of the groups inside: "2.1", "2.2", ...; the group's own where it is not split."""
        return sub_labels(_labels(self.parent)[self.group], len(self.model.weights_))

    def __repr__(self) -> str:
        return f"Subclusters({self._words()})"

    def _words(self) -> str:
        name, rows = names_of_groups(self.parent)[self.group], count(int(self.inside.sum()), "row")
        if len(self.names) == 1:
            return f"{name} with {rows} is not split"
        support = np.asarray(self.model.support_)
        made = f"{int(support.sum()):,} of {count(len(support), 'variable')}"
        return f"{name} with {rows} into {listed(self.names, 12, quoted=False)} by {made}"

    def predict(self, X, covariates=None) -> np.ndarray:
        """The label of each row, as a text: first by the model that was split, then inside the group."""
        parent, X = _taken(self.parent, X, covariates)
        groups = np.asarray(parent.predict(X))
        found = np.array(_labels(self.parent), object)[groups]
        inside = np.flatnonzero(groups == self.group)
        if len(inside):
            found[inside] = np.array(self.names, object)[np.asarray(self.model.predict(_rows(X, inside)))]
        return found

    def rows(self, X, covariates=None):
        """The rows of the group, of the n rows X that were given; less the effects of their covariates, if any."""
        X = _taken(self.parent, X, covariates)[1]
        if len(X) != len(self.inside):
            raise ValueError(f"X must be the {len(self.inside):,} rows that were split; got {len(X):,}")
        return _rows(X, np.flatnonzero(self.inside))

    def markers(self, X, *, covariates=None, **given) -> pd.DataFrame:
        """What marks the groups inside against each other: see `SparseFisherEM.markers`; X are all n rows."""
        return self.model.markers(self.rows(X, covariates), **given)

    def summary(self) -> Summary:
        """The groups inside in a few lines."""
        own = self.model.summary()
        return Summary(f"Subclusters: {self._words()}", own.lines, own.warnings)

    def report(self, X, path, *, ids=None, title=None, notes=(), covariates=None, **about) -> Path:
        """Write the page about the groups inside; X are all n rows, and so are `ids`."""
        from importlib import import_module

        if ids is not None:
            ids = [one for one, kept in zip(ids, self.inside, strict=True) if kept]
        name = names_of_groups(self.parent)[self.group]
        said = f"the page shows the {int(self.inside.sum()):,} of {len(self.inside):,} rows that are in {name}"
        write = import_module("fisherem.reports").report  # `reports` imports this package
        notes = [notes] if isinstance(notes, str) else list(notes)
        return write(
            self.fitted,
            self.rows(X, covariates),
            path,
            ids=ids,
            title=title or f"Groups inside {name}",
            notes=[said, *notes],
            **about,
        )


def split(model, X, group, estimator, covariates=None) -> Subclusters:
    """Fit `estimator` to the rows of X that `predict` puts into a group of a fitted model: see `Marks.subcluster`."""
    check_is_fitted(model)
    place = _place(model, group)
    plain, X = _taken(model, X, covariates)
    groups = np.asarray(plain.predict(X))
    inside = groups == place
    rows, name = int(inside.sum()), names_of_groups(model)[place]
    if rows < LEAST_ROWS:
        raise ValueError(f"{name} has {count(rows, 'row')} of X, and at least {LEAST_ROWS} are needed to split it")
    fitted = estimator.fit(_rows(X, np.flatnonzero(inside)))
    best = getattr(fitted, "best_estimator_", fitted)
    label = _labels(model)[place]
    names = sub_labels(label, len(best.weights_))
    numbered = name != label  # "group 2", not a name that was given
    best.name_groups([f"group {one}" if numbered else one for one in names])
    labels = np.array(_labels(model), object)[groups]
    labels[inside] = np.array(names, object)[best.labels_]
    return Subclusters(labels, inside, place, best, fitted, model)


def splitter(model, n_clusters=AUTO, random_state=None, n_jobs=None) -> Any:
    """What is fitted to the rows of a group: an estimator like the model, or a search for the number of groups.

    Of groups that were given, which no parameters made, it is one with defaults.
    """
    given = not isinstance(model.get_params().get("init", ""), str)
    estimator = SparseFisherEM(n_jobs=model.n_jobs) if given else clone(model)
    estimator.set_params(random_state=model.random_state if random_state is None else random_state)
    if n_clusters == AUTO:
        return ModelSearch(estimator, n_jobs=n_jobs, progress=False)
    check_number("n_clusters", n_clusters, integer=True, least=2)
    return estimator.set_params(n_clusters=n_clusters)


def _taken(model, X, covariates) -> tuple[Any, Any]:
    """(the model of rows without covariates, the opened rows less the effects of theirs)."""
    model._need(covariates)
    if covariates is not None:
        model, X = model.adjusted(X, covariates)
    return model, open_rows(model, X)


def sub_labels(label: str, K: int) -> list[str]:
    """ "2.1", "2.2", ... of a group that is labelled "2"; the label itself where there is one group only."""
    return [label] if K == 1 else [f"{label}.{j + 1}" for j in range(K)]


def _labels(model) -> list[str]:
    """The groups as labels: their numbers from 1 as texts, or the names that they were given."""
    names = getattr(model, "group_names_", None)
    if names is None:
        return [str(k + 1) for k in range(len(model.weights_))]
    return [str(name).removeprefix("group ") for name in names]


def _place(model, group) -> int:
    """The number from 0 of a group by its number from 1 or its name."""
    labels, names = _labels(model), names_of_groups(model)
    if isinstance(group, str):
        for known in (names, labels):
            if group in known:
                return known.index(group)
        raise ValueError(f"there is no group {group!r}: the groups are {listed(names, 12, quoted=False)}")
    check_number("group", group, integer=True, least=1, most=len(names))
    return int(group) - 1


def _rows(X, numbers: np.ndarray):
    if not hasattr(X, "rows_at"):
        return _safe_indexing(X, numbers)
    values = X.rows_at(numbers)
    return values if X.names is None else pd.DataFrame(values, columns=X.names)
