"""From rows to a fitted mixture of factor models: shared by `FactorMixture` and its search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.data.problem import AUTO_RIDGE, Problem, prepare
from ..core.engine.loop import Fit
from ..core.engine.multistart import Specification
from ..core.factors.starts import fit_short_then_long
from ..model.factors import Structure
from ..policy.criterion import criteria_values
from ..policy.scaling import standard_deviations
from ..tables.checking import check_clusters, check_table, check_weights
from ..tables.kinds import in_precision_of
from ..tables.scaling import in_unit, rescaled
from .fitting import (
    RAW,
    STANDARDISE,
    DividedColumns,
    distances_of,
    feature_names,
    specification,
    warn_of_constant_columns,
)

__all__ = ["FittedFactors", "adopt_factors", "fit_factors", "opened", "prepared_rows"]


@dataclass(frozen=True)
class FittedFactors(DividedColumns):
    """A fit of one structure: the prepared rows, the fit, a record of each start, and the scales of the columns."""

    problem: Problem  # with rows of the variables themselves
    whole: Problem  # ... and as it was prepared: criteria of a partition use it
    structure: Structure
    fit: Fit
    starts: list[dict]
    scales: np.ndarray | None = None

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the rows as given."""
        return self.fit.log_likelihood + self.log_jacobian

    @property
    def n_parameters(self) -> int:
        """Free parameters, including standard deviations of the columns."""
        solution, p = self.fit.solution, self.problem.p
        return self.structure.n_parameters(len(solution.density.proportions), p, solution.each) + self.n_scales

    def criteria(self) -> dict[str, float]:
        """The value of every criterion; larger is better."""
        posteriors = self.problem.rows.gather(self.fit.states, "posteriors")
        states = self.whole.start_states(posteriors.T, len(posteriors))
        support = np.flatnonzero(~self.problem.constant)
        return criteria_values(self.log_likelihood, self.n_parameters, self.fit.entropy, self.whole, states, support)


def prepared_rows(
    table, weights, scale: str, n_jobs, names=None, ridge: float | str = AUTO_RIDGE
) -> tuple[Problem, np.ndarray | None]:
    """(prepared rows, what their columns were divided by or None)."""

    def made(rows) -> Problem:
        return prepare(rows, weights, ridge=ridge, n_jobs=n_jobs, rescale=in_unit)

    raw = made(table)
    with raw.rows.closed_on_error():
        warn_of_constant_columns(raw, names)
        if scale == RAW:
            return raw, None
        scales = standard_deviations(raw) * raw.unit
        raw.rows.close()
        return made(rescaled(table, scales)), scales


def opened(
    estimator, X, sample_weight, given_names=None, **options
) -> tuple[Problem, np.ndarray | None, Specification]:
    """(prepared rows of X, what their columns were divided by or None, the specification of the fit)."""
    estimator._check_parameters()
    table = check_table(estimator, X, reset=True, elsewhere=True, feature_names=given_names)
    weights = check_weights(sample_weight, table)
    check_clusters(estimator.n_clusters, table, weights)
    spec = specification(estimator, *table.shape)
    names = feature_names(estimator)
    return *prepared_rows(table, weights, estimator.scale, estimator.n_jobs, names, **options), spec


def fit_factors(problem: Problem, scales, spec: Specification, structure: Structure) -> FittedFactors:
    """The best fit over the starts of the specification."""
    own = spec.family.prepared(problem)
    with own.rows.closed_on_error():
        fit, starts = fit_short_then_long(own, spec)
    return FittedFactors(own, problem, structure, fit, starts, scales)


def adopt_factors(estimator, fitted: FittedFactors):
    """Set the fitted attributes of an estimator from a fit; returns the estimator."""
    problem, fit, scales = fitted.problem, fitted.fit, fitted.divisors
    solution, density = fit.solution, fit.solution.density
    estimator.scale_, estimator.scales_ = RAW if fitted.scales is None else STANDARDISE, scales
    vars(estimator).pop("group_names_", None)  # another fit has other groups
    estimator.labels_ = problem.rows.gather(fit.states, "labels")
    estimator.structure_ = fitted.structure.name
    estimator.n_factors_ = solution.each
    estimator.weights_ = density.proportions
    estimator.support_ = ~problem.constant
    estimator.centre_, estimator.row_centre_ = problem.centre * scales, problem.centre
    estimator.factor_loadings_ = density.loadings
    estimator.noise_variances_ = np.array(np.broadcast_to(density.noises, (len(density.proportions), problem.p)))
    if fitted.structure.latent is None:
        estimator.row_means_ = density.means
    else:
        estimator.row_overall_, estimator.latent_means_ = density.overall, density.latent_means
        estimator.covariances_ = density.roots @ density.roots.transpose(0, 2, 1)
        estimator.row_means_ = solution.means
    estimator.means_ = in_precision_of(problem.rows, (estimator.row_means_ + problem.centre) * scales)
    estimator.distance_moments_ = distances_of(problem, solution)
    estimator.log_likelihood_, estimator.n_parameters_ = fitted.log_likelihood, fitted.n_parameters
    for name, value in fitted.criteria().items():
        setattr(estimator, f"{name}_", value)
    estimator.history_, estimator.starts_ = fit.history, fitted.starts
    estimator.n_iter_, estimator.converged_, estimator.stop_reason_ = fit.n_iter, fit.converged, str(fit.stop)
    return estimator
