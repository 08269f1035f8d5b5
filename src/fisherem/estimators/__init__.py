"""What users construct: parameters, checks, fitted attributes. The mathematics is in `em`."""

from .fisher_em import FisherEM
from .sparse_fisher_em import SparseFisherEM

__all__ = ["FisherEM", "SparseFisherEM"]
