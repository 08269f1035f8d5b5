"""Rows with missing cells on their way to a fit: checked, completed, and fitted to their observed cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import column_name, count, listed
from ..core.data.problem import Problem, prepare
from ..core.dlm.family import DLMFamily
from ..core.engine.loop import Fit, Stop, StopKind
from ..core.engine.multistart import FitError, Specification
from ..core.missing.completion import complete_first
from ..core.missing.iteration import describe_gaps, exact
from ..core.starts.partitions import adjusted_rand
from ..tables.kinds import has_gaps
from ..tables.scaling import in_unit
from .decisions import Chosen, Decision
from .groups import margin
from .judge import Judge
from .noise import fit_with_factors, noise_decision, numbers_of_factors
from .thresholds import THRESHOLDS

__all__ = [
    "NO_POWERS", "check_gaps", "completed", "fit_exact", "fit_observed", "imputed", "log_jacobian", "prepared_rows",
    "warn_of_empty_rows",
]  # fmt: skip

# EM converges the slower the more is missing, and the F-step, which does not maximise the likelihood, meanwhile drifts
# away from it: iterations end at this many times the tolerance.
_TOLERANCE = 10.0
# Fields of the records of the factors that are not likelihoods of completed rows.
_KEPT = ("n_factors", "bic_at_partition", "reason")
NO_POWERS = (
    "transformation='power' takes no missing values yet: fit with transformation='none' and impute them, or leave out "
    "the rows or columns that have them"
)


def check_gaps(table: np.ndarray, names=None, weights: np.ndarray | None = None) -> None:
    """An error for columns (p) without any observed cell, by name; a warning for rows without any."""
    missing = np.isnan(table)
    counting = missing if weights is None else missing[weights > 0]
    if len(empty := np.flatnonzero(counting.all(axis=0))):
        shown = listed([column_name(int(j)) for j in empty] if names is None else [names[j] for j in empty])
        where = "" if weights is None else " of positive weight"
        raise ValueError(f"every value is missing in {shown}{where}: leave out such columns")
    warn_of_empty_rows(missing)


def warn_of_empty_rows(missing: np.ndarray) -> None:
    """Say how many rows (of a bool n x p) have no observed cell at all."""
    if n := int(missing.all(axis=1).sum()):
        verb, pronoun = ("has", "its") if n == 1 else ("have", "their")
        warnings.warn(
            f"{count(n, 'row')} {verb} no observed value: {pronoun} groups are the most frequent one, with the prior "
            "probabilities",
            stacklevel=4,
        )


def fit_observed(
    problem: Problem,
    spec: Specification[DLMFamily],
    chosen: Chosen,
    estimator,
    noise: int | str,
    decide: Callable[[Problem, Specification[DLMFamily], Any], Chosen],
) -> tuple[Problem, Chosen]:
    """(the problem with an E-step for the observed cells, the fit to them), from what completed rows chose.

    `noise` is what noise_factors stands for; `decide` makes the decisions on other completed rows.
    """
    own = fit_exact(problem, spec, chosen, noise)
    return _or_by_neighbours(problem, spec, estimator, own, noise, decide)


def fit_exact(problem: Problem, spec: Specification, chosen: Chosen, noise: int | str) -> tuple[Problem, Chosen]:
    """What was chosen on the completed rows, fitted to the observed cells: model, axes and variables stay.

    A spherical noise, with which a fit begins, carries nothing over from what is observed of a row to what is missing;
    on completed rows that does no harm. For noise_factors="auto" (`noise`) more factors than the completed rows ask for
    are tried, too, and AIC of the observed cells decides: factors also predict the missing cells, and a row
    whose group depends on those needs all of them (20% missing on wine: 0.95 with the factors that BIC names, 0.96 with
    more).
    """
    there = exact(problem)
    spec = spec.looser(_TOLERANCE)
    keeps = problem.blocks is not None and not chosen.moved  # Fisher-EM does not improve latent classes
    if keeps:
        spec = spec.at_most(1)
    numbers = [chosen.fit.solution.n_factors]
    if numbers[0] and isinstance(noise, str):
        numbers.append(max(numbers[0], most_factors(problem, numbers[0])))
    found = [fit_with_factors(there, spec, chosen, chosen.fit, m, "observed cells") for m in sorted(set(numbers))]
    # without a fit, keep the groups of the completed rows
    fits = [fit for fit in found if fit is not None] or [described(there, chosen.fit)]

    def value(fit: Fit) -> float:
        d = fit.solution.axes.d
        return fit.log_likelihood - chosen.model.n_parameters(spec.n_clusters, problem.p, d, 0, fit.solution.n_factors)

    best = max(fits, key=value)
    if keeps and best.whole:
        best = replace(best, stop=Stop(StopKind.CONVERGED, "groups kept"))
    chosen, decision = replace(chosen, fit=best), chosen.about("noise")
    return there, chosen if decision is None else chosen.said(_on_observed_cells(decision, best.solution.n_factors))


def most_factors(problem: Problem, n_factors: int) -> int:
    """The most factors that the observed cells may ask for where the completed rows ask for so many."""
    return min(THRESHOLDS.more_factors * n_factors, numbers_of_factors(problem)[-1])


def _on_observed_cells(decision: Decision, n_factors: int) -> Decision:
    """The number of factors that AIC of the observed cells chose, for the one that the completed rows asked for."""
    records = [{key: record[key] for key in _KEPT if key in record} for record in decision.records]
    if n_factors not in {record["n_factors"] for record in records}:
        records.append({"n_factors": n_factors, "reason": ""})
    return noise_decision([r | {"kept": r["n_factors"] == n_factors} for r in records], "AIC of the observed cells")


def described(problem: Problem, fit: Fit) -> Fit:
    """A fit's own parameters with the posteriors and the likelihood of the observed cells."""
    states = problem.fresh_states()
    _, sums = describe_gaps(problem, states, fit.solution)
    return replace(fit, states=states, log_likelihood=sums.log_likelihood, entropy=sums.entropy)


def completed(table: np.ndarray, weights, *, ridge, n_jobs, prior=None) -> Problem:
    """The problem of a checked table (n x p) with gaps."""
    return complete_first(table, weights, rescale=in_unit, ridge=ridge, n_jobs=n_jobs, prior=prior)


def prepared_rows(table, weights=None, *, ridge="auto", n_jobs=None) -> Problem:
    """The problem of any checked table, with gaps or without; one group to begin with."""
    if has_gaps(table):
        return completed(table, weights, ridge=ridge, n_jobs=n_jobs)
    return prepare(table, weights, ridge=ridge, n_jobs=n_jobs, rescale=in_unit)


def imputed(X):
    """X (a frame or an array, n x p) with the conditional means of one group in its missing cells.

    For methods that accept no missing cells; tables without any are returned unchanged.
    """
    table = np.asarray(X, float)
    if not has_gaps(table):
        return X
    check_gaps(table, getattr(X, "columns", None))
    problem = completed(table, None, ridge="auto", n_jobs=None)
    values = problem.given.everything() * problem.unit
    return pd.DataFrame(values, columns=X.columns, index=X.index) if isinstance(X, pd.DataFrame) else values


def log_jacobian(problem: Problem, divisors: np.ndarray) -> float:
    """What dividing the columns adds to the log-likelihood of the observed cells as they were given."""
    assert problem.gaps is not None
    rows = problem.gaps.rows
    seen = rows.patterns.sums(rows.weights[:, None])[:, 0] @ rows.patterns.observed
    return -float(seen @ np.log(divisors))


# -- groups that nearest neighbours show ------------------------------------------------------------------------------


def _neighbours_tell(problem: Problem, spec: Specification[DLMFamily]) -> bool:
    """Whether rows completed by their nearest neighbours are tried: the start is open, and the rows are few enough."""
    open_start = spec.n_clusters > 1 and isinstance(spec.init, str) and problem.prior is None
    return open_start and problem.rows.n <= THRESHOLDS.neighbours_rows


def _labels(problem: Problem, fit: Fit) -> np.ndarray:
    return problem.rows.gather(fit.states, "labels")


def _are_one(labels: np.ndarray, others: np.ndarray) -> bool:
    return adjusted_rand(labels, others) > THRESHOLDS.same_groups


def _or_by_neighbours(
    problem: Problem,
    spec: Specification[DLMFamily],
    estimator,
    own: tuple[Problem, Chosen],
    noise: int | str,
    decide: Callable[[Problem, Specification[DLMFamily], Any], Chosen],
) -> tuple[Problem, Chosen]:
    """The fit, or one from the groups that rows completed by their nearest neighbours show, where those gain more.

    A table that is completed as one group hides some of what separates its groups; neighbours are mostly of one group.
    """
    K, gaps = spec.n_clusters, problem.gaps
    if gaps is None or not _neighbours_tell(problem, spec):
        return own
    weights, options = problem.given.weights, {"ridge": estimator.ridge, "n_jobs": estimator.n_jobs}
    try:
        filled = replace(prepare(gaps.observed.by_neighbours(), weights, **options), blocks=problem.blocks)
        start = _labels(filled, decide(filled, spec, estimator).fit)
        labels = _labels(own[0], own[1].fit)
        if _are_one(start, labels):
            return own
        again = replace(spec, init=start, first_start=False)
        other = fit_exact(problem, again, decide(problem, again, estimator), noise)
    except FitError:
        return own
    moved = _labels(other[0], other[1].fit)
    if not other[1].fit.whole or _are_one(moved, labels):
        return own
    judge = Judge(problem)
    gains = judge.gain(labels), judge.gain(moved)
    better = gains[1].value > gains[0].value + margin(gains[0], K)
    tried = (
        f"completed by the model {gains[0].per_row:+.2f}, by nearest neighbours {gains[1].per_row:+.2f} nats per row"
    )
    choice = "groups of rows completed by " + ("nearest neighbours" if better else "the model")
    decision = Decision("missing cells", choice, tried, "gain over one group")
    kept = other if better else own
    return kept[0], kept[1].said(decision)
