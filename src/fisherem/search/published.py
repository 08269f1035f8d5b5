"""The paper's search (section 4.2): the model by its mean BIC over random starts, then the level of sparsity."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from inspect import signature

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._utils.public import public
from ..core.engine.multistart import FitError
from ..estimators import FisherEM, SparseFisherEM
from ..tables.checking import MOST_REPEATS, check_list, check_number, check_table
from .grid_runner import model_names

__all__ = ["PublishedSearch", "search_as_published"]

# Shares of the l1 norm; the paper does not list its own.
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.6, 1.0)


@public
@dataclass(frozen=True)
class PublishedSearch:
    """The result of `search_as_published`.

    Attributes
    ----------
    model : str
        The model with the highest mean BIC of its dense fits.
    sparsity : float
        The level with the highest mean penalised BIC of the sparse fits of this model.
    fits : dict of float to list of SparseFisherEM
        The sparse fits of this model by level, one per start that led to a fit.
    trials : list of SparseFisherEM
        Those at the chosen level. The paper reports their mean accuracy.
    best_estimator : SparseFisherEM
        The one of them with the highest BIC.
    models : DataFrame
        A row per model: mean BIC, its standard deviation, and the number of starts that led to a fit.
    levels : DataFrame
        A row per level: the same, and the mean number of selected variables.
    """

    model: str
    sparsity: float
    fits: dict[float, list[SparseFisherEM]]
    models: pd.DataFrame
    levels: pd.DataFrame

    @property
    def trials(self) -> list[SparseFisherEM]:
        """The fits at the chosen level."""
        return self.fits[self.sparsity]

    @property
    def best_estimator(self) -> SparseFisherEM:
        """The trial with the highest BIC."""
        return max(self.trials, key=lambda one: one.bic_)


def search_as_published(
    X, n_clusters, *, algorithm=1, means="full", models="all", sparsities=LEVELS, n_starts=20, random_state=None,
    **parameters,
):  # fmt: skip
    """Choose the model and the level of sparsity as the paper does, by the penalised BIC over random starts.

    Fisher-EM is fitted with every model from the same `n_starts` random partitions, and the model with the highest
    mean BIC is taken. Its sparse fits at every level start from the same partitions, and the level with the highest
    mean penalised BIC is taken. All fits are those of `as_published`.

    Parameters
    ----------
    X : array or frame of shape (n, p)
    n_clusters : int
        The number of groups.
    algorithm : {1, 2, 3}, default=1
        The number of the sparse algorithm in the paper.
    means : {"full", "latent"}, default="full"
        The reading of the means: see `FisherEM.as_published`.
    models : "all" or sequence of str, default="all"
    sparsities : sequence of float
        Levels in (0, 1]; 1 is the dense fit.
    n_starts : int, default=20
    random_state : int, RandomState or None
        The seed of the partitions.
    **parameters
        Further parameters of `SparseFisherEM.as_published`, except `init` and `n_init`.

    Returns
    -------
    PublishedSearch

    Examples
    --------
    >>> from fisherem import datasets, search_as_published
    >>> X, _ = datasets.load("wine")
    >>> Z = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> found = search_as_published(Z, 3, algorithm=3, models=["DkBk", "AkB"], n_starts=3, random_state=0)
    >>> found.model, found.sparsity, found.best_estimator.support_.sum()
    ('DkBk', 0.05, np.int64(2))
    """
    check_number("n_starts", n_starts, integer=True, least=1, most=MOST_REPEATS)
    levels = check_list("sparsities", sparsities)
    names = model_names(models)
    common = {"means": means, "random_state": 0} | parameters
    # the estimators check X themselves; here only the number of rows is needed
    n = check_table(FisherEM(), X, reset=True).shape[0]
    starts = _partitions(n, n_clusters, n_starts, check_random_state(random_state))
    plain = {name: value for name, value in common.items() if name in signature(FisherEM).parameters}
    dense = {
        name: [_fitted(X, FisherEM.as_published(n_clusters, model=name, init=s, **plain)) for s in starts]
        for name in names
    }
    by_model = pd.DataFrame([{"model": name} | _summary(fits) for name, fits in dense.items()])
    model = str(_highest(by_model, "model"))
    sparse = {}
    for level in levels:
        settings = {"algorithm": algorithm, "sparsity": level, "model": model} | common
        sparse[level] = [_fitted(X, SparseFisherEM.as_published(n_clusters, init=s, **settings)) for s in starts]
    by_level = pd.DataFrame(
        [{"sparsity": level} | _summary(fits) | {"n_selected": _selected(fits)} for level, fits in sparse.items()]
    )
    best = float(_highest(by_level, "sparsity"))
    found = {float(level): [fit for fit in fits if fit is not None] for level, fits in sparse.items()}
    return PublishedSearch(model, best, found, by_model, by_level)


def _partitions(n: int, n_clusters: int, n_starts: int, rng) -> list[np.ndarray]:
    """Labels drawn from a multinomial with equal probabilities (section 4.2); no group is empty."""
    starts = []
    for _ in range(n_starts):
        labels = rng.randint(n_clusters, size=n)
        labels[rng.permutation(n)[:n_clusters]] = np.arange(n_clusters)
        starts.append(labels)
    return starts


def _fitted(X, estimator):
    """The fitted estimator, or None if it cannot be fitted from its start or loses a group."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            return estimator.fit(X)
        except (FitError, FloatingPointError, np.linalg.LinAlgError):
            return None


def _summary(fits: list) -> dict:
    values = [fit.bic_ for fit in fits if fit is not None]
    return {
        "bic": float(np.mean(values)) if values else np.nan,
        "bic_sd": float(np.std(values, ddof=1)) if len(values) > 1 else np.nan,
        "n_fits": len(values),
    }


def _selected(fits: list) -> float:
    counts = [int(fit.support_.sum()) for fit in fits if fit is not None]
    return float(np.mean(counts)) if counts else np.nan


def _highest(table: pd.DataFrame, column: str):
    if table["bic"].isna().all():
        raise FitError(f"no {column} led to a fit from any start")
    return table[column].iloc[int(np.nanargmax(table["bic"].to_numpy()))]
