"""Everything the page shows, as plain data: computed first, drawn afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..estimators import FisherEM, SparseFisherEM
from ..model_selection.search import ModelSearch
from ..tables.checking import check_table
from . import how_chosen as choice
from . import rows
from .text import clean
from .variables import Profile, Variable, profile, variables

__all__ = ["Content", "build"]

_MAX_ARROWS = 10


@dataclass
class Content:
    title: str
    created: str
    n: int
    p: int
    K: int
    d: int
    sparse: bool
    n_selected: int
    model: str
    converged: bool
    facts: list[tuple[str, str]]
    criteria: list[tuple[str, str, str]]
    notes: list[str]
    groups: rows.Groups
    points: rows.Points
    centres: np.ndarray
    covariances: np.ndarray
    arrows: list[tuple[str, np.ndarray]]
    variables: list[Variable]
    profile: Profile
    doubts: list[rows.Doubt]
    n_doubts: int
    agreement: rows.Agreement | None
    search: choice.Search | None
    stability: choice.StabilityTable | None
    usage: str

    @property
    def n_axes_shown(self) -> int:
        return self.points.coordinates.shape[1]


def build(model, X, *, ids=None, labels=None, title=None, stability=None, notes=None) -> Content:
    """The content of the page of a fitted FisherEM, SparseFisherEM or ModelSearch and the rows X."""
    search, fitted = _fitted(model)
    table = check_table(fitted, X, reset=False)
    n, p = table.shape
    names = _names(fitted, X, p)
    row_ids = _ids(ids, X, n)
    known = None if labels is None else _known(labels, n)
    posteriors = fitted.predict_proba(X)
    group = posteriors.argmax(axis=1)
    K, d = fitted.latent_means_.shape
    coordinates = fitted.transform(X) if d else np.zeros((n, 0))
    points = rows.points(coordinates, posteriors, row_ids, known)
    shown = points.coordinates.shape[1]
    doubts, n_doubts = rows.doubts(posteriors, row_ids, known)
    listed = variables(fitted, table, group, names)
    return Content(
        title=clean(title, 160) if title else "Groups and the variables that make them",
        created=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z").strip(),
        n=n,
        p=p,
        K=K,
        d=d,
        sparse=isinstance(fitted, SparseFisherEM),
        n_selected=int(fitted.support_.sum()),
        model=fitted.model_,
        converged=bool(fitted.converged_),
        facts=choice.facts(fitted, n, p),
        criteria=choice.criteria(fitted),
        notes=_notes(notes),
        groups=rows.groups(posteriors, fitted.weights_),
        points=points,
        centres=fitted.latent_means_[:, :shown],
        covariances=fitted.covariances_[:, :shown, :shown],
        arrows=[(v.name, v.loadings[:shown]) for v in listed[:_MAX_ARROWS]],
        variables=listed,
        profile=profile(fitted, table, names),
        doubts=doubts,
        n_doubts=n_doubts,
        agreement=None if known is None else rows.agreement(posteriors, known),
        search=None if search is None else choice.search_of(search),
        stability=None if stability is None else choice.stability_of(stability, np.asarray(fitted.support_)),
        usage=choice.usage(fitted if search is None else search),
    )


def _fitted(model) -> tuple[ModelSearch | None, FisherEM]:
    """(the search or None, the fitted estimator)."""
    if isinstance(model, ModelSearch):
        check_is_fitted(model, "best_estimator_")
        return model, model.best_estimator_
    if not isinstance(model, FisherEM):
        raise TypeError(
            "the page is made of a fitted FisherEM, SparseFisherEM or ModelSearch (it shows their subspace and "
            f"posteriors); got {'the class ' + model.__name__ if isinstance(model, type) else type(model).__name__}"
        )
    check_is_fitted(model)
    return None, model


def _names(model, X, p: int) -> list[str]:
    """Names of the model, of the frame, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        columns = getattr(X, "columns", None)
        names = columns if columns is not None and len(columns) == p else [f"x{j}" for j in range(p)]
    return [clean(name) for name in names]


def _ids(ids, X, n: int):
    """One name per row: those given, the frame's index, or the rows' numbers from 0."""
    if ids is None:
        index = getattr(X, "index", None)
        return index if index is not None and not callable(index) else range(n)
    if isinstance(ids, str) or _num_samples(ids) != n:
        count = "a text" if isinstance(ids, str) else _num_samples(ids)
        raise ValueError(f"ids must have one value per row of X ({n}); got {count}")
    return list(ids)


def _known(labels, n: int) -> list[str | None]:
    """Known classes as text; None where missing."""
    if isinstance(labels, str) or _num_samples(labels) != n:
        count = "a text" if isinstance(labels, str) else _num_samples(labels)
        raise ValueError(f"labels must have one class per row of X ({n}); got {count}")
    values = list(labels)
    missing = pd.isna(pd.Series(values, dtype=object))
    return [None if gone else clean(value, 40) for value, gone in zip(values, missing, strict=True)]


def _notes(notes) -> list[str]:
    if notes is None:
        return []
    if isinstance(notes, str):
        notes = [notes]
    return [clean(note, 400) for note in notes]
