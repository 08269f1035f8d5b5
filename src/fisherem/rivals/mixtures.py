"""Gaussian mixtures of many subsets of variables at once.

    maximise  sum_i log sum_k pi_k phi(z_i; m_k, Sigma_k)        Z (B x n x d): B subsets of d variables each

EM runs on the whole stack, from which converged fits are removed. All candidates of one step of a stepwise search have
the same number of variables, so a step has the Python overhead of a single fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.criteria import bic
from .shapes import Shape

__all__ = ["STACK_ELEMENTS", "Mixture", "em", "log_densities", "one_group"]

# The smallest share of a variable's variance that may be left in a group, given the variables before it. Below (the
# square root of the machine precision, as in mclust) the covariance counts as singular.
_SINGULAR = 1.5e-8
# Number of elements of a stack processed at once (n x d x B): 2 MB, so that they stay in the cache for an iteration.
STACK_ELEMENTS = 2**18


@dataclass(frozen=True)
class Mixture:
    """A fitted mixture, or the reason for a failure (bic = -inf)."""

    bic: float
    shape: str = ""
    log_likelihood: float = -np.inf
    n_parameters: float = 0.0
    proportions: np.ndarray | None = None  # (K,)
    means: np.ndarray | None = None  # (K, d)
    covariances: np.ndarray | None = None  # (K, d, d)
    posteriors: np.ndarray | None = None  # (K, n)
    n_iter: int = 1
    converged: bool = True
    reason: str = ""

    @property
    def labels(self) -> np.ndarray:
        """The most probable group of each row (n)."""
        assert self.posteriors is not None
        return self.posteriors.argmax(axis=0)

    @classmethod
    def failed(cls, reason: str) -> Mixture:
        """The result of a failed fit, with a BIC of -inf."""
        return cls(-np.inf, reason=reason)


def one_group(n: int) -> Mixture:
    """The mixture of one group on no variables: every row belongs to it, and its BIC is 0."""
    return Mixture(0.0, "", 0.0, 0.0, np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.ones((1, n)))


def _m_step(Z, T, shape: Shape):
    """Proportions (B x K), means (B x K x d) and covariances (B x K x d x d) from posteriors T (B x K x n)."""
    n_k = T.sum(axis=2)
    means = T @ Z / n_k[..., None]
    W = np.empty((*means.shape, Z.shape[2]))
    for k in range(T.shape[1]):
        R = Z - means[:, k, None]
        W[:, k] = np.swapaxes(R * T[:, k, :, None], 1, 2) @ R
    return n_k / Z.shape[1], means, shape.covariances(W, n_k)


def _whitening(covariances, variances):
    """Inverse Cholesky factors (B x K x d x d), log determinants (B x K), and which of the B are not singular.

    `variances` (B x d) are those of the variables over all rows. The correlations are
    factorised, so that different scales of the variables do not look singular.
    """
    d = covariances.shape[-1]
    own = np.einsum("bkjj->bkj", covariances)
    good = np.isfinite(covariances).all(axis=(1, 2, 3)) & (own > _SINGULAR * variances[:, None]).all(axis=(1, 2))
    deviation = np.sqrt(np.where(good[:, None, None], own, 1.0))
    correlations = covariances / (deviation[..., :, None] * deviation[..., None, :])
    correlations[~good] = np.eye(d)
    try:
        L = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        good &= np.linalg.eigvalsh(correlations)[..., 0].min(axis=1) > _SINGULAR
        correlations[~good] = np.eye(d)
        L = np.linalg.cholesky(correlations)
    diagonal = np.einsum("bkjj->bkj", L)
    singular = (diagonal**2).min(axis=(1, 2)) <= _SINGULAR
    good &= ~singular
    L[singular] = np.eye(d)
    log_determinant = 2 * (np.log(diagonal) + np.log(deviation)).sum(axis=2)
    return np.linalg.inv(L) / deviation[..., None, :], log_determinant, good


def _e_step(Z, proportions, means, covariances, variances):
    """Posteriors (B x K x n), log-likelihoods (B), and which fits are not singular."""
    B, n, d = Z.shape
    K = means.shape[1]
    P, log_determinant, good = _whitening(covariances, variances)
    joint = np.empty((B, K, n))
    for k in range(K):
        Y = (Z - means[:, k, None]) @ np.swapaxes(P[:, k], 1, 2)
        joint[:, k] = -0.5 * np.einsum("bnd,bnd->bn", Y, Y)
    constant = np.log(np.maximum(proportions, 1e-300)) - 0.5 * (log_determinant + d * np.log(2 * np.pi))
    joint += constant[..., None]
    largest = joint.max(axis=1, keepdims=True)
    T = np.exp(joint - largest)
    total = T.sum(axis=1, keepdims=True)
    log_likelihood = (largest + np.log(total)).sum(axis=(1, 2))
    T /= total
    return T, log_likelihood, good


def log_densities(Z, mixture: Mixture) -> np.ndarray:
    """out[i, k] = log pi_k phi(z_i; m_k, Sigma_k) of new rows Z (n x d): (n x K)."""
    assert mixture.proportions is not None
    assert mixture.means is not None
    assert mixture.covariances is not None
    if not Z.shape[1]:
        return np.zeros((len(Z), 1))
    variances = np.einsum("kjj->kj", mixture.covariances).mean(axis=0)[None]
    P, log_determinant, _ = _whitening(mixture.covariances[None], variances)
    out = np.empty((len(Z), len(mixture.means)))
    for k, mean in enumerate(mixture.means):
        Y = (Z - mean) @ P[0, k].T
        out[:, k] = -0.5 * np.einsum("nd,nd->n", Y, Y)
    return out + np.log(mixture.proportions) - 0.5 * (log_determinant[0] + Z.shape[1] * np.log(2 * np.pi))


def em(Z: np.ndarray, T: np.ndarray, shape: Shape, *, max_iter: int, tol: float) -> list[Mixture]:
    """One mixture for each of the B members of the stack Z (B x n x d), from posteriors T (B x K x n).

    A fit stops when its log-likelihood changes by no more than `tol` times its size.
    """
    B, n, d = Z.shape
    step = max(1, STACK_ELEMENTS // (n * d))
    found: list[Mixture] = []
    for i in range(0, B, step):
        found += _em_stack(Z[i : i + step], T[i : i + step], shape, max_iter, tol)
    return found


def _em_stack(Z, T, shape: Shape, max_iter: int, tol: float) -> list[Mixture]:
    found: list[Mixture] = [Mixture.failed("singular covariance of a group")] * len(Z)
    live = np.arange(len(Z))
    variances = Z.var(axis=1)
    previous = np.full(len(Z), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for iteration in range(1, max_iter + 1):
            proportions, means, covariances = parameters = _m_step(Z, T, shape)
            T, log_likelihood, good = _e_step(Z, proportions, means, covariances, variances)
            good &= np.isfinite(log_likelihood)
            converged = good & (np.abs(log_likelihood - previous) <= tol * (np.abs(log_likelihood) + 1))
            done = good if iteration == max_iter else converged
            for i in np.flatnonzero(done):
                fit = (log_likelihood[i], *(q[i] for q in parameters), T[i])
                found[live[i]] = _finish(shape, *fit, n_iter=iteration, converged=bool(converged[i]))
            stay = good & ~done
            if not stay.any():
                break
            if not stay.all():
                live, Z, T, variances, log_likelihood = (a[stay] for a in (live, Z, T, variances, log_likelihood))
            previous = log_likelihood
    return found


def _finish(shape: Shape, log_likelihood, proportions, means, covariances, T, *, n_iter, converged) -> Mixture:
    size = shape.n_parameters(*means.shape)
    return Mixture(
        bic=float(bic(log_likelihood, size, T.shape[1])),
        shape=shape.name,
        log_likelihood=float(log_likelihood),
        n_parameters=size,
        proportions=proportions,
        means=means,
        covariances=covariances,
        posteriors=T,
        n_iter=n_iter,
        converged=converged,
    )
