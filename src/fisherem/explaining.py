"""explain: which variables separate the groups of a given partition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ._utils.wording import count, listed
from .core.data.problem import Problem
from .core.data.scatter import CorrelationScatter
from .core.dlm.family import Subset
from .core.engine.loop import Fit, Stop, StopKind, run
from .core.engine.multistart import NUMERICAL_ERRORS
from .core.missing.iteration import exact
from .estimators import SparseFisherEM
from .estimators.covariates import attach, check_combination, given_groups, read_covariates
from .estimators.describing import Summary, summary_lines
from .estimators.fitting import Fitted, adopt, blocks_of, specification
from .estimators.marking import check_certainty, placed_markers, roles_of
from .estimators.mixed import in_numbers, of_columns
from .estimators.naming import names_of_groups, variable_names
from .model.dlm import MODELS
from .policy.criterion import Partition, judge
from .policy.decisions import Chosen
from .policy.forward_backward import select
from .policy.missing import prepared_rows
from .policy.variables import ROLES, roles_table
from .tables.anndata_object import of_cells
from .tables.checking import check_rows, check_table, check_weights
from .tables.parameters import named_errors
from .tables.rows_by_group import table_rows

__all__ = ["Explanation", "explain"]

# Selection and the rank of the means on it are computed in turn; this converges after a round or two.
_ROUNDS = 5
# The smallest number of rows of a group, for its means and variances to be defined.
_LEAST_ROWS = 2
# Groups and roles that a summary names.
_MOST_NAMED = 12
_MODEL = "DB"
_NO_RIDGE = 1e-9
# The variances of given groups are hardly restricted: columns in small units have tiny shares of the mean variance.
# With less than this the noise would be the rounding of the statistics, which differs in sparse rows and beside gaps.
_NO_FLOOR = 1e-13


@dataclass(repr=False)
class Explanation:
    """The variables that separate the groups of a partition.

    `value` is the gain over one group in nats, C(K, S): it is positive if the groups fit better than one group. It is
    the `gain_` of the model, with every row wholly in its given group, while groups that were fitted may overlap ·
    `support` (p) bool, the variables that suffice · `roles` a frame with a row per variable (see
    `SparseFisherEM.roles_`) · `classes` the groups' names, in the order of the model's groups · `labels` (n) the group
    of each row by its place in `classes`, -1 for rows that were left out · `agreement` the share of the rows that the
    selected variables put into their group · `model` a SparseFisherEM with the given groups' means and covariances on
    these variables: for posteriors, densities, model files · `values` (K) the labels themselves, as they were given.
    """

    value: float
    support: np.ndarray
    roles: pd.DataFrame
    classes: list[str]
    labels: np.ndarray
    agreement: float
    model: SparseFisherEM
    values: np.ndarray

    def __repr__(self) -> str:
        names = listed(self.group_names, _MOST_NAMED, quoted=False)
        made = f"{int(self.support.sum()):,} of {count(len(self.support), 'variable')}"
        return f"Explanation({names}: {made}, gain {self.value:.1f})"

    @property
    def group_names(self) -> list[str]:
        """What pages, pictures and summaries call the groups: a label that is a number, such as 2, is "label 2"."""
        return names_of_groups(self.model)

    @property
    def placed(self) -> np.ndarray:
        """Where the selected variables place each row (n): places in `classes`, also for rows that were left out."""
        return np.asarray(self.model.labels_)

    @property
    def placed_elsewhere(self) -> np.ndarray:
        """bool n: the rows that the selected variables would place in another group than the one they were given in."""
        return (self.labels >= 0) & (self.placed != self.labels)

    def predict(self, X, covariates=None) -> np.ndarray:
        """The label of the most probable group of each row, from the selected variables, as it was given."""
        return self.values[np.asarray(self.model.predict(X, covariates=covariates))]

    def markers(self, X, *, stability=None, significance=None, covariates=None) -> pd.DataFrame:
        """What marks each given group: see `SparseFisherEM.markers`; X are the rows that were explained.

        The column group holds the labels as they were given.
        """
        model, X = in_numbers(*self._less_covariates(X, covariates))  # of a category, every level is a variable here
        rows = table_rows(model, X)
        names, stability = variable_names(model, rows.shape[1]), of_columns(stability, self.model)
        self._check_rows(rows.shape[0])
        check_certainty(names, stability, significance)
        found, k, _ = placed_markers(
            rows, self.labels, rows.moments(self.labels, len(self.classes)), names, self.classes,
            roles_of(model), stability, significance,
        )  # fmt: skip
        found["group"] = self.values[k]
        return found

    def _less_covariates(self, X, covariates) -> tuple[SparseFisherEM, Any]:
        """(the model of rows less the effects of their covariates, these rows); as they are without covariates."""
        self.model._need(covariates)
        return (self.model, X) if covariates is None else self.model.adjusted(X, covariates)

    def contributions(self, X, covariates=None):
        """Why each row is, or is not, in its given group: see `SparseFisherEM.contributions`.

        Rows that were left out are in the group where the selected variables place them.
        """
        self._check_rows(_n_rows(X))
        return self.model.contributions(X, np.where(self.labels < 0, self.placed, self.labels), covariates)

    def _check_rows(self, n: int | None) -> None:
        if n is not None and n != len(self.labels):
            raise ValueError(f"X must be the {len(self.labels):,} rows that were explained; got {n:,}")

    def table(self, X, ids=None, covariates=None) -> pd.DataFrame:
        """A row per row of X: id, group, placed, posterior and tail_probability; X are the rows that were explained.

        group is the label as it was given (empty for a row that was left out), placed where the selected variables
        would place the row, posterior the probability of that group, and tail_probability that of `outlyingness`.
        """
        posteriors = np.asarray(self.model.predict_proba(X, covariates))
        self._check_rows(len(posteriors))
        given = np.array([*self.values, None], object)[self.labels]
        return pd.DataFrame({
            "id": range(1, len(given) + 1) if ids is None else ids,
            "group": given,
            "placed": self.values[posteriors.argmax(axis=1)],
            "posterior": posteriors.max(axis=1),
            "tail_probability": np.asarray(self.model.outlyingness(X, covariates)),
        })  # fmt: skip

    def summary(self) -> Summary:
        """The groups, the variables that suffice, and how many rows these would place elsewhere."""
        kept = self.labels >= 0
        n, sizes = int(kept.sum()), np.bincount(self.labels[kept], minlength=len(self.classes)).tolist()
        called = zip(self.group_names, sizes, strict=True)
        groups = [f"{name} with {count(size, 'row')} ({size / n:.0%})" for name, size in called]
        chosen = f"{int(self.support.sum()):,} of {count(len(self.support), 'variable')}"
        counts = self.roles["role"].value_counts()
        lines = [
            ("groups", listed(groups, _MOST_NAMED, quoted=False)),
            ("variables", dict(summary_lines(self.model))["variables"]),
            ("others", listed([f"{counts.get(r, 0)} {r}" for r in ROLES[1:] if counts.get(r, 0)], quoted=False)),
            ("elsewhere", f"the selected variables would place {self._elsewhere_words()}"),
            ("gain", f"{self.value:.1f} nats over one group, with every row wholly in its given group"),
        ]
        left_out = [f"{count(int((~kept).sum()), 'row')} without a group left out"] if not kept.all() else []
        title = f"Explanation: {count(len(self.classes), 'given group')} of {count(n, 'row')}, separated by {chosen}"
        return Summary(title, [line for line in lines if line[1]], left_out)

    def _elsewhere_words(self) -> str:
        moved, n = int(self.placed_elsewhere.sum()), int((self.labels >= 0).sum())
        return f"{moved:,} of {count(n, 'row')} ({moved / n:.1%}) in another group" if moved else "no row elsewhere"

    def plot(self, X=None, *, axes=(0, 1), ax=None, palette=None, covariates=None):
        """Draw the given groups in the plane of two `axes` (from 0), with the rows X that were explained.

        Returns the `ProjectionDisplay`, with the matplotlib axes in `ax_`.
        """
        display = import_module("fisherem.plots").ProjectionDisplay
        labels = None
        if X is not None:
            self._check_rows(_n_rows(X))
            labels = self.labels
        model, X = (self.model, X) if X is None else self._less_covariates(X, covariates)
        return display.from_estimator(model, X, axes=axes, labels=labels).plot(ax, palette=palette)

    def report(
        self, X, path, *, ids=None, title=None, notes=(), group_names=None, significance=None, annotate=None,
        palette=None, covariates=None, subgroups=None,
    ) -> Path:  # fmt: skip
        """Write the page about these groups, as they were given: a plot, the variables, what marks each group.

        The page says apart how many rows the selected variables would place elsewhere. `annotate` (a frame of n rows),
        `significance`, `palette`, `covariates` and `subgroups` are as in `fisherem.report`.
        """
        from .reports.page.table import page_of

        notes = [notes] if isinstance(notes, str) else list(notes)
        model, X = self._less_covariates(X, covariates)
        return page_of(
            model, X, path, ids=ids, given=self.labels, title=title or "The variables that make these groups",
            notes=["the groups were given; the page shows which variables make them", *notes],
            group_names=group_names, significance=significance, annotate=annotate, palette=palette, subgroups=subgroups,
        )  # fmt: skip


def _n_rows(X) -> int | None:
    """The number of rows of an array or a frame; None of a path, which is not opened for this."""
    shape = getattr(X, "shape", None)
    return len(X) if shape is None and isinstance(X, (list, tuple)) else None if shape is None else int(shape[0])


def explain(X, labels, sample_weight=None, feature_names=None, categories=None, covariates=None) -> Explanation:
    """Find the variables that separate given groups: of k-means, HDBSCAN, a cell atlas, or any other partition.

    Parameters
    ----------
    X : array, frame, path or dask collection of n rows
        The table. The value does not depend on the scale of the columns, or on any other invertible linear map.
    labels : sequence of n, or str
        The group of each row: numbers or words. Rows with -1, None or NaN are left out. For an AnnData object, the name
        of a column of obs, such as "leiden".
    sample_weight : array of n, optional
        A weight of 2 is equivalent to repeating the row.
    feature_names : sequence of p, optional
        Names for the columns of a table that has none, such as a scipy.sparse matrix.
    categories : list of column names or numbers, optional
        Columns of numbers that are categories: see `SparseFisherEM`.
    covariates : array, series or frame of n rows, optional
        Numbers or categories, such as a batch, whose effects within the groups are taken out of the rows first: the
        regression of the rows on groups and covariates together. Not for tables with categories.

    Returns
    -------
    Explanation
        The value of the partition, the variables that suffice, and the role of every variable.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from fisherem import datasets, explain
    >>> X, _ = datasets.load("iris", as_frame=True)
    >>> found = explain(X, KMeans(3, n_init=10, random_state=0).fit_predict(X))
    >>> list(found.roles.columns[:2])
    ['role', 'variable']
    >>> list(found.markers(X).columns[:4])
    ['group', 'variable', 'direction', 'effect']
    """
    labels, covariates = of_cells(X, labels, "labels"), of_cells(X, covariates)
    model = SparseFisherEM(categories=categories)
    table = check_table(model, X, reset=True, elsewhere=True, feature_names=feature_names)
    check_combination(model, covariates)
    n = len(table)
    codes, values = _codes(labels, n)
    classes = [str(value) for value in values]
    K = len(classes)
    weights = check_weights(sample_weight, table)
    left_out = codes < 0
    if left_out.any():
        weights = np.where(left_out, 0.0, 1.0 if weights is None else weights)
    _check_groups(codes, weights, classes)
    model.set_params(
        n_clusters=K, init=np.where(left_out, 0, codes), model=_MODEL, max_iter=1, variance_floor=_NO_FLOOR
    )
    start, beside = np.where(left_out, 0, codes), None
    if covariates is not None:
        beside = read_covariates(covariates, table, weights, K)
        table, effects = given_groups(table, weights, beside, start, K)
    problem = replace(exact(prepared_rows(table, weights, n_jobs=model.n_jobs)), blocks=blocks_of(model))
    with problem.rows.closed_on_error():
        partition = Partition.of_labels(problem, start, K)
        support, rank = _selected(partition)
        given = Chosen(_given(problem, model, start, support, rank), [], MODELS[_MODEL], [])
        adopt(model, Fitted(problem, given))
        if beside is not None:
            attach(model, beside, effects, problem, model.scales_)
    agreement = float(np.mean(model.labels_[~left_out] == codes[~left_out]))
    model.gain_ = value = judge(partition, support).value
    model.name_groups(_display_names(values))
    roles = _roles_of(model, partition, support)
    return Explanation(value, model.support_, roles, classes, codes, agreement, model, values)


def _codes(labels, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(index of each row's group or -1, the labels of the groups in order, as they were given)."""
    with named_errors("labels"):
        values = pd.Series(labels.to_numpy() if isinstance(labels, pd.Series) else np.asarray(labels, object).ravel())
    if len(values) != n:
        raise ValueError(f"labels must have one value per row ({n}); got {len(values)}")
    missing = values.isna() | values.map(lambda v: isinstance(v, (int, np.integer)) and v == -1)
    kept = values[~missing]
    if not len(kept):
        raise ValueError("labels has no group: every row is -1 or missing")
    unique = sorted(kept.unique(), key=lambda v: (isinstance(v, str), v))
    place = {value: k for k, value in enumerate(unique)}
    codes = np.array([-1 if gone else place[v] for v, gone in zip(values, missing, strict=True)])
    found = np.array(unique)
    # numbers and words together, or other things, are kept one by one
    return codes, found if found.dtype.kind in "iufb" and len({type(v) for v in unique}) == 1 else _objects(unique)


def _objects(values: list) -> np.ndarray:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _display_names(values: np.ndarray) -> list[str]:
    """Words are names; a number by itself could be a count, so that it is called a label."""
    return [str(value) if isinstance(value, str) else f"label {value}" for value in values]


def _check_groups(codes: np.ndarray, weights, classes: list[str]) -> None:
    counted = codes if weights is None else codes[weights > 0]
    counts = np.bincount(counted[counted >= 0], minlength=len(classes))
    if len(classes) < 2:
        raise ValueError(f"labels has one group only ({classes[0]!r}): there is nothing to explain")
    check_rows(int(counts.sum()), len(classes) + 2)
    small = [name for name, count in zip(classes, counts, strict=True) if count < _LEAST_ROWS]
    if small:
        raise ValueError(
            f"groups need at least {_LEAST_ROWS} rows each; {listed(small)} have fewer: set their labels to -1 to "
            "leave them out, or merge them"
        )


def _selected(partition: Partition) -> tuple[np.ndarray, int]:
    """The variables that C(K, S) prefers, and the rank of the means on them."""
    support, rank = np.zeros(0, int), partition.n_clusters - 1
    for _ in range(_ROUNDS):
        before, support = support, select(partition, support, rank)
        rank = max(1, judge(partition, support).rank)
        if np.array_equal(before, support):
            break
    return support, rank


def _given(problem: Problem, model: SparseFisherEM, start: np.ndarray, support: np.ndarray, rank: int) -> Fit:
    """The given groups as a fit without iterations: axes, means and covariances on the selected variables."""
    spec: Any = specification(model, problem.rows.n, problem.p)
    # no ridge: the plane of given groups must not depend on the units of the variables
    subset = Subset(support, CorrelationScatter(problem.scatter.block(support), _NO_RIDGE))
    fixed = {"adaptive_ridge": False, "least_separation": None, "sparse": None, "d": min(rank, len(support))}
    family = replace(spec.family, subset=subset, **fixed)
    try:
        fit = run(problem, problem.start_states(start, spec.n_clusters), family, spec.settings)
    except NUMERICAL_ERRORS:
        raise ValueError("the groups do not differ on any variable: there is nothing to explain") from None
    return replace(fit, stop=Stop(StopKind.CONVERGED, "given groups"))


def _roles_of(model: SparseFisherEM, partition: Partition, support: np.ndarray) -> pd.DataFrame:
    """The roles for the given groups (those of the model are for its predicted groups)."""
    model.roles_ = roles_table(partition, support, list(model.roles_["variable"]))
    return model.roles_
