"""The DLM as a family: the F-step places the rows, the M-step ties the moments as the model says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..model.dlm import DLM
from .f_step.between import Between, fisher_criterion
from .f_step.step import Axes, FStep
from .family import Family, Phase, Solution, Step
from .kernels import GroupSums
from .m_step import Parameters, m_step
from .placing import FullMeans, LatentMoments
from .problem import Problem

__all__ = ["DLMFamily", "DLMSolution", "DLMStep", "SparseSettings"]


@dataclass(frozen=True)
class SparseSettings:
    """A sparse F-step: which one, and how sparse."""

    method: str
    sparsity: np.ndarray  # one share per axis, each in (0, 1]
    start: str = "fisher-em"  # or "cold"
    scale_penalty: bool = False
    axis_weights: str = "equal"


@dataclass(frozen=True)
class DLMFamily(Family):
    """One of the twelve models with d axes, dense or sparse."""

    n_clusters: int
    d: int
    model: DLM
    discriminant: str
    variance_floor: float  # relative to the mean variance
    sparse: SparseSettings | None = None  # None: Fisher-EM

    def begin(self, problem: Problem) -> DLMStep:
        """F- and M-steps with an empty memory."""
        return DLMStep(self, problem)

    def f_step(self) -> FStep:
        """The configured F-step, with its memory empty."""
        if (s := self.sparse) is None:
            return FStep(self.discriminant, self.d)
        return FStep(self.discriminant, self.d, s.method, s.sparsity, s.scale_penalty, s.axis_weights)

    def dense(self) -> DLMFamily:
        """The same without a penalty."""
        return replace(self, sparse=None)

    def at(self, sparsity: np.ndarray) -> DLMFamily:
        """The same with other shares (d)."""
        assert self.sparse is not None
        return replace(self, sparse=replace(self.sparse, sparsity=sparsity))

    def phases(self) -> tuple[Phase, ...]:
        """Sparse with start="fisher-em": Fisher-EM first, then the sparse algorithm from its result (section 3.4)."""
        if self.sparse is None:
            return (Phase("dense", self),)
        sparse = Phase("sparse", self)
        return (sparse,) if self.sparse.start == "cold" else (Phase("dense", self.dense()), sparse)

    def n_parameters(self, solution: DLMSolution, p: int) -> int:
        """Table 1's count; with sparse axes the effective number of section 3.4."""
        axes = solution.axes
        return self.model.n_parameters(self.n_clusters, p, axes.d, axes.n_zeros)

    def unpack(self, arrays: dict[str, np.ndarray], values: dict[str, Any]) -> DLMSolution:
        """The solution from the arrays and values of `DLMSolution.pack`."""
        axes = Axes(
            arrays["rows"], arrays.get("sparse"), arrays.get("loadings"), values["gap"], tuple(values["dropped"])
        )
        density = Parameters.of(
            arrays["proportions"],
            arrays["latent_means"],
            arrays["covariances"],
            arrays["noises"],
            values["p"],
            values["n_floored"],
        )
        return DLMSolution(axes, arrays["means"], density, values["separation"])


@dataclass(frozen=True)
class DLMSolution(Solution):
    """Axes, means (K x r, relative to the centre, in the rows' coordinates) and parameters of one iterate."""

    axes: Axes
    means: np.ndarray
    density: Parameters
    separation: float = float("nan")

    @property
    def placing(self) -> FullMeans:  # type: ignore[override]
        """How rows are placed under this solution."""
        return FullMeans.of(self.axes.rows, self.means)

    def record(self) -> dict[str, Any]:
        """Fisher's criterion, the axes and the selected variables of this iterate."""
        return {
            "fisher": self.separation,
            "n_axes": self.axes.d,
            "dropped_axes": self.axes.dropped,
            "n_selected": self.axes.n_selected,
            "gap": self.axes.gap,
            "n_floored": self.density.n_floored,
        }

    def halves(self, group: int) -> tuple[np.ndarray, float]:
        """Across the group's longest latent direction, at its mean."""
        longest = np.linalg.eigh(self.density.covariances[group])[1][:, -1]
        return self.axes.rows @ longest, float(longest @ self.density.latent_means[group])

    def moved(self, by: np.ndarray) -> DLMSolution:
        """The means moved; axes and covariances do not depend on the centre."""
        return replace(self, means=self.means + by)

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Axes, means and parameters as arrays and plain values."""
        density, axes = self.density, self.axes
        arrays = {
            "rows": axes.rows,
            "means": self.means,
            "proportions": density.proportions,
            "latent_means": density.latent_means,
            "covariances": density.covariances,
            "noises": density.noises,
        }
        if axes.sparse is not None and axes.loadings is not None:
            arrays |= {"sparse": axes.sparse, "loadings": axes.loadings}
        values = {
            "gap": axes.gap,
            "dropped": list(axes.dropped),
            "p": density.p,
            "n_floored": density.n_floored,
            "separation": self.separation,
        }
        return arrays, values


class DLMStep(Step):
    """F-step and M-step of one run."""

    def __init__(self, family: DLMFamily, problem: Problem):
        self.family, self.problem = family, problem
        self.f_step = family.f_step()
        self.floor = family.variance_floor * problem.floor_unit

    def place(self, sums: GroupSums) -> FullMeans:
        """The F-step: axes from the sums, and with them how rows are placed."""
        self.means = sums.sums / sums.weights[:, None]
        self.between = Between.of(sums.weights, self.means, self.problem.mean, self.problem.scatter)
        self.axes = self.f_step(self.between)
        if self.axes.d == 0 < self.f_step.d:
            raise FloatingPointError("the groups' means coincide: no discriminative axis can be found")
        return FullMeans.of(self.axes.rows, self.means)

    def update(self, sums: GroupSums, placing: FullMeans, moments: LatentMoments) -> DLMSolution:
        """The M-step, and Fisher's criterion of the axes from what the pass has summed."""
        density = m_step(sums.weights, placing.latent_means, moments, self.family.model, self.problem.p, self.floor)
        separation = fisher_criterion(self.between, self.axes.rows, self._total(sums, placing, moments))
        return DLMSolution(self.axes, self.means, density, separation)

    def _total(self, sums: GroupSums, placing: FullMeans, moments: LatentMoments) -> np.ndarray:
        """U'SU: within plus between, plus the ridge that S carries in the F-step."""
        problem = self.problem
        within = moments.covariances.sum(axis=0) / problem.weight
        centred = placing.latent_means - problem.mean @ self.axes.rows
        between = (centred.T * (sums.weights / problem.weight)) @ centred
        return within + between + problem.scatter.ridge * np.eye(len(within))
