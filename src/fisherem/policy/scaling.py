"""scale="auto": raw or standardised columns, by what comes back on other rows, and by the likelihood.

Dividing the columns by their standard deviations multiplies every density by the product of these: with that Jacobian
the likelihoods of raw and standardised columns are of the same rows, and BIC compares them (the p standard deviations
count as parameters). Where margins are not Gaussian it prefers whatever evens them out, groups or not. So a second
judge is asked: k-means is fitted to halves of the rows, both halves' centres label all rows, and groups that come back
agree. BIC decides unless the halves clearly contradict it; then the columns stay as they are.
"""

from __future__ import annotations

import numpy as np

from .._utils.agreement import adjusted_rand
from ..core.data.problem import Problem
from ..core.data.sampling import one_sample
from ..rows.threads import one_blas_thread
from ..solvers.kmeans_runs import best_kmeans

__all__ = ["agreement_of_halves", "same_scale", "standard_deviations", "standardised_is_better"]

# Halves that agree better by more than this (adjusted Rand index) contradict BIC. Of nine tables they did so on three
# (digits, glass, usps358), where the raw columns have the better labels each time.
_CLEAR = 0.1
# Rows, splits and k-means runs that the agreement is seen on.
_ROWS, _SPLITS, _RUNS = 4_000, 6, 3
# Standard deviations within this of each other are those of standardised columns.
_EQUAL = 1.05


def standard_deviations(problem: Problem) -> np.ndarray:
    """Of the columns (p); 1 for constant ones."""
    variances = np.maximum(problem.scatter.variances(), 0)
    return np.where(problem.constant | (variances <= 0), 1.0, np.sqrt(variances))


def same_scale(problem: Problem) -> bool:
    """Whether the columns that vary have the same standard deviation already."""
    scales = standard_deviations(problem)[~problem.constant]
    return bool(scales.max() <= _EQUAL * scales.min())


def agreement_of_halves(problem: Problem, n_clusters: int, rng: np.random.RandomState) -> float:
    """The mean agreement of the labels that k-means on either half of the rows gives to all of them."""
    Z = one_sample(problem, rng, _ROWS)
    if len(Z) // 2 <= n_clusters:
        return 1.0  # too few rows to contradict anything
    found = []
    with one_blas_thread():
        for _ in range(_SPLITS):
            order = rng.permutation(len(Z))
            halves = (order[: len(Z) // 2], order[len(Z) // 2 :])
            seed = int(rng.randint(np.iinfo(np.int32).max))
            labels = [best_kmeans(Z[half], n_clusters, _RUNS, seed).predict(Z) for half in halves]
            found.append(adjusted_rand(*labels))
    return float(np.mean(found))


def standardised_is_better(raw: dict, standardised: dict) -> bool:
    """Whether standardised columns are to be kept, by the records (agreement, bic) of both."""
    likelier = standardised["bic"] > raw["bic"]
    return likelier and standardised["agreement"] >= raw["agreement"] - _CLEAR
