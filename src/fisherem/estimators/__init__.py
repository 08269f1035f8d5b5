"""The public estimators: parameters, checks and fitted attributes. The algorithms are in `core`.

In: a table (n x p) in any form that `tables` opens, weights (n). Out: the estimator with labels_ (n), loadings_ (p x
d), support_ (p) and the other attributes. `fitting` has the functions from rows to a fit that the search and images
also use; `prediction` has the methods of a fitted estimator that take rows.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bayesian import BayesianFisherEM
    from .factor_mixture import FactorMixture
    from .fisher_em import FisherEM
    from .sparse_fisher_em import SparseFisherEM

__all__ = ["BayesianFisherEM", "FactorMixture", "FisherEM", "SparseFisherEM"]

# Each estimator is imported on first access, so that using one does not import the families of the others.
_HOME = {
    "BayesianFisherEM": "bayesian",
    "FactorMixture": "factor_mixture",
    "FisherEM": "fisher_em",
    "SparseFisherEM": "sparse_fisher_em",
}


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
