"""Kernels: the contribution of one block of rows to a step. Results of blocks are merged with +.

Shapes: a block of m centred rows (m x r); K groups; d axes. In what is kept per row the rows are along the *last* axis,
so that reductions over groups run over contiguous memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...rows.blocks import Block, BlockState, Sized, kernel, several

__all__ = [
    "ColumnMoments", "Expectation", "GroupSums", "Mergeable", "Nothing", "Spread", "begin", "column_moments",
    "describe", "expect", "group_sums", "measure", "measure_rows", "place", "project", "row_weights", "split_group",
    "spread_of_rows", "spread_within", "varying_columns", "weighted_posteriors",
]  # fmt: skip


class Mergeable(Sized):
    """A dataclass of sums that are added field by field."""

    def __add__(self, other):
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))  # type: ignore[arg-type]


class Nothing:
    """The result of a kernel that only writes to the state."""

    def __add__(self, other: Nothing) -> Nothing:
        return self


def weighted_posteriors(state: BlockState) -> np.ndarray:
    """out[k, i] = w[i] t[i, k]"""
    return state.posteriors if state.weights is None else state.posteriors * state.weights


def row_weights(state: BlockState, m: int) -> np.ndarray:
    """w[i], 1 without weights."""
    return np.ones(m) if state.weights is None else state.weights


@dataclass
class ColumnMoments(Mergeable):
    """First and second moments of the columns."""

    weight: float  # sum_i w[i]
    sums: np.ndarray  # sums[j] = sum_i w[i] y[i, j]
    cross: np.ndarray  # cross[j, l] = sum_i w[i] y[i, j] y[i, l], or 0 if not requested


@kernel(reads=("weights",), writes=("squared_norms",))
def column_moments(block: Block, state: BlockState, with_cross: bool) -> ColumnMoments:
    """Weighted sums and cross-products of the rows; the rows' squared norms are kept in the state."""
    weights = row_weights(state, len(block))
    state.squared_norms = block.squared_norms()
    cross = block.cross(state.weights) if with_cross else np.zeros(1)
    return ColumnMoments(float(weights.sum()), block.sums(weights[None])[0], cross)


@kernel(reads=("start",), writes=("posteriors",), drops=("start",))
def begin(block: Block | None, state: BlockState, n_clusters: int) -> Nothing:
    """Posteriors from the labels (m,) or posteriors (K, m) in `state.start`."""
    given, state.start = state.start, None
    if given.ndim == 1:
        state.posteriors = (given == np.arange(n_clusters)[:, None]).astype(float)
    else:
        state.posteriors = np.ascontiguousarray(given)
    return Nothing()


@dataclass
class GroupSums(Mergeable):
    """The statistics of the rows that an F-step needs."""

    weights: np.ndarray  # weights[k] = n_k = sum_i w[i] t[i, k]
    sums: np.ndarray  # sums[k, j] = sum_i w[i] t[i, k] y[i, j]


@kernel(reads=("weights", "posteriors"))
def group_sums(block: Block, state: BlockState) -> GroupSums:
    """T'Y and the group weights."""
    weighted = weighted_posteriors(state)
    return GroupSums(weighted.sum(axis=1), block.sums(weighted))


@kernel(reads=("squared_norms", "metric_norms"), writes=("placed",))
def place(block: Block, state: BlockState, placing) -> Nothing:
    """Apply a `Placing` to the rows. Writes to the state; no reduction."""
    placing.place(block, state)
    return Nothing()


@kernel(reads=("weights", "posteriors", "placed"), drops=("posteriors",), rows=False)
def moments_of_placed(block: Block | None, state: BlockState, placing) -> Any:
    """The moments per group of `state.placed`."""
    return placing.moments(None, state)


@kernel(
    reads=("weights", "squared_norms", "metric_norms", "posteriors"),
    writes=("placed",),
    drops=("posteriors",),
    parts=(place, moments_of_placed),
)
def measure(block: Block, state: BlockState, placing) -> Any:
    """Place the rows and compute the moments per group."""
    placing.place(block, state)
    return placing.moments(None, state)


@several(place)
def place_several(block: Block, states: list[BlockState], args: list[tuple]) -> list[Nothing]:
    """Several placings by one product with the rows, if each is defined by a matrix."""
    placings = [own[0] for own in args]
    if any(getattr(placing, "matrix", None) is None for placing in placings):
        return [place(block, state, placing) for state, placing in zip(states, placings, strict=True)]
    products = block.times(np.concatenate([placing.matrix for placing in placings]))
    first = 0
    for state, placing in zip(states, placings, strict=True):
        last = first + len(placing.matrix)
        state.placed = placing.finish(products[first:last], state)
        first = last
    return [Nothing() for _ in states]


@several(measure)
def measure_several(block: Block, states: list[BlockState], args: list[tuple]) -> list[Any]:
    """Place the rows for several fits, and compute the moments of each."""
    place_several(block, states, args)
    return [placing.moments(None, state) for state, (placing,) in zip(states, args, strict=True)]


@kernel(reads=("weights", "squared_norms", "posteriors"), drops=("posteriors",))
def measure_rows(block: Block, state: BlockState, placing) -> Any:
    """The moments per group of the rows themselves; writes nothing to the state."""
    return placing.moments(block, state)


@dataclass
class Spread(Mergeable):
    """Moments of the rows' squared distances from the mean of their group."""

    weight: float  # sum_i w[i]
    first: float  # sum_i w[i] q[i] with q[i] = |y[i] - m_label(i)|^2
    second: float  # sum_i w[i] q[i]^2


@kernel(reads=("weights", "posteriors"))
def spread_within(block: Block, state: BlockState, matrix: np.ndarray, means: np.ndarray) -> Spread:
    """Squared distances of the values matrix @ y (c) from their group's mean (K x c), by the most probable group."""
    values = block.times(matrix) - means[state.posteriors.argmax(axis=0)].T
    return _spread(np.einsum("cm,cm->m", values, values), state)


def _spread(q: np.ndarray, state: BlockState) -> Spread:
    w = row_weights(state, len(q))
    return Spread(float(w.sum()), float(w @ q), float(w @ q**2))


@kernel(reads=("weights", "posteriors", "squared_norms", "metric_norms"))
def spread_of_rows(block: Block, state: BlockState, means: np.ndarray, solved: np.ndarray | None = None) -> Spread:
    """The same for whole rows (means K x r), from their norms and K products.

    In the metric of a noise with factors, `solved` is N^-1 m_k.
    """
    labels = state.posteriors.argmax(axis=0)
    norms = state.squared_norms if solved is None else state.metric_norms
    solved = means if solved is None else solved
    products = np.take_along_axis(block.times(solved), labels[None], axis=0)[0]
    return _spread(np.maximum(norms - 2 * products + np.einsum("kj,kj->k", means, solved)[labels], 0), state)


@dataclass
class Expectation(Mergeable):
    """The sums of an E-step: the likelihood, the entropy, and T'Y for the next iteration."""

    log_likelihood: float  # sum_i w[i] log f(y[i])
    entropy: float  # -sum_ik w[i] t[i, k] log t[i, k]
    weights: np.ndarray  # as in GroupSums
    sums: np.ndarray


def normalised(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(posteriors (K x m), h, l (m)) of log joint densities (K x m), whose log-sum is h + l; h is taken from them."""
    highest = log_joint.max(axis=0)
    log_joint -= highest
    posteriors = np.exp(log_joint)
    total = posteriors.sum(axis=0)
    posteriors /= total
    return posteriors, highest, np.log(total)


@kernel(reads=("weights", "placed", "log_prior"), writes=("posteriors", "log_density"), drops=("placed",))
def expect(block: Block | None, state: BlockState, density) -> Expectation:
    """E-step (eq. 5) in the log domain from the placed rows, and T'Y for the next iteration.

    With `block` None (no rows read) the sums are 0. A prior over the rows is in `state.log_prior`.
    """
    log_joint = density.log_joint(block, state)
    if state.log_prior is not None:
        log_joint += state.log_prior
    posteriors, highest, log_total = normalised(log_joint)
    state.posteriors = posteriors
    highest += log_total
    if (common := density.log_common(state)) is not None:
        highest += common
    state.log_density = highest
    # the entropy is -sum t log t with log t = log_joint - log_total; the product is 0 where t underflows
    if state.weights is None:
        weighted = posteriors
        log_likelihood, entropy = highest.sum(), log_total.sum()
    else:
        weighted = posteriors * state.weights
        log_likelihood, entropy = state.weights @ highest, state.weights @ log_total
    entropy -= np.vdot(weighted, log_joint)
    if block is None:
        return Expectation(float(log_likelihood), float(entropy), np.zeros(1), np.zeros(1))
    return Expectation(float(log_likelihood), float(entropy), weighted.sum(axis=1), block.sums(weighted))


@several(expect)
def expect_several(block: Block | None, states: list[BlockState], args: list[tuple]) -> list[Expectation]:
    """The E-steps of several fits, with T'Y of all by one product."""
    densities = [own[0] for own in args]
    if block is None or any(density.needs_rows for density in densities):
        return [expect(block, state, density) for state, density in zip(states, densities, strict=True)]
    found = [expect(None, state, density) for state, density in zip(states, densities, strict=True)]
    weighted = [s.posteriors if s.weights is None else s.posteriors * s.weights for s in states]
    sums = block.sums(np.concatenate(weighted))
    first = 0
    for i, own in enumerate(weighted):
        last = first + len(own)
        found[i] = Expectation(found[i].log_likelihood, found[i].entropy, own.sum(axis=1), sums[first:last])
        first = last
    return found


@kernel(reads=("weights", "posteriors"), writes=("posteriors",))
def split_group(block: Block, state: BlockState, source: int, target: int, direction, threshold) -> GroupSums:
    """Give group `target` the rows of group `source` with sum_j direction[j] y[i, j] > threshold."""
    ahead = block.times(direction[None])[0] > threshold
    posteriors = state.posteriors.copy()
    posteriors[target, ahead] += posteriors[source, ahead]
    posteriors[source, ahead] = 0
    state.posteriors = posteriors
    return group_sums(block, state)


@kernel(reads=("weights",))
def varying_columns(block: Block, state: BlockState, first: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """out[j] > 0 if a row of positive weight differs from `first` in column columns[j]. The rows' centre must be 0."""
    counts = np.zeros(len(columns), int)
    for position, tile in block.tiles():
        differs = tile[:, columns] != first
        if state.weights is not None:
            differs &= state.weights[position, None] > 0
        counts += differs.any(axis=0)
    return counts


@kernel(reads=("weights", "squared_norms", "log_prior"), writes=("posteriors", "log_density", "placed"))
def describe(block: Block, state: BlockState, placing, density, keep: tuple[str, ...]) -> Expectation:
    """Place rows and evaluate their densities in one pass. Only the attributes `keep` stay in the state."""
    if state.squared_norms is None:
        state.squared_norms = block.squared_norms()
    if placing.metric is not None:  # the state may hold the norms of another metric
        state.metric_norms = placing.metric.norms(block, state.squared_norms)
    placing.place(block, state)
    sums = expect(block if density.needs_rows else None, state, density)
    for name in ("posteriors", "log_density", "placed"):
        if name not in keep:
            setattr(state, name, None)
    return sums


@kernel(writes=("placed",))
def project(block: Block, state: BlockState, axes: np.ndarray) -> Nothing:
    """The rows' coordinates on the axes (p x d)."""
    state.placed = block.times(axes.T)
    return Nothing()
