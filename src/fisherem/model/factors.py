"""Mixtures of factor models: which parts of the groups' covariances are common.

Group k has the covariance L_k L_k' + Psi_k with loadings L_k (p x q) and a diagonal noise Psi_k. A `Structure` is a
shape of the loadings times a shape of the noise; `STRUCTURES` holds McNicholas & Murphy's eight (PGMM: three letters
say whether loadings, noise and the variables' noise are Common or Unconstrained), the six of HDDC with common
dimension (Bouveyron, Girard & Schmid 2007: variances A, noise B, axes Q), and two with common loadings and a mixture in
the factor space: MCFA (Baek, McLachlan & Flack 2010) and MCUFSA (Yoshida et al. 2004). MFA is UUU, PPCA is AkjBkQk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .._utils.register import Register
from .dlm import orientation_parameters

__all__ = ["STRUCTURES", "Latent", "Loadings", "Noise", "Structure", "loading_parameters", "resolve_structure"]

Array = np.ndarray


def loading_parameters(p: int, q: int) -> int:
    """Free parameters of p x q loadings, which are unique up to a rotation of the factors."""
    return p * q - q * (q - 1) // 2


@dataclass(frozen=True)
class Loadings:
    """How the loadings of the groups are constrained: their update in a step of EM, and their number of parameters.

    `update(A, theta, noises, proportions)` has, per group, A = C_k beta_k' (K x p x q), theta = E[uu'] (K x q x q) and
    the present noises (K x p); it returns the loadings (K x p x q) that maximise the expected likelihood.
    """

    name: str
    count: Callable[[int, int, Array], int]  # (K, p, factors per group) -> free parameters
    update: Callable[[Array, Array, Array, Array], Array]
    common: bool = False
    free: bool = True  # whether any p x q matrix is allowed
    # (shares of the eigenvalues' excess over the noise (K x q)) -> the same, constrained; for the exact M-step
    variances: Callable[[Array], Array] | None = None


@dataclass(frozen=True)
class Noise:
    """How the diagonal noises (K x p) are constrained."""

    common: bool  # one for all groups
    spherical: bool  # one for all variables

    def tie(self, noises: Array, proportions: Array, varies: Array) -> Array:
        """Constrain estimates (K x p); a common level is the mean over the variables that vary (bool p)."""
        if self.spherical:
            level = noises[:, varies].mean(axis=1) if varies.any() else noises.mean(axis=1)
            noises = np.broadcast_to(level[:, None], noises.shape)
        return np.broadcast_to(proportions @ noises, noises.shape) if self.common else noises

    @property
    def usual(self) -> bool:
        """Whether there are no other constraints, which closed-form M-steps do not support."""
        return type(self) is Noise

    def count(self, K: int, p: int) -> int:
        """Free parameters."""
        return (1 if self.common else K) * (1 if self.spherical else p)


class Latent(Enum):
    """The constraints of a mixture in a common factor space."""

    FULL = "full"  # any covariance of the factors per group, any loadings, diagonal noise: MCFA
    DIAGONAL = "diagonal"  # uncorrelated factors on orthonormal axes, spherical noise: MCUFSA


@dataclass(frozen=True)
class Structure:
    """One mixture of factor models. With `latent`, the groups differ in a common factor space only."""

    name: str
    words: str  # what is common and what is the groups' own, for pages
    noise: Noise
    loadings: Loadings | None = None
    latent: Latent | None = None

    def n_parameters(self, K: int, p: int, q: int | Array) -> int:
        """Free parameters; `q` is the number of factors, one for all or one per group."""
        each = np.broadcast_to(np.asarray(q, int), (K,))
        if self.loadings is not None:
            return (K - 1) + K * p + self.loadings.count(K, p, each) + self.noise.count(K, p)
        q = int(each[0])
        if self.latent is Latent.FULL:
            # loadings and factors are free up to any invertible q x q matrix: Baek et al., section 3
            return (K - 1) + K * q + K * q * (q + 1) // 2 + p * q - q * q + self.noise.count(K, p)
        return (K - 1) + K * q + K * q + orientation_parameters(p, q) + self.noise.count(K, p)


# -- loadings ------------------------------------------------------------------------------------------------------


def _own(A: Array, theta: Array, noises: Array, proportions: Array) -> Array:
    """L_k = A_k theta_k^-1: each group regresses its rows on its factors."""
    return np.linalg.solve(theta, A.transpose(0, 2, 1)).transpose(0, 2, 1)


def _common(A: Array, theta: Array, noises: Array, proportions: Array) -> Array:
    """One regression of all rows: row j of L solves sum_k (pi_k / psi_kj) (theta_k l_j - A_kj) = 0."""
    weights = proportions[:, None] / noises
    right = np.einsum("kj,kjq->jq", weights, A)
    left = np.einsum("kj,kqr->jqr", weights, theta)
    loadings = np.linalg.solve(left, right[..., None])[..., 0]
    return np.broadcast_to(loadings, A.shape)


def _directions(A: Array, theta: Array) -> tuple[Array, Array, Array]:
    """(Q, sum of the singular values, E[u'u]) per group, of A = Q H, its polar decomposition.

    A group with fewer factors than others has columns of zeros, which stay 0 and are not counted.
    """
    left, singular, right = np.linalg.svd(A, full_matrices=False)
    used = singular > np.finfo(float).eps * singular.max(axis=1, keepdims=True, initial=0)
    squares = np.einsum("kqq,kq->k", theta, A.any(axis=1))
    return (left * used[:, None, :]) @ right, singular.sum(axis=1), np.maximum(squares, np.finfo(float).tiny)


def _one_length(A: Array, theta: Array, noises: Array, proportions: Array) -> Array:
    """L_k = s_k Q_k with orthonormal Q_k: all factors of a group have the same variance."""
    Q, along, squares = _directions(A, theta)
    return Q * (along / squares)[:, None, None]


def _common_length(A: Array, theta: Array, noises: Array, proportions: Array) -> Array:
    """L_k = s Q_k: one variance for the factors of all groups."""
    Q, along, squares = _directions(A, theta)
    weights = proportions / noises[:, 0]
    return Q * ((weights @ along) / (weights @ squares))


def _mean(variances: Array) -> Array:
    return np.broadcast_to(variances.mean(axis=1, keepdims=True), variances.shape)


def _orientations(p: int, each: Array) -> int:
    return sum(orientation_parameters(p, int(q)) for q in each)


_OWN = Loadings("own", lambda K, p, each: sum(loading_parameters(p, int(q)) for q in each), _own)
_COMMON = Loadings("common", lambda K, p, each: loading_parameters(p, int(each[0])), _common, common=True)
_AKJ = Loadings("Akj", _OWN.count, _own, variances=lambda variances: variances)
_AK = Loadings("Ak", lambda K, p, each: _orientations(p, each) + K, _one_length, free=False, variances=_mean)
_A = Loadings("A", lambda K, p, each: _orientations(p, each) + 1, _common_length, free=False)


# -- the register --------------------------------------------------------------------------------------------------


def _pgmm() -> list[Structure]:
    """CCC ... UUU: loadings, noise of the groups, noise of the variables."""
    found = []
    for loadings in (_COMMON, _OWN):
        for groups in (True, False):
            for variables in (True, False):
                name = "".join("UC"[bool(tied)] for tied in (loadings.common, groups, variables))
                words = f"{'common' if loadings.common else 'own'} loadings, {'common' if groups else 'own'} noise, "
                words += "spherical" if variables else "one per variable"
                found.append(Structure(name, words, Noise(groups, variables), loadings))
    return found


def _hddc() -> list[Structure]:
    names = {"Akj": "a variance per factor and group", "Ak": "a variance per group", "A": "one variance"}
    return [
        Structure(
            f"{loadings.name}{'B' if common else 'Bk'}Qk",
            f"own axes, {names[loadings.name]}, {'common' if common else 'own'} spherical noise",
            Noise(common, True),
            loadings,
        )
        for loadings in (_AKJ, _AK, _A)
        for common in (False, True)
    ]


_LATENT = (
    Structure("MCFA", "common loadings and noise; means and covariances in the factor space are own",
              Noise(True, False), latent=Latent.FULL),
    Structure("MCUFSA", "common orthonormal axes and spherical noise; means and variances on the axes are own",
              Noise(True, True), latent=Latent.DIAGONAL),
)  # fmt: skip
STRUCTURES: Register[Structure] = Register("structure", {s.name: s for s in (*_pgmm(), *_hddc(), *_LATENT)})
# Other names of the same structures, in letters as `_key` leaves them.
_ALIASES = {"mfa": "UUU", "ppca": "AkjBkQk", "mixtppca": "AkjBkQk", "hddc": "AkjBkQk"}


def _key(name: str) -> str:
    """Letters in one case, without the family's name: "PGMM-CUU", "cuu" and "CUU" are one structure."""
    return "".join(c for c in name.casefold() if c.isalpha()).removeprefix("pgmm")


def resolve_structure(name: str) -> Structure:
    """The structure of that name: an entry of `STRUCTURES`, "MFA" or "PPCA"."""
    key = _key(name) if isinstance(name, str) else ""
    key = _key(_ALIASES.get(key, key))
    for structure in STRUCTURES.values():
        if _key(structure.name) == key:
            return structure
    raise ValueError(f"unknown structure {name!r}; choose one of MFA, PPCA, {', '.join(STRUCTURES)}")
