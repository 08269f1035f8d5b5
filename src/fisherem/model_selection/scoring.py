"""Agreement with known classes, for scoring only."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["accuracy"]


def accuracy(truth, labels) -> float:
    """The share of rows in agreement under the best matching of groups to classes."""
    truth = np.unique(np.asarray(truth), return_inverse=True)[1]
    labels = np.unique(np.asarray(labels), return_inverse=True)[1]
    table = np.zeros((truth.max() + 1, labels.max() + 1))
    np.add.at(table, (truth, labels), 1)
    return float(table[linear_sum_assignment(-table)].sum() / len(truth))
