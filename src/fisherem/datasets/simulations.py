"""Data with known truth: the simulation of section 4.1, draws from each of the twelve models, and the simulations of
the Bayesian Fisher-EM paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from ..model.dlm import resolve
from ..tables.parameters import check_number

__all__ = [
    "DLMSample", "RotatedSample", "simulate", "simulate_chang", "simulate_dlm", "simulate_roles", "simulate_rotated",
    "simulate_snr",
]  # fmt: skip

# The trace of the latent covariance of the rotated simulations: the signal that decibels are relative to.
_SIGNAL = 1.95


def _check(least: int = 1, p: int | None = None, least_p: int = 1, **numbers) -> None:
    """Raise an error if the number of rows n or of columns p, or any other number, is invalid."""
    check_number("n", numbers.pop("n"), integer=True, least=least)
    if p is not None:
        check_number("p", p, integer=True, least=least_p)
    for name, value in numbers.items():
        check_number(name, value, least=0 if name == "noise" else None)


def _generator(random_state) -> np.random.RandomState:
    """scikit-learn's, with an error that names the argument: for () that of scikit-learn 1.7 does not."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(f"random_state must be an integer, a RandomState or None; got {random_state!r:.80}") from None


def simulate(n=300, mu=1.7, *, p=25, q=5, random_state=None):
    """Three spherical Gaussian groups that differ on the first q of p variables only.

    On these, group 0 has mean mu, group 1 has -mu and group 2 has 0; all variances are 1. `n` is the total number of
    rows, and each row falls into a group with equal probability. Returns X (n x p) and y (n).
    """
    _check(n=n, p=p, mu=mu)
    check_number("q", q, integer=True, least=1)
    if q > p:
        raise ValueError(f"p must be at least q ({q}), the number of variables that differ; got {p}")
    rng = _generator(random_state)
    y = rng.randint(3, size=n)
    X = rng.normal(size=(n, p))
    X[:, :q] += mu * np.array([1.0, -1.0, 0.0])[y, None]
    return X, y


@dataclass(frozen=True)
class DLMSample:
    """A draw from a DLM and the parameters that it was drawn with, named like the estimators' attributes."""

    X: np.ndarray  # (n, p)
    y: np.ndarray  # (n,)
    loadings: np.ndarray  # (p, d)
    means: np.ndarray  # (K, p)
    covariances: np.ndarray  # (K, d, d)
    noise_variances: np.ndarray  # (K,)


def simulate_dlm(model="DkBk", n=2000, *, p=20, separation=8.0, random_state=None) -> DLMSample:
    """Four well-separated groups in three latent axes, drawn from one of the models: n rows of p variables.

    The latent means are chosen so that the discriminative axes are the model's own, in order. Otherwise a fit could not
    be compared with models of diagonal covariances, whose diagonal depends on the axes.
    """
    shape = resolve(model)
    _check(n=n, p=p, least_p=3, separation=separation)
    rng = _generator(random_state)
    K, d = 4, 3
    shares = np.full(K, 1 / K)
    pattern = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    latent = separation * pattern * np.array([1.0, 0.75, 0.5])
    spread = np.array([1.0, 2.0, 0.5, 3.0])[:, None] * np.array([1.0, 0.5, 0.3])
    correlation = np.array([0.6, -0.5, 0.3, 0.7])
    covariances = np.array([np.diag(s) for s in spread])
    if not shape.covariance.name.startswith("A"):
        for k in range(K):  # correlated axes, only for the models that have them
            covariances[k, 0, 1] = covariances[k, 1, 0] = correlation[k] * np.sqrt(spread[k, 0] * spread[k, 1])
    covariances = shape.covariance.constrain(covariances, shares)
    noises = shape.noise.constrain(np.array([0.5, 1.0, 1.5, 0.8]), shares)
    U = np.linalg.qr(rng.normal(size=(p, d)))[0]
    y = rng.randint(K, size=n)
    noise = rng.normal(size=(n, p)) * np.sqrt(noises[y])[:, None]
    noise -= noise @ U @ U.T
    inside = latent[y] + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[y], rng.normal(size=(n, d)))
    return DLMSample(inside @ U.T + noise, y, U, latent @ U.T, covariances, noises)


def simulate_roles(n=400, *, separation=2.0, random_state=None):
    """Four groups with all the roles of the SRUW model, in the manner of Maugis, Celeux & Martin-Magniette (2009).

    S = variables 0-2: spherical groups of variance 1 at alternate corners of a cube of side 2 `separation`, so that no
    two of them can replace the third. U = variables 3-6: linear in R = variables 0 and 1, with residual variance 1.
    W = variables 7-11: independent, with different means and with variances up to 1. Returns X (n x 12), y (n) and
    roles (12), an array of "S", "U" and "W".
    """
    _check(n=n, separation=separation)
    rng = _generator(random_state)
    corners = separation * np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    y = rng.randint(4, size=n)
    S = corners[y] + rng.normal(size=(n, 3))
    coefficients = np.array([[0.5, 0.0, 0.4, -0.3], [0.0, 0.5, 0.3, 0.4]])
    U = np.array([0.0, 1.0, -1.0, 2.0]) + S[:, :2] @ coefficients + rng.normal(size=(n, 4))
    W = np.array([0.0, 0.5, 1.0, 1.5, 2.0]) + rng.normal(size=(n, 5)) * np.array([1.0, 0.9, 0.8, 0.7, 0.6])
    return np.column_stack([S, U, W]), y, np.array(["S"] * 3 + ["U"] * 4 + ["W"] * 5)


def simulate_chang(n=300, *, random_state=None):
    """Two groups in 15 variables that the leading principal components do not show (Chang 1983).

    Group 1 has a fifth of the rows; the means are 0.5 v and 1.5 v with v_j = 0.95 - 0.05 j for j = 1 ... 15, and both
    groups have unit variances and the covariances -0.13 f_i f_j with f = -0.9 for the first eight variables and 0.5 for
    the others. Returns X (n x 15) and y (n).
    """
    _check(n=n)
    rng = _generator(random_state)
    direction = 0.95 - 0.05 * np.arange(1, 16)
    f = np.repeat([-0.9, 0.5], [8, 7])
    covariance = -0.13 * np.outer(f, f)
    np.fill_diagonal(covariance, 1.0)
    y = (rng.uniform(size=n) < 0.2).astype(int)
    X = rng.normal(size=(n, 15)) @ np.linalg.cholesky(covariance).T
    return X + (0.5 + y)[:, None] * direction, y


@dataclass(frozen=True)
class RotatedSample:
    """Rows X (n x p), groups y (n), and the two axes (p x 2) of the plane that contains the groups."""

    X: np.ndarray
    y: np.ndarray
    loadings: np.ndarray


def simulate_rotated(n=300, *, p=50, noise=1.0, random_state=None) -> RotatedSample:
    """Three elongated parallel groups in a randomly rotated plane, with spherical noise in the other directions.

    Section 4.2 of the Bayesian Fisher-EM paper: shares 0.4, 0.3 and 0.3, latent means (0, 0), (2.5, 0) and (5, 0), a
    common covariance (1.5, 0.75; 0.75, 0.45), and noise of variance `noise` in the other p - 2 directions.
    """
    _check(n=n, p=p, least_p=3, noise=noise)  # two columns are the plane of the groups
    rng = _generator(random_state)
    sizes = [n - 2 * round(0.3 * n), round(0.3 * n), round(0.3 * n)]
    y = rng.permutation(np.repeat(np.arange(3), sizes))
    root = np.linalg.cholesky(np.array([[1.5, 0.75], [0.75, 0.45]]))
    inside = rng.normal(size=(n, 2)) @ root.T + 2.5 * np.outer(y, [1.0, 0.0])
    turn = np.linalg.qr(rng.normal(size=(p, p)))[0]
    rest = np.sqrt(noise) * rng.normal(size=(n, p - 2))
    return RotatedSample(np.column_stack([inside, rest]) @ turn.T, y, turn[:, :2])


def simulate_snr(n=300, *, p=150, snr=3.0, random_state=None) -> RotatedSample:
    """Like `simulate_rotated`, with a signal-to-noise ratio in decibels: section 4.3 of the same paper.

    snr = 10 log10(1.95 / noise), with 1.95 the trace of the covariance inside the plane.
    """
    check_number("snr", snr, least=-300, most=300)
    return simulate_rotated(n, p=p, noise=_SIGNAL / 10 ** (snr / 10), random_state=random_state)
