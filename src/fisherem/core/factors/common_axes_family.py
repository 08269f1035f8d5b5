"""MCFA and MCUFSA as a family: ECM for a mixture in a common factor space, whose likelihood never decreases.

With m_k and C_k the means and covariances of the groups for given posteriors, B = A' D^-1 and G = B A = R R', one step

    xi_k     = G^-1 B (m_k - ybar)                          the most likely mean for this A and D
    Omega_k  = R'^-1 (R^-1 B C_k B' R'^-1 - I)_+ R^-1       the most likely covariance; for MCUFSA its diagonal
    A        = (sum y E[u]') (sum E[uu'])^-1                EM with the factors u missing; for MCUFSA the polar factor
    D        = diag of the mean of E[(y - A u)(y - A u)']   tied and raised to its floor

needs only C_k B' (p x q) from the rows. Plain EM for xi_k and Omega_k would need several times as many steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...model.factors import Latent
from ...rows.base import States
from ...solvers.small import nearest_orthonormal
from ..data.precisions import Precisions
from ..data.problem import Problem
from .axes import GroupMoments, column_variances, group_moments, symmetric, total_axes
from .base import FactorModelFamily, FactorModelSolution, FactorModelStep
from .common_axes import LatentFactors
from .moments import AroundMeans, GroupProducts, group_products

__all__ = ["LatentFactorFamily", "LatentFactorSolution", "LatentFactorStep"]

# With few variables, steps per pass: further steps for the same posteriors cost less than a pass.
_INNER_STEPS = 4
# Added to E[uu'], as a share of its trace, which is singular if no group uses a factor.
_JITTER = 1e-12
# The factor by which a noise is reduced, large enough to leave a plateau.
_NUDGE = 3.0


@dataclass(frozen=True)
class LatentFactorSolution(FactorModelSolution):
    """The parameters of one iterate."""

    density: LatentFactors
    n_floored: int = 0
    parts = ("proportions", "loadings", "noises", "latent_means", "roots", "overall")

    @property
    def each(self) -> np.ndarray:
        """Factors per group (K)."""
        K, q = self.density.latent_means.shape
        return np.full(K, q)

    @property
    def means(self) -> np.ndarray:
        """ybar + A xi_k (K x p), relative to the centre."""
        return self.density.overall + self.density.latent_means @ self.density.loadings.T

    def precisions(self) -> Precisions:
        """D^-1 - D^-1 A V_k A' D^-1; D^-1 is common and differs between means, so it stays."""
        density = self.density
        K, p = len(density.proportions), len(density.noises)
        bases = np.repeat(density.matrix[:-1].T[None], K, axis=0)
        noise = np.repeat(1 / density.noises[None], K, axis=0)
        return Precisions(self.means, bases, -density.spreads, noise.reshape(K, p), density.peaks)

    def halves(self, group: int) -> tuple[np.ndarray, float]:
        """A cut across the group's longest direction in the factor space, at its mean."""
        spread = self.density.loadings @ self.density.roots[group]
        direction = np.linalg.svd(spread, full_matrices=False)[0][:, 0]
        return direction, float(direction @ self.means[group])

    def moved(self, by: np.ndarray) -> LatentFactorSolution:
        """The solution with its overall mean moved."""
        return replace(self, density=self.changed(overall=self.density.overall + by))


@dataclass(frozen=True)
class LatentFactorFamily(FactorModelFamily):
    """MCFA or MCUFSA with q factors."""

    n_factors: int
    initial: LatentFactors | None = None

    # Random starts often lead to better maxima, as the factors need not separate the groups of k-means.
    wanders = True

    def adapt(self, problem: Problem, states: States) -> tuple[Problem, LatentFactorFamily]:
        """Initial parameters for the partition in the states: principal axes, or random ones in a variant."""
        moments = group_moments(problem, states)
        if moments is None:
            return problem, self  # the loop reports the empty group
        loadings, noises = self._first_loadings(problem)
        inverse = np.linalg.pinv(loadings)
        covariances = _of_scores(problem, states, moments, inverse)
        if self.structure.latent is Latent.DIAGONAL:
            covariances = covariances * np.eye(self.n_factors)
        initial = LatentFactors.of(
            moments.proportions,
            loadings,
            np.maximum(noises, self.bounds(problem).floor),
            (moments.means - problem.mean) @ inverse.T,
            _roots(covariances),
            np.array(problem.mean, float),
        )
        return problem, replace(self, initial=initial)

    def _first_loadings(self, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """(loadings (p x q), noises (p)), in units of the variables, or of their mean if the noise is spherical."""
        p, q, spherical = problem.p, self.n_factors, self.structure.noise.spherical
        variances = column_variances(problem)
        if spherical:
            variances = np.full(p, variances.mean())
        unit = np.sqrt(variances)
        if self.variant:
            rng = np.random.default_rng(self.variant)
            vectors = np.linalg.qr(rng.normal(size=(p, q)))[0]
            noises = rng.uniform(0.05, 0.9, size=1 if spherical else p) * variances
        else:
            values, vectors = total_axes(problem, q, unit)
            noises = variances * max(1 - values.sum() / p, 0.0) * p / max(p - q, 1)
        return (vectors if spherical else unit[:, None] * vectors), noises

    def continuing(self, solution: LatentFactorSolution) -> LatentFactorFamily:
        """The family that continues from a solution."""
        return replace(self, initial=solution.density)

    def nudged(self, solution: LatentFactorSolution, most: int) -> list[LatentFactorFamily]:
        """At most `most` families that start with one of the smallest noises reduced.

        The likelihood has plateaus on the way to a maximum where a variable has almost no noise: on iris it stays at
        -360.35 for a thousand iterations before it increases to -360.07.
        """
        d = solution.density
        if self.structure.noise.spherical:
            return []
        left = d.noises / (d.noises + np.einsum("pq,kqr,pr->p", d.loadings, d.roots @ d.roots.mT, d.loadings))
        found = []
        for j in np.argsort(left)[:most]:
            noises = np.where(np.arange(len(left)) == j, d.noises / _NUDGE, d.noises)
            found.append(replace(self, initial=solution.changed(noises=noises)))
        return found

    def begin(self, problem: Problem) -> LatentFactorStep:
        """Steps from the first parameters."""
        return LatentFactorStep(self, problem)

    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> LatentFactorSolution:
        """The solution from the arrays of `LatentFactorSolution.pack`."""
        density = LatentFactors.of(*(arrays[name] for name in LatentFactorSolution.parts))
        return LatentFactorSolution(density, values["n_floored"])


def _of_scores(problem: Problem, states: States, moments: GroupMoments, inverse: np.ndarray) -> np.ndarray:
    """Covariances (K x q x q) of the groups' rows times the pseudo-inverse (q x p) of the loadings."""
    directions = np.broadcast_to(inverse, (len(moments.weights), *inverse.shape))
    products = problem.rows.fold(group_products, states, AroundMeans(moments.means, directions))
    return symmetric(inverse @ products.along(moments.weights, moments.means))


def _roots(covariances: np.ndarray) -> np.ndarray:
    """L_k with L_k L_k' = Omega_k, which may be singular."""
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0))[:, None, :]


class LatentFactorStep(FactorModelStep):
    """M-steps of one run."""

    def __init__(self, family: LatentFactorFamily, problem: Problem):
        super().__init__(family, problem)
        self.variances = np.asarray(problem.scatter.variances(), float)

    def place(self, sums) -> AroundMeans:
        """Means from the sums, and what the rows are multiplied with."""
        means = sums.sums / sums.weights[:, None]
        if self.few:
            return AroundMeans.whole_covariances(means)
        B = self.present.matrix[:-1]
        return AroundMeans(means, np.broadcast_to(B, (len(means), *B.shape)))

    def update(self, sums, placing: AroundMeans, moments: GroupProducts) -> LatentFactorSolution:
        """The M-step; several of them with few variables, from the groups' covariances."""
        weights, means, present = sums.weights, placing.means, self.present
        along = moments.along(weights, means)
        shares, offsets = weights / weights.sum(), means - present.overall
        if self.few:
            covariances = symmetric(along)
            loadings, noises = present.loadings, present.noises
            for _ in range(_INNER_STEPS):
                found = self.step(shares, offsets, covariances @ (loadings / noises[:, None]), loadings, noises)
                loadings, noises, *_ = found
        else:
            found = self.step(shares, offsets, along, present.loadings, present.noises)
        self.present = LatentFactors.of(shares, *found, present.overall)
        return LatentFactorSolution(self.present, self._at_floor(self.present))

    def step(
        self, shares: np.ndarray, offsets: np.ndarray, along: np.ndarray, loadings: np.ndarray, noises: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The next (loadings, noises, latent means, roots of Omega_k).

        From shares (K), m_k - ybar (K x p), C_k B' (K x p x q) and the present loadings (p x q) and noises (p).
        """
        B = loadings.T / noises
        G = B @ loadings
        spread = symmetric(B @ along)
        xi, roots, inner = self._latent((G + G.T) / 2, offsets @ B.T, spread)
        weighed = shares[:, None, None]
        cross = (shares[:, None] * xi).T @ offsets + (weighed * (inner @ along.transpose(0, 2, 1))).sum(axis=0)
        second = xi[:, :, None] * xi[:, None, :] + inner @ spread @ inner + inner
        total = (weighed * second).sum(axis=0)
        if self.structure.latent is Latent.DIAGONAL:
            loadings = nearest_orthonormal(cross.T)
        else:
            loadings = np.linalg.solve(total + _JITTER * np.trace(total) * np.eye(len(total)), cross).T
        left = self.variances + ((loadings @ total) * loadings - 2 * loadings * cross.T).sum(axis=1)
        return loadings, np.maximum(self._tied(left), self.floor), xi, roots

    def _latent(
        self, G: np.ndarray, scores: np.ndarray, spread: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(xi (K x q), roots of Omega_k, V_k = cov(u | y, k)) from the groups' means and covariances of B (y - ybar).

        With e the eigenvalues of R^-1 B C_k B' R'^-1, Omega_k has (e - 1)_+ and V_k has (e - 1)_+ / max(e, 1).
        """
        inverse = np.linalg.inv(np.linalg.cholesky(G))
        xi = scores @ inverse.T @ inverse
        excess = symmetric(inverse @ spread @ inverse.T)
        if self.structure.latent is Latent.DIAGONAL:  # G is a multiple of I
            values, axes = np.einsum("kqq->kq", excess), np.broadcast_to(inverse.T, excess.shape)
        else:
            values, vectors = np.linalg.eigh(excess)
            axes = inverse.T @ vectors
        beyond = np.maximum(values - 1, 0)
        roots = axes * np.sqrt(beyond)[:, None, :]
        return xi, roots, (axes * (beyond / np.maximum(values, 1))[:, None, :]) @ axes.transpose(0, 2, 1)

    def vector(self, density: LatentFactors) -> tuple[np.ndarray, ...]:
        """Log proportions, loadings, log noises, and means and covariances of the factors."""
        omega = density.roots @ density.roots.transpose(0, 2, 1)
        return np.log(density.proportions), density.loadings, np.log(density.noises), density.latent_means, omega

    def density(self, parts: list[np.ndarray], like: LatentFactors) -> LatentFactors:
        """The density with these coordinates; matrices that are no covariances are replaced by the nearest ones."""
        logs, loadings, log_noises, xi, omega = parts
        if self.structure.latent is Latent.DIAGONAL:
            loadings = nearest_orthonormal(loadings)
        roots = _roots(symmetric(omega))
        return LatentFactors.of(self.shares(logs), loadings, self.noises(log_noises), xi, roots, like.overall)

    def leap(self, solution: LatentFactorSolution) -> LatentFactorSolution | None:
        """All parameters extrapolated, with the number of noises at their floor."""
        ahead = super().leap(solution)
        return None if ahead is None else replace(ahead, n_floored=self._at_floor(ahead.density))

    def _at_floor(self, density: LatentFactors) -> int:
        return int((density.noises <= self.floor).sum())

    def _tied(self, left: np.ndarray) -> np.ndarray:
        return np.full(len(left), left[self.bounds.varies].mean()) if self.structure.noise.spherical else left
