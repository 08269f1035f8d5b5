"""What the rivals share: parameter checks, the selected columns as a transformer, a warning about constant columns."""

from __future__ import annotations

import warnings
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import column_name, listed
from ..rows.threads import one_blas_thread
from ..tables.checking import check_number, check_table

__all__ = ["SelectingClusterer", "is_constant", "on_one_blas_thread", "standardised"]


def on_one_blas_thread(fit):
    """Decorator of a `fit` method: it runs with BLAS on one thread.

    The rivals compute many small products. Threads that share one of them mostly wait for each other, and the busier
    the machine, the longer (one sparse k-means on usps358 with eight other processes: 0.6 s with one thread, 7 s with
    two). Further cores are used by processes, over permutations and candidates.
    """

    @wraps(fit)
    def limited(self, X, y=None):
        with one_blas_thread():
            return fit(self, X, y)

    return limited


def is_constant(X: np.ndarray) -> np.ndarray:
    """Which columns of X (n x p) have values that differ by no more than rounding: (p,) bool."""
    spread = np.ptp(X, axis=0)
    return spread <= 1e-12 * np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)


def standardised(X: np.ndarray) -> np.ndarray:
    """X (n x p) with columns of mean 0 and variance 1; constant ones become 0."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(is_constant(X), 1.0, deviation)


class SelectingClusterer(SelectorMixin, ClusterMixin, BaseEstimator):
    """A clusterer with `support_` ((p,) bool): `transform` keeps the selected columns and their names."""

    max_iter: int
    tol: float
    n_jobs: int | None
    random_state: Any

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _check_limits(self) -> None:
        """Check the parameters that every rival has: max_iter, tol, n_jobs, random_state."""
        check_number("max_iter", self.max_iter, integer=True, least=1)
        check_number("tol", self.tol, least=0)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, integer=True)
        check_random_state(self.random_state)

    def _table(self, X, *, reset: bool) -> np.ndarray:
        """X as a checked table of floats (n x p); with `reset`, its columns become those of the estimator."""
        return np.asarray(check_table(self, X, reset=reset), float)

    def _constant_columns(self, X: np.ndarray) -> np.ndarray:
        """Which columns are constant ((p,) bool), named in a warning; an error if all are."""
        constant = is_constant(X)
        if constant.any():
            names = getattr(self, "feature_names_in_", None)
            shown = listed(column_name(int(j)) if names is None else names[j] for j in np.flatnonzero(constant))
            warnings.warn(f"constant columns carry no information and are never selected: {shown}", stacklevel=3)
        if constant.all():
            raise ValueError("every column of X is constant: there is nothing to cluster")
        return constant
