"""Evidence with known gains, densities and agreements, for rules that weigh it."""

import numpy as np

from fisherem.model.criteria import CRITERIA
from fisherem.policy.number_of_groups.candidates import Candidate, Data
from fisherem.policy.number_of_groups.evidence import Evidence

__all__ = ["THREE", "Known", "N", "candidate", "evidence"]

# Rows.
N = 480
THREE = {"k2": (50, 0.2, 0.9), "k3": (80, 0.3, 0.85), "k4": (60, 0.9)}


class Known:
    """Halves with a known agreement and strength."""

    def __init__(self, agreement, strength, n_splits=3):
        self.agreement, self.strength, self.splits = agreement, strength, (None,) * n_splits
        self.agreements = np.full(n_splits, agreement)


def candidate(K, gain, valley, labels=None):
    values = {name: float(K) for name in CRITERIA} | {"score_gain": float(gain), "valley": valley}
    labels = np.arange(N) % K if labels is None else labels
    return Candidate(K, labels, np.ones(3, bool), values, True, 0.1)


def evidence(**by_number):
    """Evidence from (gain, valley, agreement, strength) per number of groups: k2=(30, 0.1, 0.9)."""
    data = Data.of(np.random.default_rng(0).normal(size=(N, 3)), None)
    found = Evidence(data, 5, {1: candidate(1, 0.0, np.nan)})
    for name, (gain, valley, *halves) in by_number.items():
        K = int(name[1:])
        found.candidates[K] = candidate(K, gain, valley)
        if halves:
            found.halves[K] = Known(halves[0], halves[-1])
    return found
