"""The M-step of mixtures of factor models, from the groups' covariances C_k or from their products with beta_k.

One step of EM for given posteriors, with beta_k = L_k' Sigma_k^-1, A_k = C_k beta_k' and
theta_k = E[uu'] = I - beta_k L_k + beta_k A_k (Ghahramani & Hinton 1996; McNicholas & Murphy 2008):

    loadings from A_k and theta_k, constrained by the structure; then the residual variances
    diag(C_k - 2 L_k A_k' + L_k theta_k L_k'), constrained and raised to their floor

Neither lowers the likelihood. If C_k itself is known, two structures have better steps: for PPCA its eigenvectors are
the maximum (Tipping & Bishop 1999). For MFA the best loadings for a given Psi_k are eigenvectors, so the likelihood is
a function of Psi_k alone, which a quasi-Newton step increases (Joreskog 1967).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dsyevr

from ...model.factors import Structure
from .density import regressions

__all__ = ["Factors", "em_step", "exact_step", "newton_steps", "settled_noises"]

# Steps in log Psi: a factor of 4.5 at most, reduced by a factor of 4 if the likelihood would decrease.
_LONGEST, _SHORTER, _TRIES = 1.5, 4.0, 3
# Shorter steps do not change the likelihood.
_SETTLED = 1e-7
# Up to this many variables computing all eigenvectors costs less than separate calls for the leading ones.
_SMALL_MATRIX = 16
# Added to the approximate Hessian, whose entries are in [0, 1]; a variable without residual has a row of zeros.
_DAMPING = 1e-6


@dataclass(frozen=True)
class Factors:
    """Loadings (K x p x q) and noises (K x p)."""

    loadings: np.ndarray
    noises: np.ndarray


@dataclass(frozen=True)
class Bounds:
    """Least noises (p), and which variables vary (bool p)."""

    floor: np.ndarray
    varies: np.ndarray


def settled_noises(structure: Structure, noises: np.ndarray, proportions: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Residual variances (K x p) constrained by the structure and raised to their floor."""
    floor = np.broadcast_to(bounds.floor.mean(), bounds.floor.shape) if structure.noise.spherical else bounds.floor
    return np.maximum(structure.noise.tie(noises, proportions, bounds.varies), floor)


def em_step(
    structure: Structure,
    present: Factors,
    along: np.ndarray,
    variances: np.ndarray,
    proportions: np.ndarray,
    bounds: Bounds,
) -> Factors:
    """One step from A_k = C_k beta_k' (`along`, K x p x q) and the diagonals of C_k (K x p)."""
    loadings, noises = present.loadings, present.noises
    q = loadings.shape[2]
    assert structure.loadings is not None
    cross = np.zeros_like(variances)
    if q:
        betas = regressions(loadings, noises)
        theta = np.eye(q) - betas @ loadings + betas @ along
        theta = (theta + theta.transpose(0, 2, 1)) / 2
        loadings = structure.loadings.update(along, theta, noises, proportions)
        cross = np.einsum("kpq,kpq->kp", loadings, loadings @ theta - 2 * along)
    return Factors(loadings, settled_noises(structure, variances + cross, proportions, bounds))


def exact_step(
    structure: Structure, covariances: np.ndarray, q: np.ndarray, proportions: np.ndarray, bounds: Bounds
) -> Factors:
    """The maximum for own axes and an own spherical noise, from the eigenvalues of C_k; q factors per group (K)."""
    assert structure.loadings is not None
    assert structure.loadings.variances is not None
    K, p, _ = covariances.shape
    values, vectors = np.linalg.eigh(covariances)
    values, vectors = np.maximum(values[:, ::-1], 0), vectors[:, :, ::-1]
    most, n_varying = int(q.max(initial=0)), max(int(bounds.varies.sum()), 1)
    loadings, levels = np.zeros((K, p, most)), np.empty(K)
    for k, own in enumerate(q):
        rest = values[k, own:].sum() / max(n_varying - own, 1)
        levels[k] = max(rest, bounds.floor.mean())
        lead = structure.loadings.variances(values[k : k + 1, :own])[0] if own else values[k, :0]
        loadings[k, :, :own] = vectors[k, :, :own] * np.sqrt(np.maximum(lead - levels[k], 0))
    return Factors(loadings, np.broadcast_to(levels[:, None], (K, p)))


def _leading_pairs(matrices: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
    """The q largest eigenvalues (K x q) and their vectors (K x p x q)."""
    K, p, _ = matrices.shape
    if p <= _SMALL_MATRIX:
        values, vectors = np.linalg.eigh(matrices)
        return values[:, p - q :], vectors[:, :, p - q :]
    found, axes = np.empty((K, q)), np.empty((K, p, q))
    for k, matrix in enumerate(matrices):
        values, vectors, *_, info = dsyevr(matrix, range="I", il=p - q + 1, iu=p, lower=1)
        if info:
            raise np.linalg.LinAlgError("the eigenvalues of a covariance matrix were not found")
        found[k], axes[k] = values[:q], vectors
    return found, axes


def _best_loadings(covariances: np.ndarray, noises: np.ndarray, q: int):
    """(-2 log-likelihood per row and constant (K), the best loadings for these noises, their eigenvectors).

    A factor without loadings gets no eigenvector, because among directions of equal variance it would be arbitrary.
    """
    scale = np.sqrt(noises)
    scaled = covariances / (scale[:, :, None] * scale[:, None, :])
    lead, vectors = _leading_pairs(scaled, q)
    rest = np.einsum("kjj->k", scaled) - lead.sum(axis=1)
    used = np.maximum(lead, 1)
    cost = np.log(noises).sum(axis=1) + (np.log(used) + lead / used).sum(axis=1) + rest
    vectors = vectors * (lead > 1)[:, None, :]
    return cost, scale[:, :, None] * vectors * np.sqrt(used - 1)[:, None, :], vectors


def newton_steps(covariances: np.ndarray, noises: np.ndarray, q: int, floor: np.ndarray, steps: int):
    """(factors, costs (K)) after quasi-Newton steps in log Psi_k from these noises; the costs never rise.

    The gradient is (diag Sigma_k - diag C_k) / Psi_k, and the Hessian at the maximum E * E (entry by entry) with E the
    projection on the eigenvectors that are no factors. Variables at their floor whose gradient points below it are
    held fixed.
    """
    diagonals = np.einsum("kjj->kj", covariances)
    most = np.maximum(diagonals, floor)
    places = np.arange(len(floor))
    cost, loadings, axes = _best_loadings(covariances, noises, q)
    for _ in range(steps):
        gradient = (np.einsum("kpq,kpq->kp", loadings, loadings) + noises - diagonals) / noises
        hessian = (np.eye(len(floor)) - axes @ axes.transpose(0, 2, 1)) ** 2
        hessian[:, places, places] += _DAMPING
        held = (noises <= floor) & (gradient > 0)
        free = ~held
        hessian *= free[:, :, None] & free[:, None, :]
        hessian[:, places, places] += held
        step = -np.linalg.solve(hessian, (gradient * free)[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1, _LONGEST / np.maximum(longest, np.finfo(float).tiny))
        for _ in range(_TRIES):
            tried = np.clip(noises * np.exp(step), floor, most)
            new, new_loadings, new_axes = _best_loadings(covariances, tried, q)
            lower = new < cost
            noises = np.where(lower[:, None], tried, noises)
            loadings = np.where(lower[:, None, None], new_loadings, loadings)
            axes = np.where(lower[:, None, None], new_axes, axes)
            cost = np.where(lower, new, cost)
            step = np.where(lower[:, None], 0, step / _SHORTER)
            if np.abs(step).max() < _SETTLED:
                break
    return Factors(loadings, noises), cost
