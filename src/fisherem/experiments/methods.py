"""The methods that the experiments run: the rivals, the three sparse versions of the paper, the package's own calls."""

from __future__ import annotations

from ..estimators import FisherEM, SparseFisherEM
from ..rivals import RIVALS, Rival
from .paper import SPARSE

__all__ = ["CALLS", "DEFAULT", "DENSE", "methods", "rivals"]

DEFAULT, DENSE = "fisherem default", "fisherem dense"
# What a user calls with the number of groups and nothing else. The first one finds the variables with the groups.
CALLS: dict[str, type[FisherEM]] = {DEFAULT: SparseFisherEM, DENSE: FisherEM}


def rivals() -> dict[str, Rival]:
    """The rivals by their name in the tables, the paper's where it has one; as the register is now."""
    return {rival.paper_name or rival.name: rival for rival in RIVALS.values() if rival.reproduced}


def methods() -> list[str]:
    """The rows of a table: the rivals, then the sparse versions, then the calls."""
    return [*rivals(), *SPARSE, *CALLS]
