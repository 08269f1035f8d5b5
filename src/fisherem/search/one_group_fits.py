"""Fits of clones to tables of one group, for `significance`: tasks of which each gives the statistics of one draw."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from .._utils.parallel import run_tasks
from .._utils.progress import progress_bar
from .._utils.wording import count
from ..estimators.pipelines import last_step, support_on
from ..policy.columns import without_units
from ..rows.base import one_thread_each
from .draw_checkpoint import DrawStore
from .group_statistics import between_shares, separation
from .one_group_tables import OneGroupTables
from .refitting import FAILURES, alone

__all__ = ["Part", "run_draws", "statistics"]

# Reasons of failed draws that a message lists.
_MOST_REASONS = 3


class Part:
    """Rows that are compared with tables of one group: all of them, or those of a pair of groups."""

    def __init__(self, model, values: np.ndarray, labels: np.ndarray, pair: tuple[int, int] | None = None):
        self.estimator = clone(model)
        self.values, self.labels, self.pair = values, labels, pair
        p = values.shape[1]
        support = getattr(last_step(model)[1], "support_", None)
        self.selected = np.ones(p, bool) if support is None else support_on(model, support, p)
        if pair is not None:
            last_step(self.estimator)[1].set_params(n_clusters=2)
        self.tables = OneGroupTables.of(values)


def _named(values: np.ndarray, names: list[str] | None) -> Any:
    return values if names is None else pd.DataFrame(values, columns=names)


def statistics(model, values: np.ndarray, labels: np.ndarray, names: list[str] | None) -> np.ndarray:
    """2 x p: shares of the variances between the groups times their separation, and these shares.

    The separation is that on the discriminative axes; for models without such axes, that on the standardised columns.
    """
    shares = between_shares(values, labels)
    if hasattr(last_step(model)[1], "loadings_"):
        coordinates = np.asarray(model.transform(_named(values, names)), float)
    else:
        values = without_units(values)
        spread = values.std(axis=0)
        coordinates = values[:, spread > 0] / spread[spread > 0]
    return np.stack([shares * separation(coordinates, labels), shares])


def _drawn(parts: list[Part], names: list[str] | None, part: int, b: int, seed: int) -> np.ndarray | str:
    """The statistics of draw b of a part, or the reason of a failure. b = 0 is the part's own rows, fitted again.

    Each fit uses one thread: sums over several are rounded differently, which can change the choice between two starts.
    """
    own = parts[part]
    rng = np.random.RandomState(np.random.MT19937(np.random.SeedSequence([seed, part, b])))
    values = own.values if b == 0 else own.tables.draw(rng)
    model = alone(own.estimator, int(rng.randint(np.iinfo(np.int32).max)))
    try:
        with one_thread_each(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # groups of tables that have none converge less often
            model.fit(_named(values, names))
            labels = np.asarray(last_step(model)[1].labels_)
            found = statistics(model, values, labels, names)
    except FAILURES as error:
        return str(error)
    if b > 0:
        return found
    agreement = adjusted_rand_score(own.labels, labels)
    return np.vstack([found, np.full(found.shape[1], agreement)])


def run_draws(
    parts: list[Part], names: list[str] | None, numbers: range, seed: int, store: DrawStore, jobs: int, progress
) -> list[list[np.ndarray]]:
    """The statistics of the draws of these numbers, for each part; nan for those that failed.

    What `store` holds is not computed again; failures are not stored.
    """
    p = parts[0].values.shape[1]
    found = [[store.found.get(f"{part}-{b}") for b in numbers] for part in range(len(parts))]
    left = [(part, b, seed) for part in range(len(parts)) for i, b in enumerate(numbers) if found[part][i] is None]
    failures: list[str] = []
    try:
        with progress_bar("tables of one group", progress) as bar:
            bar.add(len(left))
            for i, result in run_tasks(partial(_drawn, parts, names), left, jobs):
                part, b, _ = left[i]
                if isinstance(result, str):
                    if b == 0:
                        raise ValueError(f"two groups cannot be fitted to the rows of a pair: {result}")
                    failures.append(result)
                    result = np.full((2, p), np.nan)
                else:
                    store.put(f"{part}-{b}", result)
                found[part][b - numbers[0]] = result
                bar.step()
    finally:
        if left:
            store.write()
    _report_failures(found, failures)
    return found  # type: ignore[return-value]  # nothing is None any more


def _report_failures(found: list, failures: list[str]) -> None:
    """An error if all draws of a part failed, a warning if some did."""
    if not failures:
        return
    reasons = "; ".join(sorted(set(failures))[:_MOST_REASONS])
    draws = [[one for one in part if len(one) == 2] for part in found]
    if any(np.isnan(part).all() for part in draws):
        raise ValueError(f"all draws failed: {reasons}")
    total = sum(map(len, draws))
    warnings.warn(
        f"{count(len(failures), 'draw')} of {total} failed and count as differences as large: {reasons}", stacklevel=4
    )
