"""significance: p-values of the variables that hold after clustering, from tables of one group."""

from __future__ import annotations

import hashlib
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from .. import __version__
from .._utils.wording import column_name, count
from ..estimators.adjusting import refuse_unadjusted
from ..estimators.mixed import is_in_numbers
from ..estimators.pipelines import last_step
from ..rows.base import n_threads
from ..tables.checking import MOST_REPEATS, check_flag, check_number, check_path, check_table
from ..tables.file_table import FileTable
from .draw_checkpoint import DrawStore
from .group_statistics import f_test, pools, q_values, rank_p_values, standardised_draws
from .one_group_fits import Part, run_draws, statistics

__all__ = ["significance"]

# Rows that a pair of groups needs for two groups to be fitted again.
_LEAST_ROWS = 8
# The rows are those of the fit if the model assigns at least this share of them to their group. Labels differ from
# predictions for few rows, those on a border; of other rows or another order, at most about the largest group's share.
_SAME_ROWS = 0.9


def significance(
    model,
    X,
    draws: int = 99,
    *,
    pairs: bool = False,
    sample_weight=None,
    random_state=0,
    n_jobs=None,
    checkpoint=None,
    progress="auto",
) -> pd.DataFrame:
    """P-values of the difference of each variable between the groups, valid although the same rows made the groups.

    Tables of *one* group with the table's own margins (sinh-arcsinh) and correlations (Gaussian copula,
    `search.one_group_tables`) go through the same call as the table: a clone of the model with its parameters and its
    number of groups, which makes all other decisions anew (starts, scaling, model, variables). A variable's statistic
    is the share of its variance between the groups found, times the separation of these groups on the fitted axes,
    trace(W^-1 B). Its p-value is the rank of the table among the draws, (1 + number of draws as large) / (1 + draws),
    or that of the F test if this is larger. So it holds if there are no groups, and also if there are groups in which
    the variable has no part.

    Variables of a kind (many values or few, large or small shares by chance) whose draws look alike once each is
    divided by its spread are ranked among all of them and their draws, and p-values below 1 / (1 + draws) are possible.
    These are right as far as the variables are alike. q-values are hardly below 1 / (1 + draws).

    Parameters
    ----------
    model : fitted estimator
        FisherEM, SparseFisherEM or any other clusterer with `labels_` and a parameter `n_clusters`; a pipeline that
        ends in one; of a `ModelSearch` the best estimator, with its number of groups taken as given.
    X : array or frame of n rows
        The rows that it was fitted to, in memory and without missing cells.
    draws : int, default=99
        Tables of one group.
    pairs : bool, default=False
        Compare every two groups: two groups are fitted to the rows of both, and to tables in which both are one.
    sample_weight : None
        Weights are refused: tables of one group have none. Repeat rows instead.
    random_state : int, RandomState or None, default=0
        The seed of the draws and their fits.
    n_jobs : int or None
        Processes; None means all cores. The result does not depend on it.
    checkpoint : path or None
        A file for finished draws (.npz); the same call goes on from there, also with more draws.
    progress : bool or "auto", default="auto"
        Show a progress bar on standard error; "auto" only in a terminal.

    Returns
    -------
    DataFrame
        A row per variable: variable, p, q (Benjamini and Hochberg, over the whole frame), share (of its variance,
        between the groups), null_share (its mean over the draws), selected, pooled. With `pairs` a row per pair and
        variable, with the groups (from 1) and `agreement`, the adjusted Rand index of the two groups fitted again with
        the pair.

    Notes
    -----
    It assumes independent rows and that one group is a Gaussian copula with unimodal margins; another shape (a curve, a
    group inside a ring) counts as a difference. It is conservative where groups make most of the correlations, as these
    are kept in the tables of one group, for draws that failed (they count as large) and where values are tied. A
    variable without a difference that took part in making real groups is tested by an F test that does not know
    this. Splitting each value into two independent parts (data thinning) is no remedy: it needs the variances
    within the groups, and fails where they are unknown (Hivert et al. 2024).

    Examples
    --------
    >>> from fisherem import SparseFisherEM, datasets, significance
    >>> X, _ = datasets.simulate(200, 2.5, p=6, q=2, random_state=0)
    >>> found = significance(SparseFisherEM(3, random_state=0).fit(X), X, draws=19)
    >>> found["variable"][found["p"] <= 0.05].tolist()
    ['x1', 'x2']
    """
    check_number("draws", draws, integer=True, least=1, most=MOST_REPEATS)
    check_flag("pairs", pairs)
    check_flag("progress", progress, "auto")
    if n_jobs is not None:
        check_number("n_jobs", n_jobs, integer=True)
    if checkpoint is not None:
        check_path("checkpoint", checkpoint)
        if not isinstance(random_state, (int, np.integer)):
            raise ValueError("a checkpoint needs random_state to be a number: other draws could not be told apart")
    if sample_weight is not None:
        raise ValueError("significance takes no sample_weight: repeat the rows and fit to those")
    rng = check_random_state(random_state)
    model, labels = _fitted(model)
    values, names = _values(model, X, labels)
    parts = _parts(model, values, labels, pairs)
    store = DrawStore(checkpoint, _mark(model, values, random_state, pairs))
    seed = int(rng.randint(np.iinfo(np.int32).max))
    # the rows of a pair are fitted like draws (number 0); all rows have been fitted
    drawn = run_draws(parts, names, range(0 if pairs else 1, draws + 1), seed, store, n_threads(n_jobs), progress)
    if not pairs:
        drawn[0].insert(0, statistics(model, values, labels, names))
    frames = [_frame(part, found, names) for part, found in zip(parts, drawn, strict=True)]
    frame = pd.concat(frames, ignore_index=True)
    frame["q"] = q_values(frame["p"].to_numpy())
    return frame


def _parts(model, values: np.ndarray, labels: np.ndarray, pairs: bool) -> list[Part]:
    if not pairs:
        return [Part(model, values, labels)]
    found = []
    for a, b in combinations(np.unique(labels).tolist(), 2):
        rows = (labels == a) | (labels == b)
        if rows.sum() < _LEAST_ROWS:
            raise ValueError(
                f"groups {a + 1} and {b + 1} have {count(int(rows.sum()), 'row')} together, and two groups cannot be "
                f"fitted to fewer than {_LEAST_ROWS}: fit fewer groups"
            )
        found.append(Part(model, values[rows], labels[rows], (a, b)))
    return found


def _fitted(model) -> tuple[Any, np.ndarray]:
    """(the estimator, of a search the best one; its labels)."""
    model = getattr(model, "best_estimator_", model)
    last = last_step(model)[1]
    if not hasattr(last, "fit") or not hasattr(last, "get_params") or "n_clusters" not in last.get_params():
        raise TypeError(
            f"model must be a fitted clusterer, such as SparseFisherEM(3).fit(X); got {type(model).__name__}"
        )
    if not hasattr(last, "labels_"):
        raise NotFittedError(f"this {type(last).__name__} is not fitted yet: call fit(X) first")
    if not isinstance(getattr(last, "init", ""), str):
        raise ValueError("init gives the groups of these rows, which drawn tables do not have: fit with a named start")
    refuse_unadjusted(last)
    labels = np.asarray(last.labels_)
    if len(np.unique(labels)) < 2:
        raise ValueError("the model has one group: there is no difference to test")
    return model, labels


def _check_complete(X) -> None:
    """An error for rows that are not in memory, or that have missing cells."""
    if isinstance(X, FileTable) and not X.fits:
        raise ValueError("significance needs all rows in memory: raise the memory budget, or fit to a sample of rows")
    if isinstance(X, (np.ndarray, pd.DataFrame)) and (gaps := np.asarray(pd.isna(X))).any():
        row, column = np.argwhere(gaps)[0]
        name = column_name(int(column)) if isinstance(X, np.ndarray) else repr(str(X.columns[column]))
        raise ValueError(
            f"significance takes no missing cells (the first is row {row + 1}, column {name}): leave out their rows or "
            "columns, or fit to imputed rows"
        )


def _values(model, X, labels: np.ndarray) -> tuple[np.ndarray, list[str] | None]:
    """The checked rows (n x p) and the names of their columns."""
    _check_complete(X)
    before, last = last_step(model)
    if not is_in_numbers(getattr(last, "best_estimator_", last)):
        raise ValueError(
            "significance takes tables of numbers: drawn tables of one group have no categories and no counts yet"
        )
    table = check_table(model if before is None else before, X, reset=False)
    values = np.asarray(table, float)
    _check_complete(values)
    if len(values) != len(labels):
        raise ValueError(f"X must be the rows of the fit ({len(labels)}); got {count(len(values), 'row')}")
    if hasattr(model, "predict") and (model.predict(X) == labels).mean() < _SAME_ROWS:
        raise ValueError("X must be the rows of the fit in their order: the model puts these into other groups")
    known = getattr(model if before is None else before, "feature_names_in_", None)
    return values, None if known is None else [str(name) for name in known]


def _mark(model, values: np.ndarray, random_state, pairs: bool) -> str:
    digest = hashlib.sha256(repr((__version__, values.shape, random_state, pairs, type(model).__name__)).encode())
    told = {name: value for name, value in model.get_params().items() if name.rpartition("__")[2] != "n_jobs"}
    digest.update(repr(sorted((name, repr(value)) for name, value in told.items())).encode())
    digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def _frame(part: Part, drawn: list[np.ndarray], names) -> pd.DataFrame:
    """A row per variable; q-values are computed over all parts."""
    n, p = part.values.shape
    own = drawn[0]
    z = standardised_draws(np.stack([one[0] for one in drawn]))
    few = part.tables.margins.kept
    ranks, pooled = np.empty(p), np.zeros(p, bool)
    sizes = np.cbrt(np.nanmean([one[1] for one in drawn], axis=0))
    for kind in map(np.flatnonzero, (few, ~few)):
        for group in pools(z[:, kind], sizes[kind]):  # the table like a draw, or its own extremes would be spared
            pooled[kind[group]] = len(group) > 1
            ranks[kind[group]] = rank_p_values(z[:, kind[group]])
    K = len(np.unique(part.labels)) if part.pair is None else 2
    frame = pd.DataFrame(
        {
            "variable": names or [column_name(j) for j in range(p)],
            "p": np.maximum(ranks, f_test(own[1], n, K)),
            "q": np.nan,
            "share": own[1],
            "null_share": np.nanmean([one[1] for one in drawn[1:]], axis=0),
            "selected": part.selected,
            "pooled": pooled,
        }
    )
    if part.pair is not None:
        frame.insert(0, "group", part.pair[0] + 1)
        frame.insert(1, "other", part.pair[1] + 1)
        frame["agreement"] = own[2]
    return frame
