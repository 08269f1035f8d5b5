"""Everything the page of a table shows, as plain data: computed first, drawn afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ...estimators import SparseFisherEM
from ...estimators.outlying import outside
from ..content import inputs, rows
from ..content.criteria import CriterionRow, criteria, headline
from ..content.heat import HeatMap, heat_map
from ...tables.rows_by_group import table_rows
from ..content.roles import Roles, roles_of
from ..content.stability import StabilityTable, stability_of
from ..content.variables import Profile, Variable, profile, variables
from ..content.why import Why, why
from ..text import clean
from ..words.certainty import Certainty, certainty
from ..words.facts import GIVEN_GROUPS, facts, made_by_selected
from ..words.group_words import GroupWords, group_words
from ..words.how_chosen import Search, search_of
from ..words.how_many import VerdictPart, joins_of, verdict_of
from ..words.usage import usage

__all__ = ["Content", "build", "page_date"]


@dataclass
class Content:
    """What the page of a table shows: `n` rows, `p` variables, `K` groups, `d` axes, and a part per section.

    Groups are counted from 0 here, as in the arrays of the model; the templates count from 1. `headline` is the
    criterion at the top of the page; `centres` (K x a) and `covariances` (K x a x a) are those of the groups on the `a`
    axes that are shown. `made_by_selected` says whether the groups depend on the selected variables alone, `given`
    whether the groups were given rather than found, and `value` is the gain over one group, None for a fit
    that does not know it.
    `support` (p) are the selected variables, `n_fitted` the number of rows that the model was fitted to, `n_missing`
    the number of cells that are missing and `n_outside` the number of rows outside all groups.
    """

    title: str
    created: str
    n: int
    p: int
    K: int
    d: int
    sparse: bool
    n_selected: int
    support: np.ndarray
    n_fitted: int
    n_missing: int
    model: str
    converged: bool
    facts: list[tuple[str, str]]
    criteria: list[CriterionRow]
    headline: CriterionRow | None
    notes: list[str]
    groups: rows.Groups
    words: list[GroupWords]
    points: rows.Points
    centres: np.ndarray
    covariances: np.ndarray
    variables: list[Variable]
    heat: HeatMap | None
    profile: Profile
    doubts: list[rows.Doubt]
    n_doubts: int
    n_outside: int
    why: Why | None
    certainty: Certainty
    agreement: rows.Agreement | None
    search: Search | None
    verdict: VerdictPart | None
    joins: list[str]
    stability: StabilityTable | None
    roles: Roles | None
    made_by_selected: bool
    given: bool
    value: float | None
    usage: str

    @property
    def n_axes_shown(self) -> int:
        """The number of axes that the scatter offers."""
        return self.points.coordinates.shape[1]


def page_date() -> str:
    """Now, with the time zone, as the page prints it."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z").strip()


def build(model, X, *, ids=None, labels=None, title=None, stability=None, notes=None) -> Content:
    """The content of the page of a fitted FisherEM, SparseFisherEM or ModelSearch and the rows X (n x p, or a path)."""
    search, fitted = inputs.fitted_model(model)
    table = table_rows(fitted, X)
    n, p = table.shape
    names = inputs.column_names(fitted, X, table)
    K, d = fitted.latent_means_.shape
    posteriors = np.asarray(fitted.predict_proba(table.given))
    group = posteriors.argmax(axis=1)
    listed = variables(fitted, table, group, names)
    moments = table.moments(group, K)
    coordinates = np.asarray(fitted.transform(table.given)) if d else np.zeros((n, 0))
    names_of_rows, known = inputs.row_ids(ids, X, n), inputs.known_classes(labels, n)
    support = np.asarray(fitted.support_)
    sure = certainty(float(posteriors.max(axis=1).mean()), K, len(fitted.labels_), p)
    tails = np.asarray(fitted.outlyingness(table.given))
    by_row = _by_row(posteriors, coordinates, tails, names_of_rows, known)
    return Content(
        title=clean(title, 160) if title else "Groups and the variables that make them",
        created=page_date(),
        n=n,
        p=p,
        K=K,
        d=d,
        n_missing=moments.n_missing,
        notes=inputs.note_list(notes),
        **_of_the_fit(fitted, search, n, p),
        **_subspace(fitted, coordinates.shape[1]),
        **by_row,
        why=why(fitted, table, by_row["points"].rows, names),
        certainty=sure,
        groups=rows.groups(posteriors, fitted.weights_),
        words=group_words(fitted, moments, names) if K > 1 else [],
        variables=listed,
        heat=heat_map(table, moments, by_row["points"], listed, int(support.sum())) if K > 1 else None,
        profile=profile(fitted, moments, names),
        joins=[] if sure.saturated else joins_of(posteriors),
        stability=None if stability is None else stability_of(stability, support, posteriors, names_of_rows, known),
    )


def _of_the_fit(fitted, search, n: int, p: int) -> dict[str, Any]:
    """The parts that speak of the fit and of how it was chosen; `search` is None for a single fit."""
    value = getattr(fitted, "gain_", None)
    return {
        "sparse": isinstance(fitted, SparseFisherEM),
        "n_selected": int(fitted.support_.sum()),
        "support": np.asarray(fitted.support_),
        "n_fitted": len(fitted.labels_),
        "model": fitted.model_,
        "converged": bool(fitted.converged_),
        "facts": facts(fitted, n, p),
        "criteria": criteria(fitted),
        "headline": headline(fitted, None if search is None else search.criterion_),
        "search": None if search is None else search_of(search),
        "verdict": None if search is None else verdict_of(search),
        "roles": roles_of(fitted),
        "made_by_selected": made_by_selected(fitted),
        "given": str(fitted.stop_reason_) == GIVEN_GROUPS,
        "value": None if value is None else float(value),
        "usage": usage(fitted if search is None else search),
    }


def _by_row(posteriors: np.ndarray, coordinates: np.ndarray, tails: np.ndarray, ids, known) -> dict[str, Any]:
    """The parts that speak of single rows: points, doubts, agreement with known classes."""
    doubts, n_doubts = rows.doubts(posteriors, ids, known)
    return {
        "points": rows.points(coordinates, posteriors, tails, ids, known),
        "n_outside": int(outside(tails).sum()),
        "doubts": doubts,
        "n_doubts": n_doubts,
        "agreement": None if known is None else rows.agreement(posteriors, known),
    }


def _subspace(fitted, d: int) -> dict[str, Any]:
    """What the scatter draws beside the points, on the axes that it offers."""
    a = min(d, rows.MAX_AXES)
    return {"centres": fitted.latent_means_[:, :a], "covariances": fitted.covariances_[:, :a, :a]}
