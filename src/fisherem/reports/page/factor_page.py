"""The page of a mixture of factor models: its groups, and the variables that separate them.

Such a mixture has no discriminative plane, so the page shows the one that `explain` finds for its groups. The notes
describe the fitted model.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ...estimators import FactorMixture
from ...estimators.naming import names_of_groups
from ...model.criteria import CRITERIA
from ...model.factors import STRUCTURES
from ...search.model_search import ModelSearch
from ..text import integer

__all__ = ["as_given_groups", "is_factor_mixture"]


def is_factor_mixture(model) -> bool:
    """Whether the model is a fitted mixture of factor models, or a search that ended in one."""
    return isinstance(_fitted(model), FactorMixture)


def _fitted(model) -> Any:
    return getattr(model, "best_estimator_", None) if isinstance(model, ModelSearch) else model


def as_given_groups(model, X) -> tuple[Any, np.ndarray, list[str], list[str]]:
    """(a model with the discriminative plane of these groups, the group of each row, K names, notes on the fit)."""
    fitted = _fitted(model)
    explaining = import_module("fisherem.explaining")  # imported late: it depends on this package
    groups = np.asarray(fitted.predict(X))
    found = explaining.explain(X, groups)
    names = names_of_groups(fitted)  # groups without rows are not among those that are explained
    return found.model, found.labels, [names[k] for k in np.unique(groups)], _notes(model, fitted)


def _notes(model, fitted: FactorMixture) -> list[str]:
    structure = STRUCTURES[fitted.structure_]
    factors = ", ".join(map(str, dict.fromkeys(int(q) for q in fitted.n_factors_)))
    values = ", ".join(f"{c.label} {getattr(fitted, name + '_'):.1f}" for name, c in CRITERIA.items())
    how = f"{integer(fitted.n_iter_)} iterations, {'converged' if fitted.converged_ else 'not converged'}"
    size = f"log-likelihood {fitted.log_likelihood_:.1f}, {integer(fitted.n_parameters_)} parameters"
    lines = [
        f"the groups are those of a mixture of factor models, {structure.name} ({structure.words}), with {factors} "
        f"factors: {size}, {values}, {how}",
        "the groups depend on all variables; the page shows the plane and the variables that separate them",
    ]
    if isinstance(model, ModelSearch):
        tried = f"{integer(len(model.results_))} fits"
        lines.insert(1, f"number of groups, structure and factors were chosen by {model.criterion_} among {tried}")
    return lines
