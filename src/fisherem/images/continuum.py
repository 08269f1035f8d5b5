"""Absorption features of spectra: what lies below the continuum, the upper convex hull of a spectrum.

    removed[b] = value[b] / hull(wavelength[b])        1 on the hull, below 1 in a feature
    depth      = 1 - min of removed between two points of the hull (Clark & Roush 1984)

The position of a feature is the vertex of the parabola through its lowest band and the two beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..policy.thresholds import THRESHOLDS

__all__ = ["Feature", "continuum_removed", "features"]


@dataclass(frozen=True)
class Feature:
    """An absorption feature: position and depth of its lowest point, and the wavelengths between which it lies."""

    position: float
    depth: float
    left: float
    right: float


def continuum_removed(positions, values) -> np.ndarray:
    """The spectrum (p) divided by its upper convex hull over ascending or unordered positions (p).

    NaN stays NaN. All is NaN where the hull is not above 0 or there are fewer than three values.
    """
    positions, values = np.asarray(positions, float), np.asarray(values, float)
    out = np.full(len(values), np.nan)
    order = np.argsort(positions, kind="stable")
    seen = order[np.isfinite(values[order]) & np.isfinite(positions[order])]
    if len(seen) < 3:
        return out
    x, y = positions[seen], values[seen]
    corners = _upper_hull(x, y)
    hull = np.interp(x, x[corners], y[corners])
    if (hull > 0).all():
        out[seen] = y / hull
    return out


def _upper_hull(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Indices of the points on the upper convex hull of points in ascending order of x (Andrew's monotone chain)."""
    corners: list[int] = []
    for i in range(len(x)):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (x[b] - x[a]) * (y[i] - y[a]) >= (y[b] - y[a]) * (
                x[i] - x[a]
            ):  # b lies on or below the line from a to i
                corners.pop()
            else:
                break
        corners.append(i)
    return corners


def features(positions, removed) -> list[Feature]:
    """The features of a continuum-removed spectrum that are deep enough, deepest first."""
    positions, removed = np.asarray(positions, float), np.asarray(removed, float)
    order = np.argsort(positions, kind="stable")
    seen = order[np.isfinite(removed[order])]
    x, y = positions[seen], removed[seen]
    ends = np.flatnonzero(y >= 1 - 1e-12)
    found = []
    for left, right in pairwise(ends):
        if right - left < 2:
            continue
        lowest = left + 1 + int(y[left + 1 : right].argmin())
        depth = float(1 - y[lowest])
        if depth >= THRESHOLDS.feature_depth:
            place = _vertex(x[lowest - 1 : lowest + 2], y[lowest - 1 : lowest + 2])
            found.append(Feature(place, depth, float(x[left]), float(x[right])))
    return sorted(found, key=lambda feature: -feature.depth)


def _vertex(x: np.ndarray, y: np.ndarray) -> float:
    """Where the parabola through three points, the middle one the lowest, has its vertex."""
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    if right - left <= 0:
        return float(x[1])
    # the slope is `left` midway between the first two points, and `right` midway between the last two
    a, b = (x[0] + x[1]) / 2, (x[1] + x[2]) / 2
    return float(a - left * (b - a) / (right - left))
