"""Pictures for Python users: a data object first, the drawing second."""

from .projection import ProjectionDisplay
from .search import CriterionDisplay, PathDisplay
from .selection import SelectionDisplay
from .stability import StabilityDisplay

__all__ = ["CriterionDisplay", "PathDisplay", "ProjectionDisplay", "SelectionDisplay", "StabilityDisplay"]
