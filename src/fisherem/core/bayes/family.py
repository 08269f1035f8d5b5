"""The Bayesian Fisher-EM as a family: the axes of Fisher-EM, dense or sparse, and a prior on the groups' means."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from ..data.kernels import GroupSums
from ..data.problem import Problem
from ..dlm.f_step.step import fisher_criterion
from ..dlm.family import DLMFamily, DLMSolution, DLMStep
from ..dlm.m_step import LatentParameters
from ..dlm.projection import LatentMoments, Projection
from ..engine.family import Phase
from .step import BayesParameters, MeansPrior, bayes_step

__all__ = ["BayesFamily", "BayesStep"]


@dataclass(frozen=True)
class BayesFamily(DLMFamily):
    """One of the twelve models with a prior on the means. The "log-likelihood" of a fit is its bound (ELBO).

    The prior can draw means together until groups coincide. One group in the axes of largest variance is then more
    likely than three in discriminative axes (iris: -515 against -673), so such a fit must not win by its likelihood.
    """

    merges: ClassVar[bool] = True

    rough_starts: bool = False  # whether the starts are random partitions

    def begin(self, problem: Problem) -> BayesStep:
        """The F- and M-steps of a new run."""
        return BayesStep(self, problem)

    def phases(self) -> tuple[Phase, ...]:
        """Those of Fisher-EM; random partitions go through Fisher-EM without a prior first.

        lambda is estimated from the groups' means. Those of a random partition nearly coincide, so that a prior from
        the first iteration on draws them together for good: iris and wine ended in one group from every random start.
        Other starts need no such phase: with it the bound was lower on nine of twelve tables, at the same partitions.
        """
        if not self.rough_starts:
            return super().phases()
        dense = self.dense()
        known = {field.name: getattr(dense, field.name) for field in fields(DLMFamily)}
        return (Phase("no prior", DLMFamily(**known), prepares=True), *super().phases())

    def n_parameters(self, solution: DLMSolution, p: int) -> int:
        """The model's, with nu and lambda instead of the groups' means."""
        d = solution.axes.d
        return super().n_parameters(solution, p) - self.n_clusters * d + (d + 1 if d else 0)

    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> DLMSolution:
        """The solution from the arrays and values of `BayesSolution.pack`."""
        solution = super().unpack(arrays, values)
        assert isinstance(solution.density, LatentParameters)
        prior = MeansPrior(arrays["prior_mean"], values["prior_variance"])
        density = BayesParameters.with_posteriors(solution.density, arrays["spreads"], prior, values["weight"])
        return BayesSolution(
            solution.axes, solution.means, density, solution.separation, solution.overall, weight=values["weight"]
        )


@dataclass(frozen=True)
class BayesSolution(DLMSolution):
    """Axes, group means of the rows, and parameters with the posteriors of the latent means."""

    weight: float = np.inf  # of the rows of the bound

    def record(self) -> dict[str, Any]:
        """The DLM's entries and the variance of the prior."""
        prior = self._posterior().prior
        return super().record() | {"prior_variance": float("nan") if prior is None else prior.variance}

    def _posterior(self) -> BayesParameters:
        assert isinstance(self.density, BayesParameters)
        return self.density

    def moved(self, by: np.ndarray) -> BayesSolution:
        """The solution with its means and the mean of the prior moved."""
        moved, density = super().moved(by), self._posterior()
        assert density.prior is not None
        prior = replace(density.prior, mean=density.prior.mean + by @ self.axes.rows)
        return replace(moved, density=replace(moved.density, prior=prior))  # type: ignore[return-value, call-arg]

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The DLM's arrays and values, with the posteriors and the prior."""
        arrays, values = super().pack()
        density = self._posterior()
        assert density.prior is not None
        assert density.spreads is not None
        arrays |= {"spreads": density.spreads, "prior_mean": density.prior.mean}
        return arrays, values | {"prior_variance": density.prior.variance, "weight": self.weight}


class BayesStep(DLMStep):
    """The F-step, and sweeps over the posteriors, the parameters and the prior."""

    last: BayesParameters | None = None

    def update(self, sums: GroupSums, placing: Projection, moments: LatentMoments) -> BayesSolution:
        """Maximise the bound for these axes and posteriors of the groups by sweeps."""
        family, problem = self.family, self.problem
        self.last = bayes_step(
            sums.weights, placing.latent_means, moments, family.model, problem.p, self.floor, self.last
        )
        separation = fisher_criterion(self.between, self.axes.rows, self._total(sums, placing, moments))
        weight = float(sums.weights.sum())
        return BayesSolution(self.axes, self.means, self.last, separation, self.overall, weight=weight)
