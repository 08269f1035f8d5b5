"""normalise="auto": whether each pixel is divided by its norm.

Light and slope multiply whole spectra. Where they cause most of a scene's variance, dividing by the norm reveals the
materials; where the materials differ in brightness itself, it removes the groups, and in dark pixels it leaves noise.
Likelihoods of the two cannot be compared, because the division drops a dimension. Two questions decide instead:

1. Are there groups at all? We compare how much more variance k-means explains than for one Gaussian group with the same
   covariance: brightness without groups is such a group, however large its variance.
2. If there are groups either way: in which of the two maps do neighbouring pixels say more of each other
   (`neighbours`)? A sample of the pixels is fitted both ways for that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from ..core.engine.multistart import FitError
from ..core.starts.partitions import LARGE, centred_rows, coordinates, distinct_rows
from ..policy.thresholds import THRESHOLDS
from ..rows.base import one_blas_thread
from ..search.scoring import best_matching, contingency
from ..solvers.kmeans_runs import best_kmeans
from .clean_pixels import CleanPixels, norms_of
from .neighbours import pairs_among, shared_information

__all__ = ["Normalisation", "Rule", "both_ways", "chosen", "divided", "other_labels"]

# The number of pixels used for the choice.
_PIXELS = 2_000
# The numbers of k-means runs on the pixels and on each Gaussian sample, of iterations, of samples, and of rows.
_RUNS, _ITERATIONS, _DRAWS, _ROWS = 2, 30, 4, 600
# Fewer pairs of pixels do not tell, and neighbours that share less than this (nats) lie in no order: among 1,000 pairs
# of independent labels of ten groups I is 0.04.
_LEAST_PAIRS, _NO_ORDER = 1000, 0.1


@dataclass(frozen=True)
class Normalisation:
    """The choice, and the ratios of the variance explained by k-means to that for one Gaussian group.

    information : without and with division, what neighbouring pixels say of each other (in nats), if that decided
    other : the labels (rows x columns, -1 where masked) of the alternative, where they differ much
    agreement : of both maps (adjusted Rand index)
    """

    normalised: bool
    raw_ratio: float
    normalised_ratio: float
    agreement: float = 1.0
    other: np.ndarray | None = None
    information: tuple[float, float] | None = None

    def __str__(self) -> str:
        done = "Each pixel was divided by its norm" if self.normalised else "Pixels were used as they are"
        text = (
            f"{done}: k-means explains {self.normalised_ratio:.2f} times what chance would with division, "
            f"{self.raw_ratio:.2f} times without"
        )
        if self.information is not None:
            text += (
                f", and neighbouring pixels share {self.information[1]:.2f} nats about their groups with division, "
                f"{self.information[0]:.2f} without"
            )
        if self.other is None:
            return text
        return f"{text}; the alternative gives a different map (agreement {self.agreement:.2f}), shown beside this one"


class Rule:
    """Decides for `clean`, which calls it with the pixels before division; keeps the indices of the pixels it used.

    columns : of the image
    estimator : what the pixels will be fitted with; None: the first question alone decides
    """

    def __init__(self, n_clusters: int, seed: int, columns: int = 0, estimator: Any = None):
        self.n_clusters, self.seed, self.columns, self.estimator = n_clusters, seed, columns, estimator
        self.ratios = (float("nan"), float("nan"))
        self.information: tuple[float, float] | None = None
        self.index: np.ndarray | None = None  # numbers of the pixels

    def __call__(self, rows: CleanPixels) -> bool:
        """Whether to divide."""
        rng = np.random.RandomState(self.seed)
        self.index = np.sort(rng.choice(len(rows), min(_PIXELS, len(rows)), replace=False))
        self.ratios = (self._ratio(self.sample(rows)), self._ratio(divided(self.sample(rows))))
        if self.estimator is not None and both_ways(*self.ratios):
            self.information = self._information(rows)
        by = self.ratios if self.information is None else self.information
        return by[1] >= by[0]

    def _information(self, rows: CleanPixels) -> tuple[float, float] | None:
        """What neighbours say of each other without and with division; None where that cannot be told."""
        assert self.index is not None
        pixels = np.arange(len(rows)) if rows.index is None else rows.index
        pairs = pairs_among(pixels, self.columns, self.index)
        if pairs.shape[1] < _LEAST_PAIRS:
            return None
        numbers, places = np.unique(pairs, return_inverse=True)
        values = _filled(rows.reflectance(numbers).astype(float))
        found = []
        for treated in (np.array, divided):
            labels = self._labels(treated, self.sample(rows).astype(float), values)
            if labels is None:
                return None
            first, second = labels[places.reshape(pairs.shape)]
            found.append(shared_information(first, second, int(labels.max()) + 1))
        # pixels in no order say nothing of each other, and the first question decides
        return (found[0], found[1]) if max(found) > _NO_ORDER else None

    def _labels(self, treated: Callable, sample: np.ndarray, values: np.ndarray) -> np.ndarray | None:
        """Labels of values (m x p) by a fit to the sample, both treated in one way; None if the fit fails."""
        fitted = _fitted(self.estimator, treated(sample))
        return None if fitted is None else fitted.predict(treated(values.copy()))

    def sample(self, source: CleanPixels) -> np.ndarray:
        """These pixels before division (n x p); read again rather than kept, as there may be many bands."""
        assert self.index is not None
        values = source.reflectance(self.index)
        return _filled(np.array(values, values.dtype if values.size > LARGE else float))

    def _ratio(self, values: np.ndarray) -> float:
        values = _near_one(values)
        chosen, _, _ = distinct_rows(values, None)
        if len(chosen) <= self.n_clusters:
            return 0.0
        return beyond_chance(centred_rows(values, chosen), self.n_clusters, np.random.RandomState(self.seed))


def both_ways(raw_ratio: float, normalised_ratio: float) -> bool:
    """Whether there are groups without and with division, by how much more than by chance k-means explains."""
    less, more = sorted((raw_ratio - 1, normalised_ratio - 1))
    return 1 + less > THRESHOLDS.groups_at_all and less > THRESHOLDS.groups_either_way * more


def _near_one(values: np.ndarray) -> np.ndarray:
    """Rows in another unit, in which squares neither overflow nor vanish; ratios of variances are the same."""
    size = float(np.abs(values).max(initial=0.0))
    return values if size == 0 else np.ldexp(values, -int(np.frexp(size)[1]))


def _filled(values: np.ndarray) -> np.ndarray:
    """Rows (m x p) whose missing values are replaced by the mean spectrum, scaled to the brightness of the row."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    mean = np.where(missing, 0, values).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    seen = np.where(missing, 0, values)
    brightness = seen @ mean / np.maximum((~missing) @ mean**2, np.finfo(float).tiny)
    return np.where(missing, brightness[:, None] * mean, values)


def divided(values: np.ndarray) -> np.ndarray:
    """Rows divided by their norms, in place; rows of zeros stay."""
    norms = norms_of(values)[:, None]
    values /= np.where(norms == 0, 1, norms)
    return values


def other_labels(estimator, rule: Rule, source: CleanPixels, normalised: bool) -> np.ndarray | None:
    """Labels (n) of all pixels by a fit to the sample in the other representation.

    None if there are no groups in it, or if the fit fails.
    """
    if rule.ratios[0 if normalised else 1] < THRESHOLDS.beyond_chance:
        return None
    other = np.asarray if normalised else divided
    fitted = _fitted(estimator, other(rule.sample(source)))
    if fitted is None:
        return None
    parts = (_filled(source.reflectance(part).astype(float)) for part in source.chunks())
    return np.concatenate([fitted.predict(other(values)) for values in parts])


def _fitted(estimator, values: np.ndarray):
    """The estimator fitted to the pixels of a sample; None if that fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "constant columns")
        try:
            return clone(estimator).set_params(n_jobs=1).fit(values)
        except (ValueError, FitError):
            return None


def chosen(rule: Rule, normalised: bool, labels: np.ndarray, mask: np.ndarray, others) -> Normalisation:
    """The record of the choice, with the alternative map (labels n of the pixels in `mask`) if it differs much."""
    if others is None:
        return Normalisation(normalised, *rule.ratios, information=rule.information)
    agreement = float(adjusted_rand_score(labels, others))
    if agreement >= THRESHOLDS.maps_differ:
        return Normalisation(normalised, *rule.ratios, agreement, information=rule.information)
    other = np.full(mask.shape, -1)
    other[mask] = _numbered_like(labels, others)
    return Normalisation(normalised, *rule.ratios, agreement, other, rule.information)


def _numbered_like(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The other labels, renumbered to match the groups with which they share most pixels."""
    K = int(max(labels.max(), others.max())) + 1
    numbers = np.empty(K, int)
    shared, found = best_matching(contingency(labels, others, (K, K)))
    numbers[found] = shared
    return numbers[others]


def beyond_chance(Z: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> float:
    """How much more k-means explains of centred rows Z (n x p) than of one Gaussian group with the same covariance.

    The idea is that of SigClust (Liu, Hayes, Nobel & Marron 2008).
    """
    if len(Z) > _ROWS:  # before the rotation, which takes time with many bands
        Z = Z[np.sort(rng.choice(len(Z), _ROWS, replace=False))]
        Z = Z - Z.mean(axis=0)
    Z = coordinates(Z)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    factor = vectors * np.sqrt(np.maximum(values, 0))
    draws = [rng.normal(size=Z.shape) @ factor.T for _ in range(_DRAWS)]
    with one_blas_thread():  # products of this size are slower on several
        chance = np.mean([_explained(draw - draw.mean(axis=0), n_clusters, rng) for draw in draws])
        return float(_explained(Z, n_clusters, rng) / max(chance, np.finfo(float).tiny))


def _explained(Z: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> float:
    """The share of the variance of centred rows that k-means explains."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    inertia = best_kmeans(Z, n_clusters, _RUNS, seed, max_iter=_ITERATIONS).inertia
    return float(1 - inertia / max((Z**2).sum(), np.finfo(float).tiny))
