"""How sure a selection is: refits on subsamples (stability selection, Meinshausen & Buehlmann 2010)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from .._utils.parallel import run_tasks
from .._utils.progress import progress_bar
from .._utils.wording import column_name
from ..rows.threads import n_threads
from ..tables.checking import check_number

__all__ = ["Stability", "stability"]

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
    """

    frequencies: np.ndarray
    selected: np.ndarray
    names: list[str]
    n_selected: np.ndarray
    agreement: np.ndarray
    pairwise: np.ndarray
    failures: list[str]

    def stable(self, threshold: float = 0.75) -> np.ndarray:
        """bool p: the variables selected in at least this share of the refits."""
        return self.frequencies >= threshold

    def error_bound(self, threshold: float = 0.75) -> float:
        """The upper bound q^2 / ((2 threshold - 1) p) on the expected number of falsely selected stable variables.

        q is the mean number of variables per refit. Theorem 1 of Meinshausen & Buehlmann: subsamples of half the
        rows, noise variables exchangeable, the selection better than guessing.
        """
        check_number("threshold", threshold, above=0.5, most=1)
        return float(self.n_selected.mean() ** 2 / ((2 * threshold - 1) * len(self.frequencies)))

    def table(self, threshold: float = 0.75) -> pd.DataFrame:
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


def _refit(estimator, X, probe, rows: np.ndarray, seed: int):
    """(support, labels of the probe rows) of a refit on some rows, or why it failed."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=int(seed))
    elif "estimator__random_state" in model.get_params():
        model.set_params(estimator__random_state=int(seed))
    try:
        with warnings.catch_warnings():
            # half of the rows converge less often, and fifty times the same warning says less than the agreement
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(_safe_indexing(X, rows))
        return model.support_.copy(), model.predict(probe)
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        return str(error)


def stability(
    estimator, X, *, n_subsamples: int = 50, fraction: float = 0.5, random_state=None, n_jobs=None, progress="auto"
) -> Stability:
    """Refit a selecting estimator on random subsamples and count how often each variable is selected.

    Parameters
    ----------
    estimator : estimator
        With `support_` and `predict` after fit (SparseFisherEM, ModelSearch, ...); it is not changed.
    X : array or frame of n rows
        A frame's column names are kept.
    n_subsamples : int, default=50
        The number of refits.
    fraction : float in (0, 1), default=0.5
        Share of the rows in a subsample; the bound on false selections assumes one half.
    random_state : int, RandomState or None
        The seed of the subsamples and of the refits.
    n_jobs : int or None
        Processes; None means all cores. The result does not depend on it.
    progress : bool or "auto", default="auto"
        A bar on standard error; "auto" only in a terminal.

    Returns
    -------
    Stability
        Frequencies, agreement and failures of the refits.
    """
    check_number("n_subsamples", n_subsamples, integer=True, least=2)
    check_number("fraction", fraction, above=0, most=1)
    rng = check_random_state(random_state)
    n = _num_samples(X)
    size = int(np.floor(fraction * n))
    full = clone(estimator).fit(X)
    if not hasattr(full, "support_"):
        raise TypeError(f"{type(estimator).__name__} has no support_ after fit: it selects no variables")
    probe = _safe_indexing(X, np.sort(rng.permutation(n)[:_ROWS]))
    reference = full.predict(probe)
    tasks = [(np.sort(rng.permutation(n)[:size]), rng.randint(np.iinfo(np.int32).max)) for _ in range(n_subsamples)]
    results: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    failures: list[str] = []
    with progress_bar("refitting", progress) as bar:
        bar.add(n_subsamples)
        for i, result in run_tasks(partial(_refit, estimator, X, probe), tasks, n_threads(n_jobs)):
            if isinstance(result, str):
                failures.append(result)
            else:
                results[i] = result
            bar.step()
    if not results:
        raise ValueError(f"all {n_subsamples} refits failed: {'; '.join(sorted(set(failures)))}")
    supports = np.array([results[i][0] for i in sorted(results)])
    labels = [results[i][1] for i in sorted(results)]
    pairs: Sequence[tuple[int, int]] = list(combinations(range(len(labels)), 2))
    if len(pairs) > _PAIRS:
        pairs = [pairs[i] for i in np.sort(rng.permutation(len(pairs))[:_PAIRS])]
    names = getattr(full, "feature_names_in_", None)
    return Stability(
        frequencies=supports.mean(axis=0),
        selected=full.support_.copy(),
        names=[column_name(j) for j in range(supports.shape[1])] if names is None else [str(v) for v in names],
        n_selected=supports.sum(axis=1),
        agreement=np.array([adjusted_rand_score(reference, one) for one in labels]),
        pairwise=np.array([adjusted_rand_score(labels[a], labels[b]) for a, b in pairs]),
        failures=failures,
    )
