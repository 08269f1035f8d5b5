"""The parameters of `ModelSearch`, checked and resolved."""

from __future__ import annotations

import numpy as np

from .. import __version__
from .._utils.register import Register
from ..estimators.fitting import check_parameters
from ..model.criteria import CRITERIA
from ..model.dlm import AUTO
from ..tables.checking import MOST_REPEATS, check_flag, check_list, check_number, check_one_of, check_path
from .factor_search import FactorGrid
from .grid_runner import DLMGrid
from .grids import SearchGrid

__all__ = ["GRIDS", "VERDICT", "SearchParameters"]

VERDICT = "verdict"
# The paper's criterion, and the numbers of groups that a search by a criterion tries by default.
_PAPERS, _CLUSTERS = "bic", range(2, 9)
# By the attribute `_grid` of the estimator.
GRIDS: Register[type[SearchGrid]] = Register("search grid", {"dlm": DLMGrid, "factors": FactorGrid})


class SearchParameters:
    """The parameters of a search, stored as scikit-learn's conventions ask for."""

    def __init__(
        self,
        estimator,
        *,
        n_clusters="auto",
        models=None,
        sparsities="auto",
        criterion="auto",
        path_criterion="selection",
        axis_weights=("equal", "relevance"),
        joint=False,
        min_size="auto",
        n_splits=3,
        sample_size=1000,
        n_init=None,
        n_jobs=None,
        checkpoint=None,
        progress="auto",
        n_factors=None,
    ):
        self.estimator = estimator
        self.n_clusters = n_clusters
        self.models = models
        self.sparsities = sparsities
        self.criterion = criterion
        self.path_criterion = path_criterion
        self.axis_weights = axis_weights
        self.joint = joint
        self.min_size = min_size
        self.n_splits = n_splits
        self.sample_size = sample_size
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.progress = progress
        self.n_factors = n_factors

    def _grid(self) -> type[SearchGrid]:
        """The kind of grid that a search by a criterion makes for this estimator."""
        name = getattr(self.estimator, "_grid", "")
        if name not in GRIDS:
            kinds = "a FisherEM, SparseFisherEM or FactorMixture"
            raise TypeError(f"estimator must be {kinds}; got {type(self.estimator).__name__}")
        return GRIDS[name]

    def _check_parameters(self) -> None:
        grid = self._grid()
        check_parameters(self.estimator)
        if not isinstance(self.estimator.init, str):
            raise ValueError("init must be a name in a search: given labels fit one number of groups only")
        check_one_of("criterion", self.criterion, (AUTO, *([VERDICT] if grid.has_verdict else []), *CRITERIA))
        check_flag("joint", self.joint)
        self._check_clusters()
        if self._criterion() == VERDICT:
            self._check_verdict()
        grid.check(self)
        for name, limits in (("n_init", {"least": 1, "most": MOST_REPEATS}), ("n_jobs", {})):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), integer=True, **limits)
        check_flag("progress", self.progress, AUTO)
        if self.checkpoint is not None:
            check_path("checkpoint", self.checkpoint)

    def _check_clusters(self) -> None:
        if isinstance(self.n_clusters, str):
            check_one_of("n_clusters", self.n_clusters, (AUTO,))
        if not self._clusters():
            raise ValueError("n_clusters is empty: give at least one number of groups")
        for K in self._clusters():
            least = 1 if self._criterion() == VERDICT else self._grid().least_groups
            check_number("n_clusters", K, integer=True, least=least)

    def _check_verdict(self) -> None:
        if self._asks_for_grid():
            raise ValueError(
                "models, sparsities and joint are compared by a criterion: give criterion='bic' (or another), or leave "
                "them out"
            )
        check_number("min_size", self.min_size, integer=True, least=1, word=AUTO)
        check_number("n_splits", self.n_splits, integer=True, least=2, most=MOST_REPEATS)
        check_number("sample_size", self.sample_size, integer=True, least=20)

    def _asks_for_grid(self) -> bool:
        return self.models is not None or not isinstance(self.sparsities, str) or bool(self.joint)

    def _criterion(self) -> str:
        """The criterion or the verdict, with "auto" resolved."""
        if self.criterion != AUTO:
            return self.criterion
        return VERDICT if self._grid().has_verdict and not self._asks_for_grid() else _PAPERS

    def _clusters(self, *, given: bool = False) -> list[int]:
        """The numbers of groups; with `given`, an empty list where they are left to the search."""
        if isinstance(self.n_clusters, str):
            return [] if given else list(_CLUSTERS)
        single = isinstance(self.n_clusters, (int, np.integer)) and not isinstance(self.n_clusters, bool)
        return [int(self.n_clusters)] if single else check_list("n_clusters", self.n_clusters)

    def _settings(self) -> str:
        """Everything but the grid that a fit and its row depend on: checkpoints are valid for the same settings."""
        # a verdict fits the estimator's own model and sparsity; a grid has them in the keys of its fits
        grid = () if self._criterion() == VERDICT else self.estimator._compared
        left_out = ("n_clusters", "n_jobs", "memory", *grid)
        fixed = {name: value for name, value in self.estimator.get_params().items() if name not in left_out}
        return repr((__version__, sorted(fixed.items()), self.n_init, list(CRITERIA)))
