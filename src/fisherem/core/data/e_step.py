"""What a solution says of rows: the E-step, and how far the rows lie from the groups.

An iteration is a generator that yields the passes over the rows it needs and is sent their results, so that several
runs can share passes (`engine.concurrent_runs`). The loop knows only the family and the problem's `EStep`: a prior over
the rows is part of the E-step, and rows with missing cells have their own (`missing.iteration`).

D2_k(y) = (y - m_k)' S_k^-1 (y - m_k) in the model's full covariance, inside and outside the axes, follows from the log
density: D2_k(y) = 2 (log pi_k f_k(m_k) - log pi_k f_k(y)). If the model held, D2_k would be chi-squared with as many
degrees of freedom as there are variables. Real rows are correlated and have heavy tails, so the distances of the rows
of the fit say which *scaled* chi-squared distribution they have: a chi2_nu with the mean and variance that were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from ...rows.base import States
from ...rows.blocks import Block, BlockState, kernel
from .kernels import Expectation, Mergeable, describe, expect, row_weights
from .spatial_prior import SpatialPrior

if TYPE_CHECKING:
    from ..missing.completion import Gaps

__all__ = [
    "COMPLETE_ROWS", "DistanceMoments", "EStep", "Pass", "Passes", "calibrated", "distance_moments", "distances",
    "evaluate", "tails",
]  # fmt: skip

# Mean-field sweeps that restore the posteriors of a fit with a spatial prior: each sweep carries information one pixel
# further, and pixels more than about ten apart have no influence on each other.
_FIELD_SWEEPS = 10
# Attributes of the states of a restored fit.
_KEPT = ("posteriors", "log_density")
# Rows of the pooled groups that are added to each group: the moments of ten rows are known to a third of their size.
_PRIOR_ROWS = 10.0


@dataclass(frozen=True)
class Pass:
    """A pass over the rows: the sum over blocks of kernel(block, state of the run, argument)."""

    kernel: Callable
    argument: Any


@dataclass(frozen=True)
class EStep:
    """The passes over complete rows, with an optional prior that ties each row to its neighbours.

    Rows whose missing cells were completed are complete rows until a fit turns to the observed cells (`missing.exact`).
    """

    prior: SpatialPrior | None = None
    gaps: Gaps | None = None  # the missing cells of completed rows

    @property
    def shares_passes(self) -> bool:
        """Whether several runs can share their passes over the rows. A prior needs its own passes."""
        return self.prior is None

    def begin(self, problem: Any) -> Passes:
        """The passes of one run, with their state from one iteration to the next."""
        return Passes(problem)

    def restore(self, problem: Any, states: States, solution: Any) -> None:
        """Fill fresh states with the posteriors of a solution."""
        if self.prior is None:
            evaluate(problem.rows, states, solution, _KEPT)
            return
        evaluate(problem.rows, states, solution, (*_KEPT, "placed"))
        self.sweep(problem, states, solution, lambda: problem.rows.fold(
            expect, states, solution.density, read=solution.density.needs_rows
        ))  # fmt: skip

    def sweep(self, problem: Any, states: States, solution: Any, expect_again: Callable[[], Any]) -> None:
        """Alternate the updates of the prior and of the posteriors."""
        for _ in range(_FIELD_SWEEPS if self.prior is not None else 0):
            self.update_prior(problem, states, solution)
            expect_again()

    def update_prior(self, problem: Any, states: States, solution: Any) -> dict:
        """Update the prior in the states from the last posteriors; returns its strength, for the history."""
        if self.prior is None:
            return {}
        return {"spatial": self.prior.update(problem.rows, states, solution.density.proportions)}


COMPLETE_ROWS = EStep()


class Passes:
    """The passes of one run over complete rows."""

    def __init__(self, problem: Any):
        self.problem = problem

    def iterate(self, step: Any, states: States, sums: Any) -> Generator[Pass, Any, tuple[Any, Expectation, dict]]:
        """F-, M- and E-step: (solution, sums for the next iteration, record of the prior)."""
        placing = step.place(sums)
        moments = yield Pass(type(placing).kernel, placing)
        solution = step.update(sums, placing, moments)
        record = self.problem.e_step.update_prior(self.problem, states, solution)
        after = yield Pass(expect, solution.density)
        return solution, after, record

    def restart(self) -> None:
        """Discard what was derived from the last posteriors, because they were changed from outside."""


def evaluate(rows: Any, states: States, solution: Any, keep: tuple[str, ...]) -> Expectation:
    """Evaluate a solution on rows, old or new, in one pass; the states keep the attributes `keep`."""
    return rows.fold(describe, states, solution.placing, solution.density, keep)


# -- squared distances -------------------------------------------------------------------------------------------------


@dataclass
class DistanceMoments(Mergeable):
    """Sums per group over the rows, with q the share of a row's cells that are observed (1 without missing cells)."""

    weights: np.ndarray  # sum_i w[i] t[i, k] q[i]
    squares: np.ndarray  # sum_i w[i] t[i, k] q[i]^2
    first: np.ndarray  # sum_i w[i] t[i, k] D2[i, k]
    second: np.ndarray  # sum_i w[i] t[i, k] D2[i, k]^2

    @classmethod
    def of(cls, weighted: np.ndarray, distances: np.ndarray, observed: np.ndarray | float = 1.0) -> DistanceMoments:
        """From weighted posteriors and squared distances (K x m), and the observed shares (m)."""
        # a row that is infinitely far from a group has no share in it
        near = np.where(weighted > 0, distances, 0.0)
        parts = weighted * near
        share = weighted * observed
        return cls(share.sum(axis=1), (share * observed).sum(axis=1), parts.sum(axis=1), (parts * near).sum(axis=1))


@kernel(reads=("weights", "squared_norms"), writes=("placed",))
def distances(block: Block, state: BlockState, placing, density, keep: bool) -> DistanceMoments:
    """Their moments by posteriors; if `keep`, placed[k, i] = D2_k(y_i) stays in the state."""
    if state.squared_norms is None:
        state.squared_norms = block.squared_norms()
    if placing.metric is not None:
        state.metric_norms = placing.metric.norms(block, state.squared_norms)
    placing.place(block, state)
    log_joint = density.log_joint(block if density.needs_rows else None, state)
    posteriors = np.exp(log_joint - log_joint.max(axis=0))
    posteriors /= posteriors.sum(axis=0)
    if (common := density.log_common(state)) is not None:
        log_joint = log_joint + common
    found = np.maximum(2 * (density.peaks[:, None] - log_joint), 0)
    found[np.isnan(found)] = np.inf  # the squares overflow
    state.placed = found if keep else None
    return DistanceMoments.of(np.nan_to_num(posteriors) * row_weights(state, len(block)), found)


def distance_moments(rows, solution) -> DistanceMoments:
    """The moments over the rows of a fit, in one pass."""
    return rows.fold(distances, rows.states(), solution.placing, solution.density, False)


def calibrated(sums: DistanceMoments, p: int) -> np.ndarray:
    """Means and variances (2 x K) of the squared distances of complete rows of p variables.

    Each group has some rows of all groups added, so that a small one is not judged by its own few rows. The mean of p
    squared normal numbers varies least if they are independent and have the same variance: var >= 2 mean^2 / p.
    """

    parts = np.stack([sums.weights, sums.squares, sums.first, sums.second])
    share = sums.weights / (sums.weights + _PRIOR_ROWS)
    pairs = zip(_moments(*parts), _moments(*parts.sum(axis=1)), strict=True)
    mean, variance = (share * own + (1 - share) * pooled for own, pooled in pairs)
    mean = np.maximum(mean, np.finfo(float).eps * p)
    return np.stack([mean, np.maximum(variance, 2 * mean**2 / p)])


def _moments(weights, squares, first, second) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the distances of complete rows, where both are in proportion to the observed cells."""
    weights = np.maximum(weights, np.finfo(float).tiny)
    mean = first / weights
    return mean, (second - mean**2 * squares) / weights


def tails(found: np.ndarray, moments: np.ndarray, observed: np.ndarray | float = 1.0) -> np.ndarray:
    """out[i]: the largest over the groups of P(D2_k > found[k, i]) for squared distances (K x n) and moments (2 x K).

    a chi2_nu has the mean a nu and the variance 2 a^2 nu; rows with a share `observed` (n) of their cells have as many
    of the degrees of freedom. A row without observed cells has the value 1.
    """
    mean, variance = moments
    scale, freedom = variance / (2 * mean), 2 * mean**2 / variance
    freedom = freedom[:, None] * observed
    with np.errstate(invalid="ignore"):
        out = chdtrc(freedom, np.where(np.isnan(found), np.inf, found) / scale[:, None])
    return np.where(freedom > 0, out, 1.0).max(axis=0)
