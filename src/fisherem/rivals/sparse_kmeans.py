"""SparseKMeans: k-means with sparse weights of the variables (Witten & Tibshirani 2010)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._utils.public import public
from ..rows.base import n_threads
from ..solvers.sparse_kmeans import SparseKMeansFit, alternate, bound_grid, dense_start, gap_curve, path
from ..tables.checking import MOST_REPEATS, check_clusters, check_number, check_one_of
from .base import SelectingClusterer, on_one_blas_thread, within_reach

__all__ = ["SparseKMeans"]

# Maximum number of Lloyd iterations that make the labels those of the nearest centres; usually none is needed.
_MOST_ROUNDS = 100


@public
class SparseKMeans(SelectingClusterer):
    """Cluster rows and weight the variables: maximise the weighted between-cluster sum of squares.

    Over labels and weights w (p), the sum over j of ``w_j BCSS_j`` is maximised subject to
    ``|w|_2 <= 1, |w|_1 <= s, w >= 0``. k-means on the columns scaled by sqrt(w) alternates with the exact solution for
    w, which is BCSS soft-thresholded and normalised. No step decreases the objective. The columns should have
    comparable scales: standardise them unless their variances are meaningful.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of groups K < n. With K = 1, all weights are 0 and no variable is selected.
    bound : float or "permutation", default="permutation"
        The bound s on ``|w|_1``, between 1 (one variable) and sqrt(p) (no bound). "permutation" compares log objectives
        with those of data whose columns are permuted, on ten bounds evenly spaced on a log scale from 1.2 to
        0.9 sqrt(p), and takes the bound with the largest gap.
    n_permutations : int, default=25
        The number of permuted copies of the data for that choice.
    n_init : int, default=20
        The number of k-means starts for the first partition (equal weights); the best is kept.
    max_iter : int, default=20
        The maximum number of alternations.
    tol : float, default=1e-4
        Stop when ``|w - previous w|_1 <= tol |previous w|_1``.
    random_state : int, RandomState or None, default=None
        The seed of the starts and of the permutations.
    n_jobs : int or None, default=None
        Worker processes for permutations, started only where they save time; None means all cores. The result does not
        depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The group of each row, from 0.
    cluster_centers_ : ndarray of shape (K, p)
        Means of the groups in all variables.
    feature_weights_ : ndarray of shape (p,)
        The weights w of the variables.
    support_ : ndarray of shape (p,), bool
        The variables with a weight above 0.
    bound_ : float
        The bound used.
    objective_ : float
        The weighted between-cluster sum of squares, for rows divided by `unit_`.
    unit_ : float
        1, or the power of two that the rows were divided by because their squares would overflow or underflow.
    history_ : list of dict
        A record (step, objective, n_selected) per half-step; the objective never decreases.
    n_iter_ : int
        The number of alternations.
    converged_ : bool
        Whether the weights converged within `max_iter`.
    gap_ : DataFrame
        Bound, objective, gap, standard_error, n_selected, reason; with bound="permutation" only.
    n_features_in_, feature_names_in_ : int, ndarray of shape (p,)
        The number of columns, and their names where X has them.

    See Also
    --------
    fisherem.SparseFisherEM : Selects the variables that separate the groups, whatever their variances.
    fisherem.compare : Compare several methods on one table.

    Notes
    -----
    Witten, D. M. and Tibshirani, R. (2010). A framework for feature selection in clustering. Journal of the American
    Statistical Association 105, 713-726.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fisherem import SparseKMeans, datasets
    >>> X, _ = datasets.load("iris", as_frame=True)
    >>> scaled = StandardScaler().set_output(transform="pandas").fit_transform(X)
    >>> model = SparseKMeans(3, bound=1.3, random_state=0, n_jobs=1).fit(scaled)
    >>> list(X.columns[model.support_])
    ['petal length (cm)', 'petal width (cm)']
    >>> model.transform(scaled).shape
    (150, 2)
    """

    def __init__(
        self,
        n_clusters=3,
        *,
        bound="permutation",
        n_permutations=25,
        n_init=20,
        max_iter=20,
        tol=1e-4,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.bound = bound
        self.n_permutations = n_permutations
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @on_one_blas_thread
    def fit(self, X, y=None):
        """Fit to the rows of X (n x p); `y` is ignored."""
        self._check_parameters()
        table = self._table(X, reset=True)
        check_clusters(self.n_clusters, table, None)
        p = table.shape[1]
        if not isinstance(self.bound, str):
            self._check_bound(p)
        constant = self._constant_columns(table)
        if self.n_clusters == 1:
            self._adopt_one_group(table)
            return self
        Z = np.where(constant, 0.0, table - table.mean(axis=0))
        rng = check_random_state(self.random_state)
        start = dense_start(Z, self.n_clusters, self.n_init, rng)
        limits = (self.max_iter, self.tol)
        if isinstance(self.bound, str):
            bounds = bound_grid(p)
            fits = path(Z, start, bounds, limits)
            seed, n_jobs = rng.randint(2**31 - 1), n_threads(self.n_jobs)
            self.gap_ = gap_curve(Z, fits, bounds, self.n_clusters, self.n_permutations, seed, n_jobs)
            best = self._best_bound(self.gap_)
            self.bound_ = float(bounds[best])
            self._adopt(table, fits[best])
        else:
            self.bound_ = float(self.bound)
            self._adopt(table, alternate(Z, start, self.bound_, *limits))
        return self

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, integer=True, least=1)
        if isinstance(self.bound, str):
            check_one_of("bound", self.bound, ("permutation",))
        check_number("n_permutations", self.n_permutations, integer=True, least=1, most=MOST_REPEATS)
        check_number("n_init", self.n_init, integer=True, least=1, most=MOST_REPEATS)
        self._check_limits()

    def _check_bound(self, p: int) -> None:
        s: Any = self.bound
        number = isinstance(s, (int, float, np.integer, np.floating)) and not isinstance(s, bool)
        if not number or not 1 <= s <= float(np.sqrt(p) * (1 + 1e-12)):
            raise ValueError(
                f"bound must be 'permutation' or a number between 1 (one variable) and sqrt(p)={np.sqrt(p):.4g} "
                f"(all {p}); got {s!r}"
            )

    def _best_bound(self, gaps: pd.DataFrame) -> int:
        if not gaps["gap"].notna().any():
            raise ValueError(f"no bound leaves enough variables for n_clusters={self.n_clusters}: lower n_clusters")
        return int(np.nanargmax(gaps["gap"]))

    def _adopt_one_group(self, table: np.ndarray) -> None:
        n, p = table.shape
        nothing = SparseKMeansFit(
            np.zeros(n, int), np.zeros(p), [{"step": "k-means", "objective": 0.0, "n_selected": 0}]
        )
        nothing.n_iter, nothing.converged = 1, True
        self.bound_ = 1.0 if isinstance(self.bound, str) else float(self.bound)
        self._adopt(table, nothing)

    def _adopt(self, table: np.ndarray, fit: SparseKMeansFit) -> None:
        if fit.reason:
            raise ValueError(f"bound={self.bound_:.4g}: {fit.reason}; raise bound or lower n_clusters")
        self.feature_weights_ = fit.weights
        self.support_ = fit.weights > 0
        self.labels_, centres = _settled(table, fit.labels, np.sqrt(fit.weights), self.n_clusters)
        self.cluster_centers_ = self._unit * centres
        self.history_ = fit.history
        self.objective_ = fit.history[-1]["objective"]
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        if not fit.converged:
            text = f"no convergence within max_iter={self.max_iter} alternations: raise max_iter or tol"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    def predict(self, X):
        """The nearest centre of each row of X (n x p), by the weighted distance sum_j w_j (x_j - c_j)^2: (n,)."""
        kept = self._get_support_mask()
        table = self._table(X, reset=False)
        scale = np.sqrt(self.feature_weights_[kept])
        return _nearest(table[:, kept], self.cluster_centers_[:, kept] / self._unit, scale)


def _nearest(table: np.ndarray, centres: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The nearest of K centres (K x p) for each row (n x p), with column j multiplied by scale[j]: (n,).

    Distances are computed from differences, so that neither an offset nor a distant centre costs precision.
    """
    shift = centres.mean(axis=0)
    rows = within_reach((table - shift) * scale)
    each = (rows - (centre - shift) * scale for centre in centres)
    return np.argmin([np.einsum("ij,ij->i", apart, apart) for apart in each], axis=0)


def _settled(
    table: np.ndarray, labels: np.ndarray, scale: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """(labels, means of the groups) such that every row is in the group with the nearest mean.

    k-means ensures this except for rounding: if one row is 1e9 times farther away than the others, the distances of the
    others are rounded to the same value. The iteration stops before a group becomes empty.
    """
    kept = scale > 0
    means = np.array([table[labels == k].mean(axis=0) for k in range(n_clusters)])
    for _ in range(_MOST_ROUNDS if kept.any() else 0):
        found = _nearest(table[:, kept], means[:, kept], scale[kept])
        if (found == labels).all() or len(np.unique(found)) < n_clusters:
            break
        labels = found
        means = np.array([table[labels == k].mean(axis=0) for k in range(n_clusters)])
    return labels, means
