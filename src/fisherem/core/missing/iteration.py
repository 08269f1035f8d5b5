"""An iteration on rows with missing cells: expected statistics in, parameters and posteriors out.

The F-step uses the covariance S and the groups' means of the completed problem (`completion`), the M-step the moments
of the rows expected under the last parameters, including conditional covariances, and the E-step the marginal densities
of the observed cells. With fixed axes, a fixed metric of the noise and a common noise these are the steps of EM, so the
likelihood of the observed cells never decreases.

A run starts from posteriors only. Its first M-step uses the completed rows and the correction of S, because there are
no expectations yet.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...rows.base import States
from ..data.e_step import EStep, Passes
from ..data.kernels import Expectation
from ..data.problem import Problem
from ..dlm.f_step.step import FStep
from ..dlm.projection import LatentMoments, Projection
from .completion import conditional_of
from .expectation import Conditional

__all__ = ["GapEStep", "GapPasses", "describe_gaps", "exact"]


def exact(problem: Problem) -> Problem:
    """The same problem with an E-step that uses only the observed cells, if cells are missing."""
    return problem if problem.gaps is None else replace(problem, e_step=GapEStep(problem.prior, problem.gaps))


class GapEStep(EStep):
    """The E-step of rows with missing cells: densities of the observed cells, expectations of the others."""

    shares_passes = False

    def begin(self, problem: Problem) -> GapPasses:
        """The passes of one run."""
        return GapPasses(problem)

    def restore(self, problem: Problem, states: States, solution: Any) -> None:
        """Fill fresh states with the posteriors of a solution."""
        describe_gaps(problem, states, solution)
        self.sweep(problem, states, solution, lambda: describe_gaps(problem, states, solution))


class GapPasses(Passes):
    """The passes of one run over the rows of a problem with gaps."""

    last: Conditional | None = None  # the distribution of the missing cells under the last solution

    def restart(self) -> None:
        """Discard the expectations, because the posteriors were changed from outside."""
        self.last = None

    def iterate(self, step, states, sums):
        """F-, M- and E-step, one run at a time: (solution, sums of the next iteration, a record of the prior)."""
        yield from ()  # a generator, but without passes that runs could share
        placing = step.place(sums)
        columns = self._columns(step, placing)
        if self.last is None:
            moments = self._first_moments(states, sums, placing, columns)
        else:
            to_rows = self.problem.scatter.to_rows
            expected = to_rows(self.last.sums().T).T
            placing = step.place_at(expected / sums.weights[:, None], expected.sum(axis=0) / sums.weights.sum())
            moments = self._moments(step, sums.weights, placing, columns)
        solution = step.update(sums, placing, moments)
        record = self.problem.e_step.update_prior(self.problem, states, solution)
        self.last, after = describe_gaps(self.problem, states, solution)
        return solution, after, record

    def _columns(self, step, placing) -> np.ndarray:
        """Axes and factors of the noise (p x (d + m)), in the variables."""
        scatter = self.problem.scatter
        loadings = FStep.loadings(step.axes, scatter)
        if placing.metric is None:
            return loadings
        return np.hstack([loadings, placing.metric.in_variables(scatter).vectors])

    def _moments(self, step, n: np.ndarray, placing: Projection, columns: np.ndarray) -> LatentMoments:
        """Expected second moments: inside the axes about the latent means, outside about the means' part there."""
        assert self.last is not None
        first, second, norms = self.last.products(columns)
        overall, d, scatter = self.last.mixture.overall, placing.d, self.problem.scatter
        covariances, noises = np.empty((len(n), d, d)), np.empty(len(n))
        latent = placing.latent_means - overall @ columns[:, :d]
        means = self.last.sums() / n[:, None] - overall
        points = step.means if step.overall is None else np.tile(step.overall, (len(n), 1))
        points = scatter.to_variables(points.T).T - overall
        for k, point in enumerate(points):
            covariances[k] = _about(second[k, :d, :d], first[k, :d], latent[k], n[k])
            moved = _about(second[k], first[k], columns.T @ point, n[k])
            norm = norms[k] - 2 * n[k] * float(means[k] @ point) + n[k] * float(point @ point)
            noises[k] = norm - self._inside(placing, moved)
        return LatentMoments(covariances, np.maximum(noises, 0))

    def _first_moments(self, states, sums, placing, columns: np.ndarray) -> LatentMoments:
        """The moments of the completed rows plus n_k times the correction."""
        found = self.problem.rows.fold(type(placing).kernel, states, placing)
        gaps, d = self.problem.gaps, placing.d
        hidden = gaps.hidden(columns)
        covariances = found.covariances + sums.weights[:, None, None] * hidden[:d, :d]
        outside = gaps.hidden_trace - self._inside(placing, hidden)
        return LatentMoments(covariances, found.noises + sums.weights * max(outside, 0.0))

    @staticmethod
    def _inside(placing, second: np.ndarray) -> float:
        """The part of a squared length inside the axes and the factors, from second moments along both."""
        d, metric = placing.d, placing.metric
        if metric is None:
            return float(np.trace(second))
        share = metric.gains / (1 + metric.gains)
        return float(share @ np.diagonal(second)[d:] + (placing.outside.inverse * second[:d, :d]).sum())


def _about(second: np.ndarray, first: np.ndarray, point: np.ndarray, n: float) -> np.ndarray:
    """Second moments about a point from those about 0, where n is the weight."""
    cross = np.outer(first, point)
    return second - cross - cross.T + n * np.outer(point, point)


def describe_gaps(problem: Problem, states: States, solution: Any) -> tuple[Conditional, Expectation]:
    """Evaluate a solution on the rows with gaps; the states keep posteriors and log densities."""
    assert problem.gaps is not None
    rows, patterns = problem.rows, problem.gaps.rows.patterns
    log_prior = None
    if problem.prior is not None and states[0].log_prior is not None:
        log_prior = rows.gather(states, "log_prior")[:, patterns.order]
    found = conditional_of(problem, solution, log_prior)
    rows.spread(states, "posteriors", patterns.unsorted(found.posteriors))
    rows.spread(states, "log_density", patterns.unsorted(found.log_density))
    sums = problem.group_sums(states)
    return found, Expectation(found.log_likelihood, found.entropy, sums.weights, sums.sums)
