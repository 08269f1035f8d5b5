"""Pictures for Python users, drawn with matplotlib.

Each picture is a `*Display`: a data object that a `from_...` method makes of a fitted estimator, a search or arrays.
Its attributes hold what is shown; `plot` draws it and returns the display, with the axes in `ax_`. Arrays count from 0;
legends count groups from 1 and call columns without a name x1, x2, ...
"""

from .maps import ColourViewDisplay, LabelMapDisplay, SpectraDisplay, UncertaintyDisplay
from .markers import MarkersDisplay
from .merging import MergeDisplay
from .projection import ProjectionDisplay
from .search import CriterionDisplay, PathDisplay
from .selection import SelectionDisplay
from .stability import StabilityDisplay
from .variables import LoadingsDisplay, ProfilesDisplay
from .verdict import VerdictDisplay

__all__ = [
    "ColourViewDisplay",
    "CriterionDisplay",
    "LabelMapDisplay",
    "LoadingsDisplay",
    "MarkersDisplay",
    "MergeDisplay",
    "PathDisplay",
    "ProfilesDisplay",
    "ProjectionDisplay",
    "SelectionDisplay",
    "SpectraDisplay",
    "StabilityDisplay",
    "UncertaintyDisplay",
    "VerdictDisplay",
]
