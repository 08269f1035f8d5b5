"""Base class and helpers of the rivals: parameter checks, selection of columns, a warning about constant columns."""

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
from ..rows.base import one_blas_thread
from ..tables.checking import check_number, check_table

__all__ = ["SelectingClusterer", "is_constant", "on_one_blas_thread", "standardised", "unit_of", "within_reach"]

# Between 2^-100 and 2^100, squares of values and products of squares neither overflow nor underflow.
_MOST_EXPONENT = 100
# Rows farther away than this are moved to this distance, so that their squares are finite; the result is the same.
_REACH_EXPONENT = 400


def on_one_blas_thread(fit):
    """Decorator that runs a `fit` method with one BLAS thread.

    The rivals compute many small products, for which several threads are slower, above all on a busy machine (a sparse
    k-means on usps358 with eight other processes: 0.6 s with one thread, 7 s with two). Other cores are used by worker
    processes, for permutations and candidates.
    """

    @wraps(fit)
    def limited(self, X, y=None):
        with one_blas_thread():
            return fit(self, X, y)

    return limited


def is_constant(X: np.ndarray) -> np.ndarray:
    """Which columns of X (n x p) are constant up to rounding: (p,) bool."""
    spread = np.ptp(X, axis=0)
    return spread <= 1e-12 * np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)


def unit_of(X: np.ndarray) -> float:
    """The power of two to divide X (n x p) by so that squares neither overflow nor underflow; 1 for usual values."""
    spread = float(np.ptp(X * 0.5, axis=0).max())  # halved, as the difference of two large values can overflow
    exponent = int(np.frexp(spread)[1])
    return 1.0 if spread == 0 or abs(exponent) <= _MOST_EXPONENT else float(np.ldexp(1.0, exponent))


def within_reach(Z: np.ndarray) -> np.ndarray:
    """Rows Z (n x p) relative to a centre; those whose squares would overflow are moved towards the centre."""
    exponents = np.frexp(np.abs(Z).max(axis=1, initial=0.0))[1]
    too_far = exponents > _REACH_EXPONENT
    return np.ldexp(Z, np.where(too_far, _REACH_EXPONENT - exponents, 0)[:, None]) if too_far.any() else Z


def standardised(X: np.ndarray) -> np.ndarray:
    """X (n x p) with columns of mean 0 and variance 1; constant ones become 0."""
    constant, centred = is_constant(X), X - X.mean(axis=0)
    # divide by a power of two, so that squares of columns in very different units neither overflow nor underflow
    centred = np.ldexp(centred, -np.frexp(np.abs(centred).max(axis=0))[1])
    return np.where(constant, 0.0, centred) / np.where(constant, 1.0, np.sqrt((centred**2).mean(axis=0)))


class SelectingClusterer(SelectorMixin, ClusterMixin, BaseEstimator):
    """A clusterer with `support_` ((p,) bool): `transform` keeps the selected columns and their names."""

    max_iter: int
    tol: float
    n_jobs: int | None
    random_state: Any
    unit_: float

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
        """X as a checked table of floats (n x p) in the estimator's unit; with `reset`, both become those of X."""
        table = np.asarray(check_table(self, X, reset=reset), float)
        if reset:
            self.unit_ = unit_of(table)
        return table if self._unit == 1 else table / self._unit

    @property
    def _unit(self) -> float:
        return getattr(self, "unit_", 1.0)  # missing in files of earlier versions

    def _constant_columns(self, X: np.ndarray) -> np.ndarray:
        """Which columns are constant ((p,) bool), named in a warning; an error if all are."""
        constant = is_constant(X)
        if constant.any():
            names = getattr(self, "feature_names_in_", None)
            shown = listed(column_name(int(j)) if names is None else names[j] for j in np.flatnonzero(constant))
            warnings.warn(f"constant columns carry no information and are never selected: {shown}", stacklevel=3)
        if constant.all():
            raise ValueError("every column of X is constant: no clustering is possible")
        return constant
