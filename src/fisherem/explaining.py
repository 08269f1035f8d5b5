"""explain: which variables separate the groups of a given partition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ._utils.wording import listed
from .core.data.problem import Problem
from .core.data.scatter import CorrelationScatter
from .core.dlm.family import Subset
from .core.engine.loop import Fit, Stop, StopKind, run
from .core.engine.multistart import NUMERICAL_ERRORS
from .core.missing.iteration import exact
from .estimators import SparseFisherEM
from .estimators.fitting import Fitted, adopt, specification
from .model.dlm import MODELS
from .policy.criterion import Partition, judge
from .policy.forward_backward import select
from .policy.missing import prepared_rows
from .policy.model import Chosen
from .policy.roles import roles_table
from .tables.checking import check_rows, check_table, check_weights
from .tables.parameters import named_errors

__all__ = ["Explanation", "explain"]

# Selection and the rank of the means on it are computed in turn; this converges after a round or two.
_ROUNDS = 5
# The smallest number of rows of a group, for its means and variances to be defined.
_LEAST_ROWS = 2
_MODEL = "DB"
_NO_RIDGE = 1e-9
# The variances of given groups are not restricted; for variables in small units they may be tiny.
_NO_FLOOR = 1e-24


@dataclass
class Explanation:
    """The variables that separate the groups of a partition.

    `value` is C(K, S) in nats: it is positive if the groups fit better than one group ·
    `support` (p) bool, the variables that suffice · `roles` a frame with a row per variable (see
    `SparseFisherEM.roles_`) · `classes` the groups' names, in the order of the model's groups · `labels` (n) the group
    of each row by its place in `classes`, -1 for rows that were left out · `agreement` the share of the rows that the
    selected variables put into their group · `model` a SparseFisherEM with the given groups' means and covariances on
    these variables: for plots, prediction and the report.
    """

    value: float
    support: np.ndarray
    roles: pd.DataFrame
    classes: list[str]
    labels: np.ndarray = field(repr=False)
    agreement: float
    model: SparseFisherEM = field(repr=False)

    def report(self, X, path, *, ids=None, title=None, notes=()) -> Path:
        """Write the report about these groups: a plot, the variables and their roles."""
        from .reports import report

        names = np.array([*self.classes, None], object)[self.labels]
        lines = ["the groups were given; the page shows which variables make them", *notes]
        title = title or "The variables that make these groups"
        return report(self.model, X, path, ids=ids, labels=names, title=title, notes=lines)


def explain(X, labels, sample_weight=None, feature_names=None) -> Explanation:
    """Find the variables that separate given groups: of k-means, HDBSCAN, a cell atlas, or any other partition.

    Parameters
    ----------
    X : array, frame, path or dask collection of n rows
        The table. The value does not depend on the scale of the columns, or on any other invertible linear map.
    labels : sequence of n
        The group of each row: numbers or words. Rows with -1, None or NaN are left out.
    sample_weight : array of n, optional
        A weight of 2 is equivalent to repeating the row.
    feature_names : sequence of p, optional
        Names for the columns of a table that has none, such as a scipy.sparse matrix.

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
    """
    model = SparseFisherEM()
    table = check_table(model, X, reset=True, elsewhere=True, feature_names=feature_names)
    n = len(table)
    codes, classes = _codes(labels, n)
    K = len(classes)
    weights = check_weights(sample_weight, table)
    left_out = codes < 0
    if left_out.any():
        weights = np.where(left_out, 0.0, 1.0 if weights is None else weights)
    _check_groups(codes, weights, classes)
    model.set_params(
        n_clusters=K, init=np.where(left_out, 0, codes), model=_MODEL, max_iter=1, variance_floor=_NO_FLOOR
    )
    problem = exact(prepared_rows(table, weights, n_jobs=model.n_jobs))
    with problem.rows.closed_on_error():
        start = np.where(left_out, 0, codes)
        partition = Partition.of_labels(problem, start, K)
        support, rank = _selected(partition)
        given = Chosen(_given(problem, model, start, support, rank), [], MODELS[_MODEL], [])
        adopt(model, Fitted(problem, given))
    agreement = float(np.mean(model.labels_[~left_out] == codes[~left_out]))
    value = judge(partition, support).value
    return Explanation(value, model.support_, _roles_of(model, partition, support), classes, codes, agreement, model)


def _codes(labels, n: int) -> tuple[np.ndarray, list[str]]:
    """(index of each row's group or -1, the names of the groups in order)."""
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
    return codes, [str(value) for value in unique]


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
    fixed = {"adaptive_ridge": False, "adaptive_axes": False, "sparse": None, "d": min(rank, len(support))}
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
