"""Rows that lie outside all groups: their tail probabilities, and -1 instead of a label.

In: rows, and the moments of the squared distances that the rows of the fit have (`distance_moments_`, 2 x K). Out: for
each row the probability that a member of its nearest group is as far away.
"""

from __future__ import annotations

import numpy as np

from ..core.data.e_step import distances, tails
from ..policy.thresholds import THRESHOLDS

__all__ = ["TellsOutliers", "outside", "tells_outliers"]


def outside(probabilities) -> np.ndarray:
    """Which rows are outside all groups (n, bool), from the result of `outlyingness`."""
    return np.asarray(probabilities) < THRESHOLDS.outside


def tells_outliers(model) -> bool:
    """Whether the model has `outlyingness`: rivals and models restricted to their selected variables have not."""
    return hasattr(model, "outlyingness") and getattr(model, "distance_moments_", 0) is not None


class TellsOutliers:
    """Mixin of `FittedMixture`: how far outside of the groups a row is."""

    def outlyingness(self, X, covariates=None):
        """The probability that a row of the nearest group is at least as far from it as this one, for each row (n).

        Small values are far outside: rows below 0.001 are labelled -1 by ``predict(X, noise_label=True)``. Distances
        are in the model's full covariance, so all variables count, not only the selected ones. They are compared with
        those of the rows of the fit. With fewer rows than variables other rows are further away than those.
        """
        return self._told(X, "_tails", None, float, covariates)  # type: ignore[attr-defined]

    def _distance_moments(self) -> np.ndarray:
        """Those of the fit, or those of the model itself for files of earlier versions."""
        K, p = self.means_.shape  # type: ignore[attr-defined]
        known = getattr(self, "distance_moments_", np.stack([np.full(K, float(p)), np.full(K, 2.0 * p)]))
        if known is None:
            raise ValueError("outlyingness needs all variables of the fit: only the selected ones were given")
        return known

    def _tails(self, table) -> np.ndarray:
        moments = self._distance_moments()
        rows = self._rows_of(table)  # type: ignore[attr-defined]
        states, solution = rows.states(), self._solution()  # type: ignore[attr-defined]
        with rows.closed_on_error():
            rows.fold(distances, states, solution.placing, solution.density, True)
            return tails(rows.gather(states, "placed"), moments)

    def _labels_or_noise(self, table) -> np.ndarray:
        labels = np.array(self._labels(table), np.intp)  # type: ignore[attr-defined]
        labels[outside(self._tails(table))] = -1
        return labels
