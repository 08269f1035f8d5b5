"""The ridge and the number of axes, chosen from the partition that a run starts from, once per run.

They matter because with the means inside the axes nothing outside them corrects axes that follow the noise of S.

*Ridge.* The span of S^-1 H is that of W^-1 H, with W the covariance within the groups, so a ridge on S shrinks W
towards a multiple of the identity. The amount follows Ledoit & Wolf (2004): with the squared distances
q_i = |y_i - m_label(i)|^2,

    intensity = (mean q^2 - |W|_F^2) / n / (|W|_F^2 - (trace W)^2 / p)      at most 1
    ridge = intensity / (1 - intensity) trace W / p

It is 7 to 10 mean variances on the paper's simulation, where W is spherical, and 0.001 to 0.2 on real tables. No fixed
ridge suits both (docs/departures.md).

*Axes.* The eigenvalues lambda_j of H'(W + ridge)^-1 H measure the separation along the axes. For groups that do not
differ they are about trace(W (W + ridge)^-1) / (n - K). Axes below a multiple of that, which the caller gives, are
dropped; three means on a line, for example, have one axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...rows.base import States
from ..data.kernels import Spread, spread_of_rows, spread_within
from ..data.problem import Problem
from ..data.scatter import Scatter
from .f_step.step import Between

__all__ = ["GroupMeans", "automatic_ridge", "inverted_between", "noise_covariance", "useful_axes"]

# Limits of the ridge as a share of the mean variance: below the first S may be singular in floating point, and above
# the second the axes are those of H itself.
_LEAST_RIDGE, _MOST_RIDGE = 1e-3, 10.0
# Keeps a covariance inside the axes invertible if some direction has no variance.
_TINY = 1e-12
# The weight of an empty group where a division needs one.
_LEAST_WEIGHT = np.finfo(float).tiny


@dataclass(frozen=True)
class GroupMeans:
    """The weights (K) and means (K x r) of groups; an empty group has the mean 0."""

    weights: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, problem: Problem, states: States) -> GroupMeans:
        """The groups of the posteriors in the states, by a pass over the rows."""
        sums = problem.group_sums(states)
        return cls(sums.weights, sums.sums / np.maximum(sums.weights, _LEAST_WEIGHT)[:, None])

    @property
    def whole(self) -> bool:
        """Whether every group has rows."""
        return bool((self.weights > 0).all())

    def between(self, problem: Problem) -> Between:
        """S_B in factors."""
        return Between.of(np.maximum(self.weights, _LEAST_WEIGHT), self.means, problem.mean, problem.scatter)

    def inverted_between(self, problem: Problem) -> Between:
        """The same for a dense F-step: in the metric of the noise, if it has factors."""
        return inverted_between(problem, np.maximum(self.weights, _LEAST_WEIGHT), self.means)


def inverted_between(problem: Problem, weights: np.ndarray, means: np.ndarray) -> Between:
    """S_B of groups with these weights (K) and means (K x r) for a dense F-step."""
    metric = problem.metric
    if metric is None:
        return Between.of(weights, means, problem.mean, problem.scatter)
    turned = metric.half_solve(np.vstack([means, problem.mean]).T).T
    return Between.of(weights, turned[:-1], turned[-1], problem.inverted)


def noise_covariance(problem: Problem, H: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The covariance within the groups (r x r) with the variance inside the axes (r x d) replaced by that outside.

    Inside the axes the groups have their own covariances, which must not appear as factors of the noise. With
    R = W U (U'WU)^-1, the regression of a row on its coordinates x = U'y, W + R (v I - U'WU) R' implies the same
    distribution of the row given x, and inside the axes the variance v, the mean variance of the rest.
    """
    W = problem.scatter.covariance() - H @ H.T
    d = axes.shape[1]
    if not d:
        return W
    inside = axes.T @ W @ axes
    # a variable with one value per group has no variance inside the axes except for rounding
    least = _TINY * max(float(np.trace(inside)) / d, problem.floor_unit)
    R = np.linalg.solve(inside + least * np.eye(d), axes.T @ W).T
    level = max(float(np.trace(W) - (R * (W @ axes)).sum()), 0.0) / max(problem.n_varying - d, 1)
    return W + R @ (level * np.eye(d) - inside) @ R.T


def automatic_ridge(problem: Problem, states: States, groups: GroupMeans, support: np.ndarray | None = None) -> float:
    """The ridge for these groups, as a share of the mean variance of all variables, or of those in `support`.

    For all variables it is in the metric of the noise, if that has factors.
    """
    scatter, metric, means = problem.scatter, problem.metric, groups.means
    if support is None:
        scatter, H = problem.inverted, groups.inverted_between(problem).H
        solved = None if metric is None else metric.solve(means.T).T
        spread = problem.rows.fold(spread_of_rows, states, means, solved)
        # constant columns lower the mean variance, but must not affect the ridge
        p = problem.n_varying
        unit = scatter.p / p
        total, norm = scatter.mean_variance * scatter.p, scatter.squared_norm()
        SH = scatter.times(H) - scatter.ridge * H
    else:
        matrix = scatter.to_rows(_unit_columns(scatter.p, support)).T
        spread = problem.rows.fold(spread_within, states, matrix, means @ matrix.T)
        H, block = matrix @ groups.between(problem).H, scatter.block(support)
        p, unit = len(support), 1.0
        total, norm, SH = float(np.trace(block)), float((block**2).sum()), block @ H
    if problem.gaps is not None:
        spread = _with_hidden(spread, total - float((H**2).sum()))
    within_norm = norm - 2 * float((H * SH).sum()) + float(((H.T @ H) ** 2).sum())
    return unit * _ledoit_wolf(spread, within_norm, total, p)


def _with_hidden(spread: Spread, trace: float) -> Spread:
    """Scale the squared distances of completed rows so that their mean is the trace of W."""
    if spread.first <= 0:
        return spread
    factor = max(trace, 0.0) * spread.weight / spread.first
    return Spread(spread.weight, spread.first * factor, spread.second * factor**2)


def _unit_columns(p: int, support: np.ndarray) -> np.ndarray:
    """p x m: the unit vectors of the variables in `support`."""
    columns = np.zeros((p, len(support)))
    columns[support, np.arange(len(support))] = 1.0
    return columns


def _ledoit_wolf(spread: Spread, within_norm: float, total: float, p: int) -> float:
    n = spread.weight
    trace = spread.first / n
    distance = within_norm - trace**2 / p  # of W from the nearest multiple of the identity
    noise = max(0.0, (spread.second / n - within_norm) / n)  # of the estimate W
    if distance <= 0 or noise >= distance:
        return _MOST_RIDGE
    intensity = noise / distance
    return float(np.clip(intensity / (1 - intensity) * trace / total, _LEAST_RIDGE, _MOST_RIDGE))


def useful_axes(between: Between, n: float, most: int, least: float) -> int:
    """The number of axes, between 1 and `most`, that separate the groups more than `least` times as much as chance."""
    gamma = np.clip(np.linalg.eigvalsh(between.M)[::-1], 0, 1 - 1e-12)
    ratio = gamma / (1 - gamma)  # of W + ridge in place of S + ridge
    chance = _noise_dimensions(between, between.scatter) / max(n - between.H.shape[1], 1.0)
    return int(np.clip((ratio > least * chance).sum(), 1, most))


def _noise_dimensions(between: Between, scatter: Scatter) -> float:
    """trace(W (W + ridge)^-1), the effective number of dimensions in which chance can separate groups.

    (S + ridge - H H')^-1 = A^-1 + A^-1 H (I - H'A^-1 H)^-1 H'A^-1 with A = S + ridge.
    """
    K = between.H.shape[1]
    core = np.linalg.pinv(np.eye(K) - between.M)
    inverse_trace = scatter.inverse_trace() + float(np.trace(core @ (between.solved.T @ between.solved)))
    return max(scatter.rank - scatter.ridge * inverse_trace, 0.0)
