"""What the rivals share: the selected columns as a transformer, and warnings about columns that can tell nothing."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ..validation import check_table

__all__ = ["SelectingClusterer", "is_constant", "standardised"]


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
