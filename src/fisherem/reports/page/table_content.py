"""Everything the page of a table shows, as plain data: computed first, drawn afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from ..._utils.wording import group_names_of
from ...estimators import SparseFisherEM
from ...estimators.marking import check_certainty, placed_markers, roles_of
from ...estimators.mixed import shares_of
from ...estimators.naming import axis_names
from ...estimators.outlying import outside
from ...plots.style import PALETTE, colours_of
from ...tables.rows_by_group import Moments, TableRows, table_rows
from ..content import inputs, rows
from ..content.criteria import CriterionRow, criteria, headline
from ..content.heat import MAX_ALL, MAX_VARIABLES, HeatMap, heat_map
from ..content.markers import Markers, markers_of
from ..content.roles import RoleContent
from ..content.roles import roles_of as roles_part
from ..content.stability import StabilityTable, stability_of
from ..content.subgroups import Subgroups
from ..content.tracks import annotation
from ..content.variables import Profile, Variable, profile, variables
from ..content.why import Why, why
from ..text import clean
from ..words.certainty import Certainty, certainty
from ..words.facts import facts, made_by_selected
from ..words.group_words import GroupWords, group_words
from ..words.how_chosen import SearchWords, search_of
from ..words.how_many import JoinRow, VerdictPart, joins_of, verdict_of
from ..words.summary import covariate_words
from ..words.usage import usage

__all__ = ["Content", "build", "page_date"]


@dataclass
class Content:
    """What the page of a table shows: `n` rows, `p` variables, `K` groups, `d` axes, and a part per section.

    Groups are counted from 0 here, as in the arrays of the model; the templates count from 1. `headline` is the
    criterion at the top of the page; `centres` (K x a) and `covariances` (K x a x a) are those of the groups on the `a`
    axes that are shown. `made_by_selected` says whether the groups depend on the selected variables alone, `given`
    whether the groups were given rather than found (then the rows are in these groups, and `placement` says where the
    selected variables would place them), and `value` is the gain over one group, None for a fit that does not know it.
    `support` (p) are the selected variables, `n_fitted` the number of rows that the model was fitted to, `n_missing`
    the number of cells that are missing and `n_outside` the number of rows outside all groups. `names` (K) are what the
    groups are called, `axis_names` what the axes that are shown are made of, and `palette` has eight colours to use in
    place of the usual ones.
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
    groups: rows.GroupSizes
    words: list[GroupWords]
    points: rows.Points
    centres: np.ndarray
    covariances: np.ndarray
    variables: list[Variable]
    heat: HeatMap | None
    heat_all: HeatMap | None
    markers: Markers | None
    profile: Profile
    doubts: list[rows.Doubt]
    n_doubts: int
    n_outside: int
    why: Why | None
    certainty: Certainty
    agreement: rows.Agreement | None
    placement: rows.Placement | None
    names: list[str]
    named: bool
    palette: list[str] | None
    axis_names: list[str]
    search: SearchWords | None
    verdict: VerdictPart | None
    joins: list[JoinRow]
    stability: StabilityTable | None
    roles: RoleContent | None
    made_by_selected: bool
    given: bool
    value: float | None
    covariates: str
    covariate_warning: str
    usage: str
    subgroups: Subgroups | None = None
    categories: tuple[CategoryRow, ...] = ()

    @property
    def n_axes_shown(self) -> int:
        """The number of axes that the scatter offers."""
        return self.points.coordinates.shape[1]


@dataclass(frozen=True)
class CategoryRow:
    """A category: its variable, its level, whether the variable is selected, its share of all rows and of each group's
    (K); `first` for the first level of a variable."""

    variable: str
    level: str
    selected: bool
    share: float
    shares: list[float]
    first: bool


def with_categories(content: Content, model, X) -> Content:
    """The content of a page of encoded columns, with the variables of the table counted, and their categories."""
    table, encoding = shares_of(model, X), model.encoding_
    rows, before = [], None
    for record in table.itertuples(index=False):
        name, level, selected, share, *shares = record
        rows.append(CategoryRow(clean(name, 60), clean(level, 60), selected, share, shares, name != before))
        before = name
    places = np.array([columns[0] for columns in encoding.blocks.members])
    indicators = encoding.blocks.indicators  # whose quantiles are 0 and 1
    drawn = [replace(one, quantiles=None) if indicators[one.index] else one for one in content.variables]
    return replace(
        content, variables=drawn, categories=tuple(rows), p=len(encoding.names), n_selected=int(np.sum(model.support_)),
        roles=roles_part(model, places),
    )  # fmt: skip


def page_date() -> str:
    """Now, with the time zone, as the page prints it."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z").strip()


def build(
    model, X, *, ids=None, labels=None, title=None, stability=None, notes=None, given=None, group_names=None,
    significance=None, annotate=None, palette=None, subgroups=None,
) -> Content:  # fmt: skip
    """The content of the page of a fitted FisherEM, SparseFisherEM or ModelSearch and the rows X (n x p, or a path).

    `given` (n) are the groups that the rows were given in, from 0; rows with -1 are left out.
    """
    search, fitted = inputs.fitted_model(model)
    table = table_rows(fitted, X)
    p = table.shape[1]
    names, called = inputs.column_names(fitted, X, table), inputs.group_names(fitted, group_names)
    check_certainty(inputs.raw_names(fitted, X, table), None, significance)
    K, d = fitted.latent_means_.shape
    posteriors = np.asarray(fitted.predict_proba(table.given))
    coordinates = np.asarray(fitted.transform(table.given)) if d else np.zeros((len(posteriors), 0))
    tails = np.asarray(fitted.outlyingness(table.given))
    names_of_rows, known = inputs.row_ids(ids, X, len(posteriors)), inputs.known_classes(labels, len(posteriors))
    frame = annotation(annotate, X, len(posteriors))
    group, lines = posteriors.argmax(axis=1), inputs.note_list(notes)
    if given is not None:
        kept = np.flatnonzero(given >= 0)
        left_out = len(given) - len(kept)
        table, group, known = table.among(kept), given[kept], None
        posteriors, coordinates, tails = posteriors[kept], coordinates[kept], tails[kept]
        names_of_rows = [names_of_rows[i] for i in kept]
        frame = None if frame is None else frame.iloc[kept]
        subgroups = None if subgroups is None else subgroups.among(kept, group)
        lines += [f"{left_out:,} rows without a group are left out"] if left_out else []
    n, support = table.shape[0], np.asarray(fitted.support_)
    moments = table.moments(group, K)
    listed = variables(fitted, table, group, names, called)
    sure = certainty(float(posteriors.max(axis=1).mean()), K, len(fitted.labels_), p)
    by_row = _by_row(posteriors, coordinates, tails, names_of_rows, known, group, given is not None)
    again = None if stability is None else stability_of(stability, support, posteriors, names_of_rows, known)
    many = K > 1
    return Content(
        title=clean(title, 160) if title else "Groups and the variables that make them",
        created=page_date(),
        n=n,
        p=p,
        K=K,
        d=d,
        n_missing=moments.n_missing,
        notes=lines,
        **_of_the_fit(fitted, search, n, p),
        **_subspace(fitted, coordinates.shape[1], names),
        **by_row,
        given=given is not None,
        names=called,
        palette=None if palette is None else _colours(palette, K),
        named=called != group_names_of(None, K),
        why=why(fitted, table, by_row["points"].rows, names, by_row["points"].groups, called),
        certainty=sure,
        groups=rows.groups(posteriors, fitted.weights_, group),
        words=group_words(fitted, moments, names) if many else [],
        variables=listed,
        **_maps(table, moments, by_row["points"], listed, support, names, called, frame),
        markers=_markers(fitted, table, group, moments, X, names, called, stability, significance) if many else None,
        profile=profile(fitted, moments, names),
        joins=[] if sure.saturated else joins_of(posteriors, called),
        stability=again,
        subgroups=subgroups,
    )


def _colours(palette, K: int) -> list[str]:
    """Those of K groups in the page's slots: a colormap is spread over the groups that there are."""
    return colours_of(colours_of(palette, min(K, len(PALETTE))), len(PALETTE))


def _maps(
    table: TableRows, moments: Moments, points: rows.Points, listed: list[Variable], support: np.ndarray,
    names: list[str], called: list[str], frame,
) -> dict[str, Any]:  # fmt: skip
    """The heat map of the selected variables, and that of all where some are not selected."""
    if len(called) == 1:
        return {"heat": None, "heat_all": None}
    n_selected = int(support.sum())
    chosen = [v.index for v in listed[:MAX_VARIABLES]]
    heat = heat_map(table, moments, points, chosen, names, called, n_variables=n_selected, annotate=frame)
    if n_selected == len(support):
        return {"heat": heat, "heat_all": None}
    strongest = np.argsort(-moments.between, kind="stable")[:MAX_ALL].tolist()
    tree = None if heat is None else heat.tree
    everything = heat_map(
        table, moments, points, strongest, names, called, n_variables=len(support), annotate=frame, tree=tree
    )
    return {"heat": heat, "heat_all": everything}


def _markers(fitted, table, group, moments, X, names, called, stability, significance) -> Markers | None:
    found = placed_markers(
        table, group, moments, inputs.raw_names(fitted, X, table), called, roles_of(fitted), stability, significance
    )
    return markers_of(*found, names, called)


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
        "roles": roles_part(fitted),
        "made_by_selected": made_by_selected(fitted),
        "value": None if value is None else float(value),
        "covariates": covariate_words(fitted),
        "covariate_warning": str(getattr(fitted, "covariate_warning_", "")),
        "usage": usage(fitted if search is None else search),
    }


def _by_row(
    posteriors: np.ndarray, coordinates: np.ndarray, tails: np.ndarray, ids, known, group: np.ndarray, given: bool
) -> dict[str, Any]:
    """The parts that speak of single rows: points, doubts, agreement with known classes."""
    doubts, n_doubts = rows.doubts(posteriors, ids, known, group)
    return {
        "points": rows.points(coordinates, posteriors, tails, ids, known, group, given),
        "n_outside": int(outside(tails).sum()),
        "doubts": doubts,
        "n_doubts": n_doubts,
        "agreement": None if known is None else rows.agreement(posteriors, known),
        "placement": rows.placement(group, posteriors) if given else None,
    }


def _subspace(fitted, d: int, names: list[str]) -> dict[str, Any]:
    """What the scatter draws beside the points, on the axes that it offers."""
    a = min(d, rows.MAX_AXES)
    return {
        "centres": fitted.latent_means_[:, :a],
        "covariances": fitted.covariances_[:, :a, :a],
        "axis_names": axis_names(fitted, names)[:a],
    }
