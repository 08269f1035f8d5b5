"""The methods that the experiments run: the three sparse versions and the registered rivals."""

from __future__ import annotations

from ..rivals import RIVALS, Rival
from .paper import SPARSE

__all__ = ["methods", "rivals"]


def rivals() -> dict[str, Rival]:
    """The rivals by their name in the tables, the paper's where it has one; as the register is now."""
    return {rival.paper_name or rival.name: rival for rival in RIVALS.values() if rival.reproduced}


def methods() -> list[str]:
    """The rows of a table: the rivals, then the sparse versions."""
    return [*rivals(), *SPARSE]
