"""The DLM as a family: the F-step finds the axes, the M-step estimates the parameters under the model's constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from ...model.dlm import DLM
from ...rows.base import States
from ...solvers.small import nearest_orthonormal
from ..data.kernels import GroupSums
from ..data.noise_metric import NoiseMetric, metric_of
from ..data.precisions import Precisions
from ..data.problem import Problem
from ..data.scatter import DenseScatter
from ..engine.family import Family, Phase, Solution, Step
from .f_step.step import Axes, Between, FrozenStep, FStep, SubsetStep, fisher_criterion
from .m_step import LatentParameters, Parameters, m_step
from .projection import FullMeans, LatentMeans, LatentMoments, Projection
from .ridge_and_axes import GroupMeans, automatic_ridge, inverted_between, noise_covariance, useful_axes

__all__ = ["DLMFamily", "DLMSolution", "DLMStep", "Means", "SparseSettings", "Subset"]

# Rounds end when the likelihood no longer increases, after two or three on most tables.
_METRIC_ROUNDS = 4
# The parameters that a checkpoint keeps; everything else in `Parameters` follows from them.
_PARAMETERS = ("proportions", "latent_means", "covariances", "noises")


@dataclass(frozen=True)
class SparseSettings:
    """A sparse F-step: which one, and how sparse."""

    method: str
    sparsity: np.ndarray | None  # one share per axis, each in (0, 1]; None: chosen automatically
    cold: bool = False  # sparse from the first iteration
    scale_penalty: bool = False
    axis_weights: str = "equal"
    options: dict[str, Any] = field(default_factory=dict)  # further keywords of the sparse step


class Means(Enum):
    """In which directions the groups' means may differ."""

    LATENT = "latent"  # inside the axes only: the paper's eq. (4), about the overall mean
    FULL = "full"  # in every variable: the paper's eqs (8) and (12)


@dataclass(frozen=True)
class Subset:
    """The variables that carry loadings, as indices, and their covariance with its ridge."""

    support: np.ndarray
    scatter: DenseScatter | None = None  # None: computed from the partition that a run starts from


@dataclass(frozen=True)
class DLMFamily(Family):
    """One of the twelve models with d axes: dense, sparse by a penalty, or on a given subset of the variables."""

    n_clusters: int
    d: int
    model: DLM
    discriminant: str
    variance_floor: float  # relative to the mean variance
    sparse: SparseSettings | None = None  # None: no penalty
    means: Means = Means.FULL
    adaptive_ridge: bool = False  # choose the ridge from the partition that a run starts from
    least_separation: float | None = None  # of an axis, by which it says how many there are; None: they are given
    subset: Subset | None = None
    frozen: Axes | None = None  # fixed axes
    n_factors: int = 0  # of the noise

    @property
    def rounds(self) -> int:
        """How many times at most the metric of the noise is re-estimated from the partition of the last run."""
        return _METRIC_ROUNDS if self.n_factors else 1

    def begin(self, problem: Problem) -> DLMStep:
        """The F- and M-steps of a new run."""
        return DLMStep(self, problem)

    def adapt(self, problem: Problem, states: States) -> tuple[Problem, DLMFamily]:
        """The metric of the noise, the ridge and the number of axes for the partition in the states."""
        in_metric = self.n_factors > 0 and problem.metric is None
        if not in_metric and not self._adaptive:
            return problem, self
        groups = GroupMeans.of(problem, states)
        if in_metric and groups.whole:
            problem = problem.in_metric(self._metric(problem, states, groups), states)
        return self._adapted(problem, states, groups)

    @property
    def _adaptive(self) -> bool:
        """Whether the ridge or the axes depend on the partition that a run starts from."""
        if self.n_clusters == 1 or self.frozen is not None:
            return False
        return self.subset is not None or self.adaptive_ridge or self.least_separation is not None

    def _adapted(self, problem: Problem, states: States, groups: GroupMeans) -> tuple[Problem, DLMFamily]:
        """Adapt the ridge and the axes; no change if a group is empty, which the loop reports."""
        if not self._adaptive:
            return problem, self
        if self.subset is not None:
            return problem, replace(self, subset=self._with_scatter(problem, states, groups))
        if not groups.whole:
            return problem, self
        if self.adaptive_ridge:
            problem = problem.with_ridge(automatic_ridge(problem, states, groups))
        if self.least_separation is None:
            return problem, self
        between = groups.inverted_between(problem)
        return problem, replace(self, d=useful_axes(between, problem.weight, self.d, self.least_separation))

    def _metric(self, problem: Problem, states: States, groups: GroupMeans) -> NoiseMetric:
        """The metric of the noise outside the axes that these groups have under a spherical noise."""
        there, plain = replace(self, n_factors=0)._adapted(problem, states, groups)
        between = groups.between(there)
        W = noise_covariance(problem, between.H, plain.f_step()(between).rows)
        return metric_of(W, self.n_factors, problem.n_varying)

    def _with_scatter(self, problem: Problem, states: States, groups: GroupMeans) -> Subset:
        assert self.subset is not None
        support, scatter = self.subset.support, problem.scatter
        given = scatter.ridge / scatter.mean_variance
        share = automatic_ridge(problem, states, groups, support) if self.adaptive_ridge else given
        return Subset(support, DenseScatter(scatter.block(support), share))

    def estimated_ridge(self, problem: Problem) -> float:
        """The ridge that `adapt` estimated for a run, as a share of the mean variance; NaN if it estimated none."""
        if not self.adaptive_ridge or not self._adaptive:
            return float("nan")
        if self.subset is not None:
            scatter = self.subset.scatter
            return float("nan") if scatter is None else scatter.ridge / scatter.mean_variance
        if self.sparse is not None and problem.metric is not None:  # inverts S itself, in which no ridge was estimated
            return float("nan")
        inverted = problem.inverted  # constant columns lower its mean variance, but do not matter to the ridge
        return inverted.ridge / inverted.mean_variance * (problem.n_varying / inverted.p)

    def f_step(self) -> Callable[[Between], Axes]:
        """The configured F-step of a new run."""
        if self.frozen is not None:
            return FrozenStep(self.frozen)
        if self.subset is not None:
            assert self.subset.scatter is not None
            return SubsetStep(self.discriminant, self.d, self.subset.support, self.subset.scatter)
        if (s := self.sparse) is None:
            return FStep(self.discriminant, self.d)
        assert s.sparsity is not None
        shares = s.sparsity[: self.d]  # useless axes may have been dropped
        return FStep(self.discriminant, self.d, s.method, shares, s.scale_penalty, s.axis_weights, s.options)

    @property
    def chooses_variables(self) -> bool:
        """Whether the variables with loadings are still to be selected."""
        return self.sparse is not None and self.sparse.sparsity is None

    @property
    def starts_cold(self) -> bool:
        """Whether sparse axes are used from the start, without a dense phase."""
        return self.sparse is not None and self.sparse.cold

    def dense(self) -> DLMFamily:
        """The same family without a penalty."""
        return replace(self, sparse=None)

    def at(self, sparsity: np.ndarray) -> DLMFamily:
        """The same family with other shares (d)."""
        assert self.sparse is not None
        return replace(self, sparse=replace(self.sparse, sparsity=sparsity))

    def phases(self) -> tuple[Phase, ...]:
        """Sparse with start="fisher-em": Fisher-EM first, then the sparse algorithm from its result (section 3.4)."""
        if self.sparse is None:
            return (Phase("dense", self),)
        sparse = Phase("sparse", self)
        return (sparse,) if self.starts_cold else (Phase("dense", self.dense()), sparse)

    def n_parameters(self, solution: DLMSolution, p: int) -> int:
        """Table 1's count, or the effective number of section 3.4 for sparse axes, plus the factors of the noise."""
        axes = solution.axes
        return self.model.n_parameters(self.n_clusters, p, axes.d, axes.n_zeros, solution.n_factors)

    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> DLMSolution:
        """The solution from the arrays and values of `DLMSolution.pack`."""
        axes = Axes(
            arrays["rows"], arrays.get("sparse"), arrays.get("loadings"), values["gap"], tuple(values["dropped"]),
            values.get("moved", 0.0),
        )  # fmt: skip
        kind = LatentParameters if "overall" in arrays else Parameters
        metric = NoiseMetric(arrays["factors"], arrays["gains"]) if "factors" in arrays else None
        log_det = 0.0 if metric is None else metric.log_det - np.linalg.slogdet(metric.gram(axes.rows))[1]
        density = kind.of(*(arrays[name] for name in _PARAMETERS), values["p"], values["n_floored"], log_det)  # type: ignore[call-arg]
        ridge = values.get("ridge", float("nan"))
        return DLMSolution(axes, arrays["means"], density, values["separation"], arrays.get("overall"), metric, ridge)


@dataclass(frozen=True)
class DLMSolution(Solution):
    """Axes, means of the groups' rows (K x r, relative to the centre, in the rows' coordinates) and parameters.

    With `overall` (r), the overall mean, the model's means are inside the axes about it.
    """

    axes: Axes
    means: np.ndarray
    density: Parameters
    separation: float = float("nan")
    overall: np.ndarray | None = None
    metric: NoiseMetric | None = None  # of a noise with factors
    ridge: float = float("nan")  # that the run estimated, as a share of the mean variance; NaN: none was estimated

    @property
    def n_factors(self) -> int:
        """Factors of the noise."""
        return 0 if self.metric is None else self.metric.m

    @property
    def placing(self) -> Projection:  # type: ignore[override]
        """The projection of rows under this solution."""
        if self.overall is None:
            return FullMeans.of(self.axes.rows, self.means, metric=self.metric)
        return LatentMeans.of(self.axes.rows, self.density.latent_means, self.overall, self.metric)

    def precisions(self) -> Precisions:
        """U (Sigma_k^-1 - G^-1 / beta_k) U' + N^-1 / beta_k.

        With means inside the axes and a common noise, the groups differ in U Sigma_k^-1 U' alone.
        """
        density, U = self.density, self.axes.rows
        inside = density.whiteners.transpose(0, 2, 1) @ density.whiteners
        K, (p, d) = len(inside), U.shape
        if self.overall is not None and (density.noises == density.noises[0]).all():
            return Precisions(self.means, np.repeat(U[None], K, axis=0), inside, np.zeros((K, p)), density.peaks)
        levels = 1 / density.noises
        gram = np.eye(d) if self.metric is None else np.linalg.inv(self.metric.gram(U))
        cores = inside - gram * levels[:, None, None]
        if self.metric is not None:
            gains, V = self.metric.gains, self.metric.vectors
            U, own = np.hstack([U, V]), cores
            cores = np.zeros((K, d + len(gains), d + len(gains)))
            cores[:, :d, :d] = own
            cores[:, d:, d:] = -np.diag(gains / (1 + gains)) * levels[:, None, None]
        noise = np.repeat(levels[:, None], p, axis=1)
        return Precisions(self.means, np.repeat(U[None], K, axis=0), cores, noise, density.peaks)

    def record(self) -> dict[str, Any]:
        """Fisher's criterion, and the numbers of axes and selected variables."""
        return {
            "fisher": self.separation,
            "n_axes": self.axes.d,
            "dropped_axes": self.axes.dropped,
            "n_selected": self.axes.n_selected,
            "gap": self.axes.gap,
            "moved": self.axes.moved,
            "n_floored": self.density.n_floored,
        }

    def halves(self, group: int) -> tuple[np.ndarray, float]:
        """A cut across the group's longest latent direction, at its mean."""
        longest = np.linalg.eigh(self.density.covariances[group])[1][:, -1]
        return self.axes.rows @ longest, float(longest @ self.density.latent_means[group])

    def moved(self, by: np.ndarray) -> DLMSolution:
        """The solution with its means moved; axes and covariances do not depend on the centre."""
        latent = self.density.latent_means + by @ self.axes.rows
        overall = None if self.overall is None else self.overall + by
        return replace(self, means=self.means + by, density=replace(self.density, latent_means=latent), overall=overall)

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Axes, means and parameters as arrays and plain values."""
        density, axes = self.density, self.axes
        arrays = {"rows": axes.rows, "means": self.means} | {name: getattr(density, name) for name in _PARAMETERS}
        if self.overall is not None:
            arrays["overall"] = self.overall
        if self.metric is not None:
            arrays |= {"factors": self.metric.vectors, "gains": self.metric.gains}
        if axes.sparse is not None and axes.loadings is not None:
            arrays |= {"sparse": axes.sparse, "loadings": axes.loadings}
        values = {"gap": axes.gap, "dropped": list(axes.dropped), "moved": axes.moved, "separation": self.separation}
        values["ridge"] = self.ridge
        return arrays, values | {"p": density.p, "n_floored": density.n_floored}


class DLMStep(Step):
    """F-step and M-step of one run."""

    def __init__(self, family: DLMFamily, problem: Problem):
        self.family, self.problem = family, problem
        self.f_step = family.f_step()
        self.metric = problem.metric
        self.ridge = family.estimated_ridge(problem)
        self.floor = family.variance_floor * problem.floor_unit
        self.overall = problem.mean if family.means is Means.LATENT else None
        self.parameters = Parameters if self.overall is None else LatentParameters

    def place(self, sums: GroupSums) -> Projection:
        """The F-step: axes from the sums, and the projection on them."""
        self.means = sums.sums / sums.weights[:, None]
        problem = self.problem
        self.between = Between.of(sums.weights, self.means, problem.mean, problem.scatter)
        self.axes = self._axes(sums.weights)
        if self.axes.d == 0 < self.family.d:
            raise FloatingPointError(
                "the groups' means coincide: no discriminative axis can be found"
                if self.axes.sparse is None
                else "no loading is left on any axis: lower the penalty"
            )
        return self._projection()

    def _projection(self) -> Projection:
        if self.overall is None:
            return FullMeans.of(self.axes.rows, self.means, metric=self.metric)
        return LatentMeans.of(self.axes.rows, self.means @ self.axes.rows, self.overall, self.metric)

    def place_at(self, means: np.ndarray, overall: np.ndarray) -> Projection:
        """The same axes with the means (K x r) and overall mean (r) that the parameters expect.

        With missing cells they differ slightly from the means of the F-step.
        """
        if self.overall is None:
            self.means = means
            return self._projection()
        self.overall = overall
        return LatentMeans.of(self.axes.rows, means @ self.axes.rows, overall, self.metric)

    def _axes(self, weights: np.ndarray) -> Axes:
        """The F-step, in the metric of the noise if it has factors."""
        family, metric = self.family, self.metric
        if metric is None or family.frozen is not None or family.subset is not None or family.sparse is not None:
            return self.f_step(self.between)  # variables are selected in their own metric
        axes = self.f_step(inverted_between(self.problem, weights, self.means))
        # axes of the whitened rows are coefficients N^-1/2 U of the rows themselves
        return replace(axes, rows=nearest_orthonormal(metric.half_solve(axes.rows)))

    def update(self, sums: GroupSums, placing: Projection, moments: LatentMoments) -> DLMSolution:
        """The M-step, and Fisher's criterion of the axes from the moments."""
        family, p = self.family, self.problem.p
        density = m_step(
            sums.weights, placing.latent_means, moments, family.model, p, self.floor, self.parameters, placing.log_det
        )
        separation = fisher_criterion(self.between, self.axes.rows, self._total(sums, placing, moments))
        return DLMSolution(self.axes, self.means, density, separation, self.overall, self.metric, self.ridge)

    def _total(self, sums: GroupSums, placing, moments: LatentMoments) -> np.ndarray:
        """U'SU: within plus between, plus the ridge of the F-step."""
        problem = self.problem
        within = moments.covariances.sum(axis=0) / problem.weight
        centred = placing.latent_means - problem.mean @ self.axes.rows
        between = (centred.T * (sums.weights / problem.weight)) @ centred
        metric = np.eye(len(within)) if self.metric is None else self.metric.gram(self.axes.rows)
        return within + between + problem.inverted.ridge * metric
