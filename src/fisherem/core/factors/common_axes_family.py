"""MCFA and MCUFSA as a family: ECM for a mixture in a common factor space, whose likelihood never falls.

With m_k and C_k the means and covariances of the groups for given posteriors, B = A' D^-1 and G = B A = R R', one step

    xi_k     = G^-1 B (m_k - ybar)                          the most likely mean for this A and D
    Omega_k  = R'^-1 (R^-1 B C_k B' R'^-1 - I)_+ R^-1       the most likely covariance; for MCUFSA its diagonal
    A        = (sum y E[u]') (sum E[uu'])^-1                EM with the factors u missing; for MCUFSA the polar factor
    D        = diag of the mean of E[(y - A u)(y - A u)']   tied and raised to its floor

needs C_k B' (p x q) of the rows. EM for xi_k and Omega_k too would need several times as many steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...model.factors import Latent, Structure
from ...solvers.procrustes import nearest_orthonormal
from ..data.problem import Problem
from ..engine.family import Family, Solution, Step
from ..engine.squarem import LARGEST_LOG, Leaps
from .axes import FEW_VARIABLES, GroupMoments, column_variances, group_moments, in_variables, symmetric, total_axes
from .common_axes import LatentFactors
from .moments import AroundMeans, GroupProducts, group_products
from .steps import Bounds

__all__ = ["LatentFactorFamily", "LatentFactorSolution", "LatentFactorStep"]

# On few variables further steps for the same posteriors cost less than a pass: as many as a pass is worth.
_INNER_STEPS = 4
# Added to E[uu'], as a share of its trace: a factor that no group uses has none.
_JITTER = 1e-12
# A noise made smaller: far enough to be on the other side of a plateau.
_NUDGE = 3.0


@dataclass(frozen=True)
class LatentFactorSolution(Solution):
    """The parameters of one iterate."""

    density: LatentFactors
    n_floored: int = 0

    @property
    def placing(self) -> AroundMeans:  # type: ignore[override]
        """Nothing is placed: the density looks at the rows."""
        means = self.means
        return AroundMeans(means, np.zeros((len(means), 0, means.shape[1])))

    @property
    def each(self) -> np.ndarray:
        """Factors per group (K)."""
        K, q = self.density.latent_means.shape
        return np.full(K, q)

    @property
    def means(self) -> np.ndarray:
        """ybar + A xi_k (K x p), relative to the centre."""
        return self.density.overall + self.density.latent_means @ self.density.loadings.T

    def record(self) -> dict[str, Any]:
        """Noises that were raised to their floor."""
        return {"n_floored": self.n_floored}

    def halves(self, group: int) -> tuple[np.ndarray, float]:
        """Across the group's longest direction in the factor space, at its mean."""
        spread = self.density.loadings @ self.density.roots[group]
        direction = np.linalg.svd(spread, full_matrices=False)[0][:, 0]
        return direction, float(direction @ self.means[group])

    def moved(self, by: np.ndarray) -> LatentFactorSolution:
        """The overall mean moved."""
        d = self.density
        parts = (d.proportions, d.loadings, d.noises, d.latent_means, d.roots, d.overall + by)
        return replace(self, density=LatentFactors.of(*parts))

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The parameters as arrays."""
        names = ("proportions", "loadings", "noises", "latent_means", "roots", "overall")
        return {name: getattr(self.density, name) for name in names}, {"n_floored": self.n_floored}


@dataclass(frozen=True)
class LatentFactorFamily(Family):
    """MCFA or MCUFSA with q factors."""

    n_clusters: int
    n_factors: int
    structure: Structure
    variance_floor: float  # of a noise, relative to the variance of its variable
    variant: int = 0  # other first loadings for the same partition
    initial: LatentFactors | None = None  # for the partition that a run starts from

    monotone = True
    # Maxima that random starts lead to are often better: the factors need not be what separates the groups of k-means.
    wanders = True

    def prepared(self, problem: Problem) -> Problem:
        """Rows of the variables themselves: a diagonal noise is diagonal there only."""
        return in_variables(problem)

    def bounds(self, problem: Problem) -> Bounds:
        """The least noises of the variables of a problem."""
        return Bounds(self.variance_floor * column_variances(problem), ~problem.constant)

    def adapt(self, problem: Problem, states: Any) -> tuple[Problem, LatentFactorFamily]:
        """First parameters for the partition in the states: principal axes of all rows, in a variant random ones."""
        moments = group_moments(problem, states)
        if moments is None:
            return problem, self  # the loop says which group has no rows
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
        """(loadings (p x q), noises (p)), in the unit of the variables or of their mean where noise is spherical."""
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
        """The family that goes on from a solution."""
        return replace(self, initial=solution.density)

    def nudged(self, solution: LatentFactorSolution, most: int) -> list[LatentFactorFamily]:
        """Families that begin with one of the smallest noises made smaller still, at most so many.

        The likelihood has plateaus on the way to a maximum with a variable of hardly any noise: iris stands at -360.35
        for a thousand iterations before it goes on to -360.07.
        """
        d = solution.density
        if self.structure.noise.spherical:
            return []
        left = d.noises / (d.noises + np.einsum("pq,kqr,pr->p", d.loadings, d.roots @ d.roots.mT, d.loadings))
        found = []
        for j in np.argsort(left)[:most]:
            noises = np.where(np.arange(len(left)) == j, d.noises / _NUDGE, d.noises)
            parts = (d.proportions, d.loadings, noises, d.latent_means, d.roots, d.overall)
            found.append(replace(self, initial=LatentFactors.of(*parts)))
        return found

    def begin(self, problem: Problem) -> LatentFactorStep:
        """Steps from the first parameters."""
        return LatentFactorStep(self, problem)

    def n_parameters(self, solution: Any, p: int) -> int:
        """Free parameters of the structure."""
        return self.structure.n_parameters(self.n_clusters, p, self.n_factors)

    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> LatentFactorSolution:
        """The solution from the arrays of `LatentFactorSolution.pack`."""
        names = ("proportions", "loadings", "noises", "latent_means", "roots", "overall")
        return LatentFactorSolution(LatentFactors.of(*(arrays[name] for name in names)), values["n_floored"])


def _of_scores(problem: Problem, states: Any, moments: GroupMoments, inverse: np.ndarray) -> np.ndarray:
    """Covariances (K x q x q) of the groups' rows times the pseudo-inverse (q x p) of the loadings."""
    directions = np.broadcast_to(inverse, (len(moments.weights), *inverse.shape))
    products = problem.rows.fold(group_products, states, AroundMeans(moments.means, directions))
    return symmetric(inverse @ products.along(moments.weights, moments.means))


def _roots(covariances: np.ndarray) -> np.ndarray:
    """L_k with L_k L_k' = Omega_k, also where it is singular."""
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0))[:, None, :]


def _as_vector(density: LatentFactors) -> np.ndarray:
    """Everything that the steps change, in coordinates without bounds where that is simple."""
    omega = density.roots @ density.roots.transpose(0, 2, 1)
    parts = (np.log(density.proportions), density.loadings, np.log(density.noises), density.latent_means, omega)
    return np.concatenate([part.ravel() for part in parts])


def _of_vector(vector: np.ndarray, like: LatentFactors, floor: np.ndarray) -> LatentFactors:
    """The density of a vector, with covariances that are none brought to the nearest that is one."""
    shapes = [like.proportions.shape, like.loadings.shape, like.noises.shape, like.latent_means.shape, like.roots.shape]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    logs, loadings, log_noises, xi, omega = (
        part.reshape(shape) for part, shape in zip(np.split(vector, ends), shapes, strict=True)
    )
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    noises = np.maximum(np.exp(np.minimum(log_noises, LARGEST_LOG)), floor)
    return LatentFactors.of(shares, loadings, noises, xi, _roots(symmetric(omega)), like.overall)


class LatentFactorStep(Step):
    """M-steps of one run."""

    def __init__(self, family: LatentFactorFamily, problem: Problem):
        self.structure, self.bounds = family.structure, family.bounds(problem)
        self.variances = np.asarray(problem.scatter.variances(), float)
        self.few, self.leaps = problem.p <= FEW_VARIABLES, Leaps()
        assert family.initial is not None, "adapt the family to a partition first"
        self.present = family.initial

    def place(self, sums) -> AroundMeans:
        """Means from the sums, and what the rows are multiplied with."""
        means = sums.sums / sums.weights[:, None]
        if self.few:
            return AroundMeans.whole_covariances(means)
        B = self.present.matrix[:-1]
        return AroundMeans(means, np.broadcast_to(B, (len(means), *B.shape)))

    def update(self, sums, placing: AroundMeans, moments: GroupProducts) -> LatentFactorSolution:
        """The M-step; on few variables several, from the groups' covariances."""
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
        return LatentFactorSolution(self.present, int((self.present.noises <= self._floor()).sum()))

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
        return loadings, np.maximum(self._tied(left), self._floor()), xi, roots

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

    def leap(self, solution: LatentFactorSolution) -> LatentFactorSolution | None:
        """Loadings, log noises, means and covariances of the factors, extrapolated."""
        ahead = self.leaps.after(_as_vector(solution.density))
        if ahead is None:
            return None
        try:
            density = _of_vector(ahead, solution.density, self._floor())
            if self.structure.latent is Latent.DIAGONAL:
                density = density.with_loadings(nearest_orthonormal(density.loadings))
        except np.linalg.LinAlgError:
            return None
        return LatentFactorSolution(density, int((density.noises <= self._floor()).sum()))

    def landed(self, solution: LatentFactorSolution) -> None:
        """Go on from the leap."""
        self.present = solution.density
        self.leaps.landed(_as_vector(solution.density))

    def _floor(self) -> np.ndarray:
        floor = self.bounds.floor
        return np.full(len(floor), floor.mean()) if self.structure.noise.spherical else floor

    def _tied(self, left: np.ndarray) -> np.ndarray:
        return np.full(len(left), left[self.bounds.varies].mean()) if self.structure.noise.spherical else left
