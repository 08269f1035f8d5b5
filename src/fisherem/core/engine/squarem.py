"""Steps ahead of a slow sequence: EM with factors as missing data creeps where they carry little information.

SQUAREM (Varadhan & Roland 2008): with t0, t1, t2 three iterates, r = t1 - t0 and v = (t2 - t1) - r, the point
t0 - 2 a r + a^2 v with a = -|r| / |v| is where a sequence that shrinks at one rate would end. The loop takes it only if
it is more likely, so that the likelihood still never falls.
"""

from __future__ import annotations

import numpy as np

__all__ = ["LARGEST_LOG", "Leaps"]

# Logarithms of variances beyond this are no leap but a fall: their squares still fit a double.
LARGEST_LOG = 300.0

# Iterates without a leap at first: they are far from any sequence.
_PATIENCE = 6


class Leaps:
    """Collects iterates as vectors, and extrapolates every third one."""

    def __init__(self) -> None:
        self._recent: list[np.ndarray] = []
        self._count = 0

    def after(self, vector: np.ndarray) -> np.ndarray | None:
        """The point ahead of the last three iterates, of which this is the last; None in between."""
        self._count += 1
        if self._count <= _PATIENCE:
            return None
        if self._recent and len(self._recent[-1]) != len(vector):
            self._recent = []
        self._recent.append(vector)
        if len(self._recent) < 3:
            return None
        t0, t1, t2 = self._recent
        self._recent = []
        r = t1 - t0
        v = (t2 - t1) - r
        length = float(np.linalg.norm(v))
        if length == 0 or (a := -float(np.linalg.norm(r)) / length) > -1:
            return None
        ahead = t0 - 2 * a * r + a**2 * v
        return ahead if np.isfinite(ahead).all() else None

    def landed(self, vector: np.ndarray) -> None:
        """The leap was taken: it is the first of the next three."""
        self._recent = [vector]
