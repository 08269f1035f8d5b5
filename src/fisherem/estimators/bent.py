"""Fits with transformation="power": exponents of the columns and groups, estimated in turn.

In: an estimator and checked rows. Out: the fit of the transformed columns with the largest BIC of the rows as given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from ..policy.powers import Powers, total_log_slope
from ..tables.scaling import bent

if TYPE_CHECKING:
    from .fitting import Fitted

__all__ = ["fit_bent"]

# How often exponents and groups are estimated in turn; on ten tables they converged after two to four rounds.
_ROUNDS = 5
# Rows that exponents are estimated on: their error is then far below the spacing of the candidate exponents.
_ROWS_FOR_EXPONENTS = 10_000


def fit_bent(estimator, table, weights, fit: Callable[..., Fitted]) -> Fitted:
    """Estimate exponents and groups in turn, starting from one group; `fit` fits a table of transformed columns."""
    numbers, values, sampled_weights = _some_rows(estimator, table, weights)
    given = not isinstance(estimator.init, str) and np.ndim(estimator.init) == 1
    labels = np.unique(np.asarray(estimator.init), return_inverse=True)[1] if given else np.zeros(len(table), int)
    best: Fitted | None = None
    seen: list[bytes] = []
    for _ in range(_ROUNDS):
        powers = Powers.within(values, labels[numbers], sampled_weights)
        if powers.exponents.tobytes() in seen:
            break
        seen.append(powers.exponents.tobytes())
        fitted = fit(bent(table, powers))
        with fitted.problem.rows.closed_on_error():
            log_slope = total_log_slope(fitted.problem, powers, fitted.divisors)
            fitted = replace(fitted, powers=powers, log_slope=log_slope)
            labels = fitted.problem.rows.gather(fitted.chosen.fit.states, "labels")
        worse = fitted if best is not None and fitted.bic <= best.bic else best
        best = best if worse is fitted else fitted
        if worse is not None:
            worse.problem.rows.close()
    assert best is not None
    return best


def _some_rows(estimator, table, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(numbers, values, weights) of the rows that exponents are estimated on: all, or a sample of many."""
    n = table.shape[0]
    if n > _ROWS_FOR_EXPONENTS:
        rng = check_random_state(estimator.random_state)
        share = None if weights is None else weights / weights.sum()
        most = _ROWS_FOR_EXPONENTS if share is None else min(_ROWS_FOR_EXPONENTS, np.count_nonzero(share))
        numbers = np.sort(rng.choice(n, most, replace=False, p=share))
        weights = None  # the rows were drawn with these probabilities
    else:
        numbers = np.arange(n) if weights is None else np.flatnonzero(weights)
    take = getattr(table, "rows_at", None)
    values = np.asarray(table[numbers] if take is None else take(numbers), float)
    return numbers, values, np.ones(len(numbers)) if weights is None else weights[numbers]
