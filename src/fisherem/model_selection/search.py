"""ModelSearch: the number of groups, the model and the sparsity by a criterion."""

from __future__ import annotations

import warnings
from dataclasses import replace

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
from sklearn.utils.validation import check_is_fitted

from .._utils.progress import progress_bar
from .._utils.public import public
from ..em.dlm_family import DLMFamily, SparseSettings
from ..em.f_step.step import AXIS_WEIGHTS, FStep
from ..em.loop import Fit, restore
from ..em.model_choice import Chosen
from ..em.multistart import Specification
from ..em.problem import Problem, prepare
from ..estimators import FisherEM, SparseFisherEM
from ..estimators.fitting import adopt, check_parameters, specification, warn_of_constant_columns
from ..model.criteria import CRITERIA
from ..model.dlm import MODELS, resolve
from ..tables.checking import (
    check_clusters,
    check_number,
    check_one_of,
    check_sparsity,
    check_table,
    check_weights,
)
from .checkpoints import Store, fingerprint
from .grid import DENSE, Outcome, columns
from .searching import Grid, best_index, in_order, outcomes_of

__all__ = ["ModelSearch", "search_rows"]


@public
class ModelSearch(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose the number of groups, the model and the sparsity by a criterion.

    For a `FisherEM`, every K x model is fitted and the best criterion wins. For a `SparseFisherEM`, the same search is
    done with the dense algorithm and then the sparsity path of the winner is followed (the paper's section 4.2), and
    of the best model of any other K whose criterion is within 10 of it; `joint=True` follows the path of every
    K x model. The covariance of the data is computed once, starts are shared between models, paths are warm-started
    from dense to sparse.

    After `fit`, the fitted attributes of the best estimator (`labels_`, `support_`, `loadings_`, ...) can be read from
    the search itself.

    Parameters
    ----------
    estimator : FisherEM or SparseFisherEM
        Its other parameters are used for every fit.
    n_clusters : sequence of int, default=range(2, 9)
        Numbers of groups, each at least 2.
    models : "all" or sequence of str, default="all"
        Names of models, as for `FisherEM`.
    sparsities : "auto" or sequence of float, default="auto"
        "auto" goes from dense to one variable per axis, with more points where the selection changes.
    criterion : {"bic", "icl", "aic"}, default="bic"
        Larger is better.
    path_criterion : {"selection", "penalised"}, default="selection"
        What chooses the sparsity. "penalised" is the paper's criterion with the effective number of parameters;
        "selection" gives the variables that are not selected one mean for all groups and counts the others' means
        (see `docs/choosing.md` for why the first selects too few variables).
    axis_weights : sequence of {"equal", "relevance"} or None, default=("equal", "relevance")
        Weightings of the axes to follow paths for; None: the estimator's own.
    joint : bool, default=False
        Follow the sparsity path of every K x model.
    n_init : int or None
        Starts per number of groups; None: the estimator's.
    n_jobs : int or None
        Processes; None means all cores. The results do not depend on it.
    checkpoint : path or None
        A folder to write each finished fit to; the same call goes on from there.
    progress : bool or "auto", default="auto"
        A bar on standard error; "auto" only in a terminal.

    Attributes
    ----------
    results_ : DataFrame
        A row per fit, failures included with their reason in `stop_reason`.
    paths_ : dict of (n_clusters, model, axis_weights) to DataFrame
        The size of each variable's loadings along the path.
    best_estimator_ : FisherEM or SparseFisherEM
        The fitted estimator of the best row.
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
        n_clusters=range(2, 9),
        models="all",
        sparsities="auto",
        criterion="bic",
        path_criterion="selection",
        axis_weights=("equal", "relevance"),
        joint=False,
        n_init=None,
        n_jobs=None,
        checkpoint=None,
        progress="auto",
    ):
        self.estimator = estimator
        self.n_clusters = n_clusters
        self.models = models
        self.sparsities = sparsities
        self.criterion = criterion
        self.path_criterion = path_criterion
        self.axis_weights = axis_weights
        self.joint = joint
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.progress = progress

    # -- the search ------------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None):
        """Search on the rows of X. `y` is ignored."""
        self._check_parameters()
        table = check_table(self, X, reset=True, elsewhere=True)
        weights = check_weights(sample_weight, table)
        search_rows(self, table, weights)
        return self

    def _grid(self, n: int, p: int) -> Grid:
        """What the parameters ask for on n rows of p variables."""
        return Grid(
            self._specifications(n, p),
            [self._sparse_settings(weights) for weights in self._axis_weights()],
            self.sparsities,
            self.criterion,
            self.path_criterion,
            self.joint,
        )

    def _adopt(self, problem: Problem, grid: Grid, outcomes: list[Outcome]) -> Fit:
        """The fitted attributes from all outcomes; returns the best fit with the states of its rows."""
        self.results_ = pd.DataFrame([o.row for o in outcomes], columns=columns())
        self.paths_ = self._paths(problem, outcomes)
        self.best_index_ = best_index(outcomes, grid)
        best = outcomes[self.best_index_]
        assert best.fit is not None
        self.best_score_ = best.row[self.criterion]
        self.best_params_ = {"n_clusters": best.row["n_clusters"], "model": best.row["model"]}
        if isinstance(self.estimator, SparseFisherEM):
            self.best_params_ |= {"sparsity": best.row["sparsity"], "axis_weights": best.row["axis_weights"]}
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(self.best_estimator_, name, getattr(self, name))
        restored = restore(problem, best.fit)
        adopt(self.best_estimator_, problem, Chosen(restored, [], resolve(best.row["model"]), []))
        return restored

    def _paths(self, problem: Problem, outcomes: list[Outcome]) -> dict[tuple[int, str, str], pd.DataFrame]:
        """Size of each variable's sparse loadings (rows: shares, columns: variables) along every path."""
        names = getattr(self, "feature_names_in_", np.arange(problem.p))
        tables: dict[tuple[int, str, str], dict[float, np.ndarray]] = {}
        for o in outcomes:
            if o.row["method"] != DENSE and o.fit is not None:
                axes = o.fit.solution.axes
                loadings = FStep.loadings(axes, problem.scatter) if axes.sparse is None else axes.sparse
                key = (o.row["n_clusters"], o.row["model"], o.row["axis_weights"])
                tables.setdefault(key, {})[o.row["sparsity"]] = np.linalg.norm(loadings, axis=1)
        return {key: pd.DataFrame.from_dict(t, orient="index", columns=names) for key, t in tables.items()}

    # -- parameters ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if not isinstance(self.estimator, FisherEM):
            raise TypeError(f"estimator must be a FisherEM or SparseFisherEM; got {type(self.estimator).__name__}")
        check_parameters(self.estimator)
        if not isinstance(self.estimator.init, str):
            raise ValueError("init must be a name in a search: given labels fit one number of groups only")
        if not self._clusters():
            raise ValueError("n_clusters is empty: give at least one number of groups")
        for K in self._clusters():
            check_number("n_clusters", K, integer=True, least=2)
        if not self._models():
            raise ValueError("models is empty: give at least one model, or 'all'")
        check_one_of("criterion", self.criterion, CRITERIA)
        check_one_of("path_criterion", self.path_criterion, ("selection", "penalised"))
        for name in self._axis_weights():
            check_one_of("axis_weights", name, AXIS_WEIGHTS)
        if isinstance(self.sparsities, str):
            check_one_of("sparsities", self.sparsities, ("auto",))
        elif not len(list(self.sparsities)):
            raise ValueError("sparsities is empty: give at least one share in (0, 1], or 'auto'")
        else:
            for share in self.sparsities:
                check_sparsity(share, 1)
        for name in ("n_init", "n_jobs"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), integer=True, **({"least": 1} if name == "n_init" else {}))
        if not (isinstance(self.progress, bool) or self.progress == "auto"):
            raise ValueError(f"progress must be True, False or 'auto'; got {self.progress!r}")

    def _clusters(self) -> list[int]:
        return [int(self.n_clusters)] if isinstance(self.n_clusters, (int, np.integer)) else list(self.n_clusters)

    def _models(self) -> list[str]:
        names = [self.models] if isinstance(self.models, str) else list(self.models)
        return list(MODELS) if names == ["all"] else list(dict.fromkeys(resolve(n).name for n in names))

    def _axis_weights(self) -> list[str]:
        if not isinstance(self.estimator, SparseFisherEM):
            return []
        if self.axis_weights is None:
            return [self.estimator.axis_weights]
        return [self.axis_weights] if isinstance(self.axis_weights, str) else list(self.axis_weights)

    def _sparse_settings(self, axis_weights: str) -> SparseSettings:
        e = self.estimator
        return SparseSettings(e.method, np.ones(1), e.start, bool(e.scale_penalty), axis_weights)

    def _specifications(self, n: int, p: int) -> dict[tuple[int, str], Specification]:
        """The dense specification of every K x model."""
        specs = {}
        for K in dict.fromkeys(self._clusters()):
            for name in self._models():
                one = clone(self.estimator).set_params(n_clusters=int(K), model=name)
                if self.n_init is not None:
                    one.set_params(n_init=self.n_init)
                if isinstance(one, SparseFisherEM):
                    one.set_params(sparsity=1.0)
                spec = specification(one, n, p)
                assert isinstance(spec.family, DLMFamily)
                specs[int(K), name] = replace(spec, family=spec.family.dense())
        return specs

    def _settings(self) -> str:
        """Everything but the grid that a fit depends on, for the checkpoints' mark."""
        fixed = {
            k: v
            for k, v in self.estimator.get_params().items()
            if k not in ("n_clusters", "model", "sparsity", "n_jobs", "memory")
        }
        return repr(sorted(fixed.items())) + repr(self.n_init)

    # -- using the best fit ----------------------------------------------------------------------------------------

    def __getattr__(self, name):
        """Fitted attributes of the best estimator: labels_, support_, loadings_, ..."""
        if name.endswith("_") and not name.startswith("_") and "best_estimator_" in self.__dict__:
            return getattr(self.__dict__["best_estimator_"], name)
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
        return self._best()._n_features_out

    def score_samples(self, X):
        """log f(y) of each row, by the best fit."""
        return self._best().score_samples(X)


def search_rows(search: ModelSearch, table, weights=None, prior=None) -> tuple[Problem, Fit]:
    """Search on checked rows (n x p), an array or anything `ArrayRows` reads, with a prior over the rows.

    Sets the search's fitted attributes; returns the prepared rows and the best fit with the states of its rows.
    """
    for K in search._clusters():
        check_clusters(K, table, weights)
    grid = search._grid(*table.shape)
    problem = prepare(table, weights, ridge=search.estimator.ridge, n_jobs=search.n_jobs, prior=prior)
    with problem.rows.closed_on_error():
        warn_of_constant_columns(problem, getattr(search, "feature_names_in_", None))
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
        return problem, search._adopt(problem, grid, in_order(outcomes))
