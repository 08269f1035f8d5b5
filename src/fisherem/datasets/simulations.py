"""The simulation of section 4.1 (after Witten & Tibshirani 2010, section 3.3)."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["simulate"]


def simulate(n=300, mu=1.7, *, p=25, q=5, random_state=None):
    """Three spherical Gaussian groups that differ on the first q of p variables only.

    Group 0 has mean mu on them, group 1 has -mu and group 2 has 0; all variances are 1. `n` is the total number of
    rows, drawn with equal probabilities. Returns (X, y).
    """
    if not 0 < q <= p:
        raise ValueError(f"q must lie between 1 and p={p}; got {q}")
    rng = check_random_state(random_state)
    y = rng.randint(3, size=n)
    X = rng.normal(size=(n, p))
    X[:, :q] += mu * np.array([1.0, -1.0, 0.0])[y, None]
    return X, y
