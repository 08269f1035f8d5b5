"""F- and M-steps of several runs at once: the small algebra of all of them as stacks (S x ...).

For runs with dense axes, a spherical noise and means inside the axes, which is how starts are compared. Each run gets
what it would get alone, to rounding. Where a stack cannot be worked on as a whole (one run has lost the rank of its
means, say), the answer is None, and the caller does one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .f_step.between import Between
from .f_step.dense import RANK_TOLERANCE, svd
from .f_step.step import Axes, FStep
from .m_step import LatentParameters, floored
from .projection import LatentMeans

__all__ = ["can_batch", "place_several", "update_several"]


def can_batch(steps: Sequence[Any]) -> bool:
    """Whether these `DLMStep`s can be done as one stack."""
    shape = (steps[0].family.n_clusters, steps[0].family.d)
    return shape[1] > 0 and all(_plain(step) and shape == (step.family.n_clusters, step.family.d) for step in steps)


def _plain(step: Any) -> bool:
    f_step = step.f_step
    dense = isinstance(f_step, FStep) and f_step.method is None and f_step.discriminant == svd.__name__
    return dense and step.metric is None and step.overall is not None


def place_several(steps: Sequence[Any], sums: Sequence[Any]) -> list[LatentMeans] | None:
    """The F-steps of all runs, each of which keeps its means, axes and S_B."""
    d, mean = steps[0].family.d, steps[0].problem.mean
    weights = np.stack([one.weights for one in sums])  # S x K
    means = np.stack([one.sums for one in sums]) / weights[:, :, None]  # S x K x r
    share = np.sqrt(weights / weights.sum(axis=1, keepdims=True))
    H = (means - mean) * share[:, :, None]  # transposed: S x K x r
    betweens = [Between(own.T, step.problem.scatter) for own, step in zip(H, steps, strict=True)]
    solved = np.stack([between.solved for between in betweens])  # S x r x K
    M = H @ solved
    values = np.linalg.eigvalsh((M + M.transpose(0, 2, 1)) / 2)[:, ::-1][:, :d]
    ranks_kept = (values > RANK_TOLERANCE * np.maximum(values[:, :1], 0)).all()
    if solved.shape[2] != d + 1 or not ranks_kept:  # fewer axes than the rank: `svd` finds the best span first
        return None
    q, r = np.linalg.qr(solved)
    axes = q @ np.linalg.svd(r @ H, full_matrices=False)[0][:, :, :d]  # S x r x d
    placings = []
    for step, own, centres, latent, between in zip(steps, axes, means, means @ axes, betweens, strict=True):
        step.means, step.between, step.axes = centres, between, Axes(own)
        placings.append(LatentMeans.of(own, latent, step.overall))
    return placings


def update_several(steps: Sequence[Any], sums: Sequence[Any], placings: Sequence[LatentMeans], moments: Sequence[Any]):
    """(densities, Fisher's criteria) of the M-steps of all runs: eqs (8)-(12) and (6)."""
    S, K, d = len(steps), steps[0].family.n_clusters, steps[0].axes.d
    p, n = steps[0].problem.p, steps[0].problem.weight
    weights = np.stack([one.weights for one in sums])
    proportions = weights / weights.sum(axis=1, keepdims=True)
    sampled = np.stack([one.covariances for one in moments])  # n_k U'C_kU, S x K x d x d
    shapes = [step.family.model for step in steps]
    covariances = [
        shape.covariance.constrain(own / w[:, None, None], share)
        for shape, own, w, share in zip(shapes, sampled, weights, proportions, strict=True)
    ]
    noises = np.stack(
        [
            shape.noise.constrain(one.noises / w / (p - d), share)
            for shape, one, w, share in zip(shapes, moments, weights, proportions, strict=True)
        ]
    )
    floors = np.array([step.floor for step in steps])[:, None]
    raised, counts, factors = floored(np.concatenate(covariances), np.repeat(floors[:, 0], K))
    n_floored = counts.reshape(S, K).sum(axis=1) + (noises < floors).sum(axis=1)
    noises = np.maximum(noises, floors)
    densities = []
    for i, placing in enumerate(placings):
        own = slice(i * K, (i + 1) * K)
        halves = None if factors is None else (factors[0][own], factors[1][own])
        latent, low = placing.latent_means, int(n_floored[i])
        densities.append(LatentParameters.of(proportions[i], latent, raised[own], noises[i], p, low, 0.0, halves))
    return densities, _fisher_criteria(steps, placings, sampled.sum(axis=1) / n, weights / n)


def _fisher_criteria(steps, placings, within: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """trace((U'SU)^-1 U'S_BU) of each run; U'SU is within (S x d x d) plus between plus the ridge."""
    axes = np.stack([step.axes.rows for step in steps])
    mean = steps[0].problem.mean
    centred = np.stack([placing.latent_means for placing in placings]) - (mean @ axes)[:, None]
    between = np.einsum("sk,ska,skb->sab", shares, centred, centred)
    ridges = np.array([step.problem.inverted.ridge for step in steps])[:, None, None]
    projected = axes.transpose(0, 2, 1) @ np.stack([step.between.H for step in steps])
    total = within + between + ridges * np.eye(within.shape[1])
    return np.trace(np.linalg.solve(total, projected @ projected.transpose(0, 2, 1)), axis1=1, axis2=2)
