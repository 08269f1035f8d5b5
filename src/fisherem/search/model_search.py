"""ModelSearch: the number of groups by a verdict, or number, model and sparsity by a criterion."""

from __future__ import annotations

from copy import copy
from importlib import import_module

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._utils.public import public
from ..core.data.problem import Problem
from ..core.engine.loop import Fit
from ..estimators.covariates import check_combination
from ..estimators.describing import Summary
from ..estimators.fitting import counted
from ..estimators.pipelines import fit_steps, last_step, on_its_rows, rows_after, whole_pipeline
from ..tables.anndata_object import of_cells
from ..tables.checking import check_clusters, check_table, check_weights, open_rows
from ..tables.frames import with_names
from ..tables.mixed import takes_categories
from .covariate_search import search_with_covariates
from .grids import search_grid
from .search_parameters import VERDICT, SearchParameters
from .search_tables import summary_of
from .verdict_search import search_by_verdict

__all__ = ["ModelSearch", "search_rows"]


@public
class ModelSearch(
    SearchParameters,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Choose the number of groups, by a verdict based on several rules or, as in the paper, by a criterion.

    By default the estimator is fitted for one group, two groups and so on, and `verdict_` has the number of groups, its
    certainty (clear, leaning, not decided) and the reasons. It asks whether groups explain the rows better than one
    group does once skew and tails are taken out, whether they are apart, and whether halves of the rows give the same
    groups; one group is a possible answer. The fit that is returned is the estimator's own fit with that number.

    With a criterion ("bic", "icl", ...), or where models or sparsities are given, the search is that of the paper. For
    a `FisherEM`, every K x model is fitted and the best criterion wins. For a `SparseFisherEM`, the sparsity path of
    the winner is then followed (section 4.2), and of the best model of any other K whose criterion is within 10 of it;
    `joint=True` follows the path of every K x model. The paper's own search, by mean BIC over random starts, is
    `search_as_published`.

    After `fit`, the fitted attributes of the best estimator (`labels_`, `support_`, `loadings_`, ...) can be read from
    the search itself.

    Parameters
    ----------
    estimator : FisherEM or SparseFisherEM, or a pipeline that ends in one
        Its other parameters are used for every fit. The steps before it, such as a StandardScaler, are fitted once, to
        all rows, and the search uses their output; halves of the rows that are compared share these steps.
    n_clusters : "auto" or sequence of int, default="auto"
        Numbers of groups. "auto" tries 1 to 4 and continues while the largest is best, up to 12; with a criterion
        it is 2 to 8. A verdict always includes one group, and extends a given range if its end is best.
    models : "all", sequence of str or None, default=None
        Names of models to compare by a criterion, as for `FisherEM`. None: the estimator's own in a verdict, else all.
    sparsities : "auto" or sequence of float, default="auto"
        "auto" goes from dense to one variable per axis, with more points where the selection changes.
    criterion : {"auto", "verdict", "bic", "icl", "aic", "gain"}, default="auto"
        How to choose. "auto" is "verdict", or "bic" if models, sparsities or `joint` are given.
    path_criterion : {"selection", "penalised"}, default="selection"
        The criterion that chooses the sparsity. "penalised" is the paper's criterion with the effective number of
        parameters; "selection" gives the variables that are not selected one mean for all groups and counts the others'
        means (see `docs/departures.md` for why the first selects too few variables).
    axis_weights : sequence of {"equal", "relevance"} or None, default=("equal", "relevance")
        Weightings of the axes to follow paths for; None: the estimator's own.
    joint : bool, default=False
        Follow the sparsity path of every K x model.
    min_size : int or "auto", default="auto"
        The smallest number of rows per group in a verdict. "auto" is 3% of the rows and at least 5: smaller groups
        count as outliers.
    n_splits : int, default=3
        How often the rows are split in halves for a verdict, at most: numbers of groups that cannot be chosen any more
        are not tried again.
    sample_size : int, default=1000
        The verdict is based on at most this many rows, drawn at random; the chosen fit uses all rows.
    n_init : int or None
        Starts per number of groups; None: the estimator's.
    n_jobs : int or None
        Processes; None means all cores. The results do not depend on it.
    checkpoint : path or None
        A folder to which each finished fit is written; the same call resumes from there.
    progress : bool or "auto", default="auto"
        Show a progress bar on standard error; "auto" only in a terminal.
    n_factors : int, "auto", sequence of these or None, default=None
        For a `FactorMixture`: numbers of factors to compare; None: the estimator's own. `models` are structures then,
        and a criterion (BIC by default) chooses among all K x structure x number of factors.

    Attributes
    ----------
    verdict_ : Verdict
        The number of groups, its certainty, runners-up, reasons and a table of rules. For a verdict only.
    results_ : DataFrame
        A row per fit, or for a verdict per number of groups with a column per rule; failures are included, with their
        reason in `stop_reason`.
    criterion_ : str
        How the number was chosen: "verdict" or the name of a criterion.
    paths_ : dict of (n_clusters, model, axis_weights) to DataFrame
        The norm of each variable's loadings along the path.
    best_estimator_ : FisherEM or SparseFisherEM, or a pipeline
        The fitted estimator of the best row, behind the fitted steps where a pipeline was given.
    best_index_ : int
        The best row of `results_`.
    best_params_ : dict
        The chosen parameters.
    best_score_ : float
        The criterion of the best row.
    interrupted_ : bool
        Whether Ctrl-C ended the search before all fits were finished.
    evidence_ : Evidence
        What a verdict weighs: fits, gains, valleys, agreement of halves and consensus by number of groups. For a
        verdict only.
    encoding_ : Encoding
        Of a table with categories only: see `FisherEM`.
    n_features_in_, feature_names_in_ : int, ndarray of shape (p,)
        The number of columns, and their names where X has them.
    """

    # -- the search ------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self):
        """Missing values are allowed if the estimator supports them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_gaps()
        return tags

    @property
    def _takes_categories(self) -> bool:
        return takes_categories(self.estimator)

    def _takes_gaps(self) -> bool:
        last = last_step(self.estimator)[1]
        return hasattr(last, "__sklearn_tags__") and bool(get_tags(last).input_tags.allow_nan)

    def fit(self, X, y=None, sample_weight=None, feature_names=None, covariates=None):
        """Search on the rows of X. `y` is ignored; `feature_names` are names for a table that has none.

        `covariates` are those of the estimator's `fit`; the search is then on rows less their effects.
        """
        before, estimator = last_step(self.estimator)
        if before is not None:
            if covariates is not None:
                raise ValueError("covariates need an estimator without steps before it: give the last step alone")
            return self._fit_behind(before, estimator, with_names(open_rows(self, X), feature_names), sample_weight)
        self._check_parameters()
        table = check_table(self, X, reset=True, elsewhere=True, feature_names=feature_names)
        weights = check_weights(sample_weight, table)
        transformation = getattr(self.estimator, "transformation", "power")
        check_combination(self, covariates, transformation)
        table = counted(self, table, transformation)
        if covariates is None:
            search_rows(self, table, weights)
        else:
            search_with_covariates(self, table, weights, of_cells(X, covariates), search_rows)
        return self

    def _fit_behind(self, before, estimator, X, sample_weight):
        """Search on X transformed by the steps of a pipeline; the best fit becomes its last step."""
        inner = clone(self).set_params(estimator=estimator)
        inner._check_parameters()
        fitted, X = fit_steps(before, open_rows(inner, X))
        inner.fit(rows_after(fitted, X), sample_weight=sample_weight)
        for name, value in vars(inner).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        self.best_estimator_ = whole_pipeline(fitted, inner.best_estimator_, self.estimator, X)
        self.n_features_in_ = fitted.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        return self

    # -- summary and plot ------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """The search in a few lines: the choice and its certainty, groups, variables, and warnings.

        It prints as text and renders as a small table in a notebook.
        """
        check_is_fitted(self, "best_estimator_")
        best = self.best_estimator_
        return summary_of(self, best if hasattr(best, "encoding_") else on_its_rows(self)[0].best_estimator_)

    def plot(self, ax=None):
        """Plot how the number of groups was chosen: the evidence of a verdict, or the criterion by model.

        Returns a `VerdictDisplay` or a `CriterionDisplay`; the latter is drawn on `ax`. See
        ``search.best_estimator_.plot(X)`` for a plot of the groups.
        """
        check_is_fitted(self, "best_estimator_")
        plots = import_module("fisherem.plots")  # `plots` imports this package
        if self.criterion_ == VERDICT:
            return plots.VerdictDisplay.from_search(self).plot()
        return plots.CriterionDisplay.from_search(self).plot(ax)

    # -- using the best fit ----------------------------------------------------------------------------------------

    def __getattr__(self, name):
        """Fitted attributes of the best estimator: labels_, support_, loadings_, ..."""
        if name.endswith("_") and not name.startswith("_") and "best_estimator_" in self.__dict__:
            return getattr(last_step(self.__dict__["best_estimator_"])[1], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _best(self):
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X, noise_label=False, covariates=None):
        """The most probable group of each row, by the best fit; with `noise_label`, -1 for rows outside all groups."""
        options = ({"noise_label": noise_label} if noise_label else {}) | _given(covariates)
        return self._best().predict(X, **options)

    def contributions(self, X, covariates=None):
        """Why each row is in its group of the best fit: the log-odds against the next group as a sum over variables."""
        self._best()
        search, rows = on_its_rows(self, X)
        return search.best_estimator_.contributions(rows, **_given(covariates))

    def outlyingness(self, X, covariates=None):
        """The probability of each row's distance from its nearest group, by the best fit: small values are outside."""
        self._best()
        search, rows = on_its_rows(self, X)
        return search.best_estimator_.outlyingness(rows, **_given(covariates))

    def markers(self, X, *, stability=None, significance=None, group_names=None, covariates=None):
        """What marks each group of the best fit: see `SparseFisherEM.markers`."""
        self._best()
        search, rows = on_its_rows(self, X)
        given = {"stability": stability, "significance": significance, "group_names": group_names}
        return search.best_estimator_.markers(rows, **given, covariates=covariates)

    def subcluster(self, X, group, n_clusters="auto", *, random_state=None, n_jobs=None, covariates=None):
        """Split one group of the best fit: see `SparseFisherEM.subcluster`."""
        self._best()
        search, rows = on_its_rows(self, X)
        given = {"random_state": random_state, "n_jobs": n_jobs, "covariates": covariates}
        return search.best_estimator_.subcluster(rows, group, n_clusters, **given)

    def name_groups(self, names=None):
        """Call the groups of the best fit by these names (K): see `SparseFisherEM.name_groups`; returns the search."""
        last_step(self._best())[1].name_groups(names)
        return self

    def adjusted(self, X, covariates):
        """(search, rows): X less what the covariates explain, and the search for such rows; see `FisherEM.adjusted`."""
        model, rows = self._best().adjusted(X, covariates)
        plain = copy(self)
        plain.best_estimator_ = model
        return plain, rows

    def predict_proba(self, X, covariates=None):
        """Posterior probabilities of the groups, by the best fit."""
        return self._best().predict_proba(X, **_given(covariates))

    def transform(self, X, covariates=None):
        """Coordinates of the rows in the best fit's discriminative subspace."""
        return self._best().transform(X, **_given(covariates))

    @property
    def _n_features_out(self) -> int:
        return last_step(self._best())[1]._n_features_out

    def score_samples(self, X, covariates=None):
        """log f(y) of each row, by the best fit."""
        return self._best().score_samples(X, **_given(covariates))


def _given(covariates) -> dict:
    """The argument where covariates are given: the best estimator may be a pipeline, which knows none."""
    return {} if covariates is None else {"covariates": covariates}


def search_rows(search: ModelSearch, table, weights=None, prior=None) -> tuple[Problem, Fit]:
    """Search on checked rows (n x p), an array or anything `ArrayRows` reads, with an optional prior over the rows.

    Sets the fitted attributes of the search; returns the prepared rows and the best fit with its per-row state.
    """
    search.criterion_ = search._criterion()
    for K in search._clusters(given=search.criterion_ == VERDICT):
        check_clusters(K, table, weights)
    if search.criterion_ == VERDICT:
        return search_by_verdict(search, table, weights, prior)
    return search_grid(search, search._grid()(search, *table.shape), table, weights, prior)
