"""What a search is asked for: the parameters of `ModelSearch`, checked and resolved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.dlm.f_step.step import AXIS_WEIGHTS
from ..core.dlm.family import SparseSettings
from ..core.engine.multistart import Specification
from ..estimators import FisherEM, SparseFisherEM
from ..estimators.fitting import check_parameters, specification
from ..model.criteria import CRITERIA
from ..model.dlm import AUTO, DLM, MODELS, resolve
from ..tables.checking import (
    MOST_REPEATS,
    check_flag,
    check_list,
    check_number,
    check_one_of,
    check_path,
    check_sparsity,
)
from .factor_search import check_factor_search, is_factor_search

__all__ = ["VERDICT", "SearchParameters"]

VERDICT = "verdict"
# What the paper searches by, and the numbers of groups that such a search tries by default.
_PAPERS, _CLUSTERS = "bic", range(2, 9)
_LIMITS: dict[str, dict[str, int]] = {"n_init": {"least": 1, "most": MOST_REPEATS}, "n_jobs": {}}


class SearchParameters:
    """The parameters of a search, as its constructor has left them."""

    estimator: Any
    n_clusters: Any
    models: Any
    sparsities: Any
    criterion: str
    path_criterion: str
    axis_weights: Any
    joint: bool
    min_size: Any
    n_splits: int
    sample_size: int
    fewest_variables: bool
    n_init: int | None
    n_jobs: int | None
    checkpoint: Any
    progress: Any
    n_factors: Any

    def _check_parameters(self) -> None:
        if is_factor_search(self):
            return check_factor_search(self)
        if not isinstance(self.estimator, FisherEM):
            kinds = "a FisherEM, SparseFisherEM or FactorMixture"
            raise TypeError(f"estimator must be {kinds}; got {type(self.estimator).__name__}")
        if self.n_factors is not None:
            raise ValueError("n_factors is for a FactorMixture: FisherEM's noise takes noise_factors")
        check_parameters(self.estimator)
        if not isinstance(self.estimator.init, str):
            raise ValueError("init must be a name in a search: given labels fit one number of groups only")
        check_one_of("criterion", self.criterion, (AUTO, VERDICT, *CRITERIA))
        for name in ("joint", "fewest_variables"):
            check_flag(name, getattr(self, name))
        self._check_clusters()
        if not self._models():
            raise ValueError("models is empty: give at least one model, or 'all'")
        if self._criterion() == VERDICT:
            self._check_verdict()
        check_one_of("path_criterion", self.path_criterion, ("selection", "penalised"))
        for name in self._given_axis_weights():
            check_one_of("axis_weights", name, AXIS_WEIGHTS)
        if isinstance(self.sparsities, str):
            check_one_of("sparsities", self.sparsities, ("auto",))
        elif not (shares := check_list("sparsities", self.sparsities)):
            raise ValueError("sparsities is empty: give at least one share in (0, 1], or 'auto'")
        else:
            for share in shares:
                check_sparsity(share, 1, "sparsities")
        for name in ("n_init", "n_jobs"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), integer=True, **_LIMITS[name])
        check_flag("progress", self.progress, "auto")
        if self.checkpoint is not None:
            check_path("checkpoint", self.checkpoint)

    def _check_clusters(self) -> None:
        if isinstance(self.n_clusters, str):
            check_one_of("n_clusters", self.n_clusters, (AUTO,))
        if not self._clusters():
            raise ValueError("n_clusters is empty: give at least one number of groups")
        for K in self._clusters():
            check_number("n_clusters", K, integer=True, least=1 if self._criterion() == VERDICT else 2)

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
        """What chooses, with "auto" resolved."""
        return (_PAPERS if self._asks_for_grid() else VERDICT) if self.criterion == AUTO else self.criterion

    def _clusters(self, *, given: bool = False) -> list[int]:
        """Numbers of groups; with `given`, none where they are left to the search."""
        if isinstance(self.n_clusters, str):
            return [] if given else list(_CLUSTERS)
        single = isinstance(self.n_clusters, (int, np.integer)) and not isinstance(self.n_clusters, bool)
        return [int(self.n_clusters)] if single else check_list("n_clusters", self.n_clusters)

    def _models(self) -> list[str]:
        names = ["all"] if self.models is None else [self.models]
        if self.models is not None and not isinstance(self.models, str):
            names = check_list("models", self.models)
            if not all(isinstance(name, (str, DLM)) for name in names):
                raise ValueError(f"models must be 'all' or names of models; got {self.models!r}")
        return list(MODELS) if names == ["all"] else list(dict.fromkeys(resolve(n).name for n in names))

    def _axis_weights(self) -> list[str]:
        if not isinstance(self.estimator, SparseFisherEM):
            return []
        return self._given_axis_weights() or [self.estimator.axis_weights]

    def _given_axis_weights(self) -> list[str]:
        """Weightings that were asked for, whether or not the estimator has axes to weight."""
        if self.axis_weights is None:
            return []
        given = self.axis_weights
        names = [given] if isinstance(given, str) else check_list("axis_weights", given)
        if not names:
            raise ValueError("axis_weights is empty: give 'equal', 'relevance', both, or None")
        return names

    def _sparse_settings(self, axis_weights: str) -> SparseSettings:
        e = self.estimator
        return SparseSettings(e.method, np.ones(1), e.start, bool(e.scale_penalty), axis_weights)

    def _specifications(self, n: int, p: int) -> dict[tuple[int, str], Specification]:
        """The dense specification of every K x model."""
        specs = {}
        for K in dict.fromkeys(self._clusters()):
            for name in self._models():
                one = clone(self.estimator).set_params(n_clusters=int(K), model=name)
                if self.n_init is not None:
                    one.set_params(n_init=self.n_init)
                if isinstance(one, SparseFisherEM):
                    one.set_params(sparsity=1.0)
                one.set_params(**self._without_factors())
                spec = specification(one, n, p)
                specs[int(K), name] = replace(spec, family=spec.family.dense())
        return specs

    def _without_factors(self) -> dict[str, int]:
        """The paper's models have no common factors in their noise: a search of them takes a number that is given."""
        return {"noise_factors": 0} if isinstance(self.estimator.noise_factors, str) else {}

    def _settings(self) -> str:
        """Everything but the grid that a fit depends on, for the checkpoints' mark."""
        # models and shares are the grid of a search by a criterion; a verdict is on those of the estimator
        grid = () if self._criterion() == VERDICT else ("model", "sparsity")
        left_out = ("n_clusters", "n_jobs", "memory", *grid)
        fixed = {name: value for name, value in self.estimator.get_params().items() if name not in left_out}
        return repr(sorted(fixed.items())) + repr(self.n_init)
