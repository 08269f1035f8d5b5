"""Selvarclust: the roles of all variables in a Gaussian mixture (Maugis, Celeux & Martin-Magniette 2009)."""

from __future__ import annotations

import numpy as np

from .._utils.public import public
from ..tables.checking import check_list, check_number, check_one_of
from .base import on_one_blas_thread, standardised
from .clustvarsel import MixtureSelector
from .lasso_ranking import lasso_ranking
from .regressions import REGRESSION_SHAPES
from .roles import SelvarclustRoles, assign_roles
from .stepwise import StepwiseSearch, backward, start_with_all
from .subsets import start_labels

__all__ = ["RANKINGS", "Selvarclust"]


def by_steps(search: StepwiseSearch, patience: int) -> None:
    """Backward stepwise exclusion and inclusion from all variables, as in the paper; `patience` is not used."""
    backward(search)


def by_lasso(search: StepwiseSearch, patience: int) -> None:
    """Go through the ranking of a lasso-type mixture and add each variable whose difference is positive.

    The first two are always added. The search ends after `patience` consecutive variables that are not added. The
    ranking ignores correlations, so a redundant variable can rank above those that explain it: afterwards the
    removal of each variable is tried, starting with the last one added.
    """
    Z = standardised(search.subsets.X)[:, search.candidates]
    K = max(search.subsets.family.n_clusters)
    labels = start_labels(Z, K)
    if labels is None:
        raise ValueError(f"the rows have fewer than n_clusters={K} distinct values: lower n_clusters")
    order, _ = lasso_ranking(Z, labels, K)
    refused = 0
    for j in (search.candidates[i] for i in order):
        difference = search.additions([j])[0]
        accepted = bool(np.isfinite(difference) and (difference > 0 or len(search.chosen) < 2))
        if np.isfinite(difference):
            search.take(j, "add", difference, accepted)
        refused = 0 if accepted else refused + 1
        if refused >= patience and search.chosen:
            break
    if not search.chosen:
        start_with_all(search)
    for j in reversed(search.chosen):
        if len(search.chosen) > 1:
            search.remove_if_redundant(j)


RANKINGS = {"stepwise": by_steps, "lasso": by_lasso}


@public
class Selvarclust(MixtureSelector):
    """Cluster rows by a Gaussian mixture and find the role of every variable (the SRUW model).

    maximise  BIC_clust(S) + BIC_reg(U | R) + BIC_ind(W)   over the split of the variables into S, U, W and R in S

    S separates the groups (a Gaussian mixture), U is explained by a linear regression on R, W is independent of both.

    Parameters
    ----------
    n_clusters : int or sequence of int, default=3
        The number of groups, or several, among which BIC chooses for every subset.
    ranking : {"stepwise", "lasso"}, default="stepwise"
        "stepwise" starts from all variables, excludes and includes in turn, and fits a number of mixtures quadratic in
        that of the variables; "lasso" first ranks the variables by a mixture with l1-penalised means and goes through
        that list, with a linear number of mixtures.
    models : "all" or names, default="all"
        Covariance shapes of the mixture, as for `Clustvarsel`.
    regression_shapes : sequence of {"LI", "LB", "LC"}, default=("LI", "LB", "LC")
        Residual covariances of the regression of U on R: spherical, diagonal, full. BIC chooses among them.
    patience : int, default=3
        The search along the ranking ends after this many consecutive variables that are not added.
    max_iter : int, default=200
        The maximum number of iterations of each EM run.
    tol : float, default=1e-5
        EM stops when the relative change of the log-likelihood is at most `tol`.
    max_steps : int, default=1000
        The maximum number of recorded steps of the search.
    random_state : int, RandomState or None, default=None
        Not used; part of the common interface.
    n_jobs : int or None, default=None
        Worker processes for candidates, started only where they save time; None means all cores.

    Attributes
    ----------
    roles_ : ndarray of shape (p,)
        The role of each variable: "S", "U" or "W".
    regressors_ : ndarray of shape (p,), bool
        The variables of S in R.
    criterion_ : float
        The sum of the three terms above.
    bic_ : float
        The first of these terms.
    regression_shape_ : str
        The residual covariance of the regression; empty if U is empty.
    independent_shape_ : str
        The covariance of W; empty if W is empty.
    labels_, support_, path_, n_clusters_, model_, weights_, means_, covariances_, unit_, n_iter_ :
        As for `Clustvarsel`; the support is S.
    n_features_in_, feature_names_in_ : int, ndarray of shape (p,)
        The number of columns, and their names where X has them.

    See Also
    --------
    fisherem.Clustvarsel : The same selection, without roles.
    fisherem.SparseFisherEM : Its `roles_` say which selected variables explain a redundant one.

    Notes
    -----
    Maugis, C., Celeux, G. and Martin-Magniette, M.-L. (2009). Variable selection for clustering with Gaussian mixture
    models. Biometrics 65, 701-709.

    Examples
    --------
    >>> from fisherem import Selvarclust, datasets
    >>> X, _, roles = datasets.simulate_roles(300, random_state=0)
    >>> model = Selvarclust(4, ranking="lasso", models=["EEI"], n_jobs=1).fit(X)
    >>> "".join(model.roles_)
    'SSSUUUUWWWWW'
    >>> bool((model.roles_ == roles).all())
    True
    """

    def __init__(
        self, n_clusters=3, *, ranking="stepwise", models="all", regression_shapes=("LI", "LB", "LC"), patience=3,
        max_iter=200, tol=1e-5, max_steps=1000, random_state=None, n_jobs=None,
    ):  # fmt: skip
        super().__init__(n_clusters, models, max_iter, tol, max_steps, random_state, n_jobs)
        self.ranking = ranking
        self.regression_shapes = regression_shapes
        self.patience = patience

    @on_one_blas_thread
    def fit(self, X, y=None):
        """Fit to the rows of X (n x p); `y` is ignored."""
        check_one_of("ranking", self.ranking, RANKINGS)
        check_number("patience", self.patience, integer=True, least=1)
        shapes = self.regression_shapes
        shapes = [shapes] if isinstance(shapes, str) else check_list("regression_shapes", shapes)
        if not shapes:
            raise ValueError("regression_shapes is empty: give at least one of 'LI', 'LB', 'LC'")
        for shape in shapes:
            check_one_of("regression_shapes", shape, REGRESSION_SHAPES)
        search = self._search(X)
        self._adopt(search, lambda state: RANKINGS[self.ranking](state, self.patience))
        others = [j for j in search.candidates if j not in search.chosen]
        self._adopt_roles(assign_roles(search.regressions, search.chosen, others, tuple(shapes)))
        return self

    def _adopt_roles(self, roles: SelvarclustRoles) -> None:
        self.roles_ = roles.names(self.n_features_in_)
        self.regressors_ = np.isin(np.arange(self.n_features_in_), roles.R)
        self.regression_shape_ = roles.regression_shape
        self.independent_shape_ = roles.independent_shape
        others = self._log_jacobian(len(self.labels_), len(roles.U) + len(roles.W))
        self.criterion_ = self.bic_ + roles.bic_regression + roles.bic_independent - others
