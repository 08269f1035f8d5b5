"""A prior over rows that are pixels: neighbours tend to be in the same group (a Potts model, by mean field).

    log p(pixel i in group k | neighbours) = log pi_k + b m[k, i] - log sum_l pi_l exp(b m[l, i])
    m[k, i] = the mean of the posteriors t[k, j] over the unmasked neighbours j of i

The E-step adds the terms other than log pi_k, so its normalising constant is the mean-field likelihood of Celeux,
Forbes & Peyrard (2003). The strength b is given, or maximises sum_ik t[k, i] log p(i in k | neighbours), which is
concave in b. b = 0 is the paper's method.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

__all__ = ["NEIGHBOURHOODS", "SpatialPrior"]

# Offsets (row, column) of half of the neighbours; the others are opposite.
NEIGHBOURHOODS = {4: ((0, 1), (1, 0)), 8: ((0, 1), (1, 0), (1, 1), (1, -1))}
# Upper limit of an estimated strength: m is in [0, 1], and with odds of e^12 the spectrum has no influence.
MOST_STRENGTH = 12.0
_NEWTON_STEPS = 30


class SpatialPrior:
    """The field on the valid pixels of `mask` (bool, rows x columns), in row-major order; n of them are the rows."""

    def __init__(self, mask: np.ndarray, strength: float | None, neighbours: int = 4):
        self.mask, self.strength, self.steps = mask, strength, NEIGHBOURHOODS[neighbours]
        self.counts = np.maximum(self._spread(np.ones((1, int(mask.sum())))), 1)[0]

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """out[k, i] = sum over the neighbours j of i of values[k, j]"""
        rows, columns = self.mask.shape
        padded = np.zeros((len(values), rows + 2, columns + 2))
        padded[:, 1:-1, 1:-1][:, self.mask] = values
        total = np.zeros((len(values), rows, columns))
        for dr, dc in (*self.steps, *((-r, -c) for r, c in self.steps)):
            total += padded[:, 1 + dr : 1 + dr + rows, 1 + dc : 1 + dc + columns]
        return total[:, self.mask]

    def neighbour_means(self, posteriors: np.ndarray) -> np.ndarray:
        """m (K x n) from the posteriors (K x n)."""
        return self._spread(posteriors) / self.counts

    def estimate(self, posteriors: np.ndarray, means: np.ndarray, log_proportions: np.ndarray) -> float:
        """The b in [0, MOST_STRENGTH] that maximises the pseudo-likelihood, by a bracketed Newton method.

        slope(b) = sum_ik (t - p_b)[k, i] m[k, i], and p_b is a softmax, so the slope decreases in b.
        """
        observed = float(np.einsum("kn,kn->", posteriors, means))
        low, high = 0.0, MOST_STRENGTH
        b = 1.0
        for _ in range(_NEWTON_STEPS):
            logits = log_proportions[:, None] + b * means
            share = np.exp(logits - logits.max(axis=0))
            share /= share.sum(axis=0)
            expected = np.einsum("kn,kn->n", share, means)
            slope = observed - float(expected.sum())
            low, high = (b, high) if slope > 0 else (low, b)
            curvature = float((np.einsum("kn,kn,kn->n", share, means, means) - expected**2).sum())
            step = b + slope / curvature if curvature > 0 else np.inf
            new = step if low < step < high else (low + high) / 2
            if abs(new - b) < 1e-3:  # smaller changes do not affect the map
                return new
            b = new
        return b

    def update(self, rows, states, proportions: np.ndarray) -> float:
        """Set `log_prior` of every block's state from its posteriors; returns the strength."""
        posteriors = rows.gather(states, "posteriors")
        means = self.neighbour_means(posteriors)
        log_proportions = np.log(proportions)
        b = self.estimate(posteriors, means, log_proportions) if self.strength is None else self.strength
        means *= b
        means -= logsumexp(log_proportions[:, None] + means, axis=0)
        rows.spread(states, "log_prior", means)
        return float(b)
