"""Changes to a fit of the pixels: dissolve groups that are too small, exchange adjacent bands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._utils.wording import count, listed, ranges
from ..core.data.problem import Problem
from ..core.engine.loop import Fit
from ..core.engine.multistart import NUMERICAL_ERRORS, Specification, run_adapted
from ..estimators.fitting import RAW, Fitted, adopt, fit_rows, specification
from ..model.dlm import MODELS
from ..policy.alternation import Wanted, alternate, fit_subset
from ..policy.criterion import Partition, judge
from ..policy.decisions import Chosen, decisions_of, naming_ridge
from .separating import Exchange, exchanges, separated

__all__ = ["Grouped", "least_pixels", "with_separate_bands", "without_small_groups"]


@dataclass(frozen=True)
class Grouped:
    """The n pixels in groups: the prepared rows, the fit with its states, the fitted estimator, and notes.

    `bands` (p) are the numbers in the cube (from 0) of the columns of the rows.
    """

    problem: Problem
    fit: Fit
    fitted: Any
    bands: np.ndarray
    notes: tuple[str, ...] = ()
    shrunk: bool = False  # whether groups were dissolved
    moved: bool = False  # whether bands were exchanged for others that lie apart

    @property
    def labels(self) -> np.ndarray:
        """The group of each pixel (n), from 0."""
        return self.problem.rows.gather(self.fit.states, "labels")

    @property
    def posteriors(self) -> np.ndarray:
        """The posteriors (K x n)."""
        return self.problem.rows.gather(self.fit.states, "posteriors")

    @property
    def support(self) -> np.ndarray:
        """Indices of the selected columns."""
        return np.flatnonzero(self.fitted.support_)

    def exchanges(self) -> list[Exchange]:
        """The bands that could replace each selected band, by their numbers in the cube."""
        roles = getattr(self.fitted, "roles_", None)
        if roles is None or len(self.fitted.weights_) == 1:
            return []
        partition = Partition.of_labels(self.problem, self.labels, len(self.fitted.weights_))
        if (partition.sizes <= 0).any():
            return []
        found = exchanges(partition, self.support, roles["role"].to_numpy())
        return [Exchange(int(self.bands[e.band]), self._in_cube(e.instead), self._in_cube(e.redundant)) for e in found]

    def _in_cube(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(self.bands[j]) for j in columns)

    def numbers(self, support: np.ndarray) -> str:
        """ "41-44, 74", counted from 1 as in the file."""
        return ranges(int(j) + 1 for j in np.sort(self.bands[support]))


def _specification(estimator, problem: Problem, n_factors: int) -> Specification:
    """The specification of a fit of the estimator with the chosen number of noise factors."""
    spec = specification(estimator, int(problem.rows.n), problem.p)
    return replace(spec, family=replace(spec.family, n_factors=n_factors))


def _adopted(found: Grouped, estimator, fit: Fit) -> Any:
    """The estimator with another fit of the same model to the same rows."""
    old, unit = found.fitted, found.problem.unit
    chosen = naming_ridge(Chosen(fit, old.starts_, MODELS[old.model_], decisions_of(old.decisions_)))
    estimator.n_features_in_ = found.problem.p
    return adopt(estimator, Fitted(found.problem, chosen, None if old.scale_ == RAW else old.scales_ / unit))


# -- bands that lie apart ----------------------------------------------------------------------------------------------


def with_separate_bands(found: Grouped, *, wanted: bool) -> Grouped:
    """Exchange adjacent bands for as many that are further apart and refit, unless C(K, S) would decrease.

    If that is not `wanted`, only add a note that such bands exist.
    """
    fitted, K = found.fitted, len(found.fitted.weights_)
    if not hasattr(fitted, "roles_") or K == 1 or fitted.transformation != RAW:
        return found
    labels, before = found.labels, found.support
    partition = Partition.of_labels(found.problem, labels, K)
    if not len(before) or (partition.sizes <= 0).any():
        return found
    after = separated(partition, before)
    if np.array_equal(before, after):
        return found
    old, new = judge(partition, before).value, judge(partition, after).value
    if not wanted:
        note = (
            f"the selected bands lie in blocks ({found.numbers(before)}); as many that lie further apart "
            f"({found.numbers(after)}) have a larger C(K, S), {new:,.0f} against {old:,.0f}: "
            "separate_bands=True (--separate-bands) takes them"
        )
        return replace(found, notes=(*found.notes, note))
    return _fitted_apart(found, labels, after, old, judge(partition, after).rank)


def _fitted_apart(found: Grouped, labels: np.ndarray, after: np.ndarray, old: float, rank: int) -> Grouped:
    """The groups fitted again to the bands `after`; unchanged if C(K, S) would fall below `old`."""
    problem, fitted, K = found.problem, found.fitted, len(found.fitted.weights_)
    spec = _specification(fitted, problem, fitted.noise_factors_)
    with problem.rows.threads():
        fit = fit_subset(problem, spec, Wanted(labels, after, rank, fitted.model_))
    if fit is None:
        return found
    again = Partition.of_labels(problem, problem.rows.gather(fit.states, "labels"), K)
    value = judge(again, after).value
    if (again.sizes <= 0).any() or value < old:
        return found
    before = found.support
    note = (
        f"{count(len(before), 'band')} in blocks ({found.numbers(before)}) were exchanged for as many that lie further "
        f"apart ({found.numbers(after)}), and the groups were fitted again: C(K, S) went from {old:,.0f} to "
        f"{value:,.0f}"
    )
    estimator = _adopted(found, clone(fitted), fit)
    return replace(found, fit=fit, fitted=estimator, notes=(*found.notes, note), moved=True)


# -- groups that are too small -----------------------------------------------------------------------------------------


def least_pixels(min_size: float, n: int) -> int:
    """The fewest pixels of a group among n: a number of pixels, or a share of them below 1."""
    if isinstance(min_size, (bool, str)) or not np.isfinite(min_size) or min_size < 0:
        raise ValueError(f"min_size must be a number of pixels, or a share of them below 1; got {min_size!r}")
    least = int(np.ceil(min_size * n)) if min_size < 1 else int(np.ceil(min_size))
    if least > n:
        raise ValueError(f"min_size={min_size:g} is more than the {n} pixels that are used: give a smaller one")
    return least


def without_small_groups(found: Grouped, least: int, rows, prior) -> Grouped:
    """The fit without groups of fewer than `least` pixels.

    The smallest group is dissolved: each of its pixels is assigned to the most probable other group, and the model is
    fitted again from this partition with one group less. This is repeated until no group is too small.
    """
    gone: list[int] = []
    while (K := len(found.fitted.weights_)) > 1:
        sizes = np.bincount(found.labels, minlength=K)
        smallest = int(sizes.argmin())
        if sizes[smallest] >= least:
            break
        gone.append(int(sizes[smallest]))
        found = _refitted(found, np.delete(found.posteriors, smallest, axis=0).argmax(axis=0), K - 1, rows, prior)
    if not gone:
        return found
    pixels = listed([f"{size:,}" for size in gone], quoted=False)
    were = "a group was" if len(gone) == 1 else f"{len(gone)} groups were"
    left = count(len(found.fitted.weights_), "group")
    note = (
        f"{were} smaller than {least:,} pixels (with {pixels}) and dissolved: the pixels went to the most probable "
        f"other group, and the model was fitted again from there; {left} left"
    )
    return replace(found, notes=(*found.notes, note), shrunk=True)


def _refitted(found: Grouped, labels: np.ndarray, K: int, rows, prior) -> Grouped:
    """Fit the model with K groups from labels; bands that were selected with the groups are selected again."""
    fitted = found.fitted
    axes = None if fitted.n_axes is None else max(1, min(int(fitted.n_axes), K - 1))
    estimator = clone(fitted).set_params(n_clusters=K, n_axes=axes, model=fitted.model_)
    estimator.n_features_in_ = found.problem.p
    fit = None
    if K > 1 and fitted.transformation == RAW:
        spec = _specification(estimator, found.problem, fitted.noise_factors_)
        with found.problem.rows.threads():
            fit = _from_labels(found, spec, labels, K)
    if fit is not None:
        return replace(found, fit=fit, fitted=_adopted(found, estimator, fit))
    # one group, columns whose transformation depends on the groups, or a fit that lost a group
    starting = estimator if K == 1 else clone(estimator).set_params(init=labels, n_init=1)
    result = fit_rows(starting, rows, prior=prior)
    return replace(found, problem=result.problem, fit=result.chosen.fit, fitted=adopt(estimator, result))


def _from_labels(found: Grouped, spec: Specification, labels: np.ndarray, K: int) -> Fit | None:
    problem, fitted = found.problem, found.fitted
    family = spec.family
    if family.sparse is not None and family.sparse.sparsity is None:
        best = alternate(problem, spec, labels, K - 1, fitted.model_)
        return None if best is None else best.fit
    if family.sparse is not None:
        return fit_subset(problem, spec, Wanted(labels, found.support, K - 1, fitted.model_))
    phase = family.phases()[0]
    try:
        fit = run_adapted(problem, problem.start_states(labels, K), spec, phase)
    except NUMERICAL_ERRORS:
        return None
    return fit if fit.whole else None
