"""The search by verdict: from checked rows and a `ModelSearch` to its fitted attributes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._utils.progress import progress_bar
from .._utils.wording import count
from ..core.data.problem import Problem
from ..core.engine.checkpoints import Store, fingerprint
from ..core.engine.multistart import FitError
from ..estimators.fitting import POWER, RAW, adopt, fit_rows, warn_of_constant_columns, warn_unless_converged
from ..policy.missing import prepared_rows
from ..policy.number_of_groups.candidates import COLUMNS, POWERS, Data, for_groups
from ..policy.number_of_groups.evidence import Evidence
from ..policy.number_of_groups.gathering import Plan, best_number, gather, prepared_data
from ..policy.number_of_groups.rules import RULES
from ..policy.number_of_groups.shortening import shorter
from ..policy.number_of_groups.verdict import Verdict, decide
from ..policy.number_of_groups.wording import said
from ..policy.powers import spiked
from ..policy.scaling import LARGE_COLUMNS, scaling, standard_deviations, warn_of_large_columns
from ..rows.threads import n_threads, one_thread_each
from ..tables.gaps import has_gaps

__all__ = ["search_by_verdict", "verdict_columns"]

# Groups below this share of the rows are outliers to every rule; a group also needs this many rows to have a mean.
_LEAST_SHARE, _LEAST_ROWS = 0.03, 5


def verdict_columns() -> list[str]:
    """The columns of the results of a search by verdict: one per rule, between what was fitted and how it ended."""
    return [
        "n_clusters", "source", "n_selected", "smallest", *RULES, "agreement_error",
        "candidate", "converged", "seconds", "stop_reason",
    ]  # fmt: skip


def search_by_verdict(search, table, weights=None, prior=None):
    """Search on checked rows (n x p); sets the search's fitted attributes and returns (prepared rows, the best fit)."""
    problem = prepared_rows(table, weights, ridge=search.estimator.ridge, n_jobs=search.n_jobs)
    with problem.rows.closed_on_error():
        warn_of_constant_columns(problem, getattr(search, "feature_names_in_", None))
        if search.estimator.scale == RAW:
            warn_of_large_columns(problem, getattr(search, "feature_names_in_", None))
        seed = _seed(search.estimator.random_state)
        scales = standard_deviations(problem) if scaling(problem, search.estimator.scale)[0] != RAW else None
        rows, data = _sample(problem, search.sample_size, seed, scales)
        plan = _plan(search, len(rows), seed, n_threads(search.n_jobs))
        mark = fingerprint(problem, search._settings() + repr((seed, len(rows)))) if search.checkpoint else ""
        evidence = _gathered(search, plan, data, Store(search.checkpoint, mark))
    decision = decide(evidence)
    cautions = tuple(_cautions(search, problem, evidence, decision.n_clusters))
    search.verdict_ = said(evidence, decision, cautions)
    search.results_ = _results(evidence)
    search.evidence_ = evidence
    search.best_index_ = evidence.numbers.index(decision.n_clusters)
    search.paths_ = {}
    return _adopt_best(search, table, weights, prior, evidence, data, rows, seed)


def _seed(random_state) -> int:
    """One seed for all fits, so that each can be made again."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _sample(problem: Problem, size: int, seed: int, scales: np.ndarray | None) -> tuple[np.ndarray, Data]:
    """(numbers of the rows that the choice is made on, those rows, their columns divided by `scales`)."""
    given = problem.given
    chosen = np.arange(given.n)
    if given.n > size:
        chosen = np.sort(check_random_state(seed).permutation(given.n)[:size])
    weights = None if given.weights is None else np.asarray(given.weights)[chosen]
    values = given.take(chosen)
    return chosen, prepared_data(values if scales is None else values / scales, weights)


def _plan(search, n: int, seed: int, jobs: int) -> Plan:
    least = search.min_size
    if isinstance(least, str):
        least = max(_LEAST_ROWS, int(np.ceil(_LEAST_SHARE * n)))
    numbers = None if isinstance(search.n_clusters, str) else search._clusters()
    # candidates are fitted to columns that are bent once for all, or not at all
    estimator = clone(search.estimator).set_params(transformation=RAW)
    if search.n_init is not None:
        estimator.set_params(n_init=search.n_init)
    bent_only = search.estimator.transformation == POWER
    return Plan(estimator, numbers, int(least), search.n_splits, seed, jobs, bent_only)


def _gathered(search, plan: Plan, data: Data, store: Store) -> Evidence:
    """All evidence, or what there was of it when the search was interrupted."""
    share = float(spiked(data.values, data.weights).mean())
    evidence = Evidence(len(data.values), plan.min_size, spiked=share)
    search.interrupted_ = False
    # fits run side by side, or each uses threads over blocks of rows: threads of BLAS would only wait for each other
    with one_thread_each(), progress_bar("how many groups", search.progress) as bar:
        try:
            for _ in gather(plan, data, store, bar, evidence):
                pass
        except KeyboardInterrupt:
            if evidence.best(1) is None:
                raise
            search.interrupted_ = True
            done = count(sum(map(len, evidence.candidates.values())), "fit")
            warnings.warn(f"interrupted: the verdict rests on the {done} that were done", stacklevel=5)
    if evidence.best(1) is None and not evidence.usable:
        reasons = {c.reason for found in evidence.candidates.values() for c in found if c.reason}
        raise FitError(f"all fits failed: {'; '.join(sorted(reasons))}")
    return evidence


def _cautions(search, problem: Problem, evidence: Evidence, n_clusters: int):
    """What to keep in mind, and a warning where the range ends too early."""
    if evidence.n < problem.given.n:
        yield (
            f"The choice was made on a sample of {evidence.n:,} of the {problem.given.n:,} rows; the groups were then "
            "fitted to all rows."
        )
    if evidence.n < problem.p:
        yield (
            f"There are fewer rows ({evidence.n:,}) than columns ({problem.p:,}): with so few, almost any grouping can "
            "be separated perfectly. Trust only what comes back on other rows."
        )
    chosen = evidence.best(n_clusters)
    if chosen is not None and chosen.source == POWERS and search.estimator.transformation != POWER:
        yield "Columns are skewed: the groups were found, and fitted, after bending them (transformation='power')."
    numbers = evidence.numbers
    if len(numbers) > 2 and best_number(evidence) == numbers[-1]:
        text = f"{numbers[-1]} is the largest number of groups that was tried, and C still rises there"
        warnings.warn(f"{text}; give a wider range of n_clusters", stacklevel=5)
        yield f"{text}: there may be more groups."
    for K in numbers:
        reasons = sorted({c.reason for c in evidence.candidates[K]})
        if all(reasons):  # a number that could not be fitted is not one that was found wanting
            yield f"No fit with {count(K, 'group')} succeeded ({'; '.join(reasons)}): the verdict knows nothing of it."
    if search.interrupted_:
        yield "The search was interrupted: the verdict rests on the fits that were done."


def _results(evidence: Evidence) -> pd.DataFrame:
    """A row per number of groups, failures included with their reason."""
    values = {name: rule.values(evidence) for name, rule in RULES.items()}
    rows = []
    for K in evidence.numbers:
        best = evidence.best(K)
        one = best or max(evidence.candidates[K], key=lambda c: (not c.reason, c.smallest))
        row: dict[str, Any] = {name: found.get(K, np.nan) for name, found in values.items()}
        reason = one.reason or (
            "" if best else f"a group has {count(one.smallest, 'row')}, fewer than {evidence.min_size}"
        )
        row |= {
            "n_clusters": K,
            "source": one.source,
            "n_selected": int(one.support.sum()),
            "smallest": one.smallest,
            "agreement_error": evidence.halves[K].error if K in evidence.halves else np.nan,
            "candidate": best is not None,
            "converged": one.converged,
            "seconds": sum(c.seconds for c in evidence.candidates[K]),
            "stop_reason": reason,
        }
        rows.append(row)
    return pd.DataFrame(rows, columns=verdict_columns())


def _labels_of_all(model, table, rows: np.ndarray, data: Data, labels: np.ndarray) -> np.ndarray:
    """The labels (n) of all rows from those of a sample (numbers `rows`): what a fit to the sample predicts."""
    if len(rows) == table.shape[0]:
        return labels
    take = getattr(table, "rows_at", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows says what there is to say
        model.fit(np.asarray(table[rows] if take is None else take(rows)), **data.fit_options())
    return np.asarray(model._labels(table))


def _adopt_best(search, table, weights, prior, evidence: Evidence, data: Data, rows: np.ndarray, seed: int):
    """Fit the chosen number of groups to all rows, with the shortest list of variables that C prefers."""
    verdict: Verdict = search.verdict_
    K = verdict.n_clusters
    chosen = evidence.best(K)
    changes: dict[str, Any] = {}
    # the groups are those of bent columns: so is the fit, unless cells are missing, which bending does not take
    if chosen is not None and chosen.source == POWERS and not has_gaps(table):
        changes["transformation"] = POWER
    if chosen is not None and chosen.source != COLUMNS and K > 1:
        found = for_groups(search.estimator, K, seed, **changes, init=chosen.labels)
        changes["init"] = _labels_of_all(found, table, rows, data, chosen.labels)
    best = for_groups(search.estimator, K, seed, **changes)
    if search.n_init is not None:
        best.set_params(n_init=search.n_init)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(search, name):
            setattr(best, name, getattr(search, name))
    with warnings.catch_warnings():
        for said_already in ("constant columns", LARGE_COLUMNS):
            warnings.filterwarnings("ignore", said_already)
        fitted = fit_rows(best, table, weights, prior)
    problem = fitted.problem
    with problem.rows.closed_on_error():
        adopt(best, fitted)
        fit = fitted.chosen.fit
        if best._chooses_variables and K > 1:
            short = shorter(best, problem, rows, data.values, data.weights, search.fewest_variables)
            if short.fit is not None:
                fit = short.fit
                adopt(best, replace(fitted, chosen=replace(fitted.chosen, fit=fit)))
    warn_unless_converged(best, fit)
    best.set_params(init=search.estimator.init)
    search.best_estimator_ = best
    search.best_params_ = {"n_clusters": K}
    search.best_score_ = float("nan") if chosen is None else chosen.robust
    return problem, fit
