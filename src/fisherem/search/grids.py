"""What all searches by a criterion share: run a grid of fits, write the results and adopt the best fit.

`SearchGrid` is the interface of a grid; `grid_runner.DLMGrid` and `factor_search.FactorGrid` implement it.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from .._utils.progress import progress_bar
from ..core.data.problem import Problem
from ..core.engine.checkpoints import Store, fingerprint
from ..core.engine.loop import Fit
from ..core.engine.multistart import FitError
from ..estimators.fitting import ScaledRows, warn_of_empty_groups
from ..rows.base import n_threads
from .grid import Outcome

__all__ = ["SearchGrid", "search_grid"]


class SearchGrid(ABC):
    """The fits that a search compares by a criterion, for one kind of mixture and a table of n rows and p columns."""

    has_verdict = False  # whether the number of groups can also be chosen by a verdict
    least_groups = 1  # the smallest number of groups that a criterion can be asked about

    def __init__(self, search, n: int, p: int):
        self.search, self.criterion = search, search.criterion_

    @staticmethod
    @abstractmethod
    def check(search) -> None:
        """Raise a ValueError for the first parameter of the search that is invalid for this kind of grid."""

    @abstractmethod
    def prepare(self, table, weights, prior) -> ScaledRows:
        """Scale and centre the rows of a checked table."""

    @abstractmethod
    def outcomes(self, data: ScaledRows, store: Store, jobs: int, bar) -> Iterator[Outcome]:
        """The outcome of every fit, in the order in which they finish."""

    @abstractmethod
    def sorted(self, outcomes: list[Outcome]) -> list[Outcome]:
        """The outcomes in the order of the rows of `results_`."""

    @abstractmethod
    def best_index(self, outcomes: list[Outcome]) -> int:
        """The index of the best outcome."""

    @abstractmethod
    def estimator(self, params: dict) -> Any:
        """The estimator for the chosen parameters, before it is fitted."""

    @abstractmethod
    def adopt(self, estimator, data: ScaledRows, best: Outcome) -> tuple[Problem, Fit]:
        """Set the fitted attributes of the best estimator; returns the prepared rows and the fit with its state."""

    def paths(self, problem: Problem, outcomes: list[Outcome]) -> dict:
        """The sparsity paths, as in `ModelSearch.paths_`."""
        return {}


def search_grid(search, grid: SearchGrid, table, weights, prior) -> tuple[Problem, Fit]:
    """Fit a grid to checked rows (n x p) and set the fitted attributes of the search.

    Returns the prepared rows and the best fit with its per-row state.
    """
    data = grid.prepare(table, weights, prior)
    problem = data.problem
    with problem.rows.closed_on_error():
        store = Store(search.checkpoint, fingerprint(problem, search._settings()) if search.checkpoint else "")
        outcomes = grid.sorted(_collected(search, grid, data, store))
        search.results_ = pd.DataFrame([outcome.row for outcome in outcomes])
        search.paths_ = grid.paths(problem, outcomes)
        search.best_index_ = grid.best_index(outcomes)
        best = outcomes[search.best_index_]
        search.best_params_ = {name: best.row[name] for name in ("n_clusters", *search.estimator._compared)}
        search.best_score_ = float(best.row[grid.criterion])
        search.best_estimator_ = grid.estimator(search.best_params_)
        for name in ("n_features_in_", "feature_names_in_", "encoding_", "count_total_"):
            if hasattr(search, name):
                setattr(search.best_estimator_, name, getattr(search, name))
        found = grid.adopt(search.best_estimator_, data, best)
        warn_of_empty_groups(search.best_estimator_)
        return found


def _collected(search, grid: SearchGrid, data: ScaledRows, store: Store) -> list[Outcome]:
    """All outcomes, or those that were finished when the search was interrupted."""
    # Rows in a file or on a cluster stay there, and each fit in turn uses all threads or workers. Rows in memory go to
    # worker processes, where parallelism is over fits.
    jobs = n_threads(search.n_jobs) if data.problem.rows.portable else 1
    apart = data if jobs == 1 else replace(data, problem=_single_threaded(data.problem))
    outcomes: list[Outcome] = []
    search.interrupted_ = False
    with progress_bar("searching", search.progress) as bar:
        try:
            for outcome in grid.outcomes(apart, store, jobs, bar):
                outcomes.append(outcome)
        except KeyboardInterrupt:
            if not outcomes:
                raise
            search.interrupted_ = True
            done = f"the results are those of the {len(outcomes)} fits that were done"
            warnings.warn(f"interrupted: {done}", stacklevel=5)
    if all(outcome.fit is None for outcome in outcomes):
        reasons = "; ".join(sorted({outcome.row["stop_reason"] for outcome in outcomes}))
        raise FitError(f"all {len(outcomes)} fits failed: {reasons}")
    return outcomes


def _single_threaded(problem: Problem) -> Problem:
    rows = copy.copy(problem.rows)
    rows.n_threads = 1
    return replace(problem, rows=rows, given=rows if problem.given is problem.rows else problem.given)
