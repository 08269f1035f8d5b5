"""fisherem: cluster high-dimensional data and say which variables make the groups."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

# Names are loaded when first used, so that `import fisherem` (and the command line's --help) costs nothing.
_HOME = {
    "BayesianFisherEM": "estimators",
    "FactorMixture": "estimators",
    "FisherEM": "estimators",
    "SparseFisherEM": "estimators",
    "SelectDiscriminative": "search.select_variables",
    "ModelSearch": "search.model_search",
    "PublishedSearch": "search.published",
    "search_as_published": "search.published",
    "Stability": "search.stability",
    "significance": "search.significance",
    "stability": "search.stability",
    "Subclusters": "search.subclusters",
    "load": "persistence",
    "save": "persistence",
    "report": "reports",
    "SparseKMeans": "rivals",
    "Clustvarsel": "rivals",
    "Selvarclust": "rivals",
    "Comparison": "search.comparison",
    "compare": "search.comparison",
    "Explanation": "explaining",
    "explain": "explaining",
}
__all__ = [
    "BayesianFisherEM",
    "Clustvarsel",
    "Comparison",
    "Explanation",
    "FactorMixture",
    "FisherEM",
    "ModelSearch",
    "PublishedSearch",
    "SelectDiscriminative",
    "Selvarclust",
    "SparseFisherEM",
    "SparseKMeans",
    "Stability",
    "Subclusters",
    "anndata",
    "compare",
    "datasets",
    "explain",
    "images",
    "load",
    "report",
    "save",
    "search_as_published",
    "significance",
    "stability",
]

if TYPE_CHECKING:
    from . import anndata, datasets, images
    from .estimators import BayesianFisherEM, FactorMixture, FisherEM, SparseFisherEM
    from .explaining import Explanation, explain
    from .persistence import load, save
    from .reports import report
    from .rivals import Clustvarsel, Selvarclust, SparseKMeans
    from .search.comparison import Comparison, compare
    from .search.model_search import ModelSearch
    from .search.published import PublishedSearch, search_as_published
    from .search.select_variables import SelectDiscriminative
    from .search.significance import significance
    from .search.stability import Stability, stability
    from .search.subclusters import Subclusters


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    if name in ("anndata", "datasets", "images"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])
