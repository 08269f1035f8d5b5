"""Do the groups come back on other rows? Fits to halves of the rows, and how much they agree.

The rows are split in two, each half is fitted on the variables that the fit to all rows selected, and both fits label
all rows. The adjusted Rand index of the two is the agreement of halves. Prediction strength (Tibshirani and Walther
2005) is stricter: it is that of the group that holds together worst.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans

from ..._utils.agreement import adjusted_rand
from ...core.engine.checkpoints import Store
from .candidates import Candidate, Data, digest, kept

__all__ = ["half_record", "halves_of", "prediction_strength"]


def halves_of(n: int, n_splits: int, rng: np.random.RandomState) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random splits of n rows: pairs of ascending row numbers."""
    orders = [rng.permutation(n) for _ in range(n_splits)]
    return [(np.sort(order[: n // 2]), np.sort(order[n // 2 :])) for order in orders]


def prediction_strength(own: np.ndarray, other: np.ndarray) -> float:
    """Of the pairs of rows that `own` puts together, the share that `other` does, in the group where it is least."""
    least = 1.0
    for k in np.unique(own):
        sizes = np.bincount(other[own == k])
        n = sizes.sum()
        if n > 1:
            least = min(least, float((sizes * (sizes - 1)).sum() / (n * (n - 1))))
    return least


def half_record(
    data: Data, store: Store, estimator, candidate: Candidate, halves: tuple[np.ndarray, np.ndarray], seed: int
) -> dict:
    """{"agreement", "strength"} of one split, nan where a half could not be fitted."""

    def compute() -> dict:
        columns = np.ascontiguousarray(data.columns(candidate.source)[:, candidate.support])
        try:
            both = [_labels(data, estimator, columns, candidate.n_clusters, rows, seed) for rows in halves]
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):
            return {"agreement": float("nan"), "strength": float("nan")}
        strengths = [prediction_strength(both[i][halves[i]], both[1 - i][halves[i]]) for i in (0, 1)]
        return {"agreement": float(adjusted_rand(*both)), "strength": float(np.mean(strengths))}

    seen = f"{candidate.source} {digest(candidate.support)} {digest(halves[0])}"
    return kept(store, f"halves {candidate.n_clusters} {seen} {seed}", compute)


def _labels(data: Data, estimator, columns: np.ndarray, K: int, rows: np.ndarray, seed: int) -> np.ndarray:
    """Labels of all rows by a fit to some of them, from the best of ten k-means runs."""
    options = data.fit_options(rows)
    start = KMeans(K, n_init=10, random_state=seed).fit(columns[rows], **options)
    if columns.shape[1] == 1:  # no subspace to look for
        return start.predict(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # half of the rows converge less often; the agreement says what matters
        # the variables are chosen already, and few, so the noise is simple
        dense = estimator._dense(K, init=start.labels_, random_state=seed)
        return dense.fit(columns[rows], **options).predict(columns)
