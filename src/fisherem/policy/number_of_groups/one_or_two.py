"""One group against two: a parametric bootstrap of the one-group model.

The columns become normal scores, so that skew is no evidence, and the one-group model is a Gaussian with their
covariance (shrunk towards a multiple of the identity as Ledoit and Wolf say, which few rows need): common factors of
the noise are part of it. How much two groups explain of the data, in terms of C with the variables that it prefers, is
compared with how much they explain of tables drawn from that model.
"""

from __future__ import annotations

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from ...rows.threads import one_blas_thread
from ...solvers.kmeans_runs import best_kmeans
from .partition_values import partition_c
from .transforms import Transformed, normal_scores

__all__ = ["one_group_p_value"]

# Tables drawn from the one-group model: the smallest p-value is 1/20.
_DRAWS = 19
# k-means runs from each start, and rounds of selecting variables and clustering on them.
_RUNS, _ROUNDS = 2, 3
# Share of the mean variance that is added before the metric of a start is inverted.
_SHRINKAGE = 0.1
# Tables with more values than this would take longer than the search itself.
_MOST_VALUES = 1_000_000


def one_group_p_value(values: np.ndarray, weights: np.ndarray, seed: int) -> float:
    """The share of one-group tables in which two groups explain as much as in the data; nan for very wide tables."""
    counted = weights > 0
    values = values[counted]
    values = values[:, values.min(axis=0) < values.max(axis=0)]
    n, p = values.shape
    if n * p > _MOST_VALUES or p < 2 or n < 8:
        return float("nan")
    rng = np.random.RandomState(seed)
    scores = normal_scores(values, np.ones(n))
    share = float(ledoit_wolf_shrinkage(scores))
    level = np.sqrt(share * float(scores.var(axis=0).mean()))
    larger = 0
    with one_blas_thread():  # k-means on so few rows is slower on several
        seen = _explained(scores, rng)
        for _ in range(_DRAWS):
            # a random combination of the rows has their covariance, whatever the number of columns
            drawn = rng.normal(size=(n, n)) @ scores * np.sqrt((1 - share) / n) + level * rng.normal(size=(n, p))
            larger += _explained(normal_scores(drawn, np.ones(n)), rng) >= seen
    return (1 + larger) / (1 + _DRAWS)


def _explained(scores: np.ndarray, rng: np.random.RandomState) -> float:
    """The largest C of two groups that k-means finds: on the columns, in the metric that shrinks common factors, and
    without the first of them."""
    best = -np.inf
    weights, costs = np.ones(len(scores)), np.zeros(scores.shape[1])
    for start in (scores, _shrunk(scores), _without_factor(scores)):
        labels = _two_means(start, rng)
        for _ in range(_ROUNDS):
            found = partition_c(Transformed(scores, costs), labels, weights, 1)
            best = max(best, found.value)
            if not len(found.support):
                break
            labels = _two_means(_shrunk(scores[:, found.support]), rng)
    return float(best)


def _two_means(Z: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    return best_kmeans(Z, 2, _RUNS, int(rng.randint(np.iinfo(np.int32).max))).labels


def _shrunk(Z: np.ndarray) -> np.ndarray:
    """Rows in the metric (S + 0.1 v I)^-1/2, v the mean variance, up to a rotation."""
    u, singular, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    variances = singular**2 / len(Z)
    return u * (singular / np.sqrt(variances + _SHRINKAGE * max(variances.sum(), 1e-300) / Z.shape[1]))


def _without_factor(Z: np.ndarray) -> np.ndarray:
    """Rows without their first principal component."""
    u, singular, v = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    return (u[:, 1:] * singular[1:]) @ v[1:]
