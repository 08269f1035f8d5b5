"""Clustvarsel: stepwise selection of the variables of a Gaussian mixture (Raftery & Dean 2006)."""

from __future__ import annotations

import numbers
import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from .._utils.public import public
from ..rows.base import n_threads
from ..tables.checking import check_clusters, check_list, check_number, check_one_of
from .base import SelectingClusterer, on_one_blas_thread, within_reach
from .mixtures import Mixture, log_densities, one_group
from .regressions import Regressions
from .stepwise import DIRECTIONS, PATH_COLUMNS, StepwiseSearch
from .subsets import CovarianceKind, Subsets, resolve_shapes

__all__ = ["Clustvarsel", "MixtureSelector", "check_numbers_of_clusters"]


def check_numbers_of_clusters(n_clusters, table: np.ndarray) -> tuple[int, ...]:
    """`n_clusters` as a tuple: one number, or several (each at least 2), checked against the table (n x p)."""
    single = isinstance(n_clusters, (numbers.Number, str)) or n_clusters is None
    counts = (n_clusters,) if single else tuple(check_list("n_clusters", n_clusters))
    if not counts:
        raise ValueError("n_clusters must be a whole number, or several to choose from; got an empty sequence")
    for K in counts:
        check_number("n_clusters", K, integer=True, least=1 if single else 2)
        check_clusters(K, table, None)
    return tuple(int(K) for K in counts)


class MixtureSelector(SelectingClusterer):
    """Base class of Clustvarsel and Selvarclust: checks, the state of the search, prediction by the final mixture."""

    def __init__(self, n_clusters, models, max_iter, tol, max_steps, random_state, n_jobs):
        self.n_clusters = n_clusters
        self.models = models
        self.max_iter = max_iter
        self.tol = tol
        self.max_steps = max_steps
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _search(self, X) -> StepwiseSearch:
        """Check the shared parameters and return the initial state of a search over the table X."""
        self._check_limits()
        check_number("max_steps", self.max_steps, integer=True, least=1)
        shapes = resolve_shapes(self.models)
        table = self._table(X, reset=True)
        family = CovarianceKind(check_numbers_of_clusters(self.n_clusters, table), shapes, self.max_iter, self.tol)
        candidates = tuple(int(j) for j in np.flatnonzero(~self._constant_columns(table)))
        subsets = Subsets(table, family, n_threads(self.n_jobs))
        return StepwiseSearch(subsets, Regressions(table), candidates, self.max_steps)

    def _adopt(self, search: StepwiseSearch, strategy) -> None:
        """Run the search (unless there is one group only) and set the fitted attributes."""
        if search.subsets.family.n_clusters != (1,):
            strategy(search)
        p = self.n_features_in_
        chosen = sorted(search.chosen)
        mixture = search.mixture if chosen else one_group(len(search.subsets.X))
        assert mixture.means is not None
        self.support_ = np.isin(np.arange(p), chosen)
        self._shift = search.subsets.centre[chosen]
        self._shifted_means = mixture.means  # plain arrays: model files may hold no other types
        self.labels_ = mixture.labels
        self.n_clusters_ = len(mixture.means)
        self.model_ = mixture.shape
        self.n_iter_ = mixture.n_iter
        self.weights_ = mixture.proportions
        self.means_ = (mixture.means + self._shift) * self._unit
        self.covariances_ = mixture.covariances
        self.bic_ = mixture.bic - self._log_jacobian(len(mixture.labels), len(chosen))
        self.path_ = pd.DataFrame(search.path, columns=PATH_COLUMNS)
        if len(self.path_):
            names = getattr(self, "feature_names_in_", None)
            self.path_["variable"] = [j if names is None else names[j] for j in self.path_["variable"]]
        if not search.converged:
            text = f"the search did not end within max_steps={self.max_steps} steps: raise max_steps"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    def _log_jacobian(self, n: int, m: int) -> float:
        """The change of the log-likelihood of n rows of m variables when they are divided by the unit."""
        return n * m * float(np.log(self._unit))

    def _joint(self, X) -> np.ndarray:
        kept = self._get_support_mask()
        mixture = Mixture(
            self.bic_, proportions=self.weights_, means=self._shifted_means, covariances=self.covariances_
        )
        return log_densities(within_reach(self._table(X, reset=False)[:, kept] - self._shift), mixture)

    def predict_proba(self, X):
        """Posterior probabilities of the groups for the rows of X (n x p): (n x K)."""
        joint = self._joint(X)
        T = np.exp(joint - joint.max(axis=1, keepdims=True))
        return T / T.sum(axis=1, keepdims=True)

    def predict(self, X):
        """The most probable group of each row of X (n x p): (n,)."""
        return self._joint(X).argmax(axis=1)


@public
class Clustvarsel(MixtureSelector):
    """Cluster rows by a Gaussian mixture on the variables that a stepwise search by BIC selects.

    A variable j is judged against the chosen variables S by BIC_clust(S + j) - BIC_clust(S) - BIC_reg(j | R): either
    it separates the groups, or it is explained by a regression on R, the subset of S selected by the BIC of that
    regression. Every mixture starts from Ward's clustering of its own variables, so the result is deterministic.

    Parameters
    ----------
    n_clusters : int or sequence of int, default=3
        The number of groups, or several, among which BIC chooses for every subset. With 1, no variable is selected.
    direction : {"forward", "backward", "headlong"}, default="forward"
        Greedy search from no variables or from all, adding and removing in turn; "headlong" is like "forward", but
        adds the first variable that improves the BIC.
    models : "all" or names, default="all"
        Covariance shapes, among which BIC chooses for every subset: EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EEV,
        VEV, EVV, VVV (mclust's names; its EVE and VVE, which have no closed form, are left out), or scikit-learn's
        "spherical" (VII), "diag" (VVI), "tied" (EEE), "full" (VVV). On large tables, give only a few.
    max_iter : int, default=200
        The maximum number of iterations of each EM run.
    tol : float, default=1e-5
        EM stops when the relative change of the log-likelihood is at most `tol`.
    max_steps : int, default=1000
        The maximum number of recorded steps of the search.
    random_state : int, RandomState or None, default=None
        Not used; part of the common interface.
    n_jobs : int or None, default=None
        Worker processes for candidates, started only where they save time; None means all cores. The result does not
        depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The most probable group of each row, from 0.
    support_ : ndarray of shape (p,), bool
        The selected variables.
    path_ : DataFrame
        Step, variable, action, bic_difference, accepted, n_selected, shape, reason: a row per step and per candidate
        that was skipped because no mixture could be fitted.
    n_clusters_ : int
        The number of groups.
    model_ : str
        The covariance shape.
    bic_ : float
        The BIC of the mixture on the selected variables.
    n_iter_ : int
        The number of EM iterations of that mixture.
    weights_ : ndarray of shape (K,)
        The proportions of the groups.
    means_ : ndarray of shape (K, m)
        Means of the groups in the m selected variables.
    covariances_ : ndarray of shape (K, m, m)
        Covariances of the groups, for rows divided by `unit_`.
    unit_ : float
        1, or the power of two that the rows were divided by because their squares would overflow or underflow.
    n_features_in_, feature_names_in_ : int, ndarray of shape (p,)
        The number of columns, and their names where X has them.

    See Also
    --------
    fisherem.Selvarclust : Also finds the role of every variable.
    fisherem.compare : Compare several methods on one table.

    Notes
    -----
    Raftery, A. E. and Dean, N. (2006). Variable selection for model-based clustering. Journal of the American
    Statistical Association 101, 168-178.

    Examples
    --------
    >>> from fisherem import Clustvarsel, datasets
    >>> X, _ = datasets.load("iris", as_frame=True)
    >>> model = Clustvarsel(3, models=["EEE", "VVV"], n_jobs=1).fit(X)
    >>> list(X.columns[~model.support_])
    ['sepal length (cm)']
    >>> list(model.path_["variable"][:2])
    ['petal length (cm)', 'sepal width (cm)']
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    def __init__(
        self, n_clusters=3, *, direction="forward", models="all", max_iter=200, tol=1e-5, max_steps=1000,
        random_state=None, n_jobs=None,
    ):  # fmt: skip
        super().__init__(n_clusters, models, max_iter, tol, max_steps, random_state, n_jobs)
        self.direction = direction

    @on_one_blas_thread
    def fit(self, X, y=None):
        """Fit to the rows of X (n x p); `y` is ignored."""
        check_one_of("direction", self.direction, DIRECTIONS)
        search = self._search(X)
        self._adopt(search, DIRECTIONS[self.direction])
        return self
