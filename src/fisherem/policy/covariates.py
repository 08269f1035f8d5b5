"""Covariates beside the groups: the initial effects, when they have converged, and how they are reported.

The effects are estimated with the groups, in turn: from posteriors their effects (`core.data.joint_regression`), from
rows less these effects the posteriors. If no effects were taken out at first, the batches could be taken for groups;
if all that the covariates explain were taken out, groups that are unbalanced over the batches would be lost. So the
first effects are those of k-means with covariates, which minimises sum_i |x_i - m_label(i) - B'z_i|^2 over labels,
means and B, started from both kinds of rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.utils.extmath import randomized_svd

from .._utils.wording import count, listed
from ..core.data.joint_regression import JointRegression, joint_regression, within_shares
from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily, Subset
from ..core.engine.family import Phase
from ..core.engine.multistart import Specification, continue_from
from ..rows.base import ArrayRows, one_blas_thread
from ..solvers.kmeans_runs import best_kmeans
from ..tables.covariates import covariate_names, described_coding
from .decisions import Chosen, Decision
from .noise import fit_with_factors
from .thresholds import THRESHOLDS

__all__ = [
    "about_covariates", "confounded", "decides_anew", "distance_moved", "first_effects", "is_settled",
    "kmeans_with_covariates", "refitted",
]  # fmt: skip

# Runs of k-means from each kind of rows, and how often labels and effects are estimated in turn at most.
_RUNS, _ROUNDS = 5, 50


def first_effects(
    values: np.ndarray, Z: np.ndarray, weights: np.ndarray | None, n_clusters: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """(effects (q x p), labels) of k-means with covariates on rows in memory (n x p)."""
    Z, rows = _centred(Z, weights), ArrayRows(values, weights, n_jobs=1)
    rows.recentre(np.asarray(values, float).mean(axis=0))
    alone = joint_regression(rows, np.ones((1, rows.n)), Z).effects
    if n_clusters == 1:
        return alone, np.zeros(rows.n, int)
    plain = np.asarray(values, float) - rows.centre
    largest = np.abs(plain).max(axis=0, initial=np.finfo(float).tiny)
    spreads = ((plain - Z @ alone) / largest).std(axis=0) * largest  # squares of the units may overflow
    spreads[spreads <= 1e-12 * largest] = np.inf
    with one_blas_thread():
        return kmeans_with_covariates(plain, Z, weights, n_clusters, spreads, alone, seed)


def kmeans_with_covariates(
    rows: np.ndarray, Z: np.ndarray, weights, n_clusters: int, spreads: np.ndarray, alone: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """(effects, labels) with the least sum of squares, from k-means on the rows, on those less `alone`, and on
    components of these.

    Columns are divided by `spreads` for the distances. If the covariates determine the
    groups, their effects cannot be estimated: such groups are used only if there are no others.
    """
    found, left = [], (rows - Z @ alone) / spreads
    for begin in (left, _components(left, n_clusters, seed), rows / spreads):
        labels = best_kmeans(begin, n_clusters, _RUNS, seed, weights).labels
        for _ in range(_ROUNDS):
            step = _regression_on(labels, rows, Z, weights, n_clusters)
            left = (rows - Z @ step.effects) / spreads
            means = _means(left, labels, n_clusters, weights)
            distances = (means**2).sum(axis=1) - 2 * left @ means.T
            before, labels = labels, distances.argmin(axis=1)
            if np.array_equal(before, labels):
                break
        w = np.ones(len(rows)) if weights is None else weights
        squares = float(w @ (distances.min(axis=1) + (left**2).sum(axis=1)))
        found.append((confounded(step), squares, step.effects, labels))
    _, _, effects, labels = min(found, key=lambda one: one[:2])
    return effects, labels


def _components(rows: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """The scores of the rows on as many principal components as there are groups.

    Where groups are unbalanced over batches, most of what is left of them is between the few rows of a batch that are
    not of its main group and the others: too little for k-means on all columns, not for the components.
    """
    m = min(n_clusters, *rows.shape)
    left, lengths, _ = randomized_svd(rows, m, random_state=seed)
    return left * lengths


def _centred(Z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return Z - np.average(Z, axis=0, weights=weights)


def _regression_on(labels: np.ndarray, rows: np.ndarray, Z: np.ndarray, weights, n_clusters: int) -> JointRegression:
    posteriors = (labels == np.arange(n_clusters)[:, None]).astype(float)
    return joint_regression(ArrayRows(rows, weights, n_jobs=1), posteriors, Z)


def _means(rows: np.ndarray, labels: np.ndarray, n_clusters: int, weights) -> np.ndarray:
    w = np.ones(len(rows)) if weights is None else weights
    member = (labels == np.arange(n_clusters)[:, None]) * w
    sizes = member.sum(axis=1)
    means = member @ rows / np.maximum(sizes, np.finfo(float).tiny)[:, None]
    means[sizes == 0] = np.inf  # an empty group gets no rows
    return np.where(np.isfinite(means), means, 1e150)


def distance_moved(moved: np.ndarray, regression: JointRegression, variances: np.ndarray, n: float) -> float:
    """By how many of their standard errors effects moved (q x p), as the root of the mean square over the variables.

    `variances` (p) are those of the adjusted rows, in the same units, n is their weight.
    """
    varying = variances > 0
    size = np.einsum("aj,ab,bj->j", moved, regression.total / n, moved)[varying] / variances[varying]
    return float(np.sqrt(size.mean() * n)) if varying.any() else 0.0


def is_settled(moved: float) -> bool:
    """Whether effects that moved by so many standard errors have converged."""
    return moved < THRESHOLDS.covariate_settled


def decides_anew(moved: float) -> bool:
    """Whether effects have moved so far that model, variables and start are to be chosen anew."""
    return moved > THRESHOLDS.covariate_anew


def confounded(regression: JointRegression) -> bool:
    """Whether some direction of the covariates hardly varies within the groups."""
    return bool(within_shares(regression.within, regression.total).min() < THRESHOLDS.covariate_within)


def refitted(problem: Problem, spec: Specification[DLMFamily], found: Chosen, start: np.ndarray) -> Chosen:
    """What was chosen (model, variables, axes, factors), fitted to other rows from labels (n) or posteriors (n x K).

    Decisions that are made anew in every round may change with any small step of the effects, and never settle.
    """
    axes, m = found.fit.solution.axes, found.fit.solution.n_factors
    family = replace(spec.family, model=found.model, d=axes.d, least_separation=None)
    phase = family.phases()[-1]
    if family.chooses_variables:
        support = np.flatnonzero(~problem.constant if axes.sparse is None else axes.sparse.any(axis=1))
        phase = Phase("sparse", replace(family, sparse=None, subset=Subset(support)))
    settings = spec.settings if found.moved else replace(spec.settings, max_iter=1)
    with problem.rows.threads():
        fit = continue_from(problem, start, replace(spec, settings=settings), phase)
        if not found.moved and fit.whole:
            fit = replace(fit, stop=found.fit.stop)
        chosen = replace(found, fit=fit)
        with_noise = fit_with_factors(problem, spec, chosen, fit, m) if m else None
    return chosen if with_noise is None else replace(chosen, fit=with_noise)


def about_covariates(coding: pd.DataFrame, shares: pd.DataFrame, rounds: int, settled: bool) -> Decision:
    """The record of what was taken out of the rows, and how much it was."""
    said = [f"{one.covariate} {one.share:.1%}" for one in shares.itertuples()]
    choice = f"{listed(described_coding(coding), 10, quoted=False)} taken out with the groups"
    how = f"they explain {listed(said, 10, quoted=False)} of the variance beside the groups"
    after = count(rounds, "round")
    ended = f"settled after {after}" if settled else f"not settled after {after}"
    assert covariate_names(coding)
    return Decision("covariates", choice, "", f"{how}; {ended}")
