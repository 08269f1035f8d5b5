"""Pictures for Python users: a data object first, the drawing second."""

from .maps import LabelMapDisplay, SpectraDisplay, UncertaintyDisplay
from .projection import ProjectionDisplay
from .search import CriterionDisplay, PathDisplay
from .selection import SelectionDisplay
from .stability import StabilityDisplay
from .variables import LoadingsDisplay, ProfilesDisplay

__all__ = [
    "CriterionDisplay",
    "LabelMapDisplay",
    "LoadingsDisplay",
    "PathDisplay",
    "ProfilesDisplay",
    "ProjectionDisplay",
    "SelectionDisplay",
    "SpectraDisplay",
    "StabilityDisplay",
    "UncertaintyDisplay",
]
