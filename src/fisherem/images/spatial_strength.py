"""spatial="auto": how strong the prior that neighbours are of one group should be, which may be not at all.

A strength that maximises the likelihood of the map it makes is the larger the smoother that map is. Instead, the bands
are split into every other one: the noise of the two halves is independent, the ground is the same. With each strength
the pixels are assigned by one half of the bands and their neighbours; the strength is the one whose map agrees best
with what the other half of the bands says of each pixel alone. Where neighbours only make up for noise, agreement
rises; where they overrule what the spectra say, it falls.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from ..core.data.spatial_prior import SpatialPrior
from ..policy.decisions import Decision
from ..policy.thresholds import THRESHOLDS
from .clean import Cleaned

__all__ = ["STRENGTHS", "agreements", "chosen_strength", "given_strength"]

# The strengths that are tried: with 8, odds of 3,000 to 1 for the group of all neighbours.
STRENGTHS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
# The name of the decision, and its choice where no prior is used.
_NAME, _NONE = "spatial prior", "none"
# Pixels that are looked at: whole lines in the middle of the image, as neighbours are needed.
_PIXELS = 20_000
# Mean-field passes: the labels no longer change then.
_PASSES = 8


def chosen_strength(cleaned: Cleaned, labels: np.ndarray, n_clusters: int, neighbours: int) -> tuple[float, Decision]:
    """(the strength, 0 if none agrees clearly better; why) for the groups (labels n) of a fit without neighbours."""
    inside, mask = _middle_lines(cleaned.mask)
    values = np.asarray(cleaned.rows[inside.start : inside.stop], float)
    labels = labels[inside.start : inside.stop]
    if n_clusters == 1 or len(values) < 2 or values.shape[1] < 2:
        why = "one group" if n_clusters == 1 else "too few pixels or bands to compare"
        return 0.0, Decision(_NAME, _NONE, "", why)
    agree = agreements(_without_gaps(values), labels, mask, n_clusters, neighbours)
    best = int(agree.sum(axis=1).argmax())
    gain = agree[best] - agree[0]
    clear = gain.mean() > THRESHOLDS.neighbours_gain * gain.std() / np.sqrt(len(gain))
    pairs = zip(STRENGTHS, agree.mean(axis=1), strict=True)
    shares = ", ".join(f"{strength:g} {share:.3f}" for strength, share in pairs)
    tried = f"{shares} (agreement of the groups by one half of the bands with those by the other half alone)"
    if not clear:
        return 0.0, Decision(_NAME, _NONE, tried, "no strength agrees clearly better than none")
    return STRENGTHS[best], Decision(_NAME, _said(STRENGTHS[best]), tried, "the two halves of the bands agree best")


def given_strength(strength: float) -> Decision | None:
    """The decision for a strength that was given; None for 0, the method without a prior."""
    return Decision(_NAME, _said(strength), "", "as given") if strength else None


def _said(strength: float) -> str:
    return f"strength {strength:.3g}"


def agreements(values: np.ndarray, labels: np.ndarray, mask: np.ndarray, n_clusters: int, neighbours: int):
    """strengths x n: how often (0, 1/2 or 1) each pixel's group by one half of the bands and the neighbours is that by
    the other half alone. `values` (n x p) are the pixels of `mask` and `labels` their groups."""
    prior = SpatialPrior(mask, 1.0, neighbours)
    alone = [_log_odds(values[:, i::2], labels, n_clusters) for i in (0, 1)]
    said = [logs.argmax(axis=0) for logs in alone]
    found = np.zeros((len(STRENGTHS), len(values)))
    for logs, others in zip(alone, reversed(said), strict=True):
        for row, strength in zip(found, STRENGTHS, strict=True):
            posteriors = softmax(logs, axis=0)
            for _ in range(_PASSES if strength else 0):
                posteriors = softmax(logs + strength * prior.neighbour_means(posteriors), axis=0)
            row += (posteriors.argmax(axis=0) == others) / 2
    return found


def _log_odds(values: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """K x n: log of share times density, up to a constant, of Gaussian groups with one covariance, by discriminants.

    out[k, i] = log pi_k + m_k' W^-1 x_i - m_k' W^-1 m_k / 2
    """
    member = (labels == np.arange(n_clusters)[:, None]).astype(float)
    shares = np.maximum(member.mean(axis=1), np.finfo(float).tiny)
    means = member @ values / np.maximum(member.sum(axis=1, keepdims=True), 1)
    n, p = values.shape
    ridge = max(THRESHOLDS.scene_ridge * values.var(axis=0).mean(), np.finfo(float).tiny)
    residuals = values - means[labels]
    directions = np.linalg.solve(residuals.T @ residuals / n + ridge * np.eye(p), means.T)
    heights = np.log(shares) - np.einsum("kp,pk->k", means, directions) / 2
    return (values @ directions + heights).T


def _middle_lines(mask: np.ndarray) -> tuple[slice, np.ndarray]:
    """(the rows of their pixels, their mask) of the lines in the middle that have about as many pixels as we look at.

    At least one line.
    """
    ends = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    first = int(np.searchsorted(ends, max(0, (ends[-1] - _PIXELS) // 2), side="right")) - 1
    last = max(first + 1, int(np.searchsorted(ends, ends[first] + _PIXELS, side="right")) - 1)
    return slice(int(ends[first]), int(ends[last])), mask[first:last]


def _without_gaps(values: np.ndarray) -> np.ndarray:
    """Missing values as the mean of their band."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    means = np.where(gaps, 0, values).sum(axis=0) / np.maximum((~gaps).sum(axis=0), 1)
    return np.where(gaps, means, values)
