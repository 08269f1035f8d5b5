"""Rows with covariates for a fitted estimator: less the effects of their covariates, and the model of such rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd

from .._utils.wording import listed
from ..tables.anndata_object import of_cells
from ..tables.checking import check_table
from ..tables.covariates import coded, covariate_frame, covariate_names
from ..tables.scaling import adjusted

__all__ = ["TakesCovariates", "covariate_names_of", "refuse_unadjusted"]


def covariate_names_of(model: Any) -> tuple[str, ...]:
    """The names of the covariates that a fitted estimator needs; empty if it needs none."""
    coding = getattr(model, "covariates_", None)
    return () if coding is None else tuple(covariate_names(coding))


def refuse_unadjusted(*models: Any) -> None:
    """Raise an error for fitted models with covariates, where rows come without them."""
    for model in models:
        best = getattr(model, "best_estimator_", model)
        if covariate_names_of(best):
            best._need(None)


class TakesCovariates:
    """Mixin of fitted estimators: rows are adjusted for their covariates before they are used.

    A copy of the estimator without `covariates_` is the model of adjusted rows.
    """

    def adjusted(self, X, covariates):
        """(model, rows): for functions without the argument `covariates`, in place of the estimator and X.

        The rows are X less what the covariates explain, as they would be for average covariates, and the model is the
        same one for such rows: for `plot`, `report`, `stability`, `significance` and the like.
        """
        if not covariate_names_of(self):
            return self._beside(X, covariates)
        table = check_table(self, X, reset=False, elsewhere=True)
        model, rows = self._beside(table, of_cells(X, covariates))
        rows = rows if isinstance(rows, np.ndarray) else rows.whole()
        names = getattr(self, "feature_names_in_", None)
        if names is not None and isinstance(rows, np.ndarray):
            rows = pd.DataFrame(rows, columns=names, index=X.index if isinstance(X, pd.DataFrame) else None)
        return model, rows

    def _beside(self, table: Any, covariates: Any) -> tuple[Any, Any]:
        """(the model of adjusted rows, the rows of a checked table less the effects of their covariates)."""
        coding = getattr(self, "covariates_", None)
        if coding is None:
            if covariates is not None:
                raise ValueError("the model was fitted without covariates: leave them out")
            return self, table
        self._need(covariates)
        Z = coded(coding, covariate_frame(covariates, len(table)))
        return self._without_covariates(), adjusted(table, Z, self.covariate_effects_)  # type: ignore[attr-defined]

    def _need(self, covariates: Any) -> None:
        """Raise an error if the model has covariates and none are given."""
        coding = getattr(self, "covariates_", None)
        if coding is not None and covariates is None:
            raise ValueError(
                f"the model was fitted with covariates: give {listed(covariate_names(coding))} of these rows as "
                "covariates=, or take model, X = model.adjusted(X, covariates)"
            )

    def _with_covariates_of(self, other):
        """A copy of a model of rows that `other` has adjusted, which takes rows with their covariates as that does."""
        model = copy.copy(self)
        for name in ("covariates_", "covariate_effects_"):
            if hasattr(other, name):
                setattr(model, name, getattr(other, name))
        return model

    def _without_covariates(self):
        """The model of rows that are adjusted already."""
        plain = copy.copy(self)
        plain.__dict__.pop("covariates_", None)
        return plain
