"""A clone of an estimator for one of many fits that run beside each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

__all__ = ["FAILURES", "alone"]

# Errors that are reported as the failure of one fit; others are bugs.
FAILURES = (ValueError, FloatingPointError, np.linalg.LinAlgError)


def alone(estimator, seed: int) -> Any:
    """An unfitted clone with this seed, one job and no progress bar.

    The parameters may be those of the estimator, of a search's estimator, or of a step of a pipeline.
    """
    model = clone(estimator)
    changed = {"random_state": int(seed), "n_jobs": 1, "progress": False}
    last = {name: name.rpartition("__")[2] for name in model.get_params()}
    return model.set_params(**{name: changed[end] for name, end in last.items() if end in changed})
