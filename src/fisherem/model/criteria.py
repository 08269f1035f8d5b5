"""Penalised criteria. All are to be maximised, as in the paper: BIC = log-likelihood - parameters/2 log n."""

from __future__ import annotations

import numpy as np

__all__ = ["CRITERIA", "aic", "bic", "icl"]


def bic(log_likelihood: float, n_parameters: float, n: float, entropy: float = 0.0) -> float:
    """The Bayesian information criterion; with the effective number of parameters, the paper's section 3.4."""
    return log_likelihood - 0.5 * n_parameters * np.log(n)


def icl(log_likelihood: float, n_parameters: float, n: float, entropy: float) -> float:
    """The integrated completed likelihood: BIC less the entropy of the partition, -sum t log t >= 0."""
    return bic(log_likelihood, n_parameters, n) - entropy


def aic(log_likelihood: float, n_parameters: float, n: float = 0.0, entropy: float = 0.0) -> float:
    """Akaike's criterion."""
    return log_likelihood - n_parameters


CRITERIA = {"bic": bic, "icl": icl, "aic": aic}
