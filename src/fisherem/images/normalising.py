"""normalise="auto": how much of the brightness of each pixel is divided out.

Light and slope multiply whole spectra. Where they cause most of a scene's variance, dividing a pixel x by its norm
reveals the materials; where the materials differ in brightness itself, it removes the groups, and of dark pixels it
leaves noise and the traces of what they are mixed with. There is a way between:

    True     x / |x|
    "soft"   x / sqrt(|x|^2 + c^2)      c the median norm: bright pixels lose most of the light, dark ones stay dark
    False    x

A sample of the pixels is fitted all three ways. The one is taken whose groups gain most over one group (the mixture of
`policy.judge`) where all are looked at in the same coordinates, the main axes of the softly divided pixels. Likelihoods
of the three fits themselves cannot be compared, as they are of different numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.extmath import randomized_svd

from ..core.engine.multistart import FitError
from ..core.starts.partitions import LARGE
from ..policy.decisions import Decision
from ..policy.judge import mixture_gain
from ..policy.thresholds import THRESHOLDS
from ..rows.base import one_blas_thread
from ..search.scoring import best_matching, contingency
from .clean_pixels import SOFT, CleanPixels, norms_of

__all__ = ["Normalisation", "NormRule", "chosen", "divided", "other_labels", "pixels_decision"]

# The treatments; of equal ones the first is taken.
_TREATMENTS: tuple[bool | str, ...] = (True, SOFT, False)
_DONE = {True: "divided by their norms", SOFT: "softly divided by their norms", False: "used as they are"}
# The number of pixels used for the choice. With 2,000, fits of two samples differ where groups overlap: of nine scenes
# the choice went wrong in three that 4,000 decide rightly (adjusted Rand index 0.28 to 0.50, 0.34 to 0.60, 0.68 to
# 0.86), and the others stayed as they were but one (0.27 both).
_PIXELS = 4_000


@dataclass(frozen=True)
class Normalisation:
    """The choice (True, "soft" or False), and what groups gain over one group with each of the three, in nats a pixel.

    other : the labels (rows x columns, -1 where masked) of the best other way whose groups differ, where they do
    agreement : of both maps (adjusted Rand index)
    """

    normalised: bool | str
    gains: dict[bool | str, float]
    agreement: float = 1.0
    other: np.ndarray | None = None

    def __str__(self) -> str:
        most, *others = sorted(self.gains, key=lambda way: way != self.normalised)
        tried = ", ".join(f"{self.gains[way]:.2f} {_DONE[way]}" for way in others)
        text = (
            f"Pixels were {_DONE[most]}: their groups gain {self.gains[most]:.2f} nats a pixel over one group, "
            f"and those of pixels {tried}"
        )
        if self.other is None:
            return text
        return f"{text}; the best other map differs (agreement {self.agreement:.2f}), shown beside this one"


class NormRule:
    """Decides for `clean`, which calls it with the pixels before division; keeps the indices of the pixels it used.

    estimators : what the pixels may be fitted with, one for each number of groups
    """

    def __init__(self, estimators: Sequence[Any], seed: int):
        self.estimators, self.seed = estimators, seed
        self.gains: dict[bool | str, float] = {}
        self.second: bool | str | None = None  # the best way that gives other groups, if these gain anything
        self.fits: list[Any] = []  # of the sample treated in that way
        self.index: np.ndarray | None = None  # numbers of the pixels

    def __call__(self, rows: CleanPixels) -> bool | str:
        """How to divide."""
        rng = np.random.RandomState(self.seed)
        self.index = np.sort(rng.choice(len(rows), min(_PIXELS, len(rows)), replace=False))
        axes = _main_axes(divided(self.sample(rows), SOFT))
        groups, fits = {}, {}
        for way in _TREATMENTS:
            fits[way] = [_fitted(one, divided(self.sample(rows), way)) for one in self.estimators]
            groups[way] = [None if fit is None else fit.labels_ for fit in fits[way]]
            self.gains[way] = float(np.mean([_gain(axes, labels) for labels in groups[way]]))
        best, *others = sorted(_TREATMENTS, key=lambda way: -self.gains[way])
        different = [way for way in others if self.gains[way] > 0 and _differ(groups[best], groups[way])]
        if different:
            self.second, self.fits = different[0], [fit for fit in fits[different[0]] if fit is not None]
        return best

    def sample(self, source: CleanPixels) -> np.ndarray:
        """These pixels before division (n x p); read again rather than kept, as there may be many bands."""
        assert self.index is not None
        values = source.reflectance(self.index)
        return _filled(np.array(values, values.dtype if values.size > LARGE else float))


def _main_axes(values: np.ndarray) -> np.ndarray:
    """Coordinates (n x q) of rows along their main axes, with variance 1."""
    centred = values - values.mean(axis=0)
    most = min(THRESHOLDS.scene_axes, *centred.shape)
    with one_blas_thread():
        left, sizes, _ = randomized_svd(centred, most, random_state=0)
    return left[:, sizes > np.finfo(np.float32).eps * sizes[0]].astype(float) * np.sqrt(len(values))


def _gain(axes: np.ndarray, labels: np.ndarray | None) -> float:
    """What groups gain over one group, in nats per row; -inf for a fit that failed."""
    if labels is None:
        return -np.inf
    return mixture_gain(axes, np.unique(labels, return_inverse=True)[1], np.ones(len(axes))) / len(axes)


def _differ(some: list, others: list) -> bool:
    """Whether the groups of the fits, all of which gain something, differ much for one of the numbers of groups."""
    pairs = zip(some, others, strict=True)
    return any(adjusted_rand_score(one, other) < THRESHOLDS.maps_differ for one, other in pairs)


def _filled(values: np.ndarray) -> np.ndarray:
    """Rows (m x p) whose missing values are replaced by the mean spectrum, scaled to the brightness of the row."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    mean = np.where(missing, 0, values).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    seen = np.where(missing, 0, values)
    brightness = seen @ mean / np.maximum((~missing) @ mean**2, np.finfo(float).tiny)
    return np.where(missing, brightness[:, None] * mean, values)


def divided(values: np.ndarray, way: bool | str = True, dark: float | None = None) -> np.ndarray:
    """Rows treated in one of the three ways, in place; rows of zeros stay. `dark` is c, by default the median norm."""
    if way is False:
        return values
    norms = norms_of(values)
    if way == SOFT:
        norms = np.hypot(norms, np.median(norms) if dark is None else dark)
    values /= np.where(norms == 0, 1, norms)[:, None]
    return values


def other_labels(estimator, rule: NormRule, source: CleanPixels) -> np.ndarray | None:
    """Labels (n) of all pixels by a fit to the sample, treated in the best way that gives other groups: the rule's with
    as many groups, or that of the estimator.

    None if there are no groups in it, or if the fit fails.
    """
    if (way := rule.second) is None:
        return None
    sample = rule.sample(source)
    dark = float(np.median(norms_of(sample)))
    known = [fit for fit in rule.fits if len(fit.weights_) == len(estimator.weights_)]
    fitted = known[0] if known else _fitted(estimator, divided(sample, way, dark))
    if fitted is None:
        return None
    parts = (_filled(source.reflectance(part).astype(float)) for part in source.chunks())
    return np.concatenate([fitted.predict(divided(values, way, dark)) for values in parts])


def _fitted(estimator, values: np.ndarray):
    """The estimator fitted to the pixels of a sample; None if that fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "constant columns")
        try:
            return clone(estimator).set_params(n_jobs=1).fit(values)
        except (ValueError, FitError):
            return None


def chosen(rule: NormRule, normalised: bool | str, labels: np.ndarray, mask: np.ndarray, others) -> Normalisation:
    """The record of the choice, with the alternative map (labels n of the pixels in `mask`) if it differs much."""
    if others is None:
        return Normalisation(normalised, rule.gains)
    agreement = float(adjusted_rand_score(labels, others))
    if agreement >= THRESHOLDS.maps_differ:
        return Normalisation(normalised, rule.gains, agreement)
    other = np.full(mask.shape, -1)
    other[mask] = _numbered_like(labels, others)
    return Normalisation(normalised, rule.gains, agreement, other)


def _numbered_like(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The other labels, renumbered to match the groups with which they share most pixels."""
    K = int(max(labels.max(), others.max())) + 1
    numbers = np.empty(K, int)
    shared, found = best_matching(contingency(labels, others, (K, K)))
    numbers[found] = shared
    return numbers[others]


def pixels_decision(normalised: bool | str, choice: Normalisation | None) -> Decision:
    """How pixels were divided, as a decision; `choice` is the record of normalise="auto", None where it was given."""
    if choice is None:
        return Decision("pixels", _DONE[normalised], "", "as given")
    tried = ", ".join(f"{_DONE[way]} {gain:.2f}" for way, gain in choice.gains.items())
    return Decision("pixels", _DONE[normalised], f"{tried} nats a pixel", "their groups gain most over one group")
