"""Penalised criteria. All are to be maximised, as in the paper: BIC = log-likelihood - parameters/2 log n.

A criterion is an entry of `CRITERIA`. The estimators' attribute `<name>_` and method `<name>(X)`, the columns of a
search, the report, the command line and `criteria.csv` all use that register.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.register import Register

__all__ = ["CRITERIA", "Criterion", "aic", "bic", "icl"]


@dataclass(frozen=True)
class Criterion:
    """A function of a fit's log-likelihood, number of parameters, n and entropy, or of its partition and selection.

    Larger is better.
    """

    name: str  # as an argument: "bic"
    label: str  # for display: "BIC"
    formula: str  # in words, for pages
    value: Callable[[float, float, float, float], float] | None = None
    # or a function of the groups of the posteriors and the selected variables (a `policy.criterion.Partition` and
    # indices), and of the posteriors' entropy
    of_partition: Callable[[Any, np.ndarray, float], float] | None = None

    def __call__(self, log_likelihood: float, n_parameters: float, n: float, entropy: float = 0.0) -> float:
        assert self.value is not None
        return float(self.value(log_likelihood, n_parameters, n, entropy))


def bic(log_likelihood: float, n_parameters: float, n: float, entropy: float = 0.0) -> float:
    """The Bayesian information criterion; with the effective number of parameters, the paper's section 3.4."""
    return log_likelihood - 0.5 * n_parameters * np.log(n)


def icl(log_likelihood: float, n_parameters: float, n: float, entropy: float) -> float:
    """The integrated completed likelihood: BIC less the entropy of the partition, -sum t log t >= 0."""
    return bic(log_likelihood, n_parameters, n) - entropy


def aic(log_likelihood: float, n_parameters: float, n: float = 0.0, entropy: float = 0.0) -> float:
    """Akaike's criterion."""
    return log_likelihood - n_parameters


_CRITERIA = (
    Criterion("bic", "BIC", "log-likelihood − parameters/2 · log n", bic),
    Criterion("icl", "ICL", "BIC less the entropy of the posteriors", icl),
    Criterion("aic", "AIC", "log-likelihood − parameters", aic),
)
CRITERIA: Register[Criterion] = Register("criterion", {criterion.name: criterion for criterion in _CRITERIA})
