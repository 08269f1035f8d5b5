"""Refits to halves of a sample of the pixels: the stability of groups and bands, and which pixels are in doubt.

The posteriors of pixels with many bands are nearly all 0 or 1, right or wrong. What other pixels of the same scene
would have said is the better measure.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..core.data.spatial_prior import SpatialPrior
from ..core.engine.multistart import FitError
from ..search.scoring import best_matching, contingency
from ..search.stability import Stability, stability
from .clean import Cleaned

__all__ = ["REFITS", "PixelStability", "map_agreement", "pixel_stability"]

# Pixels of the sample, as for the choice of the normalisation; each refit uses half of them.
PIXELS = 2_000
# Refits that say which pixels are in doubt: those that one of them puts into another group.
REFITS = 6


@dataclass(frozen=True)
class PixelStability:
    """How often groups and bands were reproduced; `counts` is the `Stability` of the sample.

    groups (K), the mean share of the refits in which the sampled pixels of a group were in it again (NaN without any) ·
    pixels, the same over all of them · agreement, the mean adjusted Rand index of refits and map · bands (of the cube),
    the share of the refits that selected each, NaN where it was left out; None where bands were exchanged after the
    fit, which the refits do not do · n_refits · n_pixels of the sample.
    """

    counts: Stability
    groups: np.ndarray
    pixels: float
    agreement: float
    bands: np.ndarray | None
    n_refits: int
    n_pixels: int


def pixel_stability(fitted, cleaned: Cleaned, n_refits: int, seed, progress, *, moved: bool) -> PixelStability | None:
    """The stability of a fitted estimator on a sample of the cleaned pixels; None for one group, which is always
    reproduced. `moved` bands are not counted. A spatial prior is not used, as the pixels of a sample are not
    neighbours."""
    K = len(fitted.weights_)
    if K == 1:
        return None
    seed = int(seed) if isinstance(seed, (int, np.integer)) else 0
    n = len(cleaned.rows)
    index = np.sort(np.random.RandomState(seed).choice(n, min(PIXELS, n), replace=False))
    counts = stability(
        fitted, np.array(cleaned.rows[index], float), n_subsamples=n_refits, fitted=fitted, random_state=seed,
        n_jobs=1, progress=progress,
    )  # fmt: skip
    assert counts.row_frequencies is not None
    assert counts.labels is not None
    sizes = np.bincount(counts.labels, minlength=K)
    sums = np.bincount(counts.labels, weights=counts.row_frequencies, minlength=K)
    bands = np.full(cleaned.report.n_bands, np.nan)
    bands[cleaned.bands] = counts.frequencies
    return PixelStability(
        counts=counts,
        groups=np.divide(sums, sizes, out=np.full(K, np.nan), where=sizes > 0),
        pixels=float(counts.row_frequencies.mean()),
        agreement=float(np.mean(counts.agreement)),
        bands=None if moved else bands,
        n_refits=len(counts.n_selected),
        n_pixels=len(index),
    )


def map_agreement(fitted, cleaned: Cleaned, labels: np.ndarray, seed, prior: SpatialPrior | None) -> np.ndarray | None:
    """The share (n) of the refits, each from its own start, that put each pixel into its group of `labels` (n).

    None for one group, and where no half can be fitted.
    """
    K, n = len(fitted.weights_), len(cleaned.rows)
    seed = int(seed) if isinstance(seed, (int, np.integer)) else 0
    rng = np.random.RandomState(seed)
    sample = rng.choice(n, min(PIXELS, n), replace=False)
    models = [] if K == 1 else list(_refits(fitted, cleaned, sample, rng))
    if not models:
        return None
    if prior is None:
        found = np.empty((len(models), n), np.min_scalar_type(K))
        for part in cleaned.source.chunks():
            values = np.array(cleaned.rows[part], float)
            found[:, part] = [model.predict(values) for model in models]
    else:
        found = np.array([_with_prior(model, cleaned, prior) for model in models])
    same = np.zeros(n, np.float32)
    for others in found:
        shared, own = best_matching(contingency(labels, others, (K, K)))
        numbers = np.full(K, -1)
        numbers[own] = shared
        same += numbers[others] == labels
    return same / len(found)


def _refits(fitted, cleaned: Cleaned, sample: np.ndarray, rng: np.random.RandomState):
    """The estimator fitted to halves of the sample; halves that cannot be fitted are left out."""
    for _ in range(REFITS):
        half = np.sort(rng.choice(sample, max(2, len(sample) // 2), replace=False))
        model = clone(fitted).set_params(n_jobs=1, random_state=int(rng.randint(2**31 - 1)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "constant columns")
            try:
                yield model.fit(np.array(cleaned.rows[half], float))
            except (ValueError, FitError):
                continue


def _with_prior(model, cleaned: Cleaned, prior: SpatialPrior) -> np.ndarray:
    """Labels (n) of all pixels by a refit and the spatial prior."""
    alone = np.empty((len(model.weights_), len(cleaned.rows)))
    for part in cleaned.source.chunks():
        alone[:, part] = model.predict_proba(np.array(cleaned.rows[part], float)).T
    return prior.settled(alone).argmax(axis=0)
