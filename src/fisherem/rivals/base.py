"""What the rivals share: the selected columns as a transformer, and warnings about columns that can tell nothing."""

from __future__ import annotations

import warnings
from functools import wraps

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from ..tables.checking import check_table

__all__ = ["SelectingClusterer", "is_constant", "one_blas_thread", "standardised"]


def one_blas_thread(fit):
    """Run a fit with BLAS on one thread.

    The products of the rivals are small and many: threads that share one wait for each other, the longer the busier
    the machine (one sparse k-means on usps358 with eight other processes: 0.6 s with one thread, 7 s with two).
    Several cores are used by processes over permutations and candidates.
    """

    @wraps(fit)
    def limited(self, X, y=None):
        with threadpool_limits(1, user_api="blas"):
            return fit(self, X, y)

    return limited


def is_constant(X: np.ndarray) -> np.ndarray:
    """Columns whose values differ by no more than rounding: (p,) bool."""
    spread = np.ptp(X, axis=0)
    return spread <= 1e-12 * np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; constant ones become 0."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(is_constant(X), 1.0, deviation)


class SelectingClusterer(SelectorMixin, ClusterMixin, BaseEstimator):
    """A clusterer with `support_`: transform keeps the selected columns, names go along."""

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _table(self, X, *, reset: bool) -> np.ndarray:
        return np.asarray(check_table(self, X, reset=reset), float)

    def _constant_columns(self, X: np.ndarray) -> np.ndarray:
        """The columns that can tell nothing, named in a warning."""
        constant = is_constant(X)
        if constant.any():
            names = getattr(self, "feature_names_in_", None)
            where = np.flatnonzero(constant)
            shown = ", ".join(str(j) if names is None else repr(names[j]) for j in where[:5])
            more = f" and {len(where) - 5} more" if len(where) > 5 else ""
            warnings.warn(f"constant columns can tell nothing and are never selected: {shown}{more}", stacklevel=3)
        if constant.all():
            raise ValueError("every column of X is constant: there is nothing to cluster")
        return constant
