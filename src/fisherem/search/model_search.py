"""ModelSearch: the number of groups by a verdict, or number, model and sparsity by a criterion."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pandas as pd
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

from .._utils.progress import progress_bar
from .._utils.public import public
from ..core.data.problem import Problem
from ..core.dlm.f_step.step import FStep
from ..core.engine.checkpoints import Store, fingerprint
from ..core.engine.loop import Fit, restore
from ..estimators import SparseFisherEM
from ..estimators.describing import Summary
from ..estimators.fitting import Fitted, adopt, scaled_rows, warn_of_constant_columns, warn_of_empty_groups
from ..estimators.pipelines import fit_steps, last_step, on_its_rows, rows_after, whole_pipeline
from ..model.criteria import CRITERIA
from ..model.dlm import resolve
from ..policy.model import Chosen
from ..policy.scaling import warn_of_large_columns
from ..tables.checking import check_clusters, check_table, check_weights, open_rows
from .factor_search import is_factor_search, search_factors
from .grid import DENSE, Outcome, columns
from .grid_runner import Grid, best_index, in_order, outcomes_of
from .search_parameters import VERDICT, SearchParameters
from .search_summary import summary_of
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
    """Choose the number of groups: by a verdict over many rules, or as the paper does, by a criterion.

    By default the estimator is fitted for one group, two groups and so on, and `verdict_` says how many groups there
    are, how sure that is (clear, leaning, not decided) and why. It asks first whether groups come back on other rows,
    then what the likelihood says once skew is taken out; one group is a possible answer.

    With a criterion ("bic", "icl", ...), or where models or sparsities are given, it is the paper's search. For a
    `FisherEM`, every K x model is fitted and the best criterion wins. For a `SparseFisherEM`, the sparsity path of
    the winner is then followed (section 4.2), and of the best model of any other K whose criterion is within 10 of it;
    `joint=True` follows the path of every K x model.

    After `fit`, the fitted attributes of the best estimator (`labels_`, `support_`, `loadings_`, ...) can be read from
    the search itself.

    Parameters
    ----------
    estimator : FisherEM or SparseFisherEM, or a pipeline that ends in one
        Its other parameters are used for every fit. The steps before it, such as a StandardScaler, are fitted once, to
        all rows, and the search is made on what comes out of them: halves of the rows that are compared share them.
    n_clusters : "auto" or sequence of int, default="auto"
        Numbers of groups. "auto" tries 1 to 4 and goes on while the best lies near the end, up to 12; with a criterion
        it is 2 to 8. A verdict always looks at one group, too, and goes on beyond a given range if its end is best.
    models : "all", sequence of str or None, default=None
        Names of models to compare by a criterion, as for `FisherEM`. None: the estimator's own in a verdict, else all.
    sparsities : "auto" or sequence of float, default="auto"
        "auto" goes from dense to one variable per axis, with more points where the selection changes.
    criterion : {"auto", "verdict", "bic", "icl", "aic", "c"}, default="auto"
        What chooses. "auto" is "verdict", and "bic" where models, sparsities or `joint` ask for the paper's search.
    path_criterion : {"selection", "penalised"}, default="selection"
        What chooses the sparsity. "penalised" is the paper's criterion with the effective number of parameters;
        "selection" gives the variables that are not selected one mean for all groups and counts the others' means
        (see `docs/choosing.md` for why the first selects too few variables).
    axis_weights : sequence of {"equal", "relevance"} or None, default=("equal", "relevance")
        Weightings of the axes to follow paths for; None: the estimator's own.
    joint : bool, default=False
        Follow the sparsity path of every K x model.
    min_size : int or "auto", default="auto"
        Rows that every group must have in a verdict. "auto" is 3% of the rows and at least 5: smaller groups are
        outliers to every rule.
    n_splits : int, default=5
        How often the rows are split in halves for a verdict.
    sample_size : int, default=1000
        The verdict is found on at most so many rows, drawn at random; the chosen fit is made on all of them.
    fewest_variables : bool, default=False
        In a verdict, take the fewest variables whose C lies within 10 nats of the best list's.
    n_init : int or None
        Starts per number of groups; None: the estimator's.
    n_jobs : int or None
        Processes; None means all cores. The results do not depend on it.
    checkpoint : path or None
        A folder to write each finished fit to; the same call goes on from there.
    progress : bool or "auto", default="auto"
        A bar on standard error; "auto" only in a terminal.
    n_factors : int, "auto", sequence of these or None, default=None
        For a `FactorMixture`: numbers of factors to compare; None: the estimator's own. `models` are structures then,
        and a criterion (BIC by default) chooses among all K x structure x number of factors.

    Attributes
    ----------
    verdict_ : Verdict
        The number of groups, its degree, runners-up, reasons in words and a table of rules. For a verdict only.
    results_ : DataFrame
        A row per fit, or for a verdict per number of groups with a column per rule; failures are included, with their
        reason in `stop_reason`.
    criterion_ : str
        What has chosen: "verdict" or the name of a criterion.
    paths_ : dict of (n_clusters, model, axis_weights) to DataFrame
        The size of each variable's loadings along the path.
    best_estimator_ : FisherEM or SparseFisherEM, or a pipeline
        The fitted estimator of the best row, behind the fitted steps where a pipeline was given.
    best_index_ : int
        The best row of `results_`.
    best_params_ : dict
        What was chosen.
    best_score_ : float
        The criterion of the best row.
    interrupted_ : bool
        Whether Ctrl-C ended the search before all fits were done.
    """

    def __init__(
        self,
        estimator,
        *,
        n_clusters="auto",
        models=None,
        sparsities="auto",
        criterion="auto",
        path_criterion="selection",
        axis_weights=("equal", "relevance"),
        joint=False,
        min_size="auto",
        n_splits=5,
        sample_size=1000,
        fewest_variables=False,
        n_init=None,
        n_jobs=None,
        checkpoint=None,
        progress="auto",
        n_factors=None,
    ):
        self.estimator = estimator
        self.n_clusters = n_clusters
        self.models = models
        self.sparsities = sparsities
        self.criterion = criterion
        self.path_criterion = path_criterion
        self.axis_weights = axis_weights
        self.joint = joint
        self.min_size = min_size
        self.n_splits = n_splits
        self.sample_size = sample_size
        self.fewest_variables = fewest_variables
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.progress = progress
        self.n_factors = n_factors

    # -- the search ------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self):
        """Missing values, if the estimator takes them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_gaps()
        return tags

    def _takes_gaps(self) -> bool:
        last = last_step(self.estimator)[1]
        return hasattr(last, "__sklearn_tags__") and bool(get_tags(last).input_tags.allow_nan)

    def fit(self, X, y=None, sample_weight=None):
        """Search on the rows of X. `y` is ignored."""
        before, estimator = last_step(self.estimator)
        if before is not None:
            return self._fit_behind(before, estimator, X, sample_weight)
        self._check_parameters()
        table = check_table(self, X, reset=True, elsewhere=True)
        weights = check_weights(sample_weight, table)
        search_rows(self, table, weights)
        return self

    def _fit_behind(self, before, estimator, X, sample_weight):
        """Search on what the steps of a pipeline make of X; the best fit goes behind the fitted steps."""
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

    def _grid(self, n: int, p: int) -> Grid:
        """What the parameters ask for on n rows of p variables."""
        return Grid(
            self._specifications(n, p),
            [self._sparse_settings(weights) for weights in self._axis_weights()],
            self.sparsities,
            self._criterion(),
            self.path_criterion,
            self.joint,
        )

    def _adopt(self, problem: Problem, scales, grid: Grid, outcomes: list[Outcome]) -> Fit:
        """The fitted attributes from all outcomes; returns the best fit with the states of its rows."""
        self.results_ = pd.DataFrame([o.row for o in outcomes], columns=columns())
        self.paths_ = self._paths(problem, outcomes)
        self.best_index_ = best_index(outcomes, grid)
        best = outcomes[self.best_index_]
        assert best.fit is not None
        self.best_params_ = {"n_clusters": best.row["n_clusters"], "model": best.row["model"]}
        if isinstance(self.estimator, SparseFisherEM):
            self.best_params_ |= {"sparsity": best.row["sparsity"], "axis_weights": best.row["axis_weights"]}
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_, **self._without_factors())
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(self.best_estimator_, name, getattr(self, name))
        restored = restore(problem, best.fit)
        chosen = Chosen(restored, [], resolve(best.row["model"]), [])
        fitted = Fitted(problem, chosen, scales)
        adopt(self.best_estimator_, fitted)
        warn_of_empty_groups(self.best_estimator_)
        self.results_ = _of_given_rows(self.results_, fitted)
        self.best_score_ = float(self.results_[grid.criterion][self.best_index_])
        return restored

    def _paths(self, problem: Problem, outcomes: list[Outcome]) -> dict[tuple[int, str, str], pd.DataFrame]:
        """Length of each variable's loadings (rows: shares, columns: variables) along every path."""
        names = getattr(self, "feature_names_in_", np.arange(problem.p))
        tables: dict[tuple[int, str, str], dict[float, np.ndarray]] = {}
        for o in outcomes:
            if o.row["method"] != DENSE and o.fit is not None:
                axes = o.fit.solution.axes
                loadings = FStep.loadings(axes, problem.scatter)  # as in loadings_: rotated to be orthonormal
                if axes.sparse is not None:
                    loadings = np.where(axes.sparse.any(axis=1)[:, None], loadings, 0.0)
                key = (o.row["n_clusters"], o.row["model"], o.row["axis_weights"])
                tables.setdefault(key, {})[o.row["sparsity"]] = np.linalg.norm(loadings, axis=1)
        return {key: pd.DataFrame.from_dict(t, orient="index", columns=names) for key, t in tables.items()}

    # -- the result in words and in a picture ----------------------------------------------------------------------

    def summary(self) -> Summary:
        """The search in a few lines: what was chosen and how sure that is, groups, variables, what to keep in mind.

        It prints as text, and is a small table in a notebook.
        """
        check_is_fitted(self, "best_estimator_")
        return summary_of(self, on_its_rows(self)[0].best_estimator_)

    def plot(self, ax=None):
        """Draw how the number of groups was chosen: the evidence of a verdict, or the criterion by model.

        Returns a `VerdictDisplay` or a `CriterionDisplay`; of a criterion it is drawn on `ax`. The plane of the groups
        is ``search.best_estimator_.plot(X)``.
        """
        check_is_fitted(self, "best_estimator_")
        plots = import_module("fisherem.plots")  # pictures come after the search in the flow of the package
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

    def predict(self, X):
        """The most probable group of each row, by the best fit."""
        return self._best().predict(X)

    def predict_proba(self, X):
        """Posterior probabilities of the groups, by the best fit."""
        return self._best().predict_proba(X)

    def transform(self, X):
        """Coordinates of the rows in the best fit's discriminative subspace."""
        return self._best().transform(X)

    @property
    def _n_features_out(self) -> int:
        return last_step(self._best())[1]._n_features_out

    def score_samples(self, X):
        """log f(y) of each row, by the best fit."""
        return self._best().score_samples(X)


def _of_given_rows(results: pd.DataFrame, fitted: Fitted) -> pd.DataFrame:
    """Likelihoods and criteria of divided columns as those of the rows that were given."""
    jacobian, more = fitted.log_jacobian, fitted.n_scales
    if jacobian == 0 and more == 0:
        return results
    results = results.copy()
    results["log_likelihood"] += jacobian
    results["n_parameters"] += more
    for name, criterion in CRITERIA.items():
        if criterion.of_partition is None:
            change = criterion(jacobian, more, fitted.problem.weight, 0.0)
            results[[name, f"selection_{name}"]] += change
    return results


def search_rows(search: ModelSearch, table, weights=None, prior=None) -> tuple[Problem, Fit]:
    """Search on checked rows (n x p), an array or anything `ArrayRows` reads, with a prior over the rows.

    Sets the search's fitted attributes; returns the prepared rows and the best fit with the states of its rows.
    """
    if is_factor_search(search):
        return search_factors(search, table, weights)
    search.criterion_ = search._criterion()
    for K in search._clusters(given=search.criterion_ == VERDICT):
        check_clusters(K, table, weights)
    if search.criterion_ == VERDICT:
        return search_by_verdict(search, table, weights, prior)
    grid = search._grid(*table.shape)
    problem, scales = scaled_rows(search.estimator, table, weights, search.n_jobs, prior)
    with problem.rows.closed_on_error():
        warn_of_constant_columns(problem, getattr(search, "feature_names_in_", None))
        if scales is None:
            warn_of_large_columns(problem, getattr(search, "feature_names_in_", None))
        store = Store(search.checkpoint, fingerprint(problem, search._settings()) if search.checkpoint else "")
        outcomes: list[Outcome] = []
        search.interrupted_ = False
        with progress_bar("searching", search.progress) as bar:
            try:
                for outcome in outcomes_of(problem, grid, store, search.n_jobs, bar):
                    outcomes.append(outcome)
            except KeyboardInterrupt:
                if not outcomes:
                    raise
                search.interrupted_ = True
                done = f"the results are those of the {len(outcomes)} fits that were done"
                warnings.warn(f"interrupted: {done}", stacklevel=3)
        return problem, search._adopt(problem, scales, grid, in_order(outcomes))
