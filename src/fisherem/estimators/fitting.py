"""From rows and parameters to a fit: functions shared by the estimators, the search and images."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._utils.wording import column_name, group_name, listed
from ..core.data.e_step import DistanceMoments, calibrated, distance_moments
from ..core.data.problem import Problem, prepare
from ..core.dlm.f_step.step import FStep
from ..core.engine.loop import Fit, StopKind
from ..core.engine.multistart import Specification
from ..core.missing.completion import conditional_of
from ..core.missing.iteration import exact
from ..core.missing.patterns import by_rows
from ..core.starts.partitions import STARTS
from ..model.criteria import bic
from ..policy.criterion import Partition, criteria_values
from ..policy.decisions import Chosen, Decision, decisions_table
from ..policy.default_fit import default_fit
from ..policy.missing import NO_POWERS, check_gaps, completed, log_jacobian
from ..policy.powers import Powers
from ..policy.scaling import (
    RAW,
    SCALES,
    STANDARDISE,
    divisors,
    large_columns_text,
    scaling,
    warn_of_constant_columns,
    warn_of_large_columns,
)
from ..policy.variables import roles_table
from ..rows.variables import Blocks
from ..tables.checking import MOST_REPEATS, check_clusters, check_number, check_one_of
from ..tables.counts import LOG_COUNTS, logarithms
from ..tables.encoding import Encoding
from ..tables.kinds import counts_text, has_gaps, in_precision_of, indicators_text
from ..tables.parameters import parse_memory
from ..tables.scaling import in_unit, rescaled
from .bent import fit_bent

__all__ = [
    "POWER", "RAW", "SCALES", "STANDARDISE", "TRANSFORMATIONS", "DividedColumns", "Fitted", "ScaledRows", "adopt",
    "blocks_of", "check_parameters", "check_run_parameters", "counted", "distances_of",
    "feature_names", "fit_rows", "scaled_rows", "specification", "variable_names_of", "warn_of_constant_columns",
    "warn_of_empty_groups", "warn_unless_converged",
]  # fmt: skip

POWER = "power"
TRANSFORMATIONS = (RAW, POWER, LOG_COUNTS)
# Squared distances are differences of squares, whose rounding is about 1e-16 mean variances per variable: divided by a
# smaller variance than this, it would decide the densities.
LEAST_FLOOR = 1e-9


def check_parameters(estimator) -> None:
    """Raise a ValueError or TypeError for the first invalid parameter of an estimator or a search."""
    estimator._check_parameters()


def check_run_parameters(estimator) -> None:
    """Check the parameters of the starts and iterations that all mixtures have."""
    if isinstance(estimator.init, str):
        check_one_of("init", estimator.init, STARTS)
    check_number("n_init", estimator.n_init, integer=True, least=1, most=MOST_REPEATS)
    check_number("max_iter", estimator.max_iter, integer=True, least=1)
    check_number("tol", estimator.tol, least=0)
    check_number("variance_floor", estimator.variance_floor, least=LEAST_FLOOR)
    if estimator.n_jobs is not None:
        check_number("n_jobs", estimator.n_jobs, integer=True)
    parse_memory(estimator.memory)
    check_random_state(estimator.random_state)


def specification(estimator, n: int, p: int) -> Specification:
    """The specification of a fit with the estimator's parameters to n rows of p variables."""
    return estimator._specification(n, p)


# -- the columns that an estimator computes with -----------------------------------------------------------------------


def feature_names(estimator: Any) -> Any:
    """The names of the columns: those of the encoding, or `feature_names_in_`; None where the table had none."""
    encoding: Encoding | None = getattr(estimator, "encoding_", None)
    return getattr(estimator, "feature_names_in_", None) if encoding is None else encoding.column_names


def variable_names_of(estimator: Any) -> Any:
    """The names of the variables, of which a category is one; None where the table had none."""
    encoding: Encoding | None = getattr(estimator, "encoding_", None)
    return getattr(estimator, "feature_names_in_", None) if encoding is None else encoding.names


def blocks_of(estimator: Any) -> Blocks | None:
    """Which variable each column belongs to; None where each is its own."""
    encoding: Encoding | None = getattr(estimator, "encoding_", None)
    return None if encoding is None else encoding.blocks


def counted(estimator: Any, table: Any, transformation: str) -> Any:
    """A checked table with the logarithms of its counts where these are asked for; elsewhere a hint at counts."""
    vars(estimator).pop("count_total_", None)
    if transformation == LOG_COUNTS:
        return logarithms(estimator, table, feature_names(estimator))
    if transformation == RAW and not hasattr(estimator, "encoding_"):
        for said in filter(None, (counts_text(table), indicators_text(table, feature_names(estimator)))):
            warnings.warn(said, stacklevel=3)
    return table


# -- fitting -----------------------------------------------------------------------------------------------------------


class DividedColumns:
    """How the columns were divided (and transformed), and what that adds to likelihoods and parameters."""

    problem: Problem
    scales: np.ndarray | None  # p, what the columns were divided by; None: nothing
    powers: Powers | None = None  # the power transformation before that; None: not transformed
    log_slope: float = 0.0  # the log-Jacobian of the transformation

    @property
    def divisors(self) -> np.ndarray:
        """What the columns were divided by in total: the scales times the problem's unit (p)."""
        p, unit = self.problem.p, self.problem.unit
        return np.full(p, unit) if self.scales is None else self.scales * unit

    @property
    def log_jacobian(self) -> float:
        """The difference between the log-likelihood of the rows as given and that of the prepared rows."""
        if self.problem.gaps is not None:
            return log_jacobian(self.problem, self.divisors)
        return self.log_slope - self.problem.weight * float(np.log(self.divisors).sum())

    @property
    def n_scales(self) -> int:
        """Estimated standard deviations and exponents, which count as parameters; the unit does not."""
        exponents = 0 if self.powers is None else int(self.powers.bent.sum())
        return exponents + (0 if self.scales is None else self.problem.n_varying)


@dataclass(frozen=True)
class ScaledRows(DividedColumns):
    """Prepared rows and the scales of their columns, before anything is fitted."""

    problem: Problem
    scales: np.ndarray | None = None


@dataclass(frozen=True)
class Fitted(DividedColumns):
    """The result of fitting an estimator to rows: the prepared rows, the chosen fit and the scales of the columns."""

    problem: Problem
    chosen: Chosen
    scales: np.ndarray | None = None
    powers: Powers | None = None
    log_slope: float = 0.0

    def n_parameters(self) -> int:
        """Free parameters, including standard deviations and exponents of the columns."""
        solution = self.chosen.fit.solution
        K, d = solution.density.latent_means.shape
        own = self.chosen.model.n_parameters(K, self.problem.p, d, solution.axes.n_zeros, solution.n_factors)
        return own + self.n_scales

    @property
    def bic(self) -> float:
        """The BIC of the rows as given."""
        likelihood = self.chosen.fit.log_likelihood + self.log_jacobian
        return float(bic(likelihood, self.n_parameters(), self.problem.weight))


def fit_rows(estimator, table, weights=None, prior=None) -> Fitted:
    """Fit to checked rows (n x p): an array, anything that `ArrayRows` reads, or a table with an engine of its own.

    The estimator's parameters are read, nothing is set. `prior` is a prior over the rows, such as a `SpatialPrior`.
    """
    check_clusters(estimator.n_clusters, table, weights)
    gaps = has_gaps(table)
    if gaps:
        check_gaps(table, feature_names(estimator), weights)
    if estimator.transformation == POWER:
        if gaps:
            raise ValueError(NO_POWERS)
        if blocks_of(estimator) is not None:
            raise ValueError("transformation='power' takes numbers only, and this table has categories: use 'none'")
        return fit_bent(estimator, table, weights, lambda bent: _fit_scaled(estimator, bent, weights, prior))
    return _fit_scaled(estimator, table, weights, prior)


def _fit_scaled(estimator, table, weights, prior) -> Fitted:
    """Fit to the columns as they are, or standardised."""
    spec = specification(estimator, *table.shape)
    raw = _prepared(table, weights, estimator, estimator.n_jobs, prior)
    with raw.rows.closed_on_error():
        warn_of_constant_columns(raw, feature_names(estimator))
        if estimator.scale == RAW:
            warn_of_large_columns(raw, feature_names(estimator))
        problem, scales, decision = _scaled(raw, estimator, table, weights, estimator.n_jobs, prior)
    del raw  # of wide tables it has a basis as large as the table
    with problem.rows.closed_on_error():
        fitted, chosen = default_fit(problem, spec, estimator)
    return Fitted(fitted, chosen.first(decision), scales)


def _scaled(raw: Problem, estimator, table, weights, n_jobs, prior) -> tuple[Problem, np.ndarray | None, Decision]:
    """(prepared rows, what their columns were divided by or None, the decision)."""
    done, decision = scaling(raw, estimator.scale)
    if done == RAW and raw.blocks is None:
        return raw, None, decision
    scales = divisors(raw, done) * raw.unit
    raw.rows.close()
    return _prepared(rescaled(table, scales), weights, estimator, n_jobs, prior), scales, decision


def scaled_rows(estimator, table, weights, n_jobs, prior=None) -> tuple[Problem, np.ndarray | None]:
    """(prepared rows, what their columns were divided by or None) for a grid search, whose fits share one scaling."""
    if estimator.transformation == POWER:
        raise ValueError(
            "transformation='power' estimates exponents for one number of groups: a search by bic, icl or aic takes "
            "'none'; transform the columns before it (sklearn.preprocessing.PowerTransformer) or search by the verdict"
        )
    if has_gaps(table):
        check_gaps(table, feature_names(estimator), weights)
    raw = _prepared(table, weights, estimator, n_jobs, prior)
    problem, scales, _ = _scaled(raw, estimator, table, weights, n_jobs, prior)
    return exact(problem), scales


def _prepared(rows, weights, estimator, n_jobs, prior) -> Problem:
    """Prepare rows in a unit in which their squares neither overflow nor underflow; missing cells are completed."""
    if has_gaps(rows):
        problem = completed(rows, weights, ridge=estimator.ridge, n_jobs=n_jobs, prior=prior)
    else:
        problem = prepare(rows, weights, ridge=estimator.ridge, n_jobs=n_jobs, prior=prior, rescale=in_unit)
    return replace(problem, blocks=blocks_of(estimator))


def adopt(estimator, fitted: Fitted):
    """Copy a fit into the estimator's fitted attributes, with fixed signs of the axes; returns the estimator."""
    vars(estimator).pop("group_names_", None)  # another fit has other groups
    _adopt_parameters(estimator, fitted)
    _adopt_criteria(estimator, fitted)
    fit, chosen = fitted.chosen.fit, fitted.chosen
    estimator.decisions_ = decisions_table(chosen.decisions)
    estimator.history_ = fit.history
    estimator.n_iter_ = fit.n_iter
    estimator.converged_ = fit.converged
    estimator.stop_reason_ = str(fit.stop)
    estimator.starts_ = chosen.starts
    return estimator


def _adopt_parameters(estimator, fitted: Fitted) -> None:
    """The groups, the axes and the parameters of the mixture, in the units of the rows as given."""
    problem, fit = fitted.problem, fitted.chosen.fit
    scales, solution = fitted.divisors, fit.solution
    loadings = FStep.loadings(solution.axes, problem.scatter).copy()
    loadings[problem.constant] = 0.0
    largest = np.abs(loadings).argmax(axis=0)
    signs = np.where(loadings[largest, np.arange(loadings.shape[1])] < 0, -1.0, 1.0)
    density, sparse = solution.density, solution.axes.sparse
    estimator.scale_, estimator.scales_ = RAW if fitted.scales is None else STANDARDISE, scales
    names = feature_names(estimator)
    estimator.scale_warning_ = large_columns_text(problem, names) if estimator.scale == RAW else ""
    estimator.labels_ = problem.rows.gather(fit.states, "labels")
    estimator.loadings_ = loadings * signs
    estimator.sparse_loadings_ = estimator.loadings_ if sparse is None else sparse * signs
    columns = estimator.sparse_loadings_.any(axis=1)
    estimator.support_ = columns if problem.blocks is None else problem.blocks.any_of(columns)
    estimator.weights_ = density.proportions
    p, powers = problem.p, fitted.powers
    given = _unchanged if powers is None else powers.inverse  # from transformed rows to rows as they were given
    estimator.exponents_ = np.ones(p) if powers is None else powers.exponents
    bending = (np.zeros(p), np.ones(p), np.ones(p))
    estimator.bending_ = np.stack(bending if powers is None else [powers.centres, powers.spreads, powers.factors])
    estimator.centre_ = given((problem.centre * scales)[None])[0]
    # what prediction uses: with an offset of 1e15, means and centre would leave no digits of their difference
    estimator.row_centre_, estimator.row_means_ = problem.centre, _means(problem, solution, loadings) + problem.shift
    means = estimator.row_means_ + problem.centre
    estimator.means_ = in_precision_of(problem.rows, given(means * scales))
    group_means = problem.scatter.to_variables(solution.means.T).T + problem.shift + problem.centre
    estimator.group_means_ = in_precision_of(problem.rows, given(group_means * scales))
    estimator.latent_means_ = means @ estimator.loadings_
    estimator.covariances_ = density.covariances * signs[:, None] * signs
    estimator.noise_variances_ = density.noises
    metric = None if solution.metric is None else solution.metric.in_variables(problem.scatter)
    estimator.noise_factors_ = solution.n_factors
    estimator.noise_loadings_ = np.zeros((problem.p, 0)) if metric is None else metric.vectors * np.sqrt(metric.gains)
    estimator.distance_moments_ = distances_of(problem, solution)


def _adopt_criteria(estimator, fitted: Fitted) -> None:
    """The model, its criteria and the roles of the variables."""
    problem, chosen = fitted.problem, fitted.chosen
    fit, columns = chosen.fit, estimator.sparse_loadings_.any(axis=1)
    estimator.model_ = chosen.model.name
    estimator.log_likelihood_ = fit.log_likelihood + fitted.log_jacobian
    estimator.n_parameters_ = fitted.n_parameters()
    estimator.n_missing_ = 0 if problem.gaps is None else problem.gaps.n_missing
    support = np.flatnonzero(columns)
    likelihood, parameters = estimator.log_likelihood_, estimator.n_parameters_
    for name, value in criteria_values(likelihood, parameters, fit.entropy, problem, fit.states, support).items():
        setattr(estimator, f"{name}_", value)
    if fit.solution.axes.sparse is not None:
        partition = Partition.of_labels(problem, estimator.labels_, len(estimator.weights_))
        estimator.roles_ = roles_table(partition, support, _names(estimator, problem.n_variables))
    if chosen.fewest is not None:
        fewest = np.isin(np.arange(problem.p), chosen.fewest)
        estimator.minimal_support_ = fewest if problem.blocks is None else problem.blocks.any_of(fewest)


def _unchanged(rows: np.ndarray) -> np.ndarray:
    return rows


def _names(estimator, p: int) -> list[str]:
    names = variable_names_of(estimator)
    return [column_name(j) for j in range(p)] if names is None else [str(name) for name in names]


def _means(problem: Problem, solution, loadings: np.ndarray) -> np.ndarray:
    """The means of the model (K x p) relative to the centre: unrestricted, or inside the axes."""
    scatter = problem.scatter
    if solution.overall is None:
        return scatter.to_variables(solution.means.T).T
    overall = scatter.to_variables(solution.overall[:, None])[:, 0]
    inside = solution.density.latent_means - solution.overall @ solution.axes.rows
    if solution.metric is not None:  # variables that are correlated through the factors shift too
        loadings = solution.metric.in_variables(scatter).spread_along(loadings)
    return overall + inside @ loadings.T


def distances_of(problem: Problem, solution) -> np.ndarray:
    """`distance_moments_` of a fit: means and variances (2 x K) of the squared distances of its rows."""
    if problem.gaps is None:
        return calibrated(distance_moments(problem.rows, solution), problem.p)
    found = conditional_of(problem, solution)
    observed = by_rows(found.rows.patterns.observed.mean(axis=1), found.rows.patterns.counts)
    return calibrated(DistanceMoments.of(found.weighted, found.distances, observed), problem.p)


# -- warnings ----------------------------------------------------------------------------------------------------------


def warn_of_empty_groups(estimator) -> None:
    """Warn about groups of a fitted estimator that are not the most probable group of any row."""
    K = len(estimator.weights_)
    empty = np.flatnonzero(np.bincount(estimator.labels_, minlength=K) == 0)
    if len(empty):
        names, has = listed(map(group_name, empty.tolist()), quoted=False), "has" if len(empty) == 1 else "have"
        share = "its share is" if len(empty) == 1 else "their shares are"
        text = f"{names} {has} no rows: {share} spread over rows that are more probable in other groups"
        warnings.warn(
            f"{text}; try fewer clusters, and look for rows that lie far from all others",
            ConvergenceWarning,
            stacklevel=4,
        )


def warn_unless_converged(estimator, fit: Fit) -> None:
    """Warn if the iterations of a fit ended before the stopping rule was met, or if a group has no rows."""
    warn_of_empty_groups(estimator)
    if fit.converged:
        return
    if fit.stop.kind is StopKind.CYCLE:
        text = (
            f"the iterations ended in a cycle after {fit.n_iter}: the F-step does not maximise the likelihood; "
            "the most likely iterate of the cycle is returned (another discriminant or model may converge)"
        )
    elif fit.stop.kind is StopKind.MAX_ITER:
        text = f"no convergence within max_iter={estimator.max_iter} iterations: raise max_iter or tol"
    else:
        text = f"stopped after {fit.n_iter} iterations: {fit.stop}; try fewer clusters or more starts"
    if unscaled := getattr(estimator, "scale_warning_", ""):
        text = f"{unscaled}. Also, {text}"
    warnings.warn(text, ConvergenceWarning, stacklevel=4)
