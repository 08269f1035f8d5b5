"""SelectDiscriminative: select the variables of a sparse fit, as a step of a pipeline."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._utils.public import public
from ..estimators import SparseFisherEM
from ..estimators.pipelines import columns_of, last_step, support_on
from ..tables.checking import check_table, open_rows
from ..tables.dask_table import DaskTable
from ..tables.file_table import FileTable
from ..tables.sparse_table import SparseTable

__all__ = ["SelectDiscriminative"]


@public
class SelectDiscriminative(MetaEstimatorMixin, SelectorMixin, BaseEstimator):
    """Fit a clustering estimator and keep the columns of its `support_`.

    Parameters
    ----------
    estimator : estimator, default=SparseFisherEM()
        Any estimator with `support_` after fit, or a pipeline that ends in one and does not mix columns (as PCA
        does).

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    n_features_in_, feature_names_in_ : int, ndarray of shape (p,)
        The number of columns, and their names where X has them.
    """

    def __init__(self, estimator=None):
        self.estimator = estimator

    def __sklearn_tags__(self):
        """Sparse rows and missing values are allowed if the estimator supports them."""
        tags = super().__sklearn_tags__()
        estimator = SparseFisherEM() if self.estimator is None else self.estimator
        if hasattr(estimator, "__sklearn_tags__"):  # `fit` refuses anything else
            takes = get_tags(estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = takes.sparse, takes.allow_nan
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Fit a clone of the estimator to the rows of X; `y` is ignored. A file is opened once."""
        X = open_rows(self, X)
        check_table(self, X, reset=True, elsewhere=True)
        if self.estimator is not None and not (
            hasattr(self.estimator, "fit") and hasattr(self.estimator, "get_params")
        ):
            raise TypeError(f"estimator must be one that selects variables, or None; got {self.estimator!r}")
        self.estimator_ = clone(SparseFisherEM() if self.estimator is None else self.estimator)
        if sample_weight is None:
            self.estimator_.fit(X)
        else:
            self.estimator_.fit(X, sample_weight=sample_weight)
        last = last_step(self.estimator_)[1]
        if not hasattr(last, "support_"):
            raise TypeError(f"{type(last).__name__} has no support_ after fit: it selects no variables")
        if last is not self.estimator_ and columns_of(self.estimator_) is None:
            raise ValueError("the steps before the estimator mix the columns, so no single columns can be selected")
        return self

    def transform(self, X):
        """The selected columns of X (n x number selected): a lazy dask array for dask rows, an array for a file.

        A sparse matrix stays sparse.
        """
        check_is_fitted(self)
        X = open_rows(self, X)
        if isinstance(X, DaskTable):
            return check_table(self, X, reset=False, elsewhere=True).array[:, self.get_support()]
        if isinstance(X, SparseTable):
            return check_table(self, X, reset=False, elsewhere=True).matrix[:, np.flatnonzero(self.get_support())]
        if isinstance(X, FileTable):
            checked = check_table(self, X, reset=False, elsewhere=True)
            if isinstance(checked, FileTable):
                return _all_rows(checked.select(np.flatnonzero(self.get_support()).tolist()))
            return checked[:, self.get_support()]
        return super().transform(X)

    def _get_support_mask(self):
        check_is_fitted(self)
        return support_on(self.estimator_, last_step(self.estimator_)[1].support_, self.n_features_in_)


def _all_rows(table: FileTable) -> np.ndarray:
    """All rows of a table, read block by block, whatever its budget."""
    out = np.empty(table.shape, table.dtype)
    for start, rows in table.blocks():
        out[start : start + len(rows)] = rows
    return out
