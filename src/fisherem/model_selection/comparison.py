"""compare: Fisher-EM, its sparse versions and the rivals on one table of data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from ..estimators import FisherEM, SparseFisherEM
from ..rivals import Clustvarsel, Selvarclust, SparseKMeans
from .scoring import accuracy

__all__ = ["METHODS", "Comparison", "compare"]

# Name -> estimator of (number of groups, random state). Ten starts for k-means and the mixture, as for FisherEM.
METHODS: dict[str, Callable[[int, Any], Any]] = {
    "k-means": lambda K, seed: KMeans(K, n_init=10, random_state=seed),
    "GaussianMixture": lambda K, seed: GaussianMixture(K, n_init=10, random_state=seed),
    "FisherEM": lambda K, seed: FisherEM(K, random_state=seed),
    "SparseFisherEM two-step": lambda K, seed: SparseFisherEM(K, method="two-step", random_state=seed),
    "SparseFisherEM regression": lambda K, seed: SparseFisherEM(K, method="regression", random_state=seed),
    "SparseFisherEM svd": lambda K, seed: SparseFisherEM(K, method="svd", random_state=seed),
    "SparseKMeans": lambda K, seed: SparseKMeans(K, random_state=seed),
    "Clustvarsel": lambda K, seed: Clustvarsel(K, random_state=seed),
    "Selvarclust": lambda K, seed: Selvarclust(K, ranking="lasso", random_state=seed),
}


@dataclass
class Comparison:
    """What `compare` found.

    `table` (a row per method: method, accuracy, ari, n_variables, seconds, reason) · `agreement` (methods x methods,
    adjusted Rand index of their partitions; NaN for methods that failed) · `supports` (variables x methods, bool) ·
    `models` the fitted estimators by name.
    """

    table: pd.DataFrame
    agreement: pd.DataFrame
    supports: pd.DataFrame
    models: dict[str, Any] = field(repr=False)


def compare(X, y=None, methods="all", n_clusters=3, *, random_state=0) -> Comparison:
    """Fit every method to X and put accuracy, variables, time and agreement side by side.

    Parameters
    ----------
    X : table (n x p), array or frame
    y : labels, optional
        For scoring only: with them the table has the accuracy (under the best matching) and the adjusted Rand index.
    methods : "all", names of `METHODS`, or a mapping of names to estimators of your own
        An estimator needs `fit` and `labels_` or `predict`; without `support_` it uses every variable.
    n_clusters : int, default=3
        For the methods by name.
    random_state : int, default=0

    A method that fails is a row with the reason, and the others go on.
    """
    chosen = _estimators(methods, n_clusters, random_state)
    columns = getattr(X, "columns", None)
    names = [f"x{j}" for j in range(np.shape(X)[1])] if columns is None else list(map(str, columns))
    rows, labels, supports, models = [], {}, {}, {}
    for name, estimator in chosen.items():
        begin = time.perf_counter()
        try:
            model, partition, support, reason = _fit(estimator, X, len(names))
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
            rows.append({"method": name, "seconds": time.perf_counter() - begin, "reason": str(error)})
            continue
        row = {"method": name, "n_variables": int(support.sum()), "seconds": time.perf_counter() - begin}
        if y is not None:
            row |= {"accuracy": accuracy(y, partition), "ari": adjusted_rand_score(y, partition)}
        rows.append(row | {"reason": reason})
        labels[name], supports[name], models[name] = partition, support, model
    scores = [] if y is None else ["accuracy", "ari"]
    table = pd.DataFrame(rows, columns=["method", *scores, "n_variables", "seconds", "reason"])
    table["n_variables"] = table["n_variables"].astype("Int64")
    return Comparison(table, _agreement(list(chosen), labels), pd.DataFrame(supports, index=names), models)


def _estimators(methods, n_clusters: int, seed) -> dict[str, Any]:
    if isinstance(methods, Mapping):
        return {str(name): clone(estimator) for name, estimator in methods.items()}
    chosen = list(METHODS) if isinstance(methods, str) and methods == "all" else methods
    chosen = [chosen] if isinstance(chosen, str) else list(chosen)
    unknown = [m for m in chosen if m not in METHODS]
    if unknown or not chosen:
        raise ValueError(f"methods must be 'all', names among {', '.join(METHODS)}, or a mapping; got {methods!r}")
    return {name: METHODS[name](n_clusters, seed) for name in chosen}


def _fit(estimator, X, p: int):
    """(fitted, labels, support, what it warned of)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(X)
        labels = np.asarray(model.labels_ if hasattr(model, "labels_") else model.predict(X))
    support = np.asarray(getattr(model, "support_", np.ones(p, bool)), bool)
    return model, labels, support, "; ".join(dict.fromkeys(str(w.message) for w in caught))


def _agreement(names: list[str], labels: dict[str, np.ndarray]) -> pd.DataFrame:
    values = np.full((len(names), len(names)), np.nan)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if a in labels and b in labels:
                values[i, j] = adjusted_rand_score(labels[a], labels[b])
    return pd.DataFrame(values, index=names, columns=names)
