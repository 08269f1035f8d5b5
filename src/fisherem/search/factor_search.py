"""The search among mixtures of factor models: number of groups, structure and number of factors by a criterion."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .._utils.parallel import run_tasks
from ..core.data.problem import Problem
from ..core.engine.checkpoints import Store
from ..core.engine.loop import Fit, restore
from ..core.engine.multistart import FitError, Specification
from ..estimators.factor_fitting import FittedFactors, adopt_factors, fit_factors, prepared_rows
from ..estimators.fitting import ScaledRows, check_parameters, feature_names, specification
from ..model.criteria import CRITERIA
from ..model.factors import STRUCTURES, Structure, resolve_structure
from ..tables.checking import check_list
from .grid import Outcome
from .grids import SearchGrid

__all__ = ["FactorGrid"]

Cell = tuple[int, Structure, Any]  # number of groups, structure, number of factors


def _structures(search) -> list[Structure]:
    """The structures of `models`; the estimator's own for None."""
    if search.models is None:
        return [resolve_structure(search.estimator.structure)]
    if isinstance(search.models, str) and search.models == "all":
        return list(STRUCTURES.values())
    names = [search.models] if isinstance(search.models, str) else check_list("models", search.models)
    if not names:
        raise ValueError("models is empty: give at least one structure, or 'all'")
    try:
        return list(dict.fromkeys(map(resolve_structure, names)))
    except ValueError as error:
        raise ValueError(f"models must be structures for a FactorMixture: {error}") from None


def _numbers(search) -> list[Any]:
    """The numbers of factors; the estimator's own for None."""
    given = search.estimator.n_factors if search.n_factors is None else search.n_factors
    if isinstance(given, (int, np.integer, str)) and not isinstance(given, bool):
        return [given]
    if not (numbers := check_list("n_factors", given)):
        raise ValueError("n_factors is empty: give at least one")
    return numbers


class FactorGrid(SearchGrid):
    """Fits of FactorMixture for every K x structure x number of factors."""

    def __init__(self, search, n: int, p: int):
        super().__init__(search, n, p)
        cells = [
            {"n_clusters": int(K), "structure": structure.name, "n_factors": q}
            for K in dict.fromkeys(search._clusters())
            for structure in _structures(search)
            for q in dict.fromkeys(_numbers(search))
        ]
        self.specs = [(cell, specification(self.estimator(cell), n, p)) for cell in cells]

    @staticmethod
    def check(search) -> None:
        """Check the structures with each number of factors."""
        for structure in _structures(search):
            for q in _numbers(search):
                check_parameters(clone(search.estimator).set_params(structure=structure.name, n_factors=q))

    def prepare(self, table, weights, prior) -> ScaledRows:
        """Scale and centre the rows, with a warning about constant columns."""
        search = self.search
        names = feature_names(search)
        return ScaledRows(*prepared_rows(table, weights, search.estimator.scale, search.n_jobs, names))

    def outcomes(self, data: ScaledRows, store: Store, jobs: int, bar) -> Iterator[Outcome]:
        """Every cell; large K come first, as they take longest."""
        tasks = sorted(self.specs, key=lambda task: -task[0]["n_clusters"])
        bar.add(len(tasks))
        best = -np.inf
        for _, outcome in run_tasks(partial(_fit_cell, data, store), tasks, jobs):
            yield outcome
            best = np.fmax(best, outcome.row[self.criterion])
            bar.step(f"best {self.criterion} {best:.1f}")

    def sorted(self, outcomes: list[Outcome]) -> list[Outcome]:
        """By K, structure and number of factors, in the order in which they were given."""
        cells = [cell for cell, _ in self.specs]
        return sorted(outcomes, key=lambda outcome: cells.index({name: outcome.row[name] for name in cells[0]}))

    def best_index(self, outcomes: list[Outcome]) -> int:
        """The fit with the largest criterion."""
        done = [i for i, outcome in enumerate(outcomes) if outcome.fit is not None]
        return max(done, key=lambda i: np.nan_to_num(outcomes[i].row[self.criterion], nan=-np.inf))

    def estimator(self, params: dict):
        """The search's estimator with these parameters."""
        starts = {} if self.search.n_init is None else {"n_init": self.search.n_init}
        return clone(self.search.estimator).set_params(**params, **starts)

    def adopt(self, estimator, data: ScaledRows, best: Outcome) -> tuple[Problem, Fit]:
        """Set the fitted attributes of the best estimator."""
        assert best.fit is not None
        family = specification(estimator, data.problem.rows.n, data.problem.p).family
        own = family.prepared(data.problem)
        fit = restore(own, best.fit)
        adopt_factors(estimator, FittedFactors(own, data.problem, family.structure, fit, [], data.scales))
        return own, fit


def _fit_cell(data: ScaledRows, store: Store, cell: dict, spec: Specification) -> Outcome:
    """Fit a cell, or take the fit from its checkpoint."""
    key = f"factors {' '.join(map(str, cell.values()))}"
    if (kept := store.get(key, spec.family)) is not None:
        return Outcome(kept[1], kept[0])
    row = cell | dict.fromkeys(("log_likelihood", "n_parameters", *CRITERIA), np.nan)
    begin, fit = time.perf_counter(), None
    try:
        fitted = fit_factors(data.problem, data.scales, spec, spec.family.structure)
    except FitError as error:
        row |= {"converged": False, "n_iter": 0, "seconds": time.perf_counter() - begin, "stop_reason": str(error)}
    else:
        fit = fitted.fit
        row |= {"log_likelihood": fitted.log_likelihood, "n_parameters": fitted.n_parameters}
        row |= fitted.criteria() | {"converged": fit.converged, "n_iter": fit.n_iter}
        row |= {"seconds": time.perf_counter() - begin, "stop_reason": str(fit.stop)}
    store.put(key, fit, row)
    return Outcome.of(row, fit)
