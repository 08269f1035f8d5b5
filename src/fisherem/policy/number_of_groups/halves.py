"""Are the groups found again on other rows? Fits to halves of the rows, and how much they agree.

The rows are split in two, and each half goes through all that the estimator does, the selection of variables included.
Both fits label all rows. The adjusted Rand index of the two is the agreement of halves. Prediction strength (Tibshirani
and Walther 2005) is stricter: it is that of the group that holds together worst.

Splits of the same rows overlap, so their spread is no standard error: it says how much a single split can be trusted,
not how far the mean is from what new rows would show.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from ...core.engine.checkpoints import Store
from ...core.starts.partitions import adjusted_rand
from .candidates import FAILURES, Data, digest, for_groups, kept

__all__ = ["Halves", "Split", "half_labels", "prediction_strength"]


@dataclass(frozen=True)
class Split:
    """A split of the rows: the row numbers of both halves, and the labels of all rows (n) by the fit to each half.

    `labels` are empty where a half could not be fitted.
    """

    rows: tuple[np.ndarray, np.ndarray]
    labels: tuple[np.ndarray, np.ndarray]

    @property
    def fitted(self) -> bool:
        """Whether both halves could be fitted."""
        return all(map(len, self.labels))

    @property
    def agreement(self) -> float:
        """The adjusted Rand index of both fits on all rows."""
        return float(adjusted_rand(*self.labels)) if self.fitted else float("nan")

    @property
    def strength(self) -> float:
        """The prediction strength, the mean of both directions."""
        if not self.fitted:
            return float("nan")
        ways = [(self.labels[i][self.rows[i]], self.labels[1 - i][self.rows[i]]) for i in (0, 1)]
        return float(np.mean([prediction_strength(*labels) for labels in ways]))


@dataclass(frozen=True)
class Halves:
    """The splits that were fitted with one number of groups."""

    splits: tuple[Split, ...] = ()

    @property
    def agreements(self) -> np.ndarray:
        """The agreement of each split."""
        return np.array([split.agreement for split in self.splits])

    @property
    def agreement(self) -> float:
        """The mean adjusted Rand index; nan if no split could be fitted."""
        return _mean(self.agreements)

    @property
    def strength(self) -> float:
        """The mean prediction strength; nan if no split could be fitted."""
        return _mean(np.array([split.strength for split in self.splits]))

    def consensus(self, rows: np.ndarray) -> np.ndarray:
        """The share of fits that put two rows together, for some of the rows (m numbers): m x m."""
        labels = [one[rows] for split in self.splits if split.fitted for one in split.labels]
        return np.mean([one[:, None] == one for one in labels], axis=0) if labels else np.eye(len(rows))


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def prediction_strength(own: np.ndarray, other: np.ndarray) -> float:
    """Of the pairs of rows that `own` puts together, the share that `other` does, in the group where it is least."""
    least = 1.0
    for k in np.unique(own):
        sizes = np.bincount(other[own == k])
        n = sizes.sum()
        if n > 1:
            least = min(least, float((sizes * (sizes - 1)).sum() / (n * (n - 1))))
    return least


def half_labels(data: Data, store: Store, estimator, n_clusters: int, rows: np.ndarray, seed: int) -> np.ndarray:
    """Labels of all rows (n) by a fit to some of them; empty where these cannot be fitted."""

    def compute() -> dict:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # half of the rows converge less often; the agreement says what matters
                model = for_groups(estimator, n_clusters, seed).fit(data.rows(rows), **data.fit_options(rows))
                return {"labels": model.predict(data.rows()).tolist()}
        except FAILURES:
            return {"labels": []}

    return np.array(kept(store, f"half {n_clusters} {digest(rows)} {seed}", compute)["labels"], int)
