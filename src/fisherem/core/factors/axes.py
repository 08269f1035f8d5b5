"""Leading axes of the groups' covariances, from which mixtures of factor models start.

With few variables the covariances are computed and decomposed. With many only their products with q + 8 random
directions are (Halko, Martinsson & Tropp 2011), in three passes over the rows and without a p x p matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...rows.base import States
from ..data.kernels import column_moments
from ..data.problem import Problem
from .moments import AroundMeans, group_products

__all__ = [
    "FEW_VARIABLES", "GroupMoments", "Leading", "column_variances", "group_moments", "in_variables", "leading",
    "symmetric", "total_axes",
]  # fmt: skip

# Up to this number of variables the groups' covariances are computed. K p^2 operations per row cost more than K q p
# from about twice as many variables on, but their eigenvectors save hundreds of iterations.
FEW_VARIABLES = 64
# Additional random directions, and passes of subspace iteration.
_MORE, _TURNS = 8, 2
# Variances below this share of the total variance are rounding errors.
_ROUNDING = 1e-12
# Subspace iterations for the covariance of all rows, which need no pass.
_TOTAL_TURNS = 8


def in_variables(problem: Problem) -> Problem:
    """The same problem with rows of p variables instead of coordinates in their row space."""
    if problem.rows is problem.given:
        return problem
    rows = problem.given
    states = rows.states()
    rows.fold(column_moments, states, False)
    return replace(problem, rows=rows, states=states, mean=np.broadcast_to(problem.shift, (problem.p,)), shift=0.0)


def column_variances(problem: Problem) -> np.ndarray:
    """Variances (p) of the columns; constant columns get the mean variance, so that all have a unit."""
    variances = np.asarray(problem.scatter.variances(), float)
    return np.where(problem.constant | (variances <= 0), variances[~problem.constant].mean(), variances)


@dataclass(frozen=True)
class GroupMoments:
    """Weights (K), means (K x p) and variances (K x p) of the groups; covariances if there are few variables."""

    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    covariances: np.ndarray | None

    @property
    def proportions(self) -> np.ndarray:
        """Shares of the groups (K)."""
        return self.weights / self.weights.sum()


def group_moments(problem: Problem, states: States) -> GroupMoments | None:
    """Moments of the groups of the posteriors in the states; None if a group is empty."""
    sums = problem.group_sums(states)
    if (sums.weights <= 0).any():
        return None
    means, p = sums.sums / sums.weights[:, None], problem.p
    few = p <= FEW_VARIABLES
    none = AroundMeans(means, np.zeros((len(means), 0, p)))
    products = problem.rows.fold(group_products, states, AroundMeans.whole_covariances(means) if few else none)
    if not few:
        return GroupMoments(sums.weights, means, products.variances(sums.weights, means), None)
    covariances = symmetric(products.along(sums.weights, means))
    return GroupMoments(sums.weights, means, np.einsum("kjj->kj", covariances), covariances)


def symmetric(matrices: np.ndarray) -> np.ndarray:
    """(M + M') / 2 of each matrix."""
    return (matrices + matrices.transpose(0, 2, 1)) / 2


@dataclass(frozen=True)
class Leading:
    """Eigenvalues (K x c), largest first, and eigenvectors (K x p x c) of the groups' covariances in a unit."""

    values: np.ndarray
    vectors: np.ndarray
    totals: np.ndarray  # traces (K)


def leading(
    problem: Problem, states: States, moments: GroupMoments, c: int, unit: np.ndarray, *, pooled: bool = False
) -> Leading:
    """The c leading axes of S^-1 C_k S^-1 with S = diag(unit) (p), or of the pooled covariance for every group."""
    shares = moments.proportions
    totals = (moments.variances / unit**2).sum(axis=1)
    if pooled:
        totals = np.broadcast_to(shares @ totals, totals.shape)
    if moments.covariances is not None:
        scaled = moments.covariances / (unit[:, None] * unit)
        if pooled:
            scaled = np.tensordot(shares, scaled, 1)[None]
        values, vectors = np.linalg.eigh(scaled)
        values, vectors = values[:, ::-1][:, :c], vectors[:, :, ::-1][:, :, :c]
    else:
        values, vectors = _random_axes(problem, states, moments, c, unit, pooled)
    K = len(shares)
    # a group of few distinct rows has fewer axes: set the eigenvalues of the others, which are rounding errors, to 0
    values = np.broadcast_to(values, (K, c))
    values = np.where(values > _ROUNDING * totals[:, None], values, 0.0)
    return Leading(values, np.broadcast_to(vectors, (K, problem.p, c)), totals)


def _random_axes(problem: Problem, states: States, moments: GroupMoments, c: int, unit: np.ndarray, pooled: bool):
    shares = moments.proportions

    def times(basis: np.ndarray) -> np.ndarray:
        """The scaled covariances times the basis (K x p x c)."""
        placing = AroundMeans(moments.means, (basis / unit[:, None]).transpose(0, 2, 1))
        products = problem.rows.fold(group_products, states, placing).along(moments.weights, moments.means)
        out = products / unit[:, None]
        return np.broadcast_to(np.tensordot(shares, out, 1), out.shape) if pooled else out

    K, p = moments.means.shape
    return _leading_of(times, K, p, c, _TURNS)


def _leading_of(times: Callable[[np.ndarray], np.ndarray], K: int, p: int, c: int, turns: int):
    """(values (K x c), vectors (K x p x c)) of K matrices given by their products with a basis."""
    start = np.random.default_rng(0).normal(size=(p, min(p, c + _MORE)))
    basis = np.broadcast_to(start, (K, *start.shape))
    for _ in range(turns):
        basis = np.linalg.qr(times(basis))[0]
    values, turn = np.linalg.eigh(symmetric(basis.transpose(0, 2, 1) @ times(basis)))
    return values[:, ::-1][:, :c], (basis @ turn)[:, :, ::-1][:, :, :c]


def total_axes(problem: Problem, c: int, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(values (c), vectors (p x c)) of S^-1 T S^-1, T the covariance of all rows and S = diag(unit) (p)."""
    everything, gram = np.arange(problem.p), problem.scatter.gram

    def times(basis: np.ndarray) -> np.ndarray:
        return (gram.times(everything, basis[0] / unit[:, None]) / unit[:, None])[None]

    values, vectors = _leading_of(times, 1, problem.p, c, _TOTAL_TURNS)
    return np.maximum(values[0], 0), vectors[0]
