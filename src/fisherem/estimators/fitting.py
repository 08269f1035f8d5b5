"""From rows and parameters to a fit: functions shared by the estimators, the search and images."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import check_random_state

from .._utils.wording import column_name
from ..core.data.problem import Problem, prepare
from ..core.dlm.f_step.step import FStep
from ..core.engine.multistart import Specification
from ..core.missing.iteration import exact
from ..core.starts.partitions import STARTS
from ..model.criteria import CRITERIA, bic
from ..policy.criterion import Partition
from ..policy.decisions import Decision, decisions_table
from ..policy.default_fit import default_fit
from ..policy.missing import NO_POWERS, check_gaps, completed, log_jacobian
from ..policy.model import Chosen
from ..policy.powers import Powers, total_log_slope
from ..policy.roles import roles_table
from ..policy.scaling import (
    RAW,
    SCALES,
    STANDARDISE,
    divisors,
    large_columns_text,
    scaling,
    warn_of_large_columns,
)
from ..tables.checking import MOST_REPEATS, check_clusters, check_number, check_one_of
from ..tables.counts import LOG_COUNTS
from ..tables.file_table import parse_memory
from ..tables.gaps import has_gaps
from ..tables.precision import in_precision_of
from ..tables.scaling import bent, in_unit, rescaled
from .describing import warn_of_constant_columns, warn_of_empty_groups, warn_unless_converged
from .mixed import blocks_of, column_names_of, variable_names_of
from .naming import forget_names
from .outlying import distances_of

__all__ = [
    "POWER", "RAW", "SCALES", "STANDARDISE", "TRANSFORMATIONS", "DividedColumns", "Fitted", "ScaledRows", "adopt",
    "check_parameters", "check_run_parameters", "criteria_values", "feature_names", "fit_rows", "scaled_rows",
    "specification", "warn_of_constant_columns", "warn_of_empty_groups", "warn_unless_converged",
]  # fmt: skip

POWER = "power"
TRANSFORMATIONS = (RAW, POWER, LOG_COUNTS)
# Squared distances are differences of squares, whose rounding is about 1e-16 mean variances per variable: divided by a
# smaller variance than this, it would decide the densities.
LEAST_FLOOR = 1e-9
# How often exponents and groups are estimated in turn; on ten tables they converged after two to four rounds.
_ROUNDS = 5
# Rows that exponents are estimated on: their error is then far below the spacing of the candidate exponents.
_ROWS_FOR_EXPONENTS = 10_000


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


def feature_names(estimator):
    """The names of the columns that an estimator or a search computes with; None where the table had none."""
    return column_names_of(estimator)


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


def criteria_values(
    log_likelihood: float, n_parameters: float, entropy: float, problem: Problem, states, support
) -> dict[str, float]:
    """The value of every criterion in `CRITERIA`, by name; larger is better.

    `states` hold the posteriors and `support` the selected variables (indices), for the criteria of a partition.
    """
    partition = Partition.of(problem, states)
    return {
        name: criterion(log_likelihood, n_parameters, problem.weight, entropy)
        if criterion.of_partition is None
        else criterion.of_partition(partition, support, entropy)
        for name, criterion in CRITERIA.items()
    }


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
        return _fit_bent(estimator, table, weights, prior)
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


def _fit_bent(estimator, table, weights, prior) -> Fitted:
    """Estimate exponents of the columns and groups in turn, starting from one group; the best by BIC is kept."""
    numbers, values, sampled_weights = _some_rows(estimator, table, weights)
    given = not isinstance(estimator.init, str) and np.ndim(estimator.init) == 1
    labels = np.unique(np.asarray(estimator.init), return_inverse=True)[1] if given else np.zeros(len(table), int)
    best: Fitted | None = None
    seen: list[bytes] = []
    for _ in range(_ROUNDS):
        powers = Powers.within(values, labels[numbers], sampled_weights)
        if powers.exponents.tobytes() in seen:
            break
        seen.append(powers.exponents.tobytes())
        fitted = _fit_scaled(estimator, bent(table, powers), weights, prior)
        with fitted.problem.rows.closed_on_error():
            log_slope = total_log_slope(fitted.problem, powers, fitted.divisors)
            fitted = replace(fitted, powers=powers, log_slope=log_slope)
            labels = fitted.problem.rows.gather(fitted.chosen.fit.states, "labels")
        worse = fitted if best is not None and fitted.bic <= best.bic else best
        best = best if worse is fitted else fitted
        if worse is not None:
            worse.problem.rows.close()
    assert best is not None
    return best


def _some_rows(estimator, table, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(numbers, values, weights) of the rows that exponents are estimated on: all, or a sample of many."""
    n = table.shape[0]
    if n > _ROWS_FOR_EXPONENTS:
        rng = check_random_state(estimator.random_state)
        share = None if weights is None else weights / weights.sum()
        most = _ROWS_FOR_EXPONENTS if share is None else min(_ROWS_FOR_EXPONENTS, np.count_nonzero(share))
        numbers = np.sort(rng.choice(n, most, replace=False, p=share))
        weights = None  # the rows were drawn with these probabilities
    else:
        numbers = np.arange(n) if weights is None else np.flatnonzero(weights)
    take = getattr(table, "rows_at", None)
    values = np.asarray(table[numbers] if take is None else take(numbers), float)
    return numbers, values, np.ones(len(numbers)) if weights is None else weights[numbers]


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
    problem, chosen = fitted.problem, fitted.chosen
    fit, model = chosen.fit, chosen.model
    scales, solution = fitted.divisors, fit.solution
    loadings = FStep.loadings(solution.axes, problem.scatter).copy()
    loadings[problem.constant] = 0.0
    largest = np.abs(loadings).argmax(axis=0)
    signs = np.where(loadings[largest, np.arange(loadings.shape[1])] < 0, -1.0, 1.0)
    density, sparse = solution.density, solution.axes.sparse
    K = len(density.proportions)
    estimator.scale_, estimator.scales_ = RAW if fitted.scales is None else STANDARDISE, scales
    names = feature_names(estimator)
    estimator.scale_warning_ = large_columns_text(problem, names) if estimator.scale == RAW else ""
    forget_names(estimator)
    estimator.labels_ = problem.rows.gather(fit.states, "labels")
    estimator.loadings_ = loadings * signs
    estimator.sparse_loadings_ = estimator.loadings_ if sparse is None else sparse * signs
    columns = estimator.sparse_loadings_.any(axis=1)
    estimator.support_ = columns if problem.blocks is None else problem.blocks.any_of(columns)
    estimator.weights_ = density.proportions
    p = problem.p
    powers = fitted.powers or Powers(np.ones(p), np.zeros(p), np.ones(p), np.ones(p))
    estimator.exponents_ = powers.exponents
    estimator.bending_ = np.stack([powers.centres, powers.spreads, powers.factors])
    estimator.centre_ = powers.inverse((problem.centre * scales)[None])[0]
    # what prediction uses: with an offset of 1e15, means and centre would leave no digits of their difference
    estimator.row_centre_, estimator.row_means_ = problem.centre, _means(problem, solution, loadings) + problem.shift
    means = estimator.row_means_ + problem.centre
    estimator.means_ = in_precision_of(problem.rows, powers.inverse(means * scales))
    group_means = problem.scatter.to_variables(solution.means.T).T + problem.shift + problem.centre
    estimator.group_means_ = in_precision_of(problem.rows, powers.inverse(group_means * scales))
    estimator.latent_means_ = means @ estimator.loadings_
    estimator.covariances_ = density.covariances * signs[:, None] * signs
    estimator.noise_variances_ = density.noises
    metric = None if solution.metric is None else solution.metric.in_variables(problem.scatter)
    estimator.noise_factors_ = solution.n_factors
    estimator.noise_loadings_ = np.zeros((problem.p, 0)) if metric is None else metric.vectors * np.sqrt(metric.gains)
    estimator.distance_moments_ = distances_of(problem, solution)
    estimator.model_ = model.name
    estimator.log_likelihood_ = fit.log_likelihood + fitted.log_jacobian
    estimator.n_parameters_ = fitted.n_parameters()
    estimator.n_missing_ = 0 if problem.gaps is None else problem.gaps.n_missing
    partition = Partition.of_labels(problem, estimator.labels_, K)
    support = np.flatnonzero(columns)
    for name, criterion in CRITERIA.items():
        if criterion.of_partition is not None:
            value = criterion.of_partition(Partition.of(problem, fit.states), support, fit.entropy)
        else:
            value = criterion(estimator.log_likelihood_, estimator.n_parameters_, problem.weight, fit.entropy)
        setattr(estimator, f"{name}_", value)
    if sparse is not None:
        estimator.roles_ = roles_table(partition, support, _names(estimator, problem.n_variables))
    if chosen.fewest is not None:
        fewest = np.isin(np.arange(problem.p), chosen.fewest)
        estimator.minimal_support_ = fewest if problem.blocks is None else problem.blocks.any_of(fewest)
    estimator.decisions_ = decisions_table(chosen.decisions)
    estimator.history_ = fit.history
    estimator.n_iter_ = fit.n_iter
    estimator.converged_ = fit.converged
    estimator.stop_reason_ = str(fit.stop)
    estimator.starts_ = chosen.starts
    return estimator


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
