"""Gather the evidence: fits of every number of groups, merged groups as further starts, and halves of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..._utils.parallel import run_tasks
from ...core.engine.checkpoints import Store
from .candidates import COLUMNS, MERGED, POWERS, Candidate, Data, fit_candidate, kept
from .evidence import Evidence, Halves
from .halves import half_record, halves_of
from .one_or_two import one_group_p_value
from .partition_values import partition_c
from .transforms import TRANSFORMS, one_group_powers

__all__ = ["Plan", "best_number", "gather", "prepared_data"]

# A column is skewed if its best exponent is this much more likely than none: chance alone gives 5 among 25 columns.
_SKEWED = 10.0
# "auto" begins with these numbers, and goes on while the best is not this far below the end.
_FIRST, _BELOW_THE_END, _MOST = 4, 2, 12
# A given range whose end is best goes on by this many, once.
_WIDER = 3
# A merged partition must be this much better, in nats, to be worth a fit.
_WORTH_A_FIT = 5.0


@dataclass(frozen=True)
class Plan:
    """What to try: `numbers` of groups (None: as many as the evidence asks for), and how.

    `bent_only`: skewed columns are always bent, because the estimator was asked to.
    """

    estimator: object
    numbers: Sequence[int] | None
    min_size: int
    n_splits: int
    seed: int
    n_jobs: int
    bent_only: bool = False


def prepared_data(values: np.ndarray, weights: np.ndarray | None) -> Data:
    """Rows with a power-transformed version of their columns, where any column is skewed."""
    values = np.ascontiguousarray(values, float)
    given = np.ones(len(values)) if weights is None else np.asarray(weights, float)
    bent, gains = one_group_powers(values, given)
    return Data(values, bent if gains.max(initial=0) > _SKEWED else None, given, weights is not None)


def gather(plan: Plan, data: Data, store: Store, bar, evidence: Evidence) -> Iterator[Evidence]:
    """Fill the evidence; yields it whenever there is more of it, so that an interrupted search keeps what is done."""
    for numbers in _waves(plan, evidence, len(data.values)):
        for candidate in _fits(plan, data, store, bar, numbers):
            evidence.add(candidate)
            yield evidence
        for candidate in _from_merged(plan, data, store, bar, evidence, numbers):
            evidence.add(candidate)
            yield evidence
    for K, halves in _halves(plan, data, store, bar, evidence):
        evidence.halves[K] = halves
        yield evidence
    bar.add(1)
    record = kept(
        store, f"one group {plan.seed}", lambda: {"p_value": one_group_p_value(data.values, data.weights, plan.seed)}
    )
    evidence.one_group = record["p_value"]
    bar.step("one group against two")
    yield evidence


def _waves(plan: Plan, evidence: Evidence, n: int) -> Iterator[list[int]]:
    """Numbers of groups to fit next, given what was found so far."""
    most = max(1, n // max(plan.min_size, 2))  # more groups than that cannot all be large enough
    if plan.numbers is not None:
        given = sorted({1, *plan.numbers})
        yield given
        if len(given) > 2 and best_number(evidence) == given[-1]:
            yield list(range(given[-1] + 1, min(given[-1] + _WIDER, n - 1) + 1))
        return
    last = min(_FIRST, most)
    yield list(range(1, last + 1))
    while last < min(_MOST, most) and last - best_number(evidence) < _BELOW_THE_END:
        first, last = last + 1, min(last + 2, _MOST, most)
        yield list(range(first, last + 1))


def best_number(evidence: Evidence) -> int:
    """The number of groups that C prefers on columns without skew, one group included."""
    scores = {K: best.robust for K in evidence.numbers if (best := evidence.best(K)) is not None}
    return max(scores, key=lambda K: scores[K], default=1)


def _fits(plan: Plan, data: Data, store: Store, bar, numbers: list[int]) -> Iterator[Candidate]:
    """The estimator's fits, of the columns as they are and of those without skew; the longest work goes first."""
    sources = (COLUMNS,) if data.bent is None else (POWERS,) if plan.bent_only else (COLUMNS, POWERS)
    tried = {K: sources if K > 1 else (COLUMNS,) for K in numbers}  # one group is the same either way
    cells = [(K, source) for K in sorted(numbers, reverse=True) for source in tried[K]]
    bar.add(len(cells))
    tasks = [(_single(plan), K, source, plan.seed) for K, source in cells]
    for _, candidate in run_tasks(partial(fit_candidate, data, store), tasks, plan.n_jobs):
        bar.step(f"fitted K={candidate.n_clusters}")
        yield candidate


def _single(plan: Plan):
    """The estimator with one thread where fits run side by side."""
    return clone(plan.estimator).set_params(n_jobs=1) if plan.n_jobs > 1 else plan.estimator


def _from_merged(plan: Plan, data: Data, store: Store, bar, evidence: Evidence, numbers) -> Iterator[Candidate]:
    """Fits from two groups of a larger number made one, where that is better than what was found: a start that k-means
    has missed, such as a small group beside a large one."""
    tried = evidence.numbers
    pairs = [K for K in tried if K > 1 and K + 1 in tried and (K in numbers or K + 1 in numbers)]
    for K in sorted(pairs, reverse=True):
        larger, own = evidence.best(K + 1), evidence.best(K)
        if larger is None:
            continue
        labels = _merged(data, larger)
        columns = TRANSFORMS["power"].apply(data.values, labels, data.weights)
        value = partition_c(columns, labels, data.weights, 1).value
        if own is not None and value < own.values["c1_power"] + _WORTH_A_FIT:
            continue
        bar.add(1)
        source = POWERS if larger.source == POWERS else COLUMNS
        found = fit_candidate(data, store, _single(plan), K, source, plan.seed, labels)
        bar.step(f"fitted K={K} from merged groups")
        # judged by its own columns in halves, but never taken for the estimator's plain fit
        yield Candidate(**(vars(found) | {"source": MERGED if source == COLUMNS else POWERS}))


def _merged(data: Data, candidate: Candidate) -> np.ndarray:
    """The pair of groups made one whose union keeps most of C on the candidate's own variables."""
    values = data.columns(candidate.source)[:, candidate.support]
    best: tuple[float, np.ndarray] | None = None
    for a, b in combinations(range(candidate.n_clusters), 2):
        labels = np.where(candidate.labels == b, a, candidate.labels)
        labels = np.unique(labels, return_inverse=True)[1]
        value = _explained(values, labels, data.weights)
        if best is None or value > best[0]:
            best = (value, labels)
    assert best is not None
    return best[1]


def _explained(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """n/2 log(|T| / |W|) + sum_k n_k log(n_k / n), with a little on the diagonals."""
    n = weights.sum()
    Z = values - (weights @ values) / n
    member = (labels == np.arange(labels.max() + 1)[:, None]) * weights
    sizes = member.sum(axis=1)
    means = member @ Z / sizes[:, None]
    total = (Z.T * weights) @ Z / n
    total[np.diag_indices(len(total))] += 1e-6 * np.trace(total) / len(total)
    within = total - (means.T * (sizes / n)) @ means
    gain = np.linalg.slogdet(total)[1] - np.linalg.slogdet(within)[1]
    return float(n / 2 * gain + (sizes * np.log(sizes / n)).sum())


def _halves(plan: Plan, data: Data, store: Store, bar, evidence: Evidence) -> Iterator[tuple[int, Halves]]:
    rng = check_random_state(plan.seed)
    splits = halves_of(len(data.values), plan.n_splits, rng)
    numbers = evidence.usable
    cells = [(K, i) for K in sorted(numbers, reverse=True) for i in range(plan.n_splits)]
    bar.add(len(cells))
    tasks = [(_single(plan), evidence.best(K), splits[i], plan.seed + i) for K, i in cells]
    records: dict[int, dict[int, dict]] = {K: {} for K in numbers}
    for done, record in run_tasks(partial(_without_model, data, store), tasks, plan.n_jobs):
        K, i = cells[done]
        records[K][i] = record
        bar.step(f"halves of the rows, K={K}")
        if len(records[K]) == plan.n_splits:
            ordered = [records[K][i] for i in range(plan.n_splits)]
            yield K, Halves(*(np.array([r[name] for r in ordered], float) for name in ("agreement", "strength")))


def _without_model(data: Data, store: Store, estimator, candidate: Candidate, halves, seed: int) -> dict:
    return half_record(data, store, estimator, Candidate(**(vars(candidate) | {"model": None})), halves, seed)
