"""Fits with covariates: groups and the effects of a batch or a size estimated together, x = m_k + B'z + noise.

    covariates ──> Z (n x q) ──> first B (policy) ──> rows - Z B ──> fit ──> posteriors ──> B ──> ... until B settles

The engine sees rows less the present effects, so every kind of family, start and decision works as without covariates.
Each round ends with the regression of the rows on posteriors and covariates jointly, and the fit that is kept is that
of effects which this regression gives back. The likelihood is that of the rows given their covariates, and the effects
count as parameters.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from .._utils.wording import column_name, count, listed
from ..core.data.joint_regression import JointRegression, joint_regression
from ..core.data.problem import Problem
from ..core.engine.multistart import NUMERICAL_ERRORS
from ..model.criteria import CRITERIA
from ..policy.covariates import (
    about_covariates,
    confounded,
    decides_anew,
    distance_moved,
    first_effects,
    is_settled,
    refitted,
)
from ..policy.decisions import decisions_table
from ..policy.thresholds import THRESHOLDS
from ..rows.base import ArrayRows
from ..tables.checking import check_init
from ..tables.counts import LOG_COUNTS
from ..tables.covariates import coded, coding_of, covariate_frame, covariate_names
from ..tables.kinds import has_gaps
from ..tables.scaling import adjusted
from .fitting import POWER, RAW, STANDARDISE, Fitted, adopt, fit_rows, scaled_rows, specification

__all__ = [
    "COVARIATE_ATTRIBUTES", "CovariateFit", "Covariates", "attach", "check_combination", "fit_and_attach",
    "fit_with_covariates", "given_groups", "read_covariates", "regression", "sample_for_effects",
]  # fmt: skip

# Rounds of effects and groups; one to three are enough for groups that are apart. The first few, as long as the effects
# move far, make all decisions anew; later ones keep them, and are then steps of EM for the effects.
_ROUNDS, _ANEW = 25, 4
# Rows that first effects are estimated on: their standard errors are then small against the groups' distances.
_SAMPLE_ROWS = 5_000
# Cells of these rows at most: 160 MB of doubles.
_SAMPLE_CELLS = 2 * 10**7
# What `attach` adds to an estimator.
COVARIATE_ATTRIBUTES = (
    "covariates_",
    "covariate_effects_",
    "covariate_shares_",
    "covariate_share_",
    "covariate_warning_",
)


@dataclass(frozen=True)
class Covariates:
    """Checked covariates of the rows of a fit: their coding (see `tables.covariates`) and Z (n x q)."""

    coding: pd.DataFrame
    Z: np.ndarray

    @property
    def names(self) -> list[str]:
        """Their names."""
        return covariate_names(self.coding)

    def columns_of(self, name: str) -> np.ndarray:
        """The columns of Z that code a covariate."""
        used = self.coding[self.coding["spread"] > 0]
        return np.flatnonzero(used["covariate"].to_numpy() == name)


@dataclass
class CovariateFit:
    """Effects (q x p, of the rows as given) with the fit that they belong to, and the regression that says so."""

    effects: np.ndarray
    regression: JointRegression  # of the rows less the effects, in the units of the table
    rounds: int
    settled: bool
    fitted: Fitted | None = None


def check_combination(estimator: Any, covariates: Any, transformation: str = RAW) -> None:
    """Raise an error for covariates of a table with categories or counts, whose effects are no sums of numbers."""
    if covariates is None:
        return
    if hasattr(estimator, "encoding_"):
        raise ValueError(
            "covariates need numbers, and this table has categories: leave the categories or the covariates out"
        )
    if transformation == LOG_COUNTS:
        raise ValueError(
            "covariates need numbers, not transformation='log-counts': take logarithms of the counts before the fit, "
            "or leave the covariates out"
        )


def read_covariates(covariates: Any, table: Any, weights: np.ndarray | None, n_clusters: int) -> Covariates:
    """Covariates of the rows of a checked table; an error names what is wrong with them."""
    if has_gaps(table):
        raise ValueError(
            "covariates need rows without missing cells: impute them first (model.impute of a fit without covariates), "
            "or leave out the rows or columns that have them"
        )
    frame = covariate_frame(covariates, len(table))
    coding = coding_of(frame, weights, n_clusters, THRESHOLDS.covariate_levels)
    return Covariates(coding, coded(coding, frame))


def regression(problem: Problem, posteriors: np.ndarray, Z: np.ndarray, divisors: np.ndarray) -> JointRegression:
    """The joint regression of the rows of a problem, in the units of the table."""
    found = joint_regression(problem.given, posteriors, Z)
    return replace(found, effects=found.effects * divisors, cross=found.cross * divisors)


def sample_for_effects(
    estimator, table, weights, found: Covariates, n_clusters: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
    """(values, Z, weights, seed) that first effects are estimated from: of all rows, or a sample of many."""
    n, p = table.shape
    rng = check_random_state(estimator.random_state)
    numbers = np.arange(n) if weights is None else np.flatnonzero(weights)
    most = min(_SAMPLE_ROWS, max(_SAMPLE_CELLS // p, 10 * (n_clusters + found.Z.shape[1])))
    if len(numbers) > most:
        numbers = np.sort(rng.choice(numbers, most, replace=False))
    rows = adjusted(table, found.Z, np.zeros((found.Z.shape[1], p)))  # checks rows that are read now
    values = np.asarray(rows[numbers], float)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    return values, found.Z[numbers], None if weights is None else weights[numbers], seed


def _starting_effects(estimator, table, weights, found: Covariates) -> np.ndarray:
    """The effects to begin with: of the groups that are given, or of k-means with covariates."""
    K = estimator.n_clusters
    if isinstance(estimator.init, str):
        values, Z, part, seed = sample_for_effects(estimator, table, weights, found, K)
        return first_effects(values, Z, part, K, seed)[0]
    given = check_init(estimator.init, len(table), K)
    posteriors = (given == np.arange(K)[:, None]).astype(float) if given.ndim == 1 else given.T
    return joint_regression(ArrayRows(table, weights, n_jobs=1), posteriors, found.Z).effects


def given_groups(table, weights, found: Covariates, labels: np.ndarray, n_clusters: int) -> tuple[Any, CovariateFit]:
    """(rows less the effects of the covariates, these effects) for groups that are given."""
    posteriors = (labels == np.arange(n_clusters)[:, None]).astype(float)
    effects = joint_regression(ArrayRows(table, weights, n_jobs=1), posteriors, found.Z).effects
    rows = adjusted(table, found.Z, effects)
    left = joint_regression(ArrayRows(rows, weights, n_jobs=1), posteriors, found.Z)
    return rows, CovariateFit(effects, left, 1, True)


def fit_with_covariates(
    estimator, table, weights, found: Covariates, effects: np.ndarray | None = None
) -> CovariateFit:
    """Fit groups and effects in turn, from these effects on, until they settle (see the module's docstring)."""
    if estimator.transformation == POWER:
        raise ValueError("covariates and transformation='power' cannot be combined: transform the columns before")
    effects = _starting_effects(estimator, table, weights, found) if effects is None else effects
    anew, start, fitted = True, np.zeros(0), None
    for number in range(1, _ROUNDS + 1):
        rows = adjusted(table, found.Z, effects)
        if anew or fitted is None:
            fitted = _fit_quietly(estimator, rows, weights, number > 1)
            start = np.zeros(0)
        else:
            fitted = _again(estimator, rows, weights, fitted, start)
        with fitted.problem.rows.closed_on_error():
            problem, states = fitted.problem, fitted.chosen.fit.states
            posteriors = problem.rows.gather(states, "posteriors")
            step = regression(problem, posteriors, found.Z, fitted.divisors)
        moved = distance_moved(step.effects / fitted.divisors, step, problem.scatter.variances(), problem.weight)
        settled = is_settled(moved)
        if settled or number == _ROUNDS:
            break
        effects = effects + step.effects
        anew = anew and decides_anew(moved) and number < _ANEW
        if fitted.chosen.moved or not len(start):  # groups that are not moved remain those of the start
            start = posteriors.T if fitted.chosen.moved else posteriors.argmax(axis=0)
        problem.rows.close()
    return CovariateFit(effects, step, number, settled, fitted)


def _again(estimator, rows, weights, fitted: Fitted, start: np.ndarray) -> Fitted:
    """The same decisions for rows less other effects."""
    same = copy.copy(estimator)
    same.scale = RAW if fitted.scales is None else STANDARDISE
    problem, scales = scaled_rows(same, rows, weights, estimator.n_jobs)
    try:
        with problem.rows.closed_on_error():
            spec = specification(estimator, *rows.shape)
            return Fitted(problem, refitted(problem, spec, fitted.chosen, start), scales)
    except NUMERICAL_ERRORS:  # a group was lost: other decisions may keep it
        return _fit_quietly(estimator, rows, weights, quiet=True)


def _fit_quietly(estimator, table, weights, quiet: bool) -> Fitted:
    with warnings.catch_warnings():
        if quiet:  # the first round has warned already
            warnings.simplefilter("ignore")
        return fit_rows(estimator, table, weights)


# -- what a fitted estimator knows ---------------------------------------------------------------------------------


def attach(estimator, found: Covariates, fit: CovariateFit, problem: Problem, divisors: np.ndarray) -> int:
    """Give a fitted estimator the effects: its criteria then count them, and its decisions say what they explain.

    Returns the number of their parameters.
    """
    names = getattr(estimator, "feature_names_in_", [column_name(j) for j in range(problem.p)])
    effects, cross = fit.effects / divisors, fit.regression.cross / divisors  # squares of the units may overflow
    explained = np.einsum("aj,aj->j", effects, 2 * cross + fit.regression.total @ effects)
    total = problem.weight * problem.scatter.variances() + explained
    estimator.covariates_ = found.coding
    estimator.covariate_effects_ = np.where(problem.constant, 0.0, fit.effects)
    own = {name: fit.regression.explained(effects, found.columns_of(name)) for name in found.names}
    if len(found.names) > 1:
        own["all of them"] = fit.regression.explained(effects)
    squares = pd.DataFrame(own)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = squares.div(np.where(total > 0, total, np.nan), axis=0).fillna(0.0).clip(0.0, 1.0)
        whole = squares.sum() / float(total.sum())
    parts.insert(0, "variable", [str(name) for name in names])
    estimator.covariate_shares_ = parts
    estimator.covariate_share_ = pd.DataFrame({"covariate": list(own), "share": whole.to_numpy()})
    estimator.covariate_warning_ = _caution(found, fit)
    if estimator.covariate_warning_:
        warnings.warn(estimator.covariate_warning_, stacklevel=3)
    more = len(fit.effects) * problem.n_varying
    _count_effects(estimator, more, problem.weight)
    said = about_covariates(found.coding, estimator.covariate_share_, fit.rounds, fit.settled)
    estimator.decisions_ = pd.concat([decisions_table([said]), estimator.decisions_], ignore_index=True)
    return more


def _caution(found: Covariates, fit: CovariateFit) -> str:
    if confounded(fit.regression):
        verb = "determines" if len(found.names) == 1 else "determine"
        return (
            f"the covariate{'' if len(found.names) == 1 else 's'} {listed(found.names)} nearly {verb} the group of a "
            "row: what is due to the one and what to the other cannot be told apart in these rows"
        )
    if not fit.settled:
        return (
            f"groups and effects of the covariates still changed after {count(fit.rounds, 'round')}: the groups may "
            "depend on how they began"
        )
    return ""


def _count_effects(estimator, more: int, n: float) -> None:
    """Add parameters to those that the criteria count."""
    before, likelihood = estimator.n_parameters_, estimator.log_likelihood_
    estimator.n_parameters_ = before + more
    for name, criterion in CRITERIA.items():
        if criterion.of_partition is None and hasattr(estimator, f"{name}_"):
            paid = criterion(likelihood, before + more, n, 0.0) - criterion(likelihood, before, n, 0.0)
            setattr(estimator, f"{name}_", getattr(estimator, f"{name}_") + paid)


def fit_and_attach(estimator, table, weights, covariates: Any):
    """Fit an estimator to a checked table with covariates; returns what was fitted, adopted by the estimator."""
    found = read_covariates(covariates, table, weights, estimator.n_clusters)
    fit = fit_with_covariates(estimator, table, weights, found)
    fitted = fit.fitted
    assert fitted is not None
    with fitted.problem.rows.closed_on_error():
        adopt(estimator, fitted)
        attach(estimator, found, fit, fitted.problem, fitted.divisors)
    return fitted
