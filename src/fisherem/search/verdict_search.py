"""The search by verdict: from checked rows and a `ModelSearch` to its fitted attributes.

What is decided (candidates, evidence, rules, the verdict and its words) stands in `policy.number_of_groups`. This
module stays in `search` because it fits estimators, warns in their name and sets their attributes, and `policy` lies
below `estimators`.
"""

from __future__ import annotations

import warnings
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
from ..estimators.fitting import RAW, adopt, feature_names, fit_rows, warn_of_constant_columns, warn_unless_converged
from ..policy.missing import prepared_rows
from ..policy.number_of_groups.agenda import Plan, gains_most
from ..policy.number_of_groups.candidates import Data, for_groups
from ..policy.number_of_groups.evidence import Evidence
from ..policy.number_of_groups.gathering import gather
from ..policy.number_of_groups.rules import all_rules
from ..policy.number_of_groups.verdict import decide
from ..policy.number_of_groups.wording import said
from ..policy.scaling import LARGE_COLUMNS, scaling, standard_deviations, warn_of_large_columns
from ..policy.thresholds import THRESHOLDS
from ..rows.base import n_threads, one_thread_each
from ..tables.counts import LOG_COUNTS
from ..tables.encoding import Encoding

__all__ = ["search_by_verdict", "verdict_columns"]


def verdict_columns() -> list[str]:
    """The columns of the results of a search by verdict: one per rule, between what was fitted and how it ended."""
    names = ("agreement_least", "agreement_most", "candidate", "converged", "seconds", "stop_reason")
    return ["n_clusters", "n_selected", "smallest", *all_rules(), *names]


def search_by_verdict(search, table, weights=None, prior=None):
    """Search on checked rows (n x p); sets the search's fitted attributes and returns (prepared rows, the best fit)."""
    encoding = getattr(search, "encoding_", None)
    problem = prepared_rows(table, weights, ridge=search.estimator.ridge, n_jobs=search.n_jobs)
    with problem.rows.closed_on_error():
        warn_of_constant_columns(problem, feature_names(search))
        if search.estimator.scale == RAW:
            warn_of_large_columns(problem, feature_names(search))
        seed = _seed(search.estimator.random_state)
        # of a table with categories the fits divide the columns themselves
        divided = encoding is None and scaling(problem, search.estimator.scale)[0] != RAW
        scales = standard_deviations(problem) if divided else None
        rows, data = _sample(problem, search.sample_size, seed, scales, encoding)
        plan = _plan(search, len(rows), seed, n_threads(search.n_jobs))
        mark = fingerprint(problem, search._settings() + repr((seed, len(rows)))) if search.checkpoint else ""
        evidence = _gathered(search, plan, data, Store(search.checkpoint, mark))
    decision = decide(evidence)
    cautions = tuple(_cautions(search, problem, evidence, decision.n_clusters))
    search.results_ = _results(evidence)
    search.evidence_ = evidence
    search.best_index_ = evidence.numbers.index(decision.n_clusters)
    search.paths_ = {}
    problem, fit = _adopt_best(search, table, weights, prior, decision.n_clusters, seed)
    smallest = int(np.bincount(search.best_estimator_.labels_, minlength=decision.n_clusters).min())
    search.verdict_ = said(evidence, decision, cautions, smallest)
    return problem, fit


def _seed(random_state) -> int:
    """One seed for all fits, so that each can be made again."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _sample(
    problem: Problem, size: int, seed: int, scales: np.ndarray | None, encoding: Encoding | None
) -> tuple[np.ndarray, Data]:
    """(numbers of the rows that the choice is made on, those rows, their columns divided by `scales`)."""
    given = problem.given
    chosen = np.arange(given.n)
    if given.n > size:
        chosen = np.sort(check_random_state(seed).permutation(given.n)[:size])
    weights = None if given.weights is None else np.asarray(given.weights)[chosen]
    values = given.take(chosen)
    if encoding is not None:
        return chosen, Data.of(values, weights, encoding)
    values = values - values.mean(axis=0)  # scores of columns with a large offset would lose their digits
    return chosen, Data.of(values if scales is None else values / scales, weights)


def _plan(search, n: int, seed: int, jobs: int) -> Plan:
    least = search.min_size
    if isinstance(least, str):
        few = THRESHOLDS.number_of_groups
        least = max(few.candidate_rows, int(np.ceil(few.candidate_share * n)))
    numbers = None if isinstance(search.n_clusters, str) else search._clusters()
    estimator = clone(search.estimator)
    if search.n_init is not None:
        estimator.set_params(n_init=search.n_init)
    if getattr(estimator, "transformation", "") == LOG_COUNTS:  # the rows are logarithms already
        estimator.set_params(transformation=RAW)
    return Plan(estimator, numbers, int(least), search.n_splits, seed, jobs)


def _gathered(search, plan: Plan, data: Data, store: Store) -> Evidence:
    """All evidence, or what there was of it when the search was interrupted."""
    evidence = Evidence(data, plan.min_size)
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
            done = count(len(evidence.candidates), "fit")
            warnings.warn(f"interrupted: the verdict rests on the {done} that were done", stacklevel=5)
    if evidence.best(1) is None and not evidence.usable:
        reasons = {found.reason for found in evidence.candidates.values() if found.reason}
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
            "be separated perfectly. Trust only what is found again on other rows."
        )
    numbers = evidence.numbers
    if len(numbers) > 2 and (n_clusters == numbers[-1] or gains_most(evidence, numbers[-1])):
        text = f"{numbers[-1]} is the largest number of groups that was tried, and it is the best or gains most"
        warnings.warn(f"{text}; give a wider range of n_clusters", stacklevel=5)
        yield f"{text}: there may be more groups."
    for K in numbers:  # a number that could not be fitted has not been ruled out
        if reason := evidence.candidates[K].reason:
            yield f"No fit with {count(K, 'group')} succeeded ({reason}): the verdict does not consider this number."
    if search.interrupted_:
        yield "The search was interrupted: the verdict rests on the fits that were done."


def _results(evidence: Evidence) -> pd.DataFrame:
    """A row per number of groups, failures included with their reason."""
    values = {name: rule.values(evidence) for name, rule in all_rules().items()}
    rows = []
    for K in evidence.numbers:
        found, halves = evidence.candidates[K], evidence.halves.get(K)
        usable = evidence.fits(found)
        few = f"a group has {count(found.smallest, 'row')}, fewer than {evidence.min_size}"
        agreements = np.array([np.nan]) if halves is None else halves.agreements
        row: dict[str, Any] = {name: known.get(K, np.nan) for name, known in values.items()}
        row |= {
            "n_clusters": K,
            "n_selected": int(found.support.sum()),
            "smallest": found.smallest,
            "agreement_least": agreements.min(),
            "agreement_most": agreements.max(),
            "candidate": usable,
            "converged": found.converged,
            "seconds": found.seconds,
            "stop_reason": found.reason or ("" if usable else few),
        }
        rows.append(row)
    return pd.DataFrame(rows, columns=verdict_columns())


def _adopt_best(search, table, weights, prior, K: int, seed: int):
    """Fit the chosen number of groups to all rows: the estimator's own fit, as if the number had been given."""
    best = for_groups(search.estimator, K, seed)
    if search.n_init is not None:
        best.set_params(n_init=search.n_init)
    for name in ("n_features_in_", "feature_names_in_", "encoding_", "count_total_"):
        if hasattr(search, name):
            setattr(best, name, getattr(search, name))
    with warnings.catch_warnings():
        for said_already in ("constant columns", LARGE_COLUMNS):
            warnings.filterwarnings("ignore", said_already)
        fitted = fit_rows(best, table, weights, prior)
    problem, fit = fitted.problem, fitted.chosen.fit
    with problem.rows.closed_on_error():
        adopt(best, fitted)
    warn_unless_converged(best, fit)
    search.best_estimator_ = best
    search.best_params_ = {"n_clusters": K}
    search.best_score_ = search.evidence_.gain(K)
    return problem, fit
