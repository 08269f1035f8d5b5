"""Partitions to begin with besides k-means on the columns: in other metrics, on scores, on few of the variables.

Among many variables that carry nothing, or behind a common factor of the noise, k-means cuts the cloud where it is
longest. Sparse k-means finds groups in few of the variables; the metric (S + r v I)^-1/2, v the mean variance, takes
out directions that all rows share. Every start is taken the same short way: Fisher-EM on all variables, then on the
variables that differ between its groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._utils.agreement import adjusted_rand
from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily
from ..core.engine.multistart import NUMERICAL_ERRORS, Specification, continue_from
from ..core.starts.metrics import LARGE, centred_rows, coordinates, shrunk, sparse_partitions
from ..core.starts.partitions import distinct_rows
from ..model.dlm import MODELS
from ..rows.threads import one_blas_thread
from ..solvers.kmeans_runs import best_kmeans
from .alternation import Climb, round_of
from .latent_model import COMPACT
from .scores import Scores, standardised
from .thresholds import THRESHOLDS

__all__ = ["candidates", "same_partition"]

# The shares r of the mean variance that metrics are shrunk by: from nearly Euclidean to nearly that of Mahalanobis.
_SHRINKAGES = (0.5, 0.1, 0.02)
# k-means runs in each metric.
_RUNS = 5
_SHRUNK = "k-means in a metric shrunk by "
# Rows that starts are looked for on, and iterations of Fisher-EM from each: it shows where a start leads.
_ROWS, _ITERATIONS = 800, 15


def same_partition(labels: np.ndarray, others: list[np.ndarray], least: float = THRESHOLDS.same_partition) -> bool:
    """Whether a partition is among others: agrees more than `least` (adjusted Rand index) with one of them."""
    return any(adjusted_rand(labels, other) > least for other in others)


def candidates(
    problem: Problem, spec: Specification[DLMFamily], first: np.ndarray, rng: np.random.RandomState
) -> Iterator[tuple[str, np.ndarray]]:
    """(name, labels (n)) of partitions that other starts lead to, and of `first` on the variables that it separates."""
    K = spec.n_clusters
    found: dict[str, np.ndarray] = {"k-means": first}
    for name, labels in _partitions(problem, K, rng):
        if not same_partition(labels, list(found.values())):
            found[name] = labels
    short = replace(spec, settings=replace(spec.settings, max_iter=min(_ITERATIONS, spec.settings.max_iter)))
    for name in [name for name in found if name != "k-means"]:
        moved = _dense(problem, short, found[name], 0)
        if moved is not None:
            found[name] = moved
            yield name, moved
    # behind a common factor of the noise the groups show only once it is modelled
    for name in [name for name in found if name.startswith(_SHRUNK)]:
        moved = _dense(problem, short, found[name], 1)
        if moved is not None:
            found[f"{name} with a noise factor"] = moved
            yield f"{name} with a noise factor", moved
    climbs = {name: Climb(problem, short, labels, K - 1) for name, labels in found.items()}
    while going := [climb for climb in climbs.values() if not climb.ended]:
        round_of(going)
    for name, climb in climbs.items():
        if climb.best is not None:
            yield f"{name}, on the variables that differ", climb.labels


def _dense(problem: Problem, spec: Specification[DLMFamily], labels: np.ndarray, n_factors: int) -> np.ndarray | None:
    """Labels (n) after some iterations of Fisher-EM on all variables; None if it failed or lost a group."""
    family = replace(spec.family, model=MODELS[COMPACT], sparse=None, n_factors=n_factors)
    try:
        fit = continue_from(problem, labels, spec, family.phases()[0])
    except NUMERICAL_ERRORS:
        return None
    return problem.rows.gather(fit.states, "labels") if fit.whole else None


def _partitions(problem: Problem, K: int, rng: np.random.RandomState) -> Iterator[tuple[str, np.ndarray]]:
    """(name, labels) of k-means on scores, in shrunk metrics, and sparse k-means.

    Equal rows count once, so that weights and repetitions mean the same.
    """
    given = problem.given
    chosen, _, index = distinct_rows(given, given.weights)
    some = chosen if len(chosen) <= _ROWS else chosen[np.sort(rng.choice(len(chosen), _ROWS, replace=False))]
    with one_blas_thread():
        Z = centred_rows(given, some)
        whole = len(some) == len(chosen)

        def spread(labels: np.ndarray) -> np.ndarray:
            """Labels of all rows from those of some: of equal rows, or of the nearest mean."""
            if whole:
                return np.where(index >= 0, labels[index], 0)
            member = (labels == np.arange(K)[:, None]).astype(float)
            means = member @ np.asarray(given.take(np.sort(some)), float)[np.argsort(np.argsort(some))]
            means /= np.maximum(member.sum(axis=1, keepdims=True), 1)
            return _nearest(problem, means)

        scores = None
        if Z.shape[1] <= len(Z):  # with fewer rows than columns, scores follow the noise of each column
            scores = standardised(Scores.of(Z).transform(Z), np.ones(len(Z)))
            yield "k-means on scores", spread(_kmeans(scores, K, rng))
        for share in _SHRINKAGES:
            yield (
                f"k-means in a metric shrunk by {share}",
                spread(_kmeans(shrunk(Z if scores is None else scores, share), K, rng)),
            )
        for i, labels in enumerate(sparse_partitions(Z, K, rng)):
            yield f"sparse k-means {i + 1}", spread(labels)


def _kmeans(Z: np.ndarray, K: int, rng: np.random.RandomState) -> np.ndarray:
    seed = int(rng.randint(np.iinfo(np.int32).max))
    return best_kmeans(coordinates(Z) if Z.size > LARGE else Z, K, _RUNS, seed).labels


def _nearest(problem: Problem, means: np.ndarray) -> np.ndarray:
    """The nearest of means (K x p) of each row (n)."""
    half = 0.5 * np.einsum("kj,kj->k", means, means)
    values = problem.given.everything()
    return np.asarray((values @ means.T - half).argmax(axis=1), int)
