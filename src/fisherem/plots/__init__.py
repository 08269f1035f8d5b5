"""Pictures for Python users: a data object first, the drawing second."""

from .maps import LabelMapDisplay, SpectraDisplay, UncertaintyDisplay
from .projection import ProjectionDisplay
from .search import CriterionDisplay, PathDisplay
from .selection import SelectionDisplay
from .stability import StabilityDisplay

__all__ = [
    "CriterionDisplay",
    "LabelMapDisplay",
    "PathDisplay",
    "ProjectionDisplay",
    "SelectionDisplay",
    "SpectraDisplay",
    "StabilityDisplay",
    "UncertaintyDisplay",
]
