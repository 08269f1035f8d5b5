"""ModelSearch: the number of groups, the model and the sparsity by a criterion."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import partial

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

from .._utils.parallel import run_tasks
from .._utils.progress import progress_bar
from .._utils.public import public
from ..em.f_step.step import AXIS_WEIGHTS, FStep
from ..em.loop import Fit, restore
from ..em.multistart import FitError, Specification, starting_points
from ..em.problem import Problem, prepare
from ..estimators import FisherEM, SparseFisherEM
from ..model.criteria import CRITERIA
from ..model.dlm import MODELS, resolve
from ..rows.threads import n_threads
from ..tables.checking import check_clusters, check_number, check_one_of, check_sparsity, check_table, check_weights
from .checkpoints import Store, fingerprint
from .grid import COLUMNS, Outcome, dense_cell, path_cell

__all__ = ["ModelSearch"]

# Numbers of groups whose criterion lies within this of the best are not ruled out by the dense fits: the selection of
# variables, which removes the noise of the others, decides between them. Kass & Raftery (1995) call a difference of 5
# very strong; the dense criterion counts K d means where K p are used, so twice that is left open.
_UNDECIDED = 10.0


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
        self._fit_rows(table, weights)
        return self

    def _fit_rows(self, table, weights=None, prior=None) -> tuple[Problem, Fit]:
        """Search on checked rows, an array or anything `ArrayRows` reads, with a prior over the rows."""
        for K in self._clusters():
            check_clusters(K, table, weights)
        specs = self._specifications(*table.shape)
        problem = prepare(table, weights, ridge=self.estimator.ridge, n_jobs=self.n_jobs, prior=prior)
        with problem.rows.closed_on_error():
            return problem, self._search(problem, specs)

    def _search(self, problem: Problem, specs: dict[tuple[int, str], Specification]) -> Fit:
        self.estimator._warn_of_constant_columns(problem)
        store = Store(self.checkpoint, fingerprint(problem, self._settings()) if self.checkpoint else "")
        self._outcomes: list[Outcome] = []
        self.interrupted_ = False
        with progress_bar("searching", self.progress) as bar:
            try:
                self._run(problem, store, specs, bar)
            except KeyboardInterrupt:
                if not self._outcomes:
                    raise
                self.interrupted_ = True
                warnings.warn(
                    f"interrupted: the results are those of the {len(self._outcomes)} fits that were done", stacklevel=3
                )
        return self._conclude(problem)

    def _run(self, problem: Problem, store: Store, specs: dict[tuple[int, str], Specification], bar) -> None:
        # rows in a file or on a cluster stay there: each fit uses all threads or workers in turn
        jobs = n_threads(self.n_jobs) if problem.rows.portable else 1
        apart = problem if jobs == 1 else _single_threaded(problem)
        clusters = sorted({K for K, _ in specs}, reverse=True)  # the longest work first
        bar.add(len(specs))
        one_of = [next(s for (k, _), s in specs.items() if k == K) for K in clusters]
        starts = {}
        for i, found in run_tasks(partial(starting_points, apart), [(s,) for s in one_of], jobs):
            starts[clusters[i]] = found
        cells = sorted(specs, key=lambda cell: -cell[0])
        tasks = [(specs[cell], starts[cell[0]]) for cell in cells]
        dense: dict[tuple[int, str], Outcome] = {}
        for i, outcome in run_tasks(partial(dense_cell, apart, store), tasks, jobs):
            dense[cells[i]] = outcome
            self._outcomes.append(outcome)
            bar.step(self._best_note())
        if not isinstance(self.estimator, SparseFisherEM):
            return
        paths = [
            (replace(specs[cell], **self._sparse_part(w)), dense[cell].fit, self.sparsities)
            for cell in self._winners(dense)
            for w in self._axis_weights()
        ]
        bar.add(len(paths))
        for _, outcomes in run_tasks(partial(path_cell, apart, store), paths, jobs):
            self._outcomes.extend(outcomes)
            bar.step(self._best_note())

    def _winners(self, dense: dict[tuple[int, str], Outcome]) -> list[tuple[int, str]]:
        """Cells whose sparsity path is followed: the best model of each K that the criterion cannot rule out."""
        fitted = [cell for cell, outcome in dense.items() if outcome.fit is not None]
        if self.joint or not fitted:
            return fitted
        rank = {cell: self._rank(dense[cell].row, self.criterion) for cell in fitted}
        best_of_each = [max((c for c in fitted if c[0] == K), key=rank.__getitem__) for K in {c[0] for c in fitted}]
        least = max(dense[cell].row[self.criterion] for cell in best_of_each) - _UNDECIDED
        return sorted(cell for cell in best_of_each if dense[cell].row[self.criterion] >= least)

    def _conclude(self, problem: Problem) -> Fit:
        rows = sorted(
            self._outcomes,
            key=lambda o: (
                o.row["method"] != "dense", o.row["n_clusters"], list(MODELS).index(o.row["model"]),
                o.row["axis_weights"], -o.row["sparsity"],
            ),
        )  # fmt: skip
        self._outcomes = rows
        self.results_ = pd.DataFrame([o.row for o in rows], columns=list(COLUMNS))
        if all(o.fit is None for o in rows):
            reasons = "; ".join(sorted({o.row["stop_reason"] for o in rows}))
            raise FitError(f"all {len(rows)} fits failed: {reasons}")
        self.paths_ = self._paths(problem)
        self.best_index_ = self._best_index()
        best = rows[self.best_index_]
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
        self.best_estimator_._adopt(problem, restored, [], resolve(best.row["model"]))
        del self._outcomes
        return restored

    # -- which is best ---------------------------------------------------------------------------------------------

    @staticmethod
    def _rank(row: dict, column: str) -> tuple:
        """Larger is better; fits that lost a group only if there is nothing else; then fewer parameters."""
        value = row[column]
        good = np.isfinite(value)
        whole = not str(row["stop_reason"]).startswith("collapsed")
        return (good, good and whole, value if good else -np.inf, -row["n_parameters"] if good else 0)

    def _best_index(self) -> int:
        rows = [o.row for o in self._outcomes]
        path = [i for i, row in enumerate(rows) if row["method"] != "dense" and np.isfinite(row["log_likelihood"])]
        if not path:
            return max(range(len(rows)), key=lambda i: self._rank(rows[i], self.criterion))
        column = self.criterion if self.path_criterion == "penalised" else f"selection_{self.criterion}"
        return max(path, key=lambda i: self._rank(rows[i], column))

    def _paths(self, problem: Problem) -> dict[tuple[int, str, str], pd.DataFrame]:
        """Size of each variable's sparse loadings (rows: shares, columns: variables) along every path."""
        names = getattr(self, "feature_names_in_", np.arange(problem.p))
        tables: dict[tuple[int, str, str], dict[float, np.ndarray]] = {}
        for o in self._outcomes:
            if o.row["method"] != "dense" and o.fit is not None:
                axes = FStep.loadings(o.fit.axes, problem.scatter) if o.fit.axes.sparse is None else o.fit.axes.sparse
                key = (o.row["n_clusters"], o.row["model"], o.row["axis_weights"])
                tables.setdefault(key, {})[o.row["sparsity"]] = np.linalg.norm(axes, axis=1)
        return {key: pd.DataFrame.from_dict(t, orient="index", columns=names) for key, t in tables.items()}

    def _best_note(self) -> str:
        row = max((o.row for o in self._outcomes), key=lambda row: self._rank(row, self.criterion))
        return f"best {self.criterion} {row[self.criterion]:.1f} (K={row['n_clusters']}, {row['model']})"

    # -- parameters ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if not isinstance(self.estimator, FisherEM):
            raise TypeError(f"estimator must be a FisherEM or SparseFisherEM; got {type(self.estimator).__name__}")
        self.estimator._check_parameters()
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

    def _sparse_part(self, axis_weights: str) -> dict:
        e = self.estimator
        return {"method": e.method, "scale_penalty": bool(e.scale_penalty), "axis_weights": axis_weights}

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
                specs[int(K), name] = replace(one._specification(n, p), method=None, sparsity=None)
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


def _single_threaded(problem: Problem) -> Problem:
    """The same data for a worker: parallelism is over fits then."""
    rows = copy.copy(problem.rows)
    rows.n_threads = 1
    return replace(problem, rows=rows)
