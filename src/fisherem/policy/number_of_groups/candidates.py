"""One number of groups: the estimator's fit as a candidate partition, with what every criterion says of it."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from ...core.engine.checkpoints import Store
from ...core.engine.family import Family
from .partition_values import WITHOUT_SKEW, judged, micl

__all__ = [
    "COLUMNS",
    "MERGED",
    "POWERS",
    "Candidate",
    "Data",
    "digest",
    "fit_candidate",
    "for_groups",
    "kept",
]

# Where a candidate comes from: the columns as they are, bent by a power each, or two groups of a larger K made one.
COLUMNS, POWERS, MERGED = "columns", "powers", "merged"
_FAILURES = (ValueError, ArithmeticError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Data:
    """Rows that a number of groups is chosen on.

    `values` (n x p) as given; `bent` (n x p) after a power transformation of each column, None where no column is
    skewed; `weights` (n), all 1 unless `weighted`.
    """

    values: np.ndarray
    bent: np.ndarray | None
    weights: np.ndarray
    weighted: bool

    def columns(self, source: str) -> np.ndarray:
        """The columns (n x p) that a candidate of that source was fitted to."""
        return self.bent if source == POWERS and self.bent is not None else self.values

    def fit_options(self, rows=slice(None)) -> dict:
        """The weights of some rows, as an option of `fit`."""
        return {"sample_weight": self.weights[rows]} if self.weighted else {}


@dataclass(frozen=True)
class Candidate:
    """A partition into K groups.

    `labels` (n), counted from 0; `support` (p, bool), the variables that make it; `values`, every criterion by name;
    `reason` says why there is no partition, and is empty where there is one.
    """

    n_clusters: int
    source: str
    labels: np.ndarray
    support: np.ndarray
    values: dict[str, float]
    converged: bool
    seconds: float
    reason: str = ""
    model: Any = field(default=None, compare=False, repr=False)  # the fitted estimator; None from a checkpoint

    @property
    def smallest(self) -> int:
        """Rows of the smallest group."""
        return int(np.bincount(self.labels, minlength=self.n_clusters).min()) if len(self.labels) else 0

    @property
    def robust(self) -> float:
        """C on columns without skew: the mean over normal scores and powers, and over both penalties."""
        return float(np.mean([self.values[name] for name in WITHOUT_SKEW]))

    def record(self) -> dict:
        """The candidate without its estimator, for a checkpoint."""
        kept_fields = ("n_clusters", "source", "values", "converged", "seconds", "reason")
        record = {name: getattr(self, name) for name in kept_fields}
        return record | {"labels": self.labels.tolist(), "support": self.support.tolist()}

    @classmethod
    def of_record(cls, record: dict) -> Candidate:
        """The candidate of a checkpoint."""
        arrays = {"labels": np.array(record["labels"], int), "support": np.array(record["support"], bool)}
        return cls(**(record | arrays))


def digest(array: np.ndarray | None) -> str:
    """A short name for the values of an array."""
    return "" if array is None else hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:24]


def kept(store: Store, key: str, compute: Callable[[], dict]) -> dict:
    """A record of the store, or a computed one that is put there."""
    found = store.get(key, cast(Family, None))  # records without a fit: no family is asked to unpack one
    if found is not None:
        return found[1]
    record = compute()
    store.put(key, None, record)
    return record


def for_groups(estimator, n_clusters: int, seed: int, **parameters):
    """A clone of the estimator for that number of groups."""
    if estimator.n_axes is not None:
        parameters["n_axes"] = min(estimator.n_axes, n_clusters - 1) or None
    return clone(estimator).set_params(n_clusters=n_clusters, random_state=seed, **parameters)


def fit_candidate(
    data: Data, store: Store, estimator, n_clusters: int, source: str, seed: int, start: np.ndarray | None = None
) -> Candidate:
    """Fit the estimator with K groups, from given labels if there are any, and judge the partition."""
    fitted = []

    def compute() -> dict:
        begin = time.perf_counter()
        model = for_groups(estimator, n_clusters, seed, **({} if start is None else {"init": start}))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # whether it converged is in the record; the search warns of the rest
                model.fit(data.columns(source), **data.fit_options())
            fitted.append(model)
            return _record(data, model, source, time.perf_counter() - begin)
        except _FAILURES as error:
            return _failure(n_clusters, source, data.values.shape[1], time.perf_counter() - begin, str(error))

    key = f"candidate {n_clusters} {source} {seed} {digest(start)}"
    candidate = Candidate.of_record(kept(store, key, compute))
    return Candidate(**(vars(candidate) | {"model": fitted[0] if fitted else None}))


def _record(data: Data, model, source: str, seconds: float) -> dict:
    K = len(model.weights_)
    labels = np.asarray(model.labels_, int)
    names = ("log_likelihood", "n_parameters", "bic", "icl", "aic", "c")
    values = {name: float(getattr(model, f"{name}_")) for name in names}
    empty = np.bincount(labels, minlength=K).min() == 0
    if not empty:
        values |= judged(data.values, labels, data.weights)
        values["micl"] = micl(data.values, labels, data.weights)
    reason = "a group has no rows" if empty else ""
    found = Candidate(K, source, labels, np.asarray(model.support_), values, bool(model.converged_), seconds, reason)
    return found.record()


def _failure(K: int, source: str, p: int, seconds: float, reason: str) -> dict:
    return Candidate(K, source, np.zeros(0, int), np.zeros(p, bool), {}, False, seconds, reason).record()
