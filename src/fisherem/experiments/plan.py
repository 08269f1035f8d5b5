"""How much of the paper's experiments is run: everything, or a quick sample of it."""

from __future__ import annotations

from dataclasses import dataclass

from .paper import DATA, TABLE_1

__all__ = ["FULL", "QUICK", "Plan"]


@dataclass(frozen=True)
class Plan:
    """Replications of Table 2; data, random starts, models and levels of Table 3; a rival's time limit (seconds)."""

    name: str
    replications: int
    data: tuple[str, ...]
    n_starts: int
    models: tuple[str, ...]
    levels: tuple[float, ...]
    seconds: float
    seed: int = 0

    def replication_seeds(self) -> range:
        """One seed for each replication of Table 2."""
        return range(self.seed, self.seed + self.replications)


# The levels are shares of the l1 norm; the paper does not list its own. 1 is the dense solution.
FULL = Plan(
    "full", 25, tuple(DATA), 20, tuple(TABLE_1), (0.05, 0.1, 0.2, 0.3, 0.6, 1.0), 600.0
)  # fmt: skip
QUICK = Plan("quick", 2, ("iris", "wine", "zoo"), 3, ("DkBk", "DB", "AkjB", "AkB"), (0.1, 0.3, 1.0), 10.0)
