"""The search among DLM models: every K x model is fitted, then sparsity paths are followed from the best fits."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone

from .._utils.parallel import run_tasks
from ..core.data.problem import Problem
from ..core.dlm.f_step.step import AXIS_WEIGHTS, FStep
from ..core.dlm.family import SparseSettings
from ..core.engine.checkpoints import Store
from ..core.engine.concurrent_runs import shares_of
from ..core.engine.loop import Fit, restore
from ..core.engine.multistart import Specification, starting_points
from ..estimators.fitting import (
    Fitted,
    ScaledRows,
    adopt,
    feature_names,
    scaled_rows,
    specification,
    warn_of_constant_columns,
)  # fmt: skip
from ..model.dlm import AUTO, DLM, MODELS, resolve
from ..policy.decisions import Chosen
from ..policy.scaling import warn_of_large_columns
from ..policy.thresholds import THRESHOLDS
from ..tables.checking import check_list, check_one_of, check_sparsity
from .grid import DENSE, SELECTION, Outcome, columns, dense_cells, path_cell
from .grids import SearchGrid

__all__ = ["PATH_CRITERIA", "DLMGrid", "still_open"]

Cell = tuple[int, str]  # number of groups, name of the model

# The values of `path_criterion`, each with the prefix of the column of the results that chooses the sparsity.
PATH_CRITERIA = {"selection": SELECTION, "penalised": ""}
# Tasks per worker process, at least: the running time depends on the number of groups.
_TASKS_PER_JOB = 2


def still_open(values: dict[Cell, float]) -> list[Cell]:
    """The cells whose criterion is near enough to the best for the selection of variables to decide between them."""
    return sorted(cell for cell, value in values.items() if value >= max(values.values()) - THRESHOLDS.undecided)


def model_names(models) -> list[str]:
    """The names of the models to compare, from the parameter `models` of a search."""
    if models is not None and not isinstance(models, str):
        models = check_list("models", models)
        if not all(isinstance(name, (str, DLM)) for name in models):
            raise ValueError(f"models must be 'all' or names of models; got {models!r}")
        if not models:
            raise ValueError("models is empty: give at least one model, or 'all'")
    names = ["all"] if models is None else [models] if isinstance(models, str) else models
    return list(MODELS) if names == ["all"] else list(dict.fromkeys(resolve(name).name for name in names))


def _axis_weights(search) -> list[str]:
    """The weightings of the axes that were asked for; none for axis_weights=None."""
    if search.axis_weights is None:
        return []
    given = search.axis_weights
    names = [given] if isinstance(given, str) else check_list("axis_weights", given)
    if not names:
        raise ValueError("axis_weights is empty: give 'equal', 'relevance', both, or None")
    return names


class DLMGrid(SearchGrid):
    """Fits of FisherEM for every K x model, and sparsity paths of SparseFisherEM."""

    has_verdict, least_groups = True, 2

    def __init__(self, search, n: int, p: int):
        super().__init__(search, n, p)
        # the paper's models have no common factors in their noise: a search fits them without, unless told how many
        automatic = isinstance(search.estimator.noise_factors, str)
        self.without_factors = {"noise_factors": 0} if automatic else {}
        self.path_column = PATH_CRITERIA[search.path_criterion] + self.criterion
        self.sparse: list[SparseSettings] = []  # one per weighting of the axes; none for FisherEM
        dense: dict[str, float] = dict(self.without_factors)
        if search.n_init is not None:
            dense["n_init"] = search.n_init
        e = search.estimator
        if "axis_weights" in e._compared:
            dense["sparsity"] = 1.0
            for weights in _axis_weights(search) or [e.axis_weights]:
                self.sparse.append(e._sparse_settings(np.ones(1), weights))
        self.specs: dict[Cell, Specification] = {}  # the dense specification of every K x model
        for K in dict.fromkeys(search._clusters()):
            for name in model_names(search.models):
                spec = specification(clone(e).set_params(n_clusters=int(K), model=name, **dense), n, p)
                self.specs[int(K), name] = replace(spec, family=spec.family.dense())

    @staticmethod
    def check(search) -> None:
        """Check what only this grid has: models, path criterion, weightings of the axes and sparsities."""
        if search.n_factors is not None:
            raise ValueError("n_factors is for a FactorMixture: FisherEM's noise takes noise_factors")
        model_names(search.models)
        check_one_of("path_criterion", search.path_criterion, PATH_CRITERIA)
        for name in _axis_weights(search):
            check_one_of("axis_weights", name, AXIS_WEIGHTS)
        if isinstance(search.sparsities, str):
            check_one_of("sparsities", search.sparsities, (AUTO,))
        elif not (shares := check_list("sparsities", search.sparsities)):
            raise ValueError("sparsities is empty: give at least one share in (0, 1], or 'auto'")
        else:
            for share in shares:
                check_sparsity(share, 1, "sparsities")

    def prepare(self, table, weights, prior) -> ScaledRows:
        """Scale and centre the rows, with a warning about constant columns and about columns in large units."""
        estimator = copy.copy(self.search.estimator)
        if hasattr(self.search, "encoding_"):
            estimator.encoding_ = self.search.encoding_
        problem, scales = scaled_rows(estimator, table, weights, self.search.n_jobs, prior)
        with problem.rows.closed_on_error():
            names = feature_names(self.search)
            warn_of_constant_columns(problem, names)
            if scales is None:
                warn_of_large_columns(problem, names)
        return ScaledRows(problem, scales)

    def outcomes(self, data: ScaledRows, store: Store, jobs: int, bar) -> Iterator[Outcome]:
        """The dense fits of all cells, then the paths of the best ones."""
        dense: dict[Cell, Outcome] = {}
        bar.add(len(self.specs))
        for cell, outcome in self._dense_outcomes(data, store, jobs):
            dense[cell] = outcome
            yield outcome
            bar.step(self._best_note(dense))
        paths = [(cell, sparse) for cell in self._open_cells(dense) for sparse in self.sparse]
        bar.add(len(paths))
        tasks = [
            (replace(spec, family=replace(spec.family, sparse=sparse)), dense[cell].fit, self.search.sparsities)
            for cell, sparse in paths
            for spec in [self.specs[cell]]
        ]
        for _, outcomes in run_tasks(partial(path_cell, data, store), tasks, jobs):
            yield from outcomes
            bar.step(self._best_note(dense))

    def _dense_outcomes(self, data: ScaledRows, store: Store, jobs: int) -> Iterator[tuple[Cell, Outcome]]:
        """The models of one K share their starts; large K come first, as they take longest."""
        clusters = sorted({K for K, _ in self.specs}, reverse=True)
        one_of = [next(s for (k, _), s in self.specs.items() if k == K) for K in clusters]
        found = run_tasks(partial(starting_points, data.problem), [(spec,) for spec in one_of], jobs)
        starts = {clusters[i]: points for i, points in found}
        share = jobs / len(clusters)
        cells = [some for K in clusters for some in self._parts(data.problem, K, len(starts[K]), share)]
        tasks = [([self.specs[cell] for cell in some], starts[some[0][0]]) for some in cells]
        for i, outcomes in run_tasks(partial(dense_cells, data, store), tasks, jobs):
            yield from zip(cells[i], outcomes, strict=True)

    def _parts(self, problem: Problem, K: int, n_starts: int, jobs: float) -> list[list[Cell]]:
        """The models with K groups, in parts that share every pass over the rows.

        A part is as large as memory allows, and smaller where there are many `jobs` (per number of groups).
        """
        own = [cell for cell in self.specs if cell[0] == K]
        at_once = shares_of(problem, K, len(own) * n_starts) // n_starts
        parts = math.ceil(_TASKS_PER_JOB * jobs) if problem.rows.portable else 1
        size = max(1, min(at_once, math.ceil(len(own) / parts)))
        return [own[i : i + size] for i in range(0, len(own), size)]

    def _open_cells(self, dense: dict[Cell, Outcome]) -> list[Cell]:
        """The cells whose sparsity path is followed: the best model of each K that the criterion cannot rule out."""
        fitted = [cell for cell, outcome in dense.items() if outcome.fit is not None]
        if self.search.joint or not fitted or not self.sparse:
            return fitted
        rank = {cell: dense[cell].rank(self.criterion) for cell in fitted}
        best_of_each = [max((c for c in fitted if c[0] == K), key=rank.__getitem__) for K in {c[0] for c in fitted}]
        value = {cell: dense[cell].row[self.criterion] for cell in best_of_each}
        return still_open(value)

    def _best_note(self, dense: dict[Cell, Outcome]) -> str:
        row = max(dense.values(), key=lambda outcome: outcome.rank(self.criterion)).row
        return f"best {self.criterion} {row[self.criterion]:.1f} (K={row['n_clusters']}, {row['model']})"

    def sorted(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Dense fits first, by K and model; then the paths, densest first."""
        names = list(MODELS)

        def place(outcome: Outcome) -> tuple:
            row = outcome.row
            cell = (row["n_clusters"], names.index(row["model"]))
            return (row["method"] != DENSE, *cell, row["axis_weights"], -row["sparsity"])

        ordered = sorted(outcomes, key=place)
        for outcome in ordered:
            outcome.row = {name: outcome.row[name] for name in columns()}
        return ordered

    def best_index(self, outcomes: list[Outcome]) -> int:
        """The best fit along the paths, or the best dense fit where there are none."""
        path = [i for i, o in enumerate(outcomes) if o.row["method"] != DENSE and np.isfinite(o.row["log_likelihood"])]
        column = self.path_column if path else self.criterion
        return max(path or range(len(outcomes)), key=lambda i: outcomes[i].rank(column))

    def estimator(self, params: dict):
        """The search's estimator with the chosen parameters."""
        return clone(self.search.estimator).set_params(**params, **self.without_factors)

    def adopt(self, estimator, data: ScaledRows, best: Outcome) -> tuple[Problem, Fit]:
        """Set the fitted attributes of the best estimator."""
        assert best.fit is not None
        fit = restore(data.problem, best.fit)
        adopt(estimator, Fitted(data.problem, Chosen(fit, [], resolve(best.row["model"]), []), data.scales))
        return data.problem, fit

    def paths(self, problem: Problem, outcomes: list[Outcome]) -> dict[tuple[int, str, str], pd.DataFrame]:
        """The norm of each variable's loadings (rows: shares, columns: variables) along every path."""
        known = feature_names(self.search)
        names = np.arange(problem.p) if known is None else known
        tables: dict[tuple[int, str, str], dict[float, np.ndarray]] = {}
        for o in outcomes:
            if o.row["method"] != DENSE and o.fit is not None:
                axes = o.fit.solution.axes
                loadings = FStep.loadings(axes, problem.scatter)  # orthonormal, as in `loadings_`
                if axes.sparse is not None:
                    loadings = np.where(axes.sparse.any(axis=1)[:, None], loadings, 0.0)
                key = (o.row["n_clusters"], o.row["model"], o.row["axis_weights"])
                tables.setdefault(key, {})[o.row["sparsity"]] = np.linalg.norm(loadings, axis=1)
        return {key: pd.DataFrame.from_dict(t, orient="index", columns=names) for key, t in tables.items()}
