"""Stability of groups and selection: refits on subsamples (stability selection, Meinshausen & Buehlmann 2010)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from .._utils.parallel import run_tasks
from .._utils.progress import progress_bar
from .._utils.wording import column_name
from ..estimators.adjusting import refuse_unadjusted
from ..estimators.pipelines import last_step, names_of, on_its_rows
from ..policy.thresholds import THRESHOLDS
from ..rows.base import n_threads, one_thread_each
from ..tables.checking import MOST_REPEATS, check_flag, check_number
from ..tables.encoding import Encoded
from ..tables.parameters import named_errors
from .refitting import FAILURES, alone
from .scoring import best_matching, contingency

__all__ = ["COMES_BACK", "Stability", "stability"]

COMES_BACK = THRESHOLDS.comes_back
# Agreement between refits is measured on at most this many rows, and on at most this many pairs of refits.
_ROWS = 2000
_PAIRS = 500


@dataclass
class Stability:
    """The result of `stability`.

    Attributes
    ----------
    frequencies : ndarray of shape (p,)
        The share of the refits that selected each variable.
    selected : ndarray of shape (p,), bool
        The selection of the fit to all rows.
    names : list of str
        The names of the variables.
    n_selected : ndarray
        The number of selected variables of each refit.
    agreement : ndarray
        The adjusted Rand index of each refit with the fit to all rows.
    pairwise : ndarray
        The same between pairs of refits.
    failures : list of str
        The reasons of refits that failed.
    row_frequencies : ndarray of shape (n,) or None
        The share of the refits that assign each row to the same group. The groups of a refit are first matched one to
        one with those of the fit to all rows, so that most rows agree; a row in an unmatched group counts as
        different.
    labels : ndarray of shape (n,) or None
        The groups of the fit to all rows, from 0.
    fraction : float
        The share of the rows used by each refit.
    """

    frequencies: np.ndarray
    selected: np.ndarray
    names: list[str]
    n_selected: np.ndarray
    agreement: np.ndarray
    pairwise: np.ndarray
    failures: list[str]
    row_frequencies: np.ndarray | None = None
    labels: np.ndarray | None = None
    fraction: float = 0.5

    def stable(self, threshold: float = COMES_BACK) -> np.ndarray:
        """bool p: the variables selected in at least this share of the refits."""
        return self.frequencies >= threshold

    def error_bound(self, threshold: float = COMES_BACK) -> float:
        """The upper bound q^2 / ((2 threshold - 1) p) on the expected number of falsely selected stable variables.

        q is the mean number of variables per refit. Theorem 1 of Meinshausen & Buehlmann: it assumes
        exchangeable noise variables, a selection better than random guessing, and subsamples of half the rows. Its
        proof needs two subsamples without a row in common, so it also covers smaller subsamples. For larger ones
        (`fraction` above 0.5) there is no such bound, and the value is infinite.
        """
        check_number("threshold", threshold, above=0.5, most=1)
        if self.fraction > 0.5:
            return float("inf")
        return float(self.n_selected.mean() ** 2 / ((2 * threshold - 1) * len(self.frequencies)))

    def table(self, threshold: float = COMES_BACK) -> pd.DataFrame:
        """A row per variable, most frequent first."""
        frame = pd.DataFrame(
            {
                "variable": self.names,
                "frequency": self.frequencies,
                "selected": self.selected,
                "stable": self.stable(threshold),
            }
        )
        return frame.sort_values("frequency", ascending=False, kind="stable", ignore_index=True)


def _refit(estimator, X, rows: np.ndarray, seed: int):
    """(support, labels of all rows) of a refit on some rows, or the reason of a failure.

    Refits run in parallel, so each uses one thread. This also makes them reproducible: sums over several threads are
    rounded differently, which can change the choice between two nearly equal starts.
    """
    model = alone(estimator, seed)
    try:
        with one_thread_each(), warnings.catch_warnings():
            # half of the rows converge less often, and the agreement says more than many equal warnings
            warnings.simplefilter("ignore")
            model.fit(_rows_of(X, rows))
            estimator, table = _with_variables(model, X)
            return estimator.support_.copy(), np.asarray(estimator.predict(table), np.int32)
    except FAILURES as error:
        return str(error)


def _with_variables(model, X):
    """(estimator, rows) of a pipeline's last step; of a table with categories, the model of its variables itself."""
    return (model, X) if isinstance(X, Encoded) else on_its_rows(model, X)


def _rows_of(X, rows: np.ndarray):
    """Rows of an array, a frame or a table in a file; column names are kept."""
    if isinstance(X, Encoded):
        return Encoded(X.values[rows], X.encoding)
    if not hasattr(X, "rows_at"):
        return _safe_indexing(X, rows)
    values = X.rows_at(rows)
    return values if X.names is None else pd.DataFrame(values, columns=X.names)


def _reproduced(reference: np.ndarray, labels: np.ndarray, K: int) -> np.ndarray:
    """bool n: the rows whose group in a refit matches their group in the fit to all rows (K groups)."""
    groups, found = best_matching(contingency(reference, labels, (K, max(K, int(labels.max()) + 1))))
    match = np.full(K, -1)
    match[groups] = found
    return match[reference] == labels


def stability(
    estimator,
    X,
    *,
    n_subsamples: int = 50,
    fraction: float = 0.5,
    fitted=None,
    random_state=None,
    n_jobs=None,
    progress="auto",
) -> Stability:
    """Refit on random subsamples and count how often each variable is selected and each row is in the same group.

    Parameters
    ----------
    estimator : estimator
        With `support_` and `predict` after fit (SparseFisherEM, ModelSearch, ...), or a pipeline that ends in one: then
        the steps before it are also refitted to every subsample. It is not modified.
    X : array, frame or table in a file, of n rows
        A frame's column names are kept.
    n_subsamples : int, default=50
        The number of refits.
    fraction : float in (0, 1), default=0.5
        The share of the rows in a subsample. Above one half there is no bound on false selections. For a table in a
        file it is limited by the memory budget.
    fitted : estimator, optional
        The estimator fitted to X, if available; by default it is fitted here. Refits are compared with its groups and
        its selection.
    random_state : int, RandomState or None
        The seed of the subsamples and of the refits.
    n_jobs : int or None
        Processes; None means all cores. The result does not depend on it.
    progress : bool or "auto", default="auto"
        Show a progress bar on standard error; "auto" only in a terminal.

    Returns
    -------
    Stability
        Frequencies of variables and rows, agreement and failures of the refits.
    """
    _check(estimator, fitted, n_subsamples, fraction, n_jobs, progress)
    rng = check_random_state(random_state)
    n, size = _sizes(X, fraction, n_jobs)
    fitted = clone(estimator).fit(X) if fitted is None else fitted
    encoding = getattr(getattr(fitted, "best_estimator_", fitted), "encoding_", None)
    if encoding is not None:  # a half of the rows may lack a category
        X = Encoded(on_its_rows(fitted, X)[1].to_numpy(), encoding)
    full, table = _with_variables(fitted, X)
    if not hasattr(full, "support_"):
        raise TypeError(f"{type(full).__name__} has no support_ after fit: it selects no variables")
    probe = np.sort(rng.permutation(n)[:_ROWS])
    tasks = [(np.sort(rng.permutation(n)[:size]), rng.randint(np.iinfo(np.int32).max)) for _ in range(n_subsamples)]
    reference = np.asarray(full.predict(table))
    K = int(reference.max()) + 1
    reproduced = np.zeros(n, int)
    results: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    failures: list[str] = []
    with progress_bar("refitting", progress) as bar:
        bar.add(n_subsamples)
        for i, result in run_tasks(partial(_refit, estimator, X), tasks, n_threads(n_jobs)):
            if isinstance(result, str):
                failures.append(result)
            elif len(result[0]) != len(full.support_):
                failures.append(f"the steps gave {len(result[0])} columns, and {len(full.support_)} with all rows")
            else:
                support, labels = result
                reproduced += _reproduced(reference, labels, K)
                results[i] = support, labels[probe]
            bar.step()
    if not results:
        raise ValueError(f"all {n_subsamples} refits failed: {'; '.join(sorted(set(failures)))}")
    supports = np.array([results[i][0] for i in sorted(results)])
    agreement, pairwise = _agreements(reference[probe], [results[i][1] for i in sorted(results)], rng)
    names = names_of(getattr(full, "best_estimator_", full))
    return Stability(
        frequencies=supports.mean(axis=0),
        selected=full.support_.copy(),
        names=[column_name(j) for j in range(supports.shape[1])] if names is None else names,
        n_selected=supports.sum(axis=1),
        agreement=agreement,
        pairwise=pairwise,
        failures=failures,
        row_frequencies=reproduced / len(results),
        labels=reference,
        fraction=size / n,
    )


def _check(estimator, fitted, n_subsamples, fraction, n_jobs, progress) -> None:
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator must be one that selects variables, such as SparseFisherEM(3); got {estimator!r}")
    refuse_unadjusted(estimator, fitted)
    check_number("n_subsamples", n_subsamples, integer=True, least=2, most=MOST_REPEATS)
    check_number("fraction", fraction, above=0, most=1)
    check_flag("progress", progress, "auto")
    if n_jobs is not None:
        check_number("n_jobs", n_jobs, integer=True)
    if fitted is not None and not (hasattr(last_step(fitted)[1], "support_") and hasattr(fitted, "predict")):
        raise TypeError(f"fitted must be the estimator fitted to X, with support_ and predict; got {fitted!r}")


def _sizes(X, fraction: float, n_jobs: int | None) -> tuple[int, int]:
    """The numbers of rows of X and of a subsample."""
    with named_errors("X"):
        n = _num_samples(X)
    size = int(np.floor(fraction * n))
    if size < 2:
        raise ValueError(f"fraction={fraction:g} leaves {size} of {n} rows: give a larger share")
    if hasattr(X, "memory"):  # a table in a file: every process holds its subsample and one or two copies
        size = min(size, int(X.memory // (4 * n_threads(n_jobs) * X.shape[1] * X.dtype.itemsize)))
    return n, size


def _agreements(reference: np.ndarray, labels: list[np.ndarray], rng) -> tuple[np.ndarray, np.ndarray]:
    """Adjusted Rand indices of refits with the reference, and of pairs of refits (at most 500, drawn at random)."""
    pairs: Sequence[tuple[int, int]] = list(combinations(range(len(labels)), 2))
    if len(pairs) > _PAIRS:
        pairs = [pairs[i] for i in np.sort(rng.permutation(len(pairs))[:_PAIRS])]
    return (
        np.array([adjusted_rand_score(reference, one) for one in labels]),
        np.array([adjusted_rand_score(labels[a], labels[b]) for a, b in pairs]),
    )
