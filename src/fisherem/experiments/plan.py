"""What the experiments run: the methods, and how much of the paper's experiments (everything, or a quick sample)."""

from __future__ import annotations

from dataclasses import dataclass

from ..estimators import FisherEM, SparseFisherEM
from ..rivals import RIVALS, Rival
from .paper import DATA, SPARSE, TABLE_1, TABLE_2

__all__ = ["CALLS", "DEFAULT", "DENSE", "FULL", "QUICK", "ExperimentPlan", "methods", "rivals", "selecting"]

DEFAULT, DENSE = "fisherem default", "fisherem dense"
# Calls with the number of groups and nothing else. The first one selects variables.
CALLS: dict[str, type[FisherEM]] = {DEFAULT: SparseFisherEM, DENSE: FisherEM}


def rivals() -> dict[str, Rival]:
    """The registered rivals by their name in the tables, which is the paper's name if there is one."""
    return {rival.paper_name or rival.name: rival for rival in RIVALS.values() if rival.reproduced}


def methods() -> list[str]:
    """The rows of a table: the rivals, then the sparse versions, then the calls."""
    return [*rivals(), *SPARSE, *CALLS]


def selecting() -> list[str]:
    """The rows of methods that select variables."""
    return [*(name for name, rival in rivals().items() if rival.selects), *SPARSE, DEFAULT]


@dataclass(frozen=True)
class ExperimentPlan:
    """Replications and settings (n, mu) of Table 2; data, random starts, models and levels of Table 3; a rival's time
    limit (seconds)."""

    name: str
    replications: int
    data: tuple[str, ...]
    n_starts: int
    models: tuple[str, ...]
    levels: tuple[float, ...]
    seconds: float
    seed: int = 0
    settings: tuple[tuple[int, float], ...] = tuple(TABLE_2)

    def replication_seeds(self) -> range:
        """One seed for each replication of Table 2."""
        return range(self.seed, self.seed + self.replications)


# The levels are shares of the l1 norm; the paper does not list its own. 1 is the dense solution.
FULL = ExperimentPlan(
    "full", 25, tuple(DATA), 20, tuple(TABLE_1), (0.05, 0.1, 0.2, 0.3, 0.6, 1.0), 600.0
)  # fmt: skip
QUICK = ExperimentPlan("quick", 2, ("iris", "wine", "zoo"), 3, ("DkBk", "DB", "AkjB", "AkB"), (0.1, 0.3, 1.0), 10.0)
