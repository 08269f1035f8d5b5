"""What a call of `segment` asks for: what is fitted, and what is left to be decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..core.data.spatial_prior import NEIGHBOURHOODS
from ..estimators import FisherEM, SparseFisherEM
from ..policy.decisions import Decision
from ..policy.scaling import RAW
from ..policy.thresholds import THRESHOLDS
from ..search.model_search import ModelSearch
from ..search.search_parameters import VERDICT
from ..tables.checking import check_number
from .clean_pixels import SOFT
from .normalising import NormRule
from .truth import Truth

__all__ = ["Request", "looked_at"]

# The value that leaves a choice to the search, and the numbers of groups that normalise="auto" is decided with where
# their number is open: few, some, and more than most scenes have materials.
_OPEN = "auto"
_LOOKED_AT = (2, 4, 7)
# The models of a call that leaves it open, and where a share or a criterion is given.
_OWN, _SEARCHED = "DB", "AkjB"
# The share of a sparse step that a search by a criterion starts from.
_FIRST_SHARE = 0.1


@dataclass(frozen=True)
class Request:
    """The arguments of `segment`; `settings` are further parameters of the estimator, `cleaning` those of `clean`."""

    n_clusters: Any
    model: Any
    method: str | None
    sparsity: Any
    criterion: str
    spatial: float | str
    neighbours: int
    cleaning: Mapping[str, Any]
    settings: Mapping[str, Any]
    min_size: float = 0
    separate_bands: bool = False
    truth: Truth | None = None
    rgb: tuple[int, int, int] | None = None
    stability: int | None = None
    checkpoint: Any = None
    progress: bool | str = "auto"

    def __post_init__(self):
        if not isinstance(self.spatial, str):
            check_number("spatial", self.spatial, least=0)
        elif self.spatial != _OPEN:
            raise ValueError(f"spatial must be a number of at least 0, or 'auto'; got {self.spatial!r}")
        if isinstance(self.n_clusters, str) and self.n_clusters != _OPEN:
            raise ValueError(f"n_clusters must be a number, several numbers or 'auto'; got {self.n_clusters!r}")
        if self.neighbours not in NEIGHBOURHOODS:
            raise ValueError(f"neighbours must be 4 or 8; got {self.neighbours!r}")

    @property
    def strength(self) -> float | None:
        """The strength of the spatial prior; None if it is to be estimated."""
        return None if isinstance(self.spatial, str) else float(self.spatial)

    @property
    def seed(self) -> Any:
        """The random state."""
        return self.settings["random_state"]

    @property
    def searches(self) -> bool:
        """Whether the number of groups is open."""
        return not isinstance(self.n_clusters, (int, np.integer))

    @property
    def _own_model(self) -> bool:
        """Whether the model is the one of scenes: it was left open, and so was what it depends on."""
        # with a share it is the paper's; criteria compare likelihoods, which a ridge does not maximise
        return self.model is None and isinstance(self.sparsity, str) and self.criterion in (_OPEN, VERDICT)

    def with_model(self) -> Request:
        """The same with a model, and a ridge where that is not left to the estimator."""
        if self.model is not None:
            return self
        ridge = {"ridge": THRESHOLDS.scene_ridge} if self._own_model else {}
        return replace(self, model=_OWN if self._own_model else _SEARCHED, settings=ridge | dict(self.settings))

    def with_ridge(self, normalised: bool | str) -> tuple[Request, Decision | None]:
        """(the same with a model and the ridge for pixels that are divided or not, the decision if it was open)."""
        wanted = self.with_model()
        if "ridge" in self.settings or not self._own_model:
            return wanted, None
        others, ridge, pixels = THRESHOLDS.divided_ridge, THRESHOLDS.scene_ridge, "pixels that keep their brightness"
        if normalised is True:
            others, ridge, pixels = ridge, others, "pixels that are divided by their norms"
        reason = f"{pixels} have better maps with it on scenes with known classes"
        decision = Decision("ridge", f"{ridge:g} times the mean variance", f"{others:g} for other pixels", reason)
        return replace(wanted, settings=dict(wanted.settings) | {"ridge": ridge}), decision

    def rule(self) -> NormRule | None:
        """The rule of normalise="auto"; None where the treatment is given."""
        given = self.cleaning["normalise"]
        if isinstance(given, (bool, np.bool_)) or (isinstance(given, str) and given == SOFT):
            return None
        if not isinstance(given, str) or given != _OPEN:
            raise ValueError(f"normalise must be True, False, 'soft' or 'auto'; got {given!r}")
        wanted, seed = self.with_model(), self.seed
        model = wanted.model if isinstance(wanted.model, str) else _SEARCHED
        make = partial(_estimator, self.method, model=model, sparsity=self.sparsity, **wanted.settings)
        seed = int(seed) if isinstance(seed, (int, np.integer)) else 0
        return NormRule([make(n_clusters=K) for K in looked_at(self.n_clusters)], seed)

    def estimator(self) -> FisherEM | ModelSearch:
        """What is fitted to the pixels: a mixture, or a search where the number of groups is open."""
        if self.searches:
            return self._search()
        return self._mixture(n_clusters=int(self.n_clusters), model=self.model)

    def _mixture(self, **more) -> FisherEM:
        return _estimator(self.method, **{"sparsity": self.sparsity} | more, **self.settings)

    def _search(self) -> ModelSearch:
        """The search for the number of groups: by a verdict, or over models and shares by a criterion."""
        numbers = self.n_clusters if isinstance(self.n_clusters, str) else [int(K) for K in self.n_clusters]
        common = {"n_clusters": numbers, "n_jobs": self.settings.get("n_jobs"), "progress": self.progress}
        several = not isinstance(self.model, str) or self.model == "all"
        if self.criterion == VERDICT or (self.criterion == _OPEN and not several):
            return ModelSearch(self._mixture(model=self.model), criterion=VERDICT, **common)
        automatic = isinstance(self.sparsity, str)
        return ModelSearch(
            self._mixture(sparsity=_FIRST_SHARE if automatic else self.sparsity),
            models=self.model,
            sparsities=self.sparsity if automatic else [self.sparsity],
            criterion=self.criterion,
            **common,
            **({} if automatic else {"axis_weights": None}),  # one share: the estimator's weights
        )


def looked_at(n_clusters: Any) -> tuple[int, ...]:
    """The number of groups, or three of the possible ones: the smallest, the middle and the largest."""
    if isinstance(n_clusters, (int, np.integer)):
        return (max(2, int(n_clusters)),)
    given = _LOOKED_AT if isinstance(n_clusters, str) else sorted({int(K) for K in n_clusters if K > 1}) or (2,)
    return tuple(sorted({given[0], given[len(given) // 2], given[-1]}))


def _estimator(method: str | None, *, sparsity, **settings) -> FisherEM:
    settings = {"scale": RAW} | settings  # bands share a unit
    return FisherEM(**settings) if method is None else SparseFisherEM(method=method, sparsity=sparsity, **settings)
