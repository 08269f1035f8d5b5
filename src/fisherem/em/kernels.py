"""Kernels: what one block of rows contributes to a step. Every result is a monoid (merge with +).

Shapes: a block of m centred rows (m x r); K groups; d axes. Rows stand along the *last* axis of what is kept per row,
so that reductions over groups run over contiguous memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..rows.blocks import Block, BlockState, Sized, kernel

__all__ = [
    "ColumnMoments",
    "Expectation",
    "GroupSums",
    "LatentMoments",
    "NoiseMoments",
    "Projection",
    "begin",
    "column_moments",
    "coordinates",
    "describe",
    "expect",
    "group_sums",
    "latent_moments",
    "noise_moments",
    "place",
    "project",
    "split_group",
    "varying_columns",
]


class Mergeable(Sized):
    """A dataclass of sums: merging two adds them field by field."""

    def __add__(self, other):
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(getattr(self, n) + getattr(other, n) for n in names))


@dataclass
class ColumnMoments(Mergeable):
    weight: float  # sum_i w[i]
    sums: np.ndarray  # sums[j] = sum_i w[i] y[i, j]
    cross: np.ndarray  # cross[j, l] = sum_i w[i] y[i, j] y[i, l], or 0 when not asked for


@kernel(reads=("weights",), writes=("squared_norms",))
def column_moments(block: Block, state: BlockState, with_cross: bool) -> ColumnMoments:
    """Weighted sums and cross-products of the rows; the rows' squared norms are kept in the state."""
    weights = np.ones(len(block)) if state.weights is None else state.weights
    state.squared_norms = block.squared_norms()
    cross = block.cross(state.weights) if with_cross else np.zeros(1)
    return ColumnMoments(float(weights.sum()), block.sums(weights[None])[0], cross)


@kernel(reads=("start",), writes=("posteriors",), drops=("start",))
def begin(block: Block | None, state: BlockState, n_clusters: int) -> int:
    """Posteriors from the labels (m,) or posteriors (K, m) that were given to begin with."""
    given, state.start = state.start, None
    if given.ndim == 1:
        state.posteriors = (given == np.arange(n_clusters)[:, None]).astype(float)
    else:
        state.posteriors = np.ascontiguousarray(given)
    return 0


@dataclass
class GroupSums(Mergeable):
    weights: np.ndarray  # weights[k] = n_k = sum_i w[i] t[i, k]
    sums: np.ndarray  # sums[k, j] = sum_i w[i] t[i, k] y[i, j]


@kernel(reads=("weights", "posteriors"))
def group_sums(block: Block, state: BlockState) -> GroupSums:
    """T'Y and the group weights, all that an F-step needs of the rows."""
    weighted = state.posteriors if state.weights is None else state.posteriors * state.weights
    return GroupSums(weighted.sum(axis=1), block.sums(weighted))


@dataclass(frozen=True)
class Projection(Sized):
    """What the rows need to know of the new axes and means (in the rows' coordinates)."""

    latent_means: np.ndarray  # mu, K x d
    matrix: np.ndarray  # (d + K) x r: the axes, then q_k = m_k - U mu_k, the part of each mean outside the axes
    offsets: np.ndarray  # |m_k|^2 - |mu_k|^2

    @classmethod
    def of(cls, axes: np.ndarray, means: np.ndarray, squared_norms: np.ndarray | None = None) -> Projection:
        """`squared_norms` of the means, for means that do not lie in the space of the rows' coordinates."""
        latent = means @ axes
        if squared_norms is None:
            squared_norms = np.einsum("kj,kj->k", means, means)
        return cls(
            latent,
            np.concatenate([axes.T, means - latent @ axes.T]),
            squared_norms - np.einsum("kj,kj->k", latent, latent),
        )


@dataclass
class LatentMoments(Mergeable):
    covariances: np.ndarray  # out[k] = sum_i w[i] t[i, k] (x[i] - mu_k)(x[i] - mu_k)'  = n_k U'C_kU
    noises: np.ndarray  # out[k] = sum_i w[i] t[i, k] |Q (y[i] - m_k)|^2  = n_k (trace C_k - trace U'C_kU)


@kernel(reads=("squared_norms",), writes=("projected", "residuals"))
def coordinates(block: Block, state: BlockState, projection: Projection) -> int:
    """Coordinates in the latent space and squared distances outside it.

    |Q(y - m_k)|^2 = (|y|^2 - |x|^2) - 2 y'q_k + (|m_k|^2 - |mu_k|^2) with Q = I - UU': the differences are between
    quantities outside the discriminative subspace, where the means nearly agree, so little cancels.
    """
    d = projection.latent_means.shape[1]
    product = block.times(projection.matrix)
    x = product[:d]
    outside = state.squared_norms - np.einsum("dm,dm->m", x, x)
    residuals = product[d:]
    residuals *= -2
    residuals += outside
    residuals += projection.offsets[:, None]
    np.maximum(residuals, 0, out=residuals)
    state.projected, state.residuals = x, residuals
    return 0


@kernel(reads=("weights", "posteriors", "projected", "residuals"), drops=("posteriors",), rows=False)
def latent_moments(block: Block | None, state: BlockState, projection: Projection) -> LatentMoments | int:
    """Weighted moments per group of the kept coordinates and distances."""
    if state.posteriors is None:  # new data: nothing to estimate
        return 0
    x, d = state.projected, len(state.projected)
    weighted = state.posteriors if state.weights is None else state.posteriors * state.weights
    covariances = np.empty((len(weighted), d, d))
    for k, (t, mu) in enumerate(zip(weighted, projection.latent_means, strict=True)):
        centred = x - mu[:, None]
        covariances[k] = (centred * t) @ centred.T
    return LatentMoments(covariances, np.einsum("km,km->k", weighted, state.residuals))


@kernel(
    reads=("weights", "squared_norms", "posteriors"),
    writes=("projected", "residuals"),
    drops=("posteriors",),
    parts=(coordinates, latent_moments),
)
def project(block: Block, state: BlockState, projection: Projection) -> LatentMoments | int:
    """The rows' place with respect to new axes and means, and its moments per group."""
    coordinates(block, state, projection)
    return latent_moments(block, state, projection)


@dataclass
class NoiseMoments(Mergeable):
    weights: np.ndarray  # n_k
    first: np.ndarray  # out[k] = sum_i w[i] t[i, k] r[i, k] with r[i, k] = |Q (y[i] - m_k)|^2
    second: np.ndarray  # out[k] = sum_i w[i] t[i, k] r[i, k]^2


@kernel(reads=("weights", "squared_norms", "posteriors"))
def noise_moments(block: Block, state: BlockState, projection: Projection) -> NoiseMoments:
    """How far the rows of each group lie outside the latent space, and how much that varies."""
    coordinates(block, state, projection)
    residuals, state.projected, state.residuals = state.residuals, None, None
    weighted = state.posteriors if state.weights is None else state.posteriors * state.weights
    parts = weighted * residuals
    return NoiseMoments(weighted.sum(axis=1), parts.sum(axis=1), np.einsum("km,km->k", parts, residuals))


@dataclass
class Expectation(Mergeable):
    log_likelihood: float  # sum_i w[i] log f(y[i])
    entropy: float  # -sum_ik w[i] t[i, k] log t[i, k]
    weights: np.ndarray  # as in GroupSums
    sums: np.ndarray


@kernel(
    reads=("weights", "projected", "residuals", "log_prior"),
    writes=("posteriors", "log_density"),
    drops=("projected", "residuals"),
)
def expect(block: Block | None, state: BlockState, parameters) -> Expectation:
    """E-step (eq. 5) in the log domain from the kept coordinates, and T'Y for the next F-step in the same visit.

    With `block` None (nothing read) the sums stay 0. A prior over the rows has put its part into the state.
    """
    log_joint = parameters.log_joint(state.projected, state.residuals)
    if state.log_prior is not None:
        log_joint += state.log_prior
    highest = log_joint.max(axis=0)
    log_joint -= highest
    posteriors = np.exp(log_joint)
    total = posteriors.sum(axis=0)
    posteriors /= total
    log_total = np.log(total)
    # log t = log_joint - log_total; where t underflows to 0 the product is 0, as it should be
    entropies = log_total - np.einsum("km,km->m", posteriors, log_joint)
    state.posteriors = posteriors
    state.log_density = log_density = highest + log_total
    if state.weights is None:
        log_likelihood, entropy = log_density.sum(), entropies.sum()
    else:
        log_likelihood, entropy = state.weights @ log_density, state.weights @ entropies
    if block is None:
        return Expectation(float(log_likelihood), float(entropy), np.zeros(1), np.zeros(1))
    sums = group_sums(block, state)
    return Expectation(float(log_likelihood), float(entropy), sums.weights, sums.sums)


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
    """out[j] > 0 where some row that counts differs from `first` in column columns[j]. The rows' centre must be 0."""
    counts = np.zeros(len(columns), int)
    for position, tile in block.tiles():
        differs = tile[:, columns] != first
        if state.weights is not None:
            differs &= state.weights[position, None] > 0
        counts += differs.any(axis=0)
    return counts


@kernel(reads=("weights",), writes=("posteriors", "log_density"))
def describe(block: Block, state: BlockState, projection: Projection, parameters, keep: str) -> Expectation:
    """All that a fitted model says of new rows, in one visit; of it only the attribute `keep` stays in the state."""
    state.squared_norms = block.squared_norms()
    coordinates(block, state, projection)
    sums = expect(None, state, parameters)
    for field in fields(state):
        if field.name not in (keep, "first", "weights"):
            setattr(state, field.name, None)
    return sums


@kernel(writes=("projected",))
def place(block: Block, state: BlockState, axes: np.ndarray) -> int:
    """The rows' coordinates on the axes (p x d), nothing else."""
    state.projected = block.times(axes.T)
    return 0
