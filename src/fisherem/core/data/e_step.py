"""How a run passes over the rows: the E-step of complete rows, and the contract that other kinds of rows fulfil.

One iteration asks for passes over the rows and for small algebra, in turn. It is written as a generator that yields
what is to be done and is sent the result, so that several runs can share both (`engine.concurrent_runs`). The loop
knows a family and a problem's `EStep`, nothing else: a prior over the rows lives in the E-step, and rows with missing
cells have one of their own (`missing.iteration`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from .kernels import Expectation, describe, expect
from .spatial_prior import SpatialPrior

__all__ = ["COMPLETE_ROWS", "Algebra", "EStep", "Pass", "Passes", "evaluate"]

# Mean-field sweeps that bring the posteriors of a restored fit with a spatial prior back to their fixed point: one
# sweep carries a pixel's neighbours one step further, and beyond some ten pixels nothing is felt.
_FIELD_SWEEPS = 10
# What a state keeps of a restored fit.
_KEPT = ("posteriors", "log_density")


@dataclass(frozen=True)
class Pass:
    """A pass over the rows that a run asks for: the sum over blocks of kernel(block, the run's state, argument)."""

    kernel: Callable
    argument: Any

    def alone(self, rows, states) -> Any:
        """The sum for one run."""
        return rows.fold(self.kernel, states, self.argument)


@dataclass(frozen=True)
class Algebra:
    """A piece of small algebra that a run asks for: `place` or `update` (the name) of its step."""

    name: str
    step: Any
    args: tuple

    def alone(self, rows, states) -> Any:
        """The result for one run."""
        return getattr(self.step, self.name)(*self.args)


@dataclass(frozen=True)
class EStep:
    """How the rows of a problem are passed over: complete rows, perhaps with a prior that ties them to neighbours."""

    prior: SpatialPrior | None = None

    @property
    def shares_passes(self) -> bool:
        """Whether several runs can share their passes over the rows: a prior has passes of its own."""
        return self.prior is None

    def begin(self, problem: Any) -> Passes:
        """The passes of one run, with what they remember from one iteration to the next."""
        return Passes(problem)

    def restore(self, problem: Any, states: Any, solution: Any) -> None:
        """Fill fresh states with the posteriors that a solution gives."""
        if self.prior is None:
            evaluate(problem.rows, states, solution, _KEPT)
            return
        evaluate(problem.rows, states, solution, (*_KEPT, "placed"))
        self.sweep(problem, states, solution, lambda: problem.rows.fold(
            expect, states, solution.density, read=solution.density.needs_rows
        ))  # fmt: skip

    def sweep(self, problem: Any, states: Any, solution: Any, expect_again: Callable[[], Any]) -> None:
        """Alternate the prior and the posteriors of a solution until neighbours have settled."""
        for _ in range(_FIELD_SWEEPS if self.prior is not None else 0):
            self.update_prior(problem, states, solution)
            expect_again()

    def update_prior(self, problem: Any, states: Any, solution: Any) -> dict:
        """Put the prior that the last posteriors imply into the states; its strength, for the history."""
        if self.prior is None:
            return {}
        return {"spatial": self.prior.update(problem.rows, states, solution.density.proportions)}


COMPLETE_ROWS = EStep()


class Passes:
    """The passes of one run over complete rows."""

    def __init__(self, problem: Any):
        self.problem = problem

    def iterate(
        self, step: Any, states: Any, sums: Any
    ) -> Generator[Pass | Algebra, Any, tuple[Any, Expectation, dict]]:
        """F-, M- and E-step: (solution, sums of the next iteration, what the history says of the prior)."""
        placing = yield Algebra("place", step, (sums,))
        moments = yield Pass(type(placing).kernel, placing)
        solution = yield Algebra("update", step, (sums, placing, moments))
        record = self.problem.e_step.update_prior(self.problem, states, solution)
        after = yield Pass(expect, solution.density)
        return solution, after, record

    def restart(self) -> None:
        """Posteriors were changed from outside: forget what depended on the last ones."""


def evaluate(rows: Any, states: Any, solution: Any, keep: tuple[str, ...]) -> Expectation:
    """What a solution says of rows, old or new, in one pass; states keep the attributes `keep` of it."""
    return rows.fold(describe, states, solution.placing, solution.density, keep)
