"""The sparsity path: from dense to one variable per axis, each point started from its denser neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..core.data.problem import Problem
from ..core.engine.loop import Fit, restore
from ..core.engine.multistart import Specification, fits_from

__all__ = ["PathPoint", "sparsity_path"]

# "auto": shares fall by this factor until every axis has one variable (or the least share is reached), then the
# largest steps in the number of variables are halved until the path has this many points.
_STEP = 0.6
_LEAST_SHARE = 1e-3
_POINTS = 20


@dataclass
class PathPoint:
    """A point of the path: the share and its fit."""

    sparsity: float
    fit: Fit | None
    reason: str = ""  # of the failure

    @property
    def n_selected(self) -> int:
        """Variables with a loading; -1 where there is no sparse fit."""
        count = None if self.fit is None else self.fit.solution.axes.n_selected
        return -1 if count is None else count


def sparsity_path(
    problem: Problem,
    dense: Fit,
    spec: Specification,
    sparsities: str | np.ndarray,
    fit_point: Callable | None = None,
) -> list[PathPoint]:
    """Fits along the path, densest first. `fit_point(share, compute)` may serve a point from a store.

    Each share is fitted twice, from the posteriors of its denser neighbour and from those of the dense fit, and the fit
    with the larger likelihood is kept. This protects against poor warm starts.
    """
    serve = fit_point or (lambda share, compute: compute())
    family = spec.family
    both = replace(spec, first_start=False)  # the likelihood chooses, whatever the start of the dense fit

    def point(share: float, neighbour: Fit | None) -> PathPoint:
        def compute() -> PathPoint:
            phase = family.at(np.full(family.d, share)).phases()[-1]
            starts = [dense] if neighbour is None or neighbour is dense else [neighbour, dense]
            found = list(fits_from(problem, [restored(start) for start in starts], both, phase))
            fits = [fit for fit in found if isinstance(fit, Fit) and not fit.given_up]
            best = max(fits, key=lambda f: f.log_likelihood, default=None)
            return PathPoint(share, best, "" if best else "; ".join(sorted({str(error) for error in found})))

        return PathPoint(1.0, dense) if share == 1 else serve(share, compute)

    def restored(fit: Fit) -> Fit:
        return fit if fit.states else restore(problem, fit)

    if isinstance(sparsities, str):
        return _automatic(point, problem.p, family.d)
    points: list[PathPoint] = []
    for share in sorted(set(map(float, sparsities)), reverse=True):
        points.append(point(share, _last_fit(points)))
    return points


def _last_fit(points: list[PathPoint]) -> Fit | None:
    return next((p.fit for p in reversed(points) if p.fit is not None), None)


def _automatic(point, p: int, d: int) -> list[PathPoint]:
    points = [point(1.0, None)]
    share = 1.0
    while share > _LEAST_SHARE and len(points) < _POINTS:
        share *= _STEP
        points.append(point(share, _last_fit(points)))
        if 0 <= points[-1].n_selected <= d:
            break
    while len(points) < _POINTS:
        counts = [q.n_selected if q.n_selected >= 0 else p for q in points]
        jumps = [np.log((a + 1) / (b + 1)) if a - b > 1 else 0.0 for a, b in pairwise(counts)]
        widest = int(np.argmax(jumps)) if jumps else 0
        if not jumps or jumps[widest] <= 0:
            break
        between = float(np.sqrt(points[widest].sparsity * points[widest + 1].sparsity))
        points.insert(widest + 1, point(between, _last_fit(points[: widest + 1])))
    return points
