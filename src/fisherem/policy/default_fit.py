"""From prepared rows to the fit of an estimator: the decisions, in their order.

    the rows        large data are decided on a sample, and what was found is fitted to all rows
    the groups      Fisher-EM from k-means; other starts where these clearly gain more
    covariances     common, or one per group where that clearly gains more
    the model       by the likelihood inside the axes (`latent_model`), or of whole fits with full means (`model`)
    the axes        those that separate the groups (`latent_model`)
    the variables   those that make these groups (`variables`)
    the noise       as many common factors as BIC asks for (`noise`)
    missing cells   all of it on completed rows; the fit then goes on from there on the observed cells (`missing`)
    the ridge       by every run, for the groups that it begins with (`core.dlm.ridge_and_axes`); only named here

Every decision leaves a record in `Chosen.decisions`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from .._utils.wording import group_name
from ..core.data.problem import Problem, prepare
from ..core.data.sampling import SAMPLE_ROWS, one_sample
from ..core.dlm.family import DLMFamily, Means, Subset
from ..core.engine.family import Phase
from ..core.engine.loop import Fit, Stop, StopKind
from ..core.engine.multistart import FitError, Specification, best_of, continue_from, starting_points
from ..core.starts.partitions import is_large
from ..model.dlm import AUTO, MODELS, candidates, resolve
from .alternation import FittedSubset, Wanted, fit_subset
from .decisions import Chosen, Decision, naming_ridge
from .groups import Groups, Kind, best_groups, class_groups, margin
from .judge import Judge, least_rows
from .latent_model import fit_latent, naming_axes
from .missing import fit_observed
from .model import fit_best
from .noise import NOISE_AUTO, fit_with_factors, with_factors
from .own_covariances import OWN_COVARIANCES, covariances_decision, own_covariances_allowed
from .thresholds import THRESHOLDS
from .variables import Selection, variables_for

__all__ = ["default_fit", "few_rows", "sample_problem", "wanted_factors"]

# Iterations after which a fit that leaves the groups it began with for worse ones shows it.
_LOOK = 10


def default_fit(problem: Problem, spec: Specification[DLMFamily], estimator) -> tuple[Problem, Chosen]:
    """(the problem that was fitted, the fit) of what an estimator leaves open: its model, variables and noise.

    With missing cells the problem that comes back has an E-step for the observed ones.
    """
    chosen = _decided(problem, spec, estimator)
    if problem.gaps is not None:
        factors = wanted_factors(problem, estimator.noise_factors)
        problem, chosen = fit_observed(problem, spec, chosen, estimator, factors, _decided)
    return problem, naming_ridge(chosen)


def _decided(problem: Problem, spec: Specification[DLMFamily], estimator) -> Chosen:
    """The fit to these rows, or to a sample of large data and then to all of them."""
    # rows of their row space have no variables to choose from in a sample, and a given partition is one of all rows
    sampled = is_large(problem) and problem.rows is problem.given and isinstance(spec.init, str)
    if not sampled or spec.n_clusters == 1:
        return _on_these(problem, spec, estimator)
    try:
        small = sample_problem(problem, check_random_state(spec.random_state))
        found = _on_these(small, spec, estimator, neighbours=problem.prior is not None)
        chosen = _on_all(problem, small, spec, found)
    except FitError:  # the sample may lack a group that all rows have
        return _with_noise(problem, spec, _dense(problem, spec, estimator.model), estimator)
    text = f"a sample of {small.rows.n:,} of {problem.rows.n:,} rows"
    rows = Decision("rows", text, "", "large data: decided on the sample, then fitted to all rows")
    return chosen.first(rows)


def _on_these(problem: Problem, spec: Specification[DLMFamily], estimator, neighbours: bool = False) -> Chosen:
    """Groups, model, variables and noise, in turn; `neighbours`: a prior over the rows will make up for the start."""
    family = spec.family
    dense_spec = replace(spec, family=family.dense())
    # another start than k-means, or one start alone, was asked for; a prior over the rows makes up for a poor one
    only_start = problem.prior is not None or neighbours or spec.n_init == 1
    open_start = spec.first_start and spec.n_clusters > 1 and not only_start
    if family.means is Means.FULL or spec.n_clusters == 1 or family.starts_cold:
        chosen = _dense(problem, dense_spec if family.chooses_variables else spec, estimator.model)
    else:
        if open_start:
            chosen, groups = _from_best_start(problem, dense_spec, estimator)
        else:
            chosen = _dense(problem, dense_spec, estimator.model)
            groups = _labels(problem, chosen.fit)
        if family.chooses_variables:
            chosen = _with_variables(problem, dense_spec, estimator.model, chosen, groups)
        elif family.sparse is not None:
            chosen = _with_shares(problem, spec, chosen)
    chosen = naming_axes(spec, _with_noise(problem, spec, chosen, estimator))
    return _naming_small_groups(problem, chosen, estimator.min_size)


def _naming_small_groups(problem: Problem, chosen: Chosen, min_size: float | str) -> Chosen:
    """Groups that are too small to be more than outlying rows, as a decision of the record."""
    weights = np.ones(problem.rows.n) if problem.rows.weights is None else problem.rows.weights
    sizes = np.bincount(_labels(problem, chosen.fit), weights, len(chosen.fit.solution.density.proportions))
    least = least_rows(min_size, problem.weight)
    small = [f"{group_name(k)} ({sizes[k]:,.0f} rows)" for k in np.flatnonzero(sizes < least).tolist()]
    if not small or len(sizes) == 1:
        return chosen
    reason = f"fewer than {least:,.0f} rows: they may be outliers (min_size)"
    return chosen.said(Decision("small groups", ", ".join(small), "", reason))


def _dense(problem: Problem, spec: Specification[DLMFamily], model) -> Chosen:
    """The fit of the given model, or for model="auto" of the one that is chosen."""
    if spec.family.means is Means.LATENT and model == AUTO:
        return fit_latent(problem, spec)
    return fit_best(problem, spec, candidates(model))


def _with_noise(problem: Problem, spec: Specification[DLMFamily], chosen: Chosen, estimator) -> Chosen:
    """The fit with the factors of the noise that are asked for; most fits have none."""
    wanted = wanted_factors(problem, estimator.noise_factors)
    return chosen if wanted == 0 else with_factors(problem, spec, chosen, wanted)


def wanted_factors(problem: Problem, noise: int | str | None) -> int | str:
    """What noise_factors=None stands for: 0, or with missing cells as many as BIC asks for (0 with categories).

    On complete rows factors change the likelihood but do not improve the groups: on 44 tables the mean adjusted Rand
    index of the dense fit is 0.52 without and 0.51 with them, at up to four times the price.
    """
    if noise is None:
        return 0 if problem.gaps is None or problem.blocks is not None else NOISE_AUTO
    return noise


# -- the groups --------------------------------------------------------------------------------------------------------


def _labels(problem: Problem, fit: Fit) -> np.ndarray:
    return problem.rows.gather(fit.states, "labels")


def _from_best_start(problem: Problem, spec: Specification[DLMFamily], estimator) -> tuple[Chosen, np.ndarray]:
    """(the fit on all variables, the groups that it began with)."""
    rng = check_random_state(spec.random_state if isinstance(spec.random_state, (int, np.integer)) else 0)
    start = _start_labels(problem, spec)
    given = replace(spec, init=start, first_start=False)
    try:
        first = _dense(problem, given, estimator.model)
    except FitError:  # no fit from the best partition of k-means: take the best from all starts
        first = _dense(problem, spec, estimator.model)
        start = _labels(problem, first.fit)
    chosen, labels, decision = _from_kept_groups(problem, spec, estimator, first, start, rng)
    if problem.blocks is None and own_covariances_allowed(estimator.model):
        chosen, labels = _in_own_covariances(problem, spec, estimator, chosen, labels, rng)
    return chosen.first(decision), labels


def _from_kept_groups(
    problem: Problem, spec: Specification[DLMFamily], estimator, first: Chosen, start: np.ndarray, rng
) -> tuple[Chosen, np.ndarray, Decision]:
    """(the fit on all variables, the groups that it began with, why): `first` is the fit from k-means, `start`."""
    numbers, here = few_rows(problem, rng)
    judge = None if here.blocks is not None else Judge(here)
    if judge is None:  # a table with categories: latent classes from k-means, which the fit keeps
        groups, decision = class_groups(here, start[numbers], spec.n_clusters)
    else:
        with here.rows.threads():
            ends = _labels(problem, first.fit)[numbers]
            groups, decision = best_groups(here, spec, start[numbers], ends, judge, estimator.min_size, rng)
    if groups.kind is Kind.ANCHOR:
        return first, _labels(problem, first.fit), decision
    whole = len(numbers) == problem.rows.n
    chosen = _from_groups(problem if whole else here, spec, estimator.model, groups, judge)
    if chosen is not None and not whole:
        try:
            chosen = _on_all(problem, here, spec, chosen)
        except FitError:  # the sample lacks what the rows have
            chosen = None
    if chosen is None:
        return first, _labels(problem, first.fit), decision
    return chosen, groups.labels if whole else _labels(problem, chosen.fit), decision


def _in_own_covariances(
    problem: Problem, spec: Specification[DLMFamily], estimator, chosen: Chosen, labels: np.ndarray, rng
) -> tuple[Chosen, np.ndarray]:
    """The fit from groups with covariances of their own and these groups, where they gain; else what there is.

    Fisher-EM places the rows once: in its own likelihood the axes move, and with them the groups.
    """
    numbers, here = few_rows(problem, rng, THRESHOLDS.own_rows)
    whole = len(numbers) == problem.rows.n
    with here.rows.threads():
        found, mixture, before, decision = covariances_decision(
            here, labels[numbers], spec.n_clusters, estimator.min_size
        )
    if found is None:
        return chosen.first(decision), labels
    given = replace(spec, init=found, first_start=False).at_most(1)
    where = problem if whole else here
    try:
        own = _dense(where, given, OWN_COVARIANCES if estimator.model == AUTO else estimator.model)
        placed = mixture.climbed(_labels(where, own.fit), 1)
        if placed is not None and placed.gain >= before:
            own = replace(own, fit=_kept(own.fit), moved=False)
            own = own.said(Decision("model", own.model.name, "", "the groups have covariances of their own"))
            own = own if whole else _on_all(problem, here, spec, own)
            return own.first(decision), found if whole else _labels(problem, own.fit)
    except FitError:  # too few rows for this model
        pass
    decision = replace(decision, choice="common", reason="inside the axes, covariances of their own gain too little")
    return chosen.first(decision), labels


def _from_groups(
    problem: Problem, spec: Specification[DLMFamily], model, groups: Groups, judge: Judge | None
) -> Chosen | None:
    """The fit on all variables from given groups, or None.

    It does not end at groups that gain less than those it began with: then it ends after one iteration.
    """
    least, limit = groups.gain.value - margin(groups.gain, spec.n_clusters), spec.settings.max_iter

    def fitted(most: int) -> Chosen | None:
        given = replace(spec, init=groups.labels, first_start=False).at_most(most)
        try:
            return _dense(problem, given, model)
        except FitError:
            return None

    def holds(chosen: Chosen, judge: Judge) -> bool:
        labels = _labels(problem, chosen.fit)
        return len(np.unique(labels)) == spec.n_clusters and judge.gain(labels).value >= least

    if judge is not None and np.isfinite(least) and limit > 1:
        for most in sorted({min(_LOOK, limit), limit}):  # groups that have lost too much soon are not followed
            chosen = fitted(most)
            if chosen is None or not holds(chosen, judge):
                break
            if most == limit or chosen.fit.converged:
                return chosen
    kept = fitted(1)
    return None if kept is None else replace(kept, fit=_kept(kept.fit), moved=False)


def _kept(fit: Fit) -> Fit:
    """A fit of one iteration, marked as converged: further iterations would move its groups."""
    if not fit.whole:
        return fit
    return replace(fit, stop=Stop(StopKind.CONVERGED, "groups kept"))


def _start_labels(problem: Problem, spec: Specification[DLMFamily]) -> np.ndarray:
    """The best partition of k-means (n labels)."""
    start = starting_points(problem, spec)[0]
    if isinstance(start, np.ndarray):
        return start
    return problem.rows.gather(problem.start_states(start, spec.n_clusters), "posteriors").argmax(axis=0)


# -- the variables -----------------------------------------------------------------------------------------------------


def _with_variables(
    problem: Problem, spec: Specification[DLMFamily], model, dense: Chosen, labels: np.ndarray
) -> Chosen:
    """The fit on the variables that make the groups of `labels`."""
    if len(np.unique(labels)) < spec.n_clusters:
        return dense
    d = dense.fit.solution.axes.d
    with problem.rows.threads():
        found = variables_for(problem, spec, labels, d, dense.model.name, dense.moved)
        chosen = dense if found.kept is None else _with(dense, found.kept, model, problem, spec)
        chosen = chosen if dense.moved and problem.blocks is None else replace(chosen, fit=_kept(chosen.fit))
    return replace(chosen, fewest=found.fewest).said(_about_variables(problem, found))


def _about_variables(problem: Problem, found: Selection) -> Decision:
    tried = ", ".join(f"{r['n_variables']} variables {r['agreement']:.2f}" for r in found.records)
    one = len(found.records) == 1
    where = "agreement of the groups that they make" if one else "agreement of the groups that they make on other rows"
    tried = f"{tried} ({where})" if tried else ""
    if found.kept is None:
        return Decision("variables", f"all {problem.n_variables}", tried, "no list of variables could be fitted")
    reason = "the fewest that make the same groups"
    reason = reason if one else "the fewest that give the groups back on other rows as well as any list does"
    return Decision("variables", f"{found.kept.n_variables} of {problem.n_variables}", tried, reason)


def _after(dense: Chosen, fit: Fit) -> Fit:
    before = dense.fit.history
    fit.history = before + [{**r, "iteration": r["iteration"] + len(before)} for r in fit.history]
    return fit


def _with(dense: Chosen, best: FittedSubset, model, problem: Problem, spec: Specification[DLMFamily]) -> Chosen:
    """The candidate as the result, with the history of the dense fit before its own."""
    fit, name = best.fit, best.model
    if model != AUTO and name != resolve(model).name:  # the variables were found with another model: fit the given one
        name = resolve(model).name
        most = None if dense.moved and problem.blocks is None else 1
        fit = fit_subset(problem, spec, Wanted(best.labels, best.support, best.rank, name, most)) or fit
    return replace(dense, fit=_after(dense, fit), model=MODELS.get(name, dense.model))


def _with_shares(problem: Problem, spec: Specification[DLMFamily], dense: Chosen) -> Chosen:
    """The sparse algorithm with given shares, from the dense fit."""
    family = replace(spec.family, model=dense.model, d=dense.fit.solution.axes.d)
    for phase in family.phases()[1:]:
        with problem.rows.threads():
            fit, records = best_of(problem, [dense.fit], spec, phase)
        dense = replace(dense, fit=fit, starts=dense.starts + records)
    return dense


# -- large data --------------------------------------------------------------------------------------------------------


def sample_problem(problem: Problem, rng: np.random.RandomState) -> Problem:
    """Some of the rows of large data, prepared with the same ridge: enough to choose a model on."""
    size = min(SAMPLE_ROWS, max(THRESHOLDS.sample_rows, THRESHOLDS.sample_rows_per_variable * problem.p))
    scatter = problem.scatter
    sample = prepare(one_sample(problem, rng, size), ridge=scatter.ridge / scatter.mean_variance)
    return replace(sample, blocks=problem.blocks)


def few_rows(
    problem: Problem, rng: np.random.RandomState, least: int = THRESHOLDS.few_rows
) -> tuple[np.ndarray, Problem]:
    """(numbers of rows, these rows in memory): `least` of them, or more where there are many variables.

    Few enough to be fitted many times.
    """
    rows, size = problem.rows, max(least, THRESHOLDS.few_rows_per_variable * problem.p)
    if rows.n <= size and (rows.portable or rows is not problem.given):
        return np.arange(rows.n), problem
    counting = np.arange(rows.n) if rows.weights is None else np.flatnonzero(rows.weights)
    numbers = counting if len(counting) <= size else np.sort(rng.choice(counting, size, replace=False))
    weights = None if rows.weights is None else rows.weights[numbers]
    share = problem.scatter.ridge / problem.scatter.mean_variance
    few = prepare(problem.given.take(numbers) - problem.given.centre, weights, ridge=share)
    return numbers, replace(few, blocks=problem.blocks)


def _on_all(problem: Problem, small: Problem, spec: Specification[DLMFamily], found: Chosen) -> Chosen:
    """What was found on a sample, fitted to all rows from there."""
    axes, m = found.fit.solution.axes, found.fit.solution.n_factors
    fit: Fit = replace(found.fit, solution=found.fit.solution.moved(small.centre), states=[], history=[])
    family = replace(spec.family, model=found.model, d=axes.d)
    phases = family.phases()[-1:]
    if family.chooses_variables:
        support = np.flatnonzero(~problem.constant if axes.sparse is None else axes.sparse.any(axis=1))
        phases = (Phase("sparse", replace(family, sparse=None, subset=Subset(support))),)
    again = spec if found.moved else spec.at_most(1)
    with problem.rows.threads():
        for phase in phases:
            fit = continue_from(problem, fit, again, phase)
    fit = fit if found.moved else _kept(fit)
    if not fit.whole:
        raise FitError(f"the groups of a sample of the rows are not those of all: {fit.stop}")
    chosen = replace(found, fit=fit)
    with_noise = fit_with_factors(problem, spec, chosen, fit, m) if m else None
    return chosen if with_noise is None else replace(chosen, fit=with_noise)
