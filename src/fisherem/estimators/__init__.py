"""What users construct: parameters, checks, fitted attributes. The mathematics is in `em`.

In: a table (n x p) in any form that `tables` opens, weights (n). Out: the estimator with labels_ (n), loadings_ (p x
d), support_ (p) and the other attributes. `fitting` has the plain functions from rows to a fit that the search and
images use; `prediction` what a fitted estimator says of rows.
"""

from .bayesian import BayesianFisherEM
from .factor_mixture import FactorMixture
from .fisher_em import FisherEM, SparseFisherEM

__all__ = ["BayesianFisherEM", "FactorMixture", "FisherEM", "SparseFisherEM"]
