"""The work of a search: from a prepared data set and a grid to outcomes, and which of them is best."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._utils.parallel import run_tasks
from ..core.data.problem import Problem
from ..core.dlm.family import SparseSettings
from ..core.engine.checkpoints import Store
from ..core.engine.concurrent_runs import shares_of
from ..core.engine.multistart import FitError, Specification, starting_points
from ..model.dlm import MODELS
from ..rows.threads import n_threads
from .grid import DENSE, Outcome, dense_cells, path_cell

__all__ = ["Grid", "best_index", "in_order", "outcomes_of"]

Cell = tuple[int, str]  # number of groups, name of the model

# Numbers of groups whose criterion lies within this of the best are not ruled out by the dense fits: the selection of
# variables, which removes the noise of the others, decides between them. Kass & Raftery (1995) call a difference of 5
# very strong; the dense criterion counts K d means where K p are used, so twice that is left open.
_UNDECIDED = 10.0
# Tasks for each worker process, at least: numbers of groups take times that differ.
_TASKS_PER_JOB = 2


@dataclass(frozen=True)
class Grid:
    """What is to be fitted, and by what it is judged."""

    specs: dict[Cell, Specification]  # the dense specification of every K x model
    sparse: list[SparseSettings]  # the sparsity paths of a cell, one per weighting of the axes; none for Fisher-EM
    sparsities: Any  # "auto" or shares
    criterion: str
    path_criterion: str
    joint: bool

    @property
    def path_column(self) -> str:
        """The column of the results that chooses along a path."""
        return self.criterion if self.path_criterion == "penalised" else f"selection_{self.criterion}"


def outcomes_of(problem: Problem, grid: Grid, store: Store, n_jobs: int | None, bar) -> Iterator[Outcome]:
    """The outcome of every fit, as they are finished: dense fits of all cells, then the paths of the winners."""
    # rows in a file or on a cluster stay there: each fit uses all threads or workers in turn
    jobs = n_threads(n_jobs) if problem.rows.portable else 1
    apart = problem if jobs == 1 else _single_threaded(problem)
    dense: dict[Cell, Outcome] = {}
    bar.add(len(grid.specs))
    for cell, outcome in _dense_outcomes(apart, grid, store, jobs):
        dense[cell] = outcome
        yield outcome
        bar.step(_best_note(grid, dense.values()))
    paths = [(cell, sparse) for cell in _winners(grid, dense) for sparse in grid.sparse]
    bar.add(len(paths))
    tasks = [(_sparse(grid.specs[cell], sparse), dense[cell].fit, grid.sparsities) for cell, sparse in paths]
    for _, outcomes in run_tasks(partial(path_cell, apart, store), tasks, jobs):
        yield from outcomes
        bar.step(_best_note(grid, dense.values()))


def _dense_outcomes(problem: Problem, grid: Grid, store: Store, jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    """Starts are shared by the models of one K; the longest work goes first."""
    clusters = sorted({K for K, _ in grid.specs}, reverse=True)
    one_of = [next(s for (k, _), s in grid.specs.items() if k == K) for K in clusters]
    found = run_tasks(partial(starting_points, problem), [(spec,) for spec in one_of], jobs)
    starts = {clusters[i]: points for i, points in found}
    cells = [some for K in clusters for some in _shared(problem, grid, K, len(starts[K]), jobs / len(clusters))]
    tasks = [([grid.specs[cell] for cell in some], starts[some[0][0]]) for some in cells]
    for i, outcomes in run_tasks(partial(dense_cells, problem, store), tasks, jobs):
        yield from zip(cells[i], outcomes, strict=True)


def _shared(problem: Problem, grid: Grid, K: int, n_starts: int, jobs: float) -> list[list[Cell]]:
    """The models of one number of groups, in parts that share every pass over the rows.

    There are as many of them as there is room for side by side, and fewer with many `jobs` (for each number of groups).
    """
    own = [cell for cell in grid.specs if cell[0] == K]
    at_once = shares_of(problem, K, len(own) * n_starts) // n_starts
    parts = math.ceil(_TASKS_PER_JOB * jobs) if problem.rows.portable else 1
    size = max(1, min(at_once, math.ceil(len(own) / parts)))
    return [own[i : i + size] for i in range(0, len(own), size)]


def _sparse(spec: Specification, sparse: SparseSettings) -> Specification:
    return replace(spec, family=replace(spec.family, sparse=sparse))


def _winners(grid: Grid, dense: dict[Cell, Outcome]) -> list[Cell]:
    """Cells whose sparsity path is followed: the best model of each K that the criterion cannot rule out."""
    fitted = [cell for cell, outcome in dense.items() if outcome.fit is not None]
    if grid.joint or not fitted or not grid.sparse:
        return fitted
    rank = {cell: dense[cell].rank(grid.criterion) for cell in fitted}
    best_of_each = [max((c for c in fitted if c[0] == K), key=rank.__getitem__) for K in {c[0] for c in fitted}]
    least = max(dense[cell].row[grid.criterion] for cell in best_of_each) - _UNDECIDED
    return sorted(cell for cell in best_of_each if dense[cell].row[grid.criterion] >= least)


def _best_note(grid: Grid, outcomes) -> str:
    row = max(outcomes, key=lambda outcome: outcome.rank(grid.criterion)).row
    return f"best {grid.criterion} {row[grid.criterion]:.1f} (K={row['n_clusters']}, {row['model']})"


def in_order(outcomes: list[Outcome]) -> list[Outcome]:
    """Dense fits first, by K and model; then the paths, densest first. An error if every fit failed."""
    if all(outcome.fit is None for outcome in outcomes):
        reasons = "; ".join(sorted({outcome.row["stop_reason"] for outcome in outcomes}))
        raise FitError(f"all {len(outcomes)} fits failed: {reasons}")
    names = list(MODELS)

    def place(outcome: Outcome) -> tuple:
        row = outcome.row
        cell = (row["n_clusters"], names.index(row["model"]))
        return (row["method"] != DENSE, *cell, row["axis_weights"], -row["sparsity"])

    return sorted(outcomes, key=place)


def best_index(outcomes: list[Outcome], grid: Grid) -> int:
    """Which outcome is best: along the paths, where there are any."""
    path = [i for i, o in enumerate(outcomes) if o.row["method"] != DENSE and np.isfinite(o.row["log_likelihood"])]
    column = grid.path_column if path else grid.criterion
    return max(path or range(len(outcomes)), key=lambda i: outcomes[i].rank(column))


def _single_threaded(problem: Problem) -> Problem:
    """The same data for a worker: parallelism is over fits then."""
    rows = copy.copy(problem.rows)
    rows.n_threads = 1
    return replace(problem, rows=rows)
