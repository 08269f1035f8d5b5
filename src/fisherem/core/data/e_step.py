"""The E-step of complete rows, and the interface that other kinds of rows implement.

An iteration is a generator that yields the passes over the rows it needs and is sent their results, so that several
runs can share passes (`engine.concurrent_runs`). The loop knows only the family and the problem's `EStep`: a prior over
the rows is part of the E-step, and rows with missing cells have their own (`missing.iteration`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from .kernels import Expectation, describe, expect
from .spatial_prior import SpatialPrior

__all__ = ["COMPLETE_ROWS", "EStep", "Pass", "Passes", "evaluate"]

# Mean-field sweeps that restore the posteriors of a fit with a spatial prior: each sweep carries information one pixel
# further, and pixels more than about ten apart have no influence on each other.
_FIELD_SWEEPS = 10
# Attributes of the states of a restored fit.
_KEPT = ("posteriors", "log_density")


@dataclass(frozen=True)
class Pass:
    """A pass over the rows: the sum over blocks of kernel(block, state of the run, argument)."""

    kernel: Callable
    argument: Any


@dataclass(frozen=True)
class EStep:
    """The passes over complete rows, with an optional prior that ties each row to its neighbours."""

    prior: SpatialPrior | None = None

    @property
    def shares_passes(self) -> bool:
        """Whether several runs can share their passes over the rows. A prior needs its own passes."""
        return self.prior is None

    def begin(self, problem: Any) -> Passes:
        """The passes of one run, with their state from one iteration to the next."""
        return Passes(problem)

    def restore(self, problem: Any, states: Any, solution: Any) -> None:
        """Fill fresh states with the posteriors of a solution."""
        if self.prior is None:
            evaluate(problem.rows, states, solution, _KEPT)
            return
        evaluate(problem.rows, states, solution, (*_KEPT, "placed"))
        self.sweep(problem, states, solution, lambda: problem.rows.fold(
            expect, states, solution.density, read=solution.density.needs_rows
        ))  # fmt: skip

    def sweep(self, problem: Any, states: Any, solution: Any, expect_again: Callable[[], Any]) -> None:
        """Alternate the updates of the prior and of the posteriors."""
        for _ in range(_FIELD_SWEEPS if self.prior is not None else 0):
            self.update_prior(problem, states, solution)
            expect_again()

    def update_prior(self, problem: Any, states: Any, solution: Any) -> dict:
        """Update the prior in the states from the last posteriors; returns its strength, for the history."""
        if self.prior is None:
            return {}
        return {"spatial": self.prior.update(problem.rows, states, solution.density.proportions)}


COMPLETE_ROWS = EStep()


class Passes:
    """The passes of one run over complete rows."""

    def __init__(self, problem: Any):
        self.problem = problem

    def iterate(self, step: Any, states: Any, sums: Any) -> Generator[Pass, Any, tuple[Any, Expectation, dict]]:
        """F-, M- and E-step: (solution, sums for the next iteration, record of the prior)."""
        placing = step.place(sums)
        moments = yield Pass(type(placing).kernel, placing)
        solution = step.update(sums, placing, moments)
        record = self.problem.e_step.update_prior(self.problem, states, solution)
        after = yield Pass(expect, solution.density)
        return solution, after, record

    def restart(self) -> None:
        """Discard what was derived from the last posteriors, because they were changed from outside."""


def evaluate(rows: Any, states: Any, solution: Any, keep: tuple[str, ...]) -> Expectation:
    """Evaluate a solution on rows, old or new, in one pass; the states keep the attributes `keep`."""
    return rows.fold(describe, states, solution.placing, solution.density, keep)
