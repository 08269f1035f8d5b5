"""The search among mixtures of factor models: number of groups, structure and number of factors by a criterion."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from .._utils.parallel import run_tasks
from .._utils.progress import progress_bar
from ..core.data.problem import Problem
from ..core.engine.checkpoints import Store, fingerprint
from ..core.engine.loop import Fit, restore
from ..core.engine.multistart import FitError, Specification
from ..estimators import FactorMixture
from ..estimators.factor_fitting import FittedFactors, adopt_factors, fit_factors, prepared_rows
from ..estimators.fitting import check_parameters, specification, warn_of_empty_groups
from ..model.criteria import CRITERIA
from ..model.dlm import AUTO
from ..model.factors import STRUCTURES, Structure, resolve_structure
from ..rows.threads import n_threads
from ..tables.checking import MOST_REPEATS, check_clusters, check_flag, check_list, check_number, check_one_of
from ..tables.parameters import check_path

__all__ = ["check_factor_search", "is_factor_search", "search_factors"]

# What chooses by default: the likelihood of these models has no other judge.
_CRITERION = "bic"
_CLUSTERS = range(2, 9)

Cell = tuple[int, Structure, Any]  # number of groups, structure, number of factors


def is_factor_search(search) -> bool:
    """Whether a search is one among mixtures of factor models."""
    return isinstance(search.estimator, FactorMixture)


def _criterion(search) -> str:
    return _CRITERION if search.criterion == AUTO else search.criterion


def _clusters(search) -> list[int]:
    if isinstance(search.n_clusters, str):
        return list(_CLUSTERS)
    single = isinstance(search.n_clusters, (int, np.integer)) and not isinstance(search.n_clusters, bool)
    return [int(search.n_clusters)] if single else check_list("n_clusters", search.n_clusters)


def _structures(search) -> list[Structure]:
    """The structures of `models`; None: the estimator's own."""
    if search.models is None:
        return [resolve_structure(search.estimator.structure)]
    if isinstance(search.models, str) and search.models == "all":
        return list(STRUCTURES.values())
    names = [search.models] if isinstance(search.models, str) else check_list("models", search.models)
    try:
        return list(dict.fromkeys(map(resolve_structure, names)))
    except ValueError as error:
        raise ValueError(f"models must be structures for a FactorMixture: {error}") from None


def _numbers(search) -> list[Any]:
    """The numbers of factors; None: the estimator's own."""
    if search.n_factors is None:
        return [search.estimator.n_factors]
    single = isinstance(search.n_factors, (int, np.integer, str)) and not isinstance(search.n_factors, bool)
    return [search.n_factors] if single else check_list("n_factors", search.n_factors)


def check_factor_search(search) -> None:
    """One clear error for the first parameter that is not as it should be."""
    check_parameters(search.estimator)
    if not isinstance(search.estimator.init, str):
        raise ValueError("init must be a name in a search: given labels fit one number of groups only")
    check_one_of("criterion", search.criterion, (AUTO, *CRITERIA))
    if isinstance(search.n_clusters, str):
        check_one_of("n_clusters", search.n_clusters, (AUTO,))
    for name, values in (
        ("n_clusters", _clusters(search)),
        ("models", _structures(search)),
        ("n_factors", _numbers(search)),
    ):
        if not values:
            raise ValueError(f"{name} is empty: give at least one")
    for K in _clusters(search):
        check_number("n_clusters", K, integer=True, least=1)
    for structure in _structures(search):
        for q in _numbers(search):
            check_parameters(clone(search.estimator).set_params(structure=structure.name, n_factors=q))
    if search.n_init is not None:
        check_number("n_init", search.n_init, integer=True, least=1, most=MOST_REPEATS)
    if search.n_jobs is not None:
        check_number("n_jobs", search.n_jobs, integer=True)
    check_flag("progress", search.progress, AUTO)
    if search.checkpoint is not None:
        check_path("checkpoint", search.checkpoint)


def _estimator(search, cell: Cell) -> FactorMixture:
    K, structure, q = cell
    one = clone(search.estimator).set_params(n_clusters=int(K), structure=structure.name, n_factors=q)
    return one if search.n_init is None else one.set_params(n_init=search.n_init)


def _settings(search) -> str:
    """Everything but the grid that a fit depends on, for the checkpoints' mark."""
    given = ("n_clusters", "structure", "n_factors", "n_jobs", "memory")
    fixed = {name: value for name, value in search.estimator.get_params().items() if name not in given}
    return repr(sorted(fixed.items())) + repr(search.n_init)


def search_factors(search, table, weights=None) -> tuple[Problem, Fit]:
    """Fit every K x structure x number of factors to checked rows; sets the search's fitted attributes.

    Returns the prepared rows and the best fit with the states of its rows.
    """
    search.criterion_ = _criterion(search)
    cells = [
        (int(K), structure, q)
        for K in dict.fromkeys(_clusters(search))
        for structure in _structures(search)
        for q in dict.fromkeys(_numbers(search))
    ]
    for K, _, _ in cells:
        check_clusters(K, table, weights)
    specs = {cell: specification(_estimator(search, cell), *table.shape) for cell in cells}
    names = getattr(search, "feature_names_in_", None)
    problem, scales = prepared_rows(table, weights, search.estimator.scale, search.n_jobs, names)
    with problem.rows.closed_on_error():
        store = Store(search.checkpoint, fingerprint(problem, _settings(search)) if search.checkpoint else "")
        found = _outcomes(search, problem, scales, specs, store)
        return _adopt(search, problem, scales, specs, found)


def _outcomes(search, problem: Problem, scales, specs: dict[Cell, Specification], store: Store) -> dict:
    """(row, fit or None) of every cell that was done."""
    jobs = n_threads(search.n_jobs) if problem.rows.portable else 1
    apart = problem
    if jobs > 1:
        rows = copy.copy(problem.rows)
        rows.n_threads = 1
        apart = replace(problem, rows=rows, given=rows if problem.given is problem.rows else problem.given)
    cells = sorted(specs, key=lambda cell: -cell[0])  # the longest work goes first
    found: dict[Cell, tuple[dict, Fit | None]] = {}
    search.interrupted_ = False
    with progress_bar("searching", search.progress) as bar:
        bar.add(len(cells))
        try:
            tasks = [(specs[cell], cell) for cell in cells]
            for i, outcome in run_tasks(partial(_cell, apart, scales, store), tasks, jobs):
                found[cells[i]] = outcome
                best = max(row[search.criterion_] for row, _ in found.values())
                bar.step(f"best {search.criterion_} {best:.1f}")
        except KeyboardInterrupt:
            if not found:
                raise
            search.interrupted_ = True
            warnings.warn(f"interrupted: the results are those of the {len(found)} fits that were done", stacklevel=3)
    return {cell: found[cell] for cell in specs if cell in found}


def _cell(problem: Problem, scales, store: Store, spec: Specification, cell: Cell) -> tuple[dict, Fit | None]:
    """One fit, or what a checkpoint kept of it."""
    K, structure, q = cell
    key = f"factors {K} {structure.name} {q}"
    if (kept := store.get(key, spec.family)) is not None:
        return kept[1], kept[0]
    row = {
        "n_clusters": K,
        "structure": structure.name,
        "n_factors": q,
        "log_likelihood": np.nan,
        "n_parameters": np.nan,
    }
    row |= dict.fromkeys(CRITERIA, np.nan) | {"converged": False, "n_iter": 0}
    begin = time.perf_counter()
    try:
        fitted = fit_factors(problem, scales, spec, structure)
    except FitError as error:
        row |= {"seconds": time.perf_counter() - begin, "stop_reason": str(error)}
        store.put(key, None, row)
        return row, None
    fit = fitted.fit
    labels = fitted.problem.rows.gather(fit.states, "labels")
    row |= {"log_likelihood": fitted.log_likelihood, "n_parameters": fitted.n_parameters, **fitted.criteria(labels)}
    row |= {"converged": fit.converged, "n_iter": fit.n_iter}
    row |= {"seconds": time.perf_counter() - begin, "stop_reason": str(fit.stop)}
    store.put(key, fit, row)
    return row, replace(fit, states=[])


def _adopt(search, problem: Problem, scales, specs: dict[Cell, Specification], found: dict) -> tuple[Problem, Fit]:
    """The fitted attributes from all outcomes."""
    search.results_ = pd.DataFrame([row for row, _ in found.values()])
    search.paths_ = {}
    done = [i for i, (_, fit) in enumerate(found.values()) if fit is not None]
    if not done:
        reasons = "; ".join(sorted(set(search.results_["stop_reason"])))
        raise FitError(f"all {len(found)} fits failed: {reasons}")
    values = search.results_[search.criterion_]
    search.best_index_ = max(done, key=lambda i: -np.inf if np.isnan(values[i]) else values[i])
    cell = list(found)[search.best_index_]
    fit = found[cell][1]
    search.best_params_ = {"n_clusters": cell[0], "structure": cell[1].name, "n_factors": cell[2]}
    search.best_score_ = float(values[search.best_index_])
    best = search.best_estimator_ = _estimator(search, cell)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(search, name):
            setattr(best, name, getattr(search, name))
    own = specs[cell].family.prepared(problem)
    fit = restore(own, fit)
    adopt_factors(best, FittedFactors(own, problem, cell[1], fit, [], scales))
    warn_of_empty_groups(best)
    return own, fit
