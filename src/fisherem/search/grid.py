"""The cells of a search among DLM models: one fit or one sparsity path, with its rows of results and its checkpoint."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ..core.dlm.family import DLMFamily, Means
from ..core.dlm.selection_likelihood import selected_likelihood, selection_parameters, support_of
from ..core.engine.checkpoints import Store
from ..core.engine.loop import Fit, restore
from ..core.engine.multistart import FitError, Specification, best_of_each
from ..estimators.fitting import ScaledRows
from ..model.criteria import CRITERIA
from ..policy.criterion import criteria_values
from .sparsity_path import PathPoint, sparsity_path

__all__ = ["DENSE", "SELECTION", "Outcome", "columns", "dense_cells", "path_cell"]

# The value of the column `method` for a fit without a penalty.
DENSE = "dense"
# Columns with this prefix hold a criterion of the selected variables (see `docs/departures.md`).
SELECTION = "selection_"


def columns() -> list[str]:
    """The columns of a search's results; each criterion has one for the fit and one for its selection."""
    return [
        "n_clusters", "model", "method", "axis_weights", "sparsity", "log_likelihood", "n_parameters", "n_selected",
        *CRITERIA, *(SELECTION + name for name in CRITERIA),
        "converged", "n_iter", "seconds", "stop_reason",
    ]  # fmt: skip


@dataclass
class Outcome:
    """A finished fit: its row of the results, and the fit without its per-row state (None if it failed)."""

    row: dict
    fit: Fit | None

    @classmethod
    def of(cls, row: dict, fit: Fit | None) -> Outcome:
        """The outcome of a fit, whose per-row state is dropped."""
        return cls(row, None if fit is None else replace(fit, states=[]))

    def rank(self, column: str) -> tuple:
        """Sort key, larger is better: complete fits before those that lost a group, ties to fewer parameters."""
        value = self.row[column]
        if self.fit is None or not np.isfinite(value):
            return (False, False, -np.inf, 0)
        return (True, self.fit.whole, value, -self.row["n_parameters"])


def _row(data: ScaledRows, spec: Specification, fit: Fit | None, share: float, seconds: float, reason: str) -> dict:
    family: DLMFamily = spec.family
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
    return row if fit is None else row | _evaluated(data, family, fit)


def _evaluated(data: ScaledRows, family: DLMFamily, fit: Fit) -> dict:
    """The part of a row that describes the fit: its criteria, and those of its selection, of the rows as given."""
    problem, axes, jacobian = data.problem, fit.solution.axes, data.log_jacobian
    support = np.flatnonzero(support_of(fit, problem.p) & ~problem.constant)
    parameters = family.n_parameters(fit.solution, problem.p)
    if family.means is Means.LATENT:  # unselected variables have one mean already, so the fit's likelihood is the one
        likelihood, entropy, own = fit.log_likelihood, fit.entropy, parameters
    else:
        likelihood, entropy = selected_likelihood(problem, fit, family)
        own = selection_parameters(family.model, family.n_clusters, problem.p, axes.d, axes.n_zeros, len(support))
    groups = problem, fit.states, support
    whole = criteria_values(fit.log_likelihood + jacobian, parameters + data.n_scales, fit.entropy, *groups)
    selection = criteria_values(likelihood + jacobian, own + data.n_scales, entropy, *groups)
    return {
        "log_likelihood": fit.log_likelihood + jacobian,
        "n_parameters": parameters + data.n_scales,
        "n_selected": len(support),
        **whole,
        **{SELECTION + name: value for name, value in selection.items()},
        "converged": fit.converged,
        "n_iter": fit.n_iter,
        "stop_reason": str(fit.stop),
    }


def dense_cells(data: ScaledRows, store: Store, specs: list[Specification], starts) -> list[Outcome]:
    """Fisher-EM for several models with the same number of groups; they share the starts and the passes over rows."""
    keys = [f"dense {spec.n_clusters} {spec.family.model.name}" for spec in specs]
    done = {key: one for key, spec in zip(keys, specs, strict=True) if (one := store.get(key, spec.family))}
    todo = [(key, spec) for key, spec in zip(keys, specs, strict=True) if key not in done]
    problem, begin = data.problem, time.perf_counter()
    with problem.rows.threads():
        found = best_of_each(problem, starts, [(spec, spec.family.phases()[0]) for _, spec in todo]) if todo else []
    seconds = (time.perf_counter() - begin) / max(1, len(todo))  # the mean time of a model, as they share the passes
    for (key, spec), result in zip(todo, found, strict=True):
        fit, reason = (None, str(result)) if isinstance(result, FitError) else (result[0], "")
        row = _row(data, spec, fit, 1.0, seconds, reason)
        store.put(key, fit, row)
        done[key] = (fit, row)
    return [Outcome.of(row, fit) for fit, row in (done[key] for key in keys)]


def path_cell(data: ScaledRows, store: Store, spec: Specification, dense: Fit, sparsities) -> list[Outcome]:
    """The sparsity path of one number of groups, model and weighting of the axes."""
    problem, family = data.problem, spec.family
    rows: dict[float, dict] = {}
    name = f"{spec.n_clusters} {family.model.name} {family.sparse.method} {family.sparse.axis_weights}"

    def serve(share: float, compute) -> PathPoint:
        key = f"path {name} {share!r}"
        if (kept := store.get(key, family)) is not None:
            rows[share] = kept[1]
            return PathPoint(share, kept[0], kept[1]["stop_reason"])
        begin = time.perf_counter()
        point = compute()
        rows[share] = _row(data, spec, point.fit, share, time.perf_counter() - begin, point.reason)
        store.put(key, point.fit, rows[share])
        return point

    with problem.rows.threads():
        dense = restore(problem, dense)
        points = sparsity_path(problem, dense, spec, sparsities, serve)
        rows.setdefault(1.0, _row(data, spec, dense, 1.0, 0.0, ""))
    return [Outcome.of(rows[point.sparsity], point.fit) for point in points]
