"""The Bayesian Fisher-EM (Jouvin, Bouveyron & Latouche 2021): the groups' latent means have a normal prior.

mu_k ~ N(nu, lambda I), x | k ~ N(mu_k, Sigma_k), y = U x + noise of variance beta_k outside U. The approximation of the
posterior is prod_i tau_i prod_k N(m_k, S_k). For given tau, with n_k, the mean xbar_k of the coordinates x = U'y and
their scatter W_k about it, which are sums over the rows, each of these updates increases the bound

    S_k     = (I / lambda + n_k Sigma_k^-1)^-1,   m_k = nu + n_k S_k Sigma_k^-1 (xbar_k - nu)
    Sigma_k = W_k / n_k + (xbar_k - m_k)(xbar_k - m_k)' + S_k,   constrained by the model
    nu      = mean of the m_k,   lambda = sum_k (trace S_k + |m_k - nu|^2) / (d K)

and they are repeated until it converges. The bound itself is sum_i log sum_k exp(rho_ik) - KL(q(mu) || prior), with
rho_ik the expected log joint density, whose normalised exponentials are tau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...model.dlm import DLM
from ...rows.blocks import BlockState
from ..dlm.m_step import LatentParameters, m_step
from ..dlm.projection import LatentMoments

__all__ = ["BayesParameters", "MeansPrior", "bayes_step"]

# The limit on sweeps of the updates above, and the change of the bound per row at which they stop.
_MOST_SWEEPS, _SMALL_CHANGE = 200, 1e-10
# The least variance of the prior, as a share of the floor of the covariances, when all means coincide.
_LEAST_PRIOR = 1e-3


@dataclass(frozen=True)
class MeansPrior:
    """nu (d) and lambda, by empirical Bayes."""

    mean: np.ndarray
    variance: float


@dataclass(frozen=True)
class BayesParameters(LatentParameters):
    """The parameters with the posteriors of the means: `latent_means` are m_k, `spreads` their covariances S_k."""

    spreads: np.ndarray | None = None  # K x d x d
    prior: MeansPrior | None = None
    price: float = 0.0  # KL(q(mu) || prior) per unit of the rows' weight

    @classmethod
    def with_posteriors(
        cls, parameters: LatentParameters, spreads: np.ndarray, prior: MeansPrior, weight: float
    ) -> BayesParameters:
        """`weight` is the number of rows of the bound, or infinity if the bound is not needed."""
        kept = {name: getattr(parameters, name) for name in parameters.__dataclass_fields__}
        precisions = parameters.whiteners.transpose(0, 2, 1) @ parameters.whiteners
        kept["constants"] = parameters.constants - 0.5 * np.einsum("kij,kji->k", precisions, spreads)
        price = _divergence(parameters.latent_means, spreads, prior) / weight
        return cls(**kept, spreads=spreads, prior=prior, price=price)

    @property
    def peaks(self) -> np.ndarray:
        """The DLM's, less a row's share of the divergence."""
        return super().peaks - self.price

    def log_common(self, state: BlockState) -> np.ndarray | float:
        """The DLM's, less the row's share of the divergence."""
        return super().log_common(state) - self.price


def _divergence(means: np.ndarray, spreads: np.ndarray, prior: MeansPrior) -> float:
    """KL(prod_k N(m_k, S_k) || prod_k N(nu, lambda I))."""
    d = means.shape[1]
    if d == 0:
        return 0.0
    squares = np.einsum("kii->k", spreads) + ((means - prior.mean) ** 2).sum(axis=1)
    log_dets = np.linalg.slogdet(spreads)[1]
    return 0.5 * float((squares / prior.variance - d - log_dets + d * np.log(prior.variance)).sum())


def bayes_step(
    weights: np.ndarray,
    centres: np.ndarray,
    moments: LatentMoments,
    model: DLM,
    p: int,
    floor: float,
    last: BayesParameters | None,
) -> BayesParameters:
    """The parameters and the posteriors of the means from the groups' weights, means xbar_k and moments.

    Sweeps start from the last parameters if the number of axes is the same, so that the bound increases from theirs.
    """
    K, d = centres.shape
    plain = m_step(weights, centres, moments, model, p, floor, LatentParameters)
    assert isinstance(plain, LatentParameters)
    if d == 0:
        prior = MeansPrior(np.zeros(0), 1.0)
        return BayesParameters.with_posteriors(plain, np.zeros((K, 0, 0)), prior, np.inf)
    known = last is not None and last.latent_means.shape == centres.shape
    prior = last.prior if known and last is not None and last.prior is not None else _first_prior(centres, floor)
    covariances = last.covariances if known and last is not None else plain.covariances
    precisions, bound = np.linalg.inv(covariances), -np.inf
    for _ in range(_MOST_SWEEPS):
        means, spreads = _posteriors(weights, centres, precisions, prior)
        offsets = centres - means
        scatter = moments.covariances + weights[:, None, None] * (offsets[:, :, None] * offsets[:, None, :] + spreads)
        parameters = m_step(weights, means, replace(moments, covariances=scatter), model, p, floor, LatentParameters)
        precisions = np.linalg.inv(parameters.covariances)
        prior = MeansPrior(means.mean(axis=0), _prior_variance(means, spreads, floor))
        log_dets = np.linalg.slogdet(parameters.covariances)[1]
        value = _bound(weights, scatter, precisions, log_dets) - _divergence(means, spreads, prior)
        if value - bound < _SMALL_CHANGE * weights.sum():
            break
        bound = value
    assert isinstance(parameters, LatentParameters)
    return BayesParameters.with_posteriors(parameters, spreads, prior, float(weights.sum()))


def _first_prior(centres: np.ndarray, floor: float) -> MeansPrior:
    nu = centres.mean(axis=0)
    return MeansPrior(nu, max(float(((centres - nu) ** 2).mean()), floor))


def _prior_variance(means: np.ndarray, spreads: np.ndarray, floor: float) -> float:
    """lambda."""
    squares = np.einsum("kii->", spreads) + ((means - means.mean(axis=0)) ** 2).sum()
    return max(float(squares) / means.size, _LEAST_PRIOR * floor)


def _posteriors(
    weights: np.ndarray, centres: np.ndarray, precisions: np.ndarray, prior: MeansPrior
) -> tuple[np.ndarray, np.ndarray]:
    """(m_k (K x d), S_k (K x d x d))"""
    precisions = precisions * weights[:, None, None]
    spreads = np.linalg.inv(np.eye(centres.shape[1]) / prior.variance + precisions)
    spreads = (spreads + spreads.transpose(0, 2, 1)) / 2
    shifts = np.einsum("kij,kjl,kl->ki", spreads, precisions, centres - prior.mean)
    return prior.mean + shifts, spreads


def _bound(weights: np.ndarray, scatter: np.ndarray, precisions: np.ndarray, log_dets: np.ndarray) -> float:
    """The part of the bound that the covariances inside the axes change."""
    fits = np.einsum("kij,kji->k", precisions, scatter)
    return -0.5 * float((weights * log_dets + fits).sum())
