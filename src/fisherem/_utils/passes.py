"""Observers of the passes of a fit over its rows, for progress and checkpoints; none by default.

A run asks `resume` before its first pass and calls `passed` after every iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

__all__ = ["ONLOOKER", "Onlooker", "looking_on"]


class Onlooker(Protocol):
    """An observer of fits."""

    def resume(self, n: int, phase: str) -> tuple[np.ndarray, list[dict]] | None:
        """(posteriors K x n, history) from which a run over n rows resumes; None to start from the beginning."""

    def passed(self, n: int, phase: str, history: list[dict], posteriors: Callable[[], np.ndarray]) -> None:
        """Called after an iteration over n rows; `posteriors()` returns the current posteriors (K x n)."""


# The observer of the fits in this context; None by default.
ONLOOKER: ContextVar[Onlooker | None] = ContextVar("onlooker", default=None)


@contextmanager
def looking_on(who: Onlooker | None) -> Iterator[None]:
    """`who` observes the fits inside the block."""
    token = ONLOOKER.set(who)
    try:
        yield
    finally:
        ONLOOKER.reset(token)
