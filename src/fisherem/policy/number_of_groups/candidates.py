"""One number of groups: the estimator's own fit, its gain over one group, and its criteria."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from ...core.data.problem import Problem, prepare
from ...core.engine.checkpoints import Store
from ...core.engine.family import Family
from ...model.criteria import CRITERIA
from ...tables.encoding import Encoded, Encoding
from ..columns import columns_of
from ..judge import Judge
from ..latent_classes import ClassJudge
from ..thresholds import THRESHOLDS
from .valleys import valley

__all__ = ["FAILURES", "Candidate", "Data", "digest", "fit_candidate", "for_groups", "kept"]

# Principal components are asked for where there are so many columns for each: components of 12 yes/no columns have a
# frequent value themselves, and pure noise of them gained a thousand nats.
_SUMMED = 2

FAILURES = (ValueError, ArithmeticError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Data:
    """The rows that the number of groups is chosen on.

    `values` (n x p); `weights` (n), all 1 unless `weighted`.
    """

    values: np.ndarray
    weights: np.ndarray
    weighted: bool
    encoding: Encoding | None = None  # of a table with categories

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None, encoding: Encoding | None = None) -> Data:
        """Of rows with weights, or without."""
        given = np.ones(len(values)) if weights is None else np.asarray(weights, float)
        return cls(np.ascontiguousarray(values, float), given, weights is not None, encoding)

    def rows(self, rows=slice(None)) -> np.ndarray | Encoded:
        """Some rows as estimators take them."""
        return self.values[rows] if self.encoding is None else Encoded(self.values[rows], self.encoding)

    @property
    def numbers(self) -> np.ndarray:
        """The columns that are no indicators of categories."""
        return self.values if self.encoding is None else self.values[:, ~self.encoding.blocks.indicators]

    def fit_options(self, rows=slice(None)) -> dict:
        """The weights of some rows, as an option of `fit`."""
        return {"sample_weight": self.weights[rows]} if self.weighted else {}

    @cached_property
    def problem(self) -> Problem:
        """The rows as the judge sees them."""
        problem = prepare(self.values, self.weights if self.weighted else None, ridge="auto", n_jobs=1)
        return problem if self.encoding is None else replace(problem, blocks=self.encoding.blocks)

    @cached_property
    def seen(self) -> Data:
        """The coordinates that groups are judged on: the columns, or their leading principal components.

        The components where most columns have few values or a frequent one: sums of many such columns have neither.
        """
        few = self.values.shape[1] < _SUMMED * THRESHOLDS.components
        if self.encoding is not None or few or Judge(self.problem).sees_enough:
            return self
        components = replace(self, values=self._components())
        return self if columns_of(components.problem).floors.any() else components

    def _components(self) -> np.ndarray:
        """The leading principal components of the rows (n x q)."""
        centred = self.values - self.weights @ self.values / self.weights.sum()
        counting = self.weights > 0
        q = min(THRESHOLDS.components, self.values.shape[1], max(1, counting.sum() // THRESHOLDS.rows_per_component))
        axes = randomized_svd(centred[counting] * np.sqrt(self.weights[counting])[:, None], q, random_state=0)[2]
        return np.ascontiguousarray(centred @ axes.T)

    @cached_property
    def judge(self) -> Judge | ClassJudge:
        """The judge of partitions of these rows."""
        return Judge(self.seen.problem) if self.encoding is None else ClassJudge(self.problem)

    def __getstate__(self) -> dict:
        """Without what is derived: worker processes make it anew."""
        return {name: self.__dict__[name] for name in ("values", "weights", "weighted", "encoding")}


@dataclass(frozen=True)
class Candidate:
    """The estimator's fit with K groups.

    `labels` (n), counted from 0; `support` (p, bool), the selected variables; `values`: "score_gain", the gain over one
    group on scores, in nats (0 for one group, -inf where the judge has no opinion), "valley" (`valleys`), and every
    criterion by name. `reason` says why there is no partition, and is empty where there is one.
    """

    n_clusters: int
    labels: np.ndarray
    support: np.ndarray
    values: dict[str, float]
    converged: bool
    seconds: float
    reason: str = ""

    @property
    def smallest(self) -> int:
        """Rows of the smallest group."""
        return int(np.bincount(self.labels, minlength=self.n_clusters).min()) if len(self.labels) else 0

    @property
    def gain(self) -> float:
        """The gain over one group in nats; -inf without a partition."""
        return self.values.get("score_gain", -np.inf)

    @property
    def valley(self) -> float:
        """The density between the two groups that are least apart, as a share of that inside them."""
        return self.values.get("valley", np.nan)

    def record(self) -> dict:
        """As plain values, for a checkpoint."""
        return vars(self) | {"labels": self.labels.tolist(), "support": self.support.tolist()}

    @classmethod
    def of_record(cls, record: dict) -> Candidate:
        """The candidate of a checkpoint."""
        arrays = {"labels": np.array(record["labels"], int), "support": np.array(record["support"], bool)}
        return cls(**(record | arrays))


def digest(array: np.ndarray) -> str:
    """A short name for the values of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:24]


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


def fit_candidate(data: Data, store: Store, estimator, n_clusters: int, seed: int) -> Candidate:
    """Fit the estimator with K groups and judge the partition."""

    def compute() -> dict:
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # whether it converged is in the record; the search warns of the rest
                model = for_groups(estimator, n_clusters, seed).fit(data.rows(), **data.fit_options())
            found = _judged(data, model, begin)
        except FAILURES as error:
            labels, support = np.zeros(0, int), np.zeros(data.values.shape[1], bool)
            found = Candidate(n_clusters, labels, support, {}, False, time.perf_counter() - begin, str(error))
        return found.record()

    return Candidate.of_record(kept(store, f"candidate {n_clusters} {seed}", compute))


def _columns(data: Data, model) -> np.ndarray:
    """The selected columns (bool p)."""
    support = np.asarray(model.support_)
    return support if data.encoding is None else support[data.encoding.blocks.variable]


def _judged(data: Data, model, begin: float) -> Candidate:
    K, labels = len(model.weights_), np.asarray(model.labels_, int)
    values = {name: float(getattr(model, f"{name}_")) for name in CRITERIA}
    values |= {"score_gain": 0.0, "valley": float("nan")}
    empty = np.bincount(labels, minlength=K).min() == 0
    if K > 1 and not empty:
        gain = data.judge.gain(labels)
        values |= {"score_gain": float(gain.value), "valley": valley(data.seen, labels, gain.support)}
    seconds, reason = time.perf_counter() - begin, "a group has no rows" if empty else ""
    return Candidate(K, labels, _columns(data, model), values, bool(model.converged_), seconds, reason)
