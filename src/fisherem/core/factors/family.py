"""Mixtures of factor models as a family: own means, covariances L_k L_k' + Psi_k constrained by a structure.

Every iteration has an M-step (means exactly, loadings and noises by one step that never lowers the likelihood) and an
E-step, so it is a generalised EM algorithm whose likelihood never decreases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...rows.base import States
from ..data.precisions import Precisions
from ..data.problem import Problem
from .axes import GroupMoments, group_moments, leading, symmetric
from .base import FactorModelFamily, FactorModelSolution, FactorModelStep
from .density import FactorDensity, regressions
from .moments import AroundMeans, GroupProducts
from .steps import Bounds, Factors, em_step, exact_step, newton_steps, settled_noises

__all__ = ["FactorFamily", "FactorSolution", "FactorStep"]

# With few variables, steps per pass: further steps for the same posteriors cost less than a pass.
_INNER_STEPS = 3
# Steps of the first M-step of MFA, which starts far from its maximum.
_FIRST_STEPS = 6
# Cattell's scree test as in HDDC: the last drop of the eigenvalues that is at least this share of the largest one.
_SCREE = 0.2
# The number of dimensions in the scree test.
_MOST_OWN_FACTORS = 20


@dataclass(frozen=True)
class FactorFamily(FactorModelFamily):
    """One structure with q factors; with `n_factors` None each group has its own number, by the scree test."""

    initial: Factors | None = None
    each: np.ndarray | None = None  # factors of the groups (K), if they differ

    wanders = False  # k-means starts lead to the best maxima

    def adapt(self, problem: Problem, states: States) -> tuple[Problem, FactorFamily]:
        """Initial loadings and noises for the partition in the states, and the groups' own numbers of factors."""
        moments = group_moments(problem, states)
        if moments is None:
            return problem, self  # the loop reports the empty group
        bounds, family = self.bounds(problem), self
        if self.n_factors is None:
            family = replace(self, each=_own_numbers(problem, states, moments))
        covariances = moments.covariances
        if covariances is not None and family.by_newton:
            initial = _first_newton(moments, family.most, bounds, self.variant)
        elif covariances is not None and family.by_axes and not self.variant:
            initial = exact_step(self.structure, covariances, family.numbers, moments.proportions, bounds)
        else:
            initial = family._from_axes(problem, states, moments, bounds)
        return problem, replace(family, initial=initial)

    @property
    def numbers(self) -> np.ndarray:
        """Factors per group (K)."""
        return np.full(self.n_clusters, self.n_factors) if self.each is None else self.each

    @property
    def most(self) -> int:
        """The largest number of factors of a group."""
        return int(self.numbers.max(initial=0))

    @property
    def by_newton(self) -> bool:
        """Whether the M-step can be a Newton step in the noises: own, unconstrained loadings and noises."""
        noise, loadings = self.structure.noise, self.structure.loadings
        assert loadings is not None
        free = noise.usual and loadings.free and not (loadings.common or noise.common or noise.spherical)
        return free and self.most > 0

    @property
    def by_axes(self) -> bool:
        """Whether eigenvectors of the covariances solve the M-step."""
        loadings = self.structure.loadings
        assert loadings is not None
        return loadings.variances is not None and self.structure.noise.usual and not self.structure.noise.common

    def _from_axes(self, problem: Problem, states: States, moments: GroupMoments, bounds: Bounds) -> Factors:
        """Principal axes in units of the variables, or of their mean if the noise is spherical."""
        structure, q, p = self.structure, self.most, problem.p
        assert structure.loadings is not None
        unit = np.sqrt(bounds.floor / self.variance_floor)
        if structure.noise.spherical:
            unit = np.full(p, np.sqrt((unit**2).mean()))
        pooled = structure.loadings.common
        loadings = np.zeros((self.n_clusters, p, q))
        if q and self.variant:
            rng = np.random.default_rng(self.variant)
            spread = np.sqrt(moments.variances / (2 * q))
            spread = np.broadcast_to(spread.mean(axis=0), spread.shape) if pooled else spread
            loadings = rng.normal(size=(1 if pooled else self.n_clusters, p, q)) * spread[:, :, None]
        elif q:
            axes = leading(problem, states, moments, q, unit, pooled=pooled)
            rest = np.maximum(axes.totals - axes.values.sum(axis=1), 0) / max(p - q, 1)
            sizes = np.sqrt(np.maximum(axes.values - rest[:, None], 1e-3 * axes.values))
            loadings = unit[:, None] * axes.vectors * sizes[:, None, :]
        loadings = loadings * (np.arange(q) < self.numbers[:, None])[:, None, :]
        left = np.maximum(moments.variances - (loadings**2).sum(axis=2), 0.05 * moments.variances)
        return Factors(loadings, settled_noises(structure, left, moments.proportions, bounds))

    def continuing(self, solution: FactorSolution) -> FactorFamily:
        """The family that continues from a solution."""
        density = solution.density
        each = None if self.n_factors is not None else solution.each
        return replace(self, initial=Factors(density.loadings, density.noises), each=each)

    def nudged(self, solution: FactorSolution, most: int) -> list[FactorFamily]:
        """No families: other initial loadings are enough."""
        return []

    def begin(self, problem: Problem) -> FactorStep:
        """Steps from the first loadings."""
        return FactorStep(self, problem)

    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> FactorSolution:
        """The solution from the arrays of `FactorSolution.pack`."""
        density = FactorDensity.of(*(arrays[name] for name in FactorSolution.parts))
        return FactorSolution(density, arrays["each"], values["n_floored"])


def _own_numbers(problem: Problem, states: States, moments: GroupMoments) -> np.ndarray:
    """Factors per group (K) by the scree test of its eigenvalues."""
    most = max(1, min(problem.p - 1, _MOST_OWN_FACTORS))
    unit = np.ones(problem.p)
    values = leading(problem, states, moments, min(most + 1, problem.p), unit).values
    drops = -np.diff(values, axis=1)[:, :most]
    large = drops >= _SCREE * drops.max(axis=1, keepdims=True)
    return large.shape[1] - large[:, ::-1].argmax(axis=1)


def _first_newton(moments: GroupMoments, q: int, bounds: Bounds, variant: int) -> Factors:
    """From half of the variances as noises, or random shares of them in a variant."""
    assert moments.covariances is not None
    shape = moments.variances.shape
    shares = np.random.default_rng(variant).uniform(0.05, 0.9, size=shape) if variant else np.full(shape, 0.5)
    noises = np.maximum(shares * moments.variances, bounds.floor)
    return newton_steps(moments.covariances, noises, q, bounds.floor, _FIRST_STEPS)[0]


@dataclass(frozen=True)
class FactorSolution(FactorModelSolution):
    """The parameters of one iterate."""

    density: FactorDensity
    each: np.ndarray  # factors per group (K)
    n_floored: int = 0

    parts = ("proportions", "means", "loadings", "noises")

    def precisions(self) -> Precisions:
        """Psi_k^-1 - W_k'W_k with W_k = M_k^-1/2 L_k' Psi_k^-1."""
        density = self.density
        K, p, q = density.loadings.shape
        W = density.matrix[: K * q].reshape(K, q, p).transpose(0, 2, 1)
        cores = np.repeat(-np.eye(q)[None], K, axis=0)
        return Precisions(density.means, W, cores, 1 / density.noises, density.peaks)

    def halves(self, group: int) -> tuple[np.ndarray, float]:
        """A cut across the group's longest factor, at its mean; without factors, across its noisiest variable."""
        loadings, noises = self.density.loadings[group], self.density.noises[group]
        if loadings.any():
            direction = np.linalg.svd(loadings, full_matrices=False)[0][:, 0]
        else:
            direction = (np.arange(len(noises)) == noises.argmax()).astype(float)
        return direction, float(direction @ self.density.means[group])

    def moved(self, by: np.ndarray) -> FactorSolution:
        """The solution with its means moved."""
        return replace(self, density=self.changed(means=self.density.means + by))

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The parameters as arrays."""
        arrays, values = super().pack()
        return arrays | {"each": self.each}, values


class FactorStep(FactorModelStep):
    """M-steps of one run, each from the loadings and noises of the last."""

    def __init__(self, family: FactorFamily, problem: Problem):
        super().__init__(family, problem)
        self.family = family
        assert family.structure.loadings is not None
        solved = self.few and (family.by_axes or family.by_newton)  # the signs of solved loadings are arbitrary
        self.extrapolates = family.most > 0 and family.structure.loadings.free and not solved

    def place(self, sums) -> AroundMeans:
        """Means from the sums, and what the rows are multiplied with."""
        means = sums.sums / sums.weights[:, None]
        if self.few:
            return AroundMeans.whole_covariances(means)
        return AroundMeans(means, regressions(self.present.loadings, self.present.noises))

    def update(self, sums, placing: AroundMeans, moments: GroupProducts) -> FactorSolution:
        """Loadings and noises that are at least as likely for these posteriors."""
        weights, means = sums.weights, placing.means
        proportions, along = weights / weights.sum(), moments.along(weights, means)
        if self.few:
            self.present = self._from_covariances(symmetric(along), proportions)
        else:
            variances = moments.variances(weights, means)
            structure = self.family.structure
            self.present = em_step(structure, self.present, along, variances, proportions, self.bounds)
        density = FactorDensity.of(proportions, means, self.present.loadings, self.present.noises)
        n_floored = int((self.present.noises <= self.bounds.floor).sum())
        return FactorSolution(density, self.family.numbers, n_floored)

    def vector(self, density: FactorDensity) -> tuple[np.ndarray, ...]:
        """Log proportions, means, loadings and log noises."""
        return np.log(density.proportions), density.means, density.loadings, np.log(density.noises)

    def density(self, parts: list[np.ndarray], like: FactorDensity) -> FactorDensity:
        """The density with these coordinates."""
        logs, means, loadings, log_noises = parts
        return FactorDensity.of(self.shares(logs), means, loadings, self.noises(log_noises))

    def landed(self, solution: FactorSolution) -> None:
        """Continue from the extrapolation."""
        super().landed(solution)
        self.present = Factors(solution.density.loadings, solution.density.noises)

    def _from_covariances(self, covariances: np.ndarray, proportions: np.ndarray) -> Factors:
        family, present, bounds = self.family, self.present, self.bounds
        if family.by_axes:
            return exact_step(family.structure, covariances, family.numbers, proportions, bounds)
        if family.by_newton:
            return newton_steps(covariances, present.noises, family.most, bounds.floor, 1)[0]
        variances = np.einsum("kjj->kj", covariances)
        for _ in range(_INNER_STEPS if family.most else 1):
            along = covariances @ regressions(present.loadings, present.noises).transpose(0, 2, 1)
            present = em_step(family.structure, present, along, variances, proportions, bounds)
        return present
