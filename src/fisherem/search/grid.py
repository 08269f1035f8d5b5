"""The cells of a search: one fit, or one path of fits, each with its row of the results and its checkpoint."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily, Means
from ..core.dlm.selection_likelihood import selected_likelihood, selection_parameters, support_of
from ..core.engine.checkpoints import Store
from ..core.engine.loop import Fit, restore
from ..core.engine.multistart import FitError, Specification, best_of_each
from ..model.criteria import CRITERIA
from ..policy.criterion import Partition
from .sparsity_path import PathPoint, sparsity_path

__all__ = ["DENSE", "Outcome", "columns", "dense_cells", "path_cell"]

# The word for a fit without a penalty in the column `method`.
DENSE = "dense"


def columns() -> list[str]:
    """The columns of a search's results; each criterion has one for the fit and one for its selection."""
    return [
        "n_clusters", "model", "method", "axis_weights", "sparsity", "log_likelihood", "n_parameters", "n_selected",
        *CRITERIA, *(f"selection_{name}" for name in CRITERIA),
        "converged", "n_iter", "seconds", "stop_reason",
    ]  # fmt: skip


@dataclass
class Outcome:
    """A finished fit: its row of the results, and the fit without what it keeps per row (None if it failed)."""

    row: dict
    fit: Fit | None

    def rank(self, column: str) -> tuple:
        """Larger is better; fits that lost a group only if there is nothing else; then fewer parameters."""
        value = self.row[column]
        if self.fit is None or not np.isfinite(value):
            return (False, False, -np.inf, 0)
        return (True, self.fit.whole, value, -self.row["n_parameters"])


def _family(spec: Specification) -> DLMFamily:
    return spec.family


def _row(problem: Problem, spec: Specification, fit: Fit | None, share: float, seconds: float, reason: str) -> dict:
    family = _family(spec)
    sparse = family.sparse
    row = dict.fromkeys(columns(), np.nan) | {
        "n_clusters": spec.n_clusters,
        "model": family.model.name,
        "method": DENSE if sparse is None else sparse.method,
        "axis_weights": "equal" if sparse is None else sparse.axis_weights,
        "sparsity": share,
        "converged": False,
        "n_iter": 0,
        "seconds": seconds,
        "stop_reason": reason,
    }
    return row if fit is None else row | _judged(problem, family, fit)


def _judged(problem: Problem, family: DLMFamily, fit: Fit) -> dict:
    """What the results say of a fit: its criteria, and those of its selection."""
    axes = fit.solution.axes
    count = int((support_of(fit, problem.p) & ~problem.constant).sum())
    parameters = family.n_parameters(fit.solution, problem.p)
    if family.means is Means.LATENT:  # groups differ on the selected variables only: the fit's own likelihood says it
        likelihood, entropy, own = fit.log_likelihood, fit.entropy, parameters
    else:
        likelihood, entropy = selected_likelihood(problem, fit, family)
        own = selection_parameters(family.model, family.n_clusters, problem.p, axes.d, axes.n_zeros, count)
    row = {
        "log_likelihood": fit.log_likelihood,
        "n_parameters": parameters,
        "n_selected": count,
        "converged": fit.converged,
        "n_iter": fit.n_iter,
        "stop_reason": str(fit.stop),
    }
    partition: Partition | None = None
    for name, criterion in CRITERIA.items():
        if criterion.of_partition is not None:
            partition = partition or _partition(problem, family, fit)
            support = np.flatnonzero(support_of(fit, problem.p) & ~problem.constant)
            row[name] = row[f"selection_{name}"] = criterion.of_partition(partition, support)
        else:
            row[name] = criterion(fit.log_likelihood, parameters, problem.weight, fit.entropy)
            row[f"selection_{name}"] = criterion(likelihood, own, problem.weight, entropy)
    return row


def _partition(problem: Problem, family: DLMFamily, fit: Fit) -> Partition:
    return Partition.of_labels(problem, problem.rows.gather(fit.states, "labels"), family.n_clusters)


def _without_rows(fit: Fit | None) -> Fit | None:
    return None if fit is None else replace(fit, states=[])


def dense_cells(problem: Problem, store: Store, specs: list[Specification], starts) -> list[Outcome]:
    """Fisher-EM for several models of one number of groups from shared starts: each pass over the rows serves all."""
    keys = [f"dense {spec.n_clusters} {_family(spec).model.name}" for spec in specs]
    done = {key: one for key, spec in zip(keys, specs, strict=True) if (one := store.get(key, _family(spec)))}
    todo = [(key, spec) for key, spec in zip(keys, specs, strict=True) if key not in done]
    begin = time.perf_counter()
    with problem.rows.threads():
        found = best_of_each(problem, starts, [(spec, _family(spec).phases()[0]) for _, spec in todo]) if todo else []
    seconds = (time.perf_counter() - begin) / max(1, len(todo))  # of one model: they shared the passes
    for (key, spec), result in zip(todo, found, strict=True):
        fit, reason = (None, str(result)) if isinstance(result, FitError) else (result[0], "")
        row = _row(problem, spec, fit, 1.0, seconds, reason)
        store.put(key, fit, row)
        done[key] = (fit, row)
    return [Outcome(row, _without_rows(fit)) for fit, row in (done[key] for key in keys)]


def path_cell(problem: Problem, store: Store, spec: Specification, dense: Fit, sparsities) -> list[Outcome]:
    """The sparsity path of one number of groups, model and weighting of the axes."""
    family = _family(spec)
    assert family.sparse is not None
    rows: dict[float, dict] = {}
    name = f"{spec.n_clusters} {family.model.name} {family.sparse.method} {family.sparse.axis_weights}"

    def serve(share: float, compute) -> PathPoint:
        key = f"path {name} {share!r}"
        if (kept := store.get(key, family)) is not None:
            rows[share] = kept[1]
            return PathPoint(share, kept[0], kept[1]["stop_reason"])
        begin = time.perf_counter()
        point = compute()
        rows[share] = _row(problem, spec, point.fit, share, time.perf_counter() - begin, point.reason)
        store.put(key, point.fit, rows[share])
        return point

    with problem.rows.threads():
        dense = restore(problem, dense)
        points = sparsity_path(problem, dense, spec, sparsities, serve)
        rows.setdefault(1.0, _row(problem, spec, dense, 1.0, 0.0, ""))
    return [Outcome(rows[p.sparsity], _without_rows(p.fit)) for p in points]
