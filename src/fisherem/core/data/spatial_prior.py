"""A prior over rows that are pixels: neighbours tend to be in the same group (a Potts model, by mean field).

    log p(pixel i in group k | neighbours) = log pi_k + b m[k, i] - log sum_l pi_l exp(b m[l, i])
    m[k, i] = the mean of the posteriors t[k, j] over the unmasked neighbours j of i

The E-step adds the terms other than log pi_k, so its normalising constant is the mean-field likelihood of Celeux,
Forbes & Peyrard (2003). b = 0 is the paper's method.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

__all__ = ["NEIGHBOURHOODS", "SpatialPrior"]

# Passes of the mean field, and the change of the posteriors below which they end: no map shows it.
_PASSES, _SETTLED = 50, 1e-3
# Pixels that are normalised at once.
_PIECE = 2**16

# Offsets (row, column) of half of the neighbours; the others are opposite.
NEIGHBOURHOODS = {4: ((0, 1), (1, 0)), 8: ((0, 1), (1, 0), (1, 1), (1, -1))}


class SpatialPrior:
    """The field on the valid pixels of `mask` (bool, rows x columns), in row-major order; n of them are the rows."""

    def __init__(self, mask: np.ndarray, strength: float, neighbours: int = 4):
        self.mask, self.strength, self.steps = mask, strength, NEIGHBOURHOODS[neighbours]
        self.counts = np.maximum(self._spread(np.ones((1, int(mask.sum())))), 1)[0]

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """out[k, i] = sum over the neighbours j of i of values[k, j]"""
        rows, columns = self.mask.shape
        padded, total = np.zeros((rows + 2, columns + 2)), np.empty((rows, columns))
        spread = np.empty(values.shape)
        for own, out in zip(values, spread, strict=True):
            padded[1:-1, 1:-1][self.mask] = own
            total[:] = 0
            for dr, dc in (*self.steps, *((-r, -c) for r, c in self.steps)):
                total += padded[1 + dr : 1 + dr + rows, 1 + dc : 1 + dc + columns]
            out[:] = total[self.mask]
        return spread

    def neighbour_means(self, posteriors: np.ndarray) -> np.ndarray:
        """m (K x n) from the posteriors (K x n)."""
        means = self._spread(posteriors)
        means /= self.counts
        return means

    def settled(self, alone: np.ndarray) -> np.ndarray:
        """The posteriors (K x n) with the prior, from those without it, by passes of the mean field."""
        posteriors = alone
        for _ in range(_PASSES):
            new = self.neighbour_means(posteriors)
            new *= self.strength
            new -= new.max(axis=0)
            np.exp(new, out=new)
            new *= alone
            new /= np.maximum(new.sum(axis=0), np.finfo(float).tiny)
            change = max(float(np.abs(own - old).max()) for own, old in zip(new, posteriors, strict=True))
            posteriors = new
            if change < _SETTLED:
                break
        return posteriors

    def update(self, rows, states, proportions: np.ndarray) -> float:
        """Set `log_prior` of every block's state from its posteriors; returns the strength."""
        posteriors = rows.gather(states, "posteriors")
        means = self.neighbour_means(posteriors)
        log_proportions = np.log(proportions)
        means *= self.strength
        for start in range(0, means.shape[1], _PIECE):
            part = means[:, start : start + _PIECE]
            part -= logsumexp(log_proportions[:, None] + part, axis=0)
        rows.spread(states, "log_prior", means)
        return float(self.strength)
