"""SelectDiscriminative: keep the variables that a sparse fit selects, as a step of a pipeline."""

from __future__ import annotations

import os

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from .._utils.public import public
from ..estimators import SparseFisherEM
from ..tables.checking import check_table
from ..tables.dask_table import is_dask
from ..tables.streamed_files import open_source

__all__ = ["SelectDiscriminative"]


@public
class SelectDiscriminative(MetaEstimatorMixin, SelectorMixin, BaseEstimator):
    """Fit a clustering estimator and keep the columns of its `support_`.

    Parameters
    ----------
    estimator : estimator, default=SparseFisherEM()
        Any estimator with `support_` after fit.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    """

    def __init__(self, estimator=None):
        self.estimator = estimator

    def fit(self, X, y=None, sample_weight=None):
        """Fit a clone of the estimator; `y` is ignored."""
        check_table(self, X, reset=True, elsewhere=True)
        self.estimator_ = clone(SparseFisherEM() if self.estimator is None else self.estimator)
        if sample_weight is None:
            self.estimator_.fit(X)
        else:
            self.estimator_.fit(X, sample_weight=sample_weight)
        if not hasattr(self.estimator_, "support_"):
            raise TypeError(f"{type(self.estimator_).__name__} has no support_ after fit: it selects no variables")
        return self

    def transform(self, X):
        """The selected columns of X. For dask rows a lazy dask array; a file is read in whole."""
        check_is_fitted(self)
        if is_dask(X):
            return check_table(self, X, reset=False, elsewhere=True).array[:, self.get_support()]
        if isinstance(X, (str, os.PathLike)):
            source = open_source(X)
            return source.read(0, source.shape[0])[:, self.get_support()]
        return super().transform(X)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.estimator_.support_
