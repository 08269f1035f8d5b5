"""The family of discriminative latent mixture (DLM) models: the paper's Table 1 as a table.

A model is a covariance shape (of the groups inside the latent space) times a noise shape (outside it).
Each shape defines its constraint on the estimates of the M-step and its number of free parameters, so that no other
code depends on a model's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._utils.register import Register

__all__ = [
    "AUTO", "DLM", "MODELS", "OTHER_MODELS", "CovarianceShape", "NoiseShape", "candidates", "orientation_parameters",
    "resolve",
]  # fmt: skip

Array = np.ndarray


@dataclass(frozen=True)
class CovarianceShape:
    """How the K covariances (K x d x d) inside the latent space are constrained."""

    name: str
    symbol: str
    count: Callable[[int, int], int]  # (K, d) -> free parameters
    constrain: Callable[[Array, Array], Array]  # (covariances, proportions) -> covariances


@dataclass(frozen=True)
class NoiseShape:
    """How the K noise variances outside the latent space are constrained."""

    name: str
    symbol: str
    count: Callable[[int], int]  # K -> free parameters
    constrain: Callable[[Array, Array], Array]  # (variances, proportions) -> variances


def _pool(covariances: Array, proportions: Array) -> Array:
    """The covariance common to all groups, repeated K times: sum_k pi_k Sigma_k."""
    return np.broadcast_to(np.tensordot(proportions, covariances, 1), covariances.shape).copy()


def _diagonal(covariances: Array) -> Array:
    return covariances * np.eye(covariances.shape[1])


def _isotropic(covariances: Array) -> Array:
    d = covariances.shape[1]
    return np.einsum("kjj->k", covariances)[:, None, None] / max(d, 1) * np.eye(d)


# In the order of Table 1, most to least general.
_COVARIANCES = (
    CovarianceShape("Dk", "Sigma_k", lambda K, d: K * d * (d + 1) // 2, lambda c, p: c),
    CovarianceShape("D", "Sigma", lambda K, d: d * (d + 1) // 2, _pool),
    CovarianceShape("Akj", "alpha_kj", lambda K, d: K * d, lambda c, p: _diagonal(c)),
    CovarianceShape("Ak", "alpha_k", lambda K, d: K, lambda c, p: _isotropic(c)),
    CovarianceShape("Aj", "alpha_j", lambda K, d: d, lambda c, p: _diagonal(_pool(c, p))),
    CovarianceShape("A", "alpha", lambda K, d: 1, lambda c, p: _isotropic(_pool(c, p))),
)
_NOISES = (
    NoiseShape("Bk", "beta_k", lambda K: K, lambda b, p: b),
    NoiseShape("B", "beta", lambda K: 1, lambda b, p: np.full_like(b, p @ b)),
)


def orientation_parameters(p: int, d: int) -> int:
    """Free parameters of an orthonormal p x d matrix."""
    return d * p - d * (d + 1) // 2


@dataclass(frozen=True)
class DLM:
    """One of the twelve models: DLM[covariance noise]."""

    covariance: CovarianceShape
    noise: NoiseShape
    candidate: bool = False  # whether model="auto" considers it; only models with a common noise can be compared

    def __post_init__(self):
        if self.candidate and self.noise.count(2) != 1:
            raise ValueError(f"{self.name} has a noise per group: model='auto' compares models with a common noise")

    @property
    def name(self) -> str:
        """The name in the R package, such as "AkjB"."""
        return self.covariance.name + self.noise.name

    @property
    def paper_name(self) -> str:
        """The paper's notation, such as "DLM[alpha_kj beta]"."""
        return f"DLM[{self.covariance.symbol} {self.noise.symbol}]"

    def n_parameters(self, n_clusters: int, p: int, d: int, n_zeros: int = 0, n_factors: int = 0) -> int:
        """Free parameters (Table 1); with `n_zeros` zeros in the loadings, the effective number of section 3.4.

        gamma_e = (K-1) + K d + (d [p - (d+1)/2] - d_e) + covariances + noises + factors of the noise

        As in Table 1 the means count inside the axes only: the p - d coordinates of the overall mean outside them, or
        the K (p - d) of full means, are not counted.
        """
        return (
            (n_clusters - 1)
            + n_clusters * d
            + (orientation_parameters(p, d) - n_zeros)
            + (self.covariance.count(n_clusters, d) if d else 0)
            + self.noise.count(n_clusters)
            + self._factor_parameters(p, d, n_factors)
        )

    def _factor_parameters(self, p: int, d: int, m: int) -> int:
        """The free parameters of m factors of p variables, at most p m - m (m-1)/2.

        A group's covariance has at most p (p+1)/2 parameters. With nearly as many factors as variables N can be any
        covariance, and the parameters inside the axes and of the noise level are redundant.
        """
        m = min(m, p - 1)
        own = (self.covariance.count(1, d) if d else 0) + 1
        return min(p * m - m * (m - 1) // 2, p * (p + 1) // 2 - own)


_CANDIDATES = ("DkB", "AkB", "AB")
_TABLE = (DLM(c, b, candidate=c.name + b.name in _CANDIDATES) for c in _COVARIANCES for b in _NOISES)
MODELS: Register[DLM] = Register("model", {model.name: model for model in _TABLE})

_GREEK = {"Σ": "sigma", "σ": "sigma", "α": "alpha", "β": "beta"}


def _key(name: str) -> str:
    """Letters only, lower case: "DLM_[\\alpha_{kj}\\beta]", "alpha_kj beta" and "αkjβ" are all "alphakjbeta"."""
    for greek, latin in _GREEK.items():
        name = name.replace(greek, latin)
    return re.sub(r"[^a-z]", "", name.lower()).replace("mathrm", "").removeprefix("dlm")


def resolve(name: str | DLM) -> DLM:
    """The model of that name, in R's ("AkjB") or the paper's ("alpha_kj beta", "DLM[Σkβ]") notation."""
    if isinstance(name, DLM):
        return name
    known = {_key(n): m for m in MODELS.values() for n in (m.name, m.paper_name)}
    model = known.get(_key(name)) if isinstance(name, str) else None
    if model is None:
        raise ValueError(
            f"unknown model {name!r}; choose one of {', '.join(MODELS)} "
            "(or the paper's notation, such as 'alpha_kj beta'); estimators, not searches, also take 'auto'"
        )
    return model


AUTO = "auto"


def candidates(name: str | DLM) -> tuple[DLM, ...]:
    """The models to fit for that name: for "auto" the most compact and the most flexible one."""
    return (MODELS["AB"], MODELS["DkBk"]) if isinstance(name, str) and name == AUTO else (resolve(name),)


# The nine other models of Table 1, (K, p, d) -> count. Where a printed cell disagrees with its own formula
# (Mixt-PPCA, PGMM-CUU) the formula is followed: see docs/departures.md.
OTHER_MODELS: dict[str, Callable[[int, int, int], int]] = {
    "Full-GMM": lambda K, p, d: (K - 1) + K * p + K * p * (p + 1) // 2,
    "Com-GMM": lambda K, p, d: (K - 1) + K * p + p * (p + 1) // 2,
    "Diag-GMM": lambda K, p, d: (K - 1) + K * p + K * p,
    "Sphe-GMM": lambda K, p, d: (K - 1) + K * p + K,
    "MFA": lambda K, p, d: (K - 1) + K * p + K * (d * p - d * (d - 1) // 2) + K * p,
    "Mixt-PPCA": lambda K, p, d: (K - 1) + K * p + K * (orientation_parameters(p, d) + d + 1) + 1,
    "PGMM-CUU": lambda K, p, d: (K - 1) + K * p + orientation_parameters(p, d) + K * p,
    "MCFA": lambda K, p, d: (K - 1) + K * d + p + orientation_parameters(p, d) + K * d * (d + 1) // 2,
    "MCUFSA": lambda K, p, d: (K - 1) + K * d + 1 + orientation_parameters(p, d) + K * d,
}
