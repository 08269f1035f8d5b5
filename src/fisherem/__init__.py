"""fisherem: cluster high-dimensional data and say which variables make the groups."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Names are loaded when first used, so that `import fisherem` (and the command line's --help) costs nothing.
_HOME = {
    "FisherEM": "estimators",
    "SparseFisherEM": "estimators",
    "SelectDiscriminative": "selection",
    "ModelSearch": "search",
    "Stability": "subsampling",
    "stability": "subsampling",
    "load": "persistence",
    "save": "persistence",
    "report": "page",
    "SparseKMeans": "rivals",
    "Clustvarsel": "rivals",
    "Selvarclust": "rivals",
    "Comparison": "comparison",
    "compare": "comparison",
}
__all__ = [
    "Clustvarsel",
    "Comparison",
    "FisherEM",
    "ModelSearch",
    "SelectDiscriminative",
    "Selvarclust",
    "SparseFisherEM",
    "SparseKMeans",
    "Stability",
    "compare",
    "datasets",
    "images",
    "load",
    "report",
    "save",
    "stability",
]

if TYPE_CHECKING:
    from . import datasets, images
    from .comparison import Comparison, compare
    from .estimators import FisherEM, SparseFisherEM
    from .page import report
    from .persistence import load, save
    from .rivals import Clustvarsel, Selvarclust, SparseKMeans
    from .search import ModelSearch
    from .selection import SelectDiscriminative
    from .subsampling import Stability, stability


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in ("datasets", "images"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])
