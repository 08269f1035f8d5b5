"""The two things that passes over the rows do for a family: settle one iteration, and evaluate a solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..rows.base import Rows
from .family import Placing, Solution
from .kernels import Expectation, describe, expect

__all__ = ["evaluate", "settle"]


def settle(
    rows: Rows,
    states: Any,
    placing: Placing,
    update: Callable[[Any], Solution],
    *,
    before: Callable[[Solution], None] = lambda solution: None,
    read: bool = True,
) -> tuple[Solution, Expectation]:
    """Place the rows, update the parameters from their moments, and take the E-step: (solution, sums).

    `before` is called between the two passes. With `read` False the second pass does not look at the rows where the
    density need not, and T'Y stays 0.
    """
    solution = update(rows.fold(type(placing).kernel, states, placing))
    before(solution)
    return solution, rows.fold(expect, states, solution.density, read=read or solution.density.needs_rows)


def evaluate(rows: Rows, states: Any, solution: Solution, keep: tuple[str, ...]) -> Expectation:
    """What a solution says of rows, old or new, in one pass; states keep the attributes `keep` of it."""
    return rows.fold(describe, states, solution.placing, solution.density, keep)
