"""What users construct: parameters, checks, fitted attributes. The mathematics is in `em`.

In: a table (n x p) in any form that `tables` opens, weights (n). Out: the estimator with labels_ (n), loadings_ (p x
d), support_ (p) and the other attributes. `fitting` has the plain functions from rows to a fit that the search and
images use; `prediction` what a fitted estimator says of rows.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bayesian import BayesianFisherEM
    from .factor_mixture import FactorMixture
    from .fisher_em import FisherEM
    from .sparse_fisher_em import SparseFisherEM

__all__ = ["BayesianFisherEM", "FactorMixture", "FisherEM", "SparseFisherEM"]

# Each estimator is loaded when it is first asked for: whoever wants one need not wait for the families of the others.
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
