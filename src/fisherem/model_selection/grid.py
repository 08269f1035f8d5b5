"""The cells of a search: one fit, or one path of fits, each with its row of the results and its checkpoint."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ..em.loop import Fit, restore
from ..em.multistart import FitError, Specification, best_of, dense_from
from ..em.problem import Problem
from ..em.selection_likelihood import selected_likelihood, selection_parameters, support_of
from ..model.criteria import CRITERIA
from .checkpoints import Store
from .sparsity_path import PathPoint, sparsity_path

__all__ = ["COLUMNS", "Outcome", "dense_cell", "path_cell"]

COLUMNS = (
    "n_clusters", "model", "method", "axis_weights", "sparsity", "log_likelihood", "n_parameters", "n_selected",
    "bic", "icl", "aic", "selection_bic", "selection_icl", "selection_aic",
    "converged", "n_iter", "seconds", "stop_reason",
)  # fmt: skip


@dataclass
class Outcome:
    """A finished fit: its row of the results, and the fit without what it keeps per row (None if it failed)."""

    row: dict
    fit: Fit | None


def _row(problem: Problem, spec: Specification, fit: Fit | None, share: float, seconds: float, reason: str) -> dict:
    model = spec.settings.model
    row = dict.fromkeys(COLUMNS, np.nan) | {
        "n_clusters": spec.n_clusters,
        "model": model.name,
        "method": spec.method or "dense",
        "axis_weights": spec.axis_weights if spec.method else "equal",
        "sparsity": share,
        "converged": False,
        "n_iter": 0,
        "seconds": seconds,
        "stop_reason": reason,
    }
    if fit is None:
        return row
    selected = support_of(fit, problem.p) & ~problem.constant
    K, p, d, zeros, count = spec.n_clusters, problem.p, fit.axes.d, fit.axes.n_zeros, int(selected.sum())
    parameters = model.n_parameters(K, p, d, zeros)
    likelihood, entropy = selected_likelihood(problem, fit, spec.settings)
    own = selection_parameters(model, K, p, d, zeros, count)
    row |= {
        "log_likelihood": fit.log_likelihood,
        "n_parameters": parameters,
        "n_selected": count,
        "converged": fit.converged,
        "n_iter": fit.n_iter,
        "stop_reason": fit.stop_reason,
    }
    for name, criterion in CRITERIA.items():
        row[name] = float(criterion(fit.log_likelihood, parameters, problem.weight, fit.entropy))
        row[f"selection_{name}"] = float(criterion(likelihood, own, problem.weight, entropy))
    return row


def _without_rows(fit: Fit | None) -> Fit | None:
    return None if fit is None else replace(fit, states=[])


def dense_cell(problem: Problem, store: Store, spec: Specification, starts) -> Outcome:
    """Fisher-EM for one number of groups and one model, from shared starts."""
    key = f"dense {spec.n_clusters} {spec.settings.model.name}"
    if (kept := store.get(key)) is not None:
        return Outcome(kept[1], kept[0])
    begin = time.perf_counter()
    fit, reason = None, ""
    try:
        with problem.rows.threads():
            fit, _ = best_of(problem, starts, spec, dense_from)
    except FitError as error:
        reason = str(error)
    row = _row(problem, spec, fit, 1.0, time.perf_counter() - begin, reason)
    store.put(key, fit, row)
    return Outcome(row, _without_rows(fit))


def path_cell(problem: Problem, store: Store, spec: Specification, dense: Fit, sparsities) -> list[Outcome]:
    """The sparsity path of one number of groups, model and weighting of the axes."""
    rows: dict[float, dict] = {}

    def serve(share: float, compute) -> PathPoint:
        key = f"path {spec.n_clusters} {spec.settings.model.name} {spec.method} {spec.axis_weights} {share!r}"
        if (kept := store.get(key)) is not None:
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
