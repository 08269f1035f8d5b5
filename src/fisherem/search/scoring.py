"""Agreement with known classes, for scoring only."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["accuracy", "best_matching", "contingency"]


def contingency(groups: np.ndarray, classes: np.ndarray, shape: tuple[int, int] | None = None) -> np.ndarray:
    """out[k, c] = rows of group k and class c, both counted from 0."""
    table = np.zeros(shape or (int(groups.max()) + 1, int(classes.max()) + 1), int)
    np.add.at(table, (groups, classes), 1)
    return table


def best_matching(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(groups, classes) matched one to one so that the most rows of a contingency table agree."""
    return linear_sum_assignment(-table)


def accuracy(truth, labels) -> float:
    """The share of rows in agreement under the best matching of groups to classes."""
    classes = np.unique(np.asarray(truth), return_inverse=True)[1]
    groups = np.unique(np.asarray(labels), return_inverse=True)[1]
    table = contingency(groups, classes)
    return float(table[best_matching(table)].sum() / len(groups))
