"""The stability of groups and bands: refits to halves of a sample of the pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..search.stability import Stability, stability
from .clean import Cleaned

__all__ = ["PixelStability", "pixel_stability"]

# Pixels of the sample, as for the choice of the normalisation; each refit uses half of them.
PIXELS = 2_000


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
