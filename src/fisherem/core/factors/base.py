"""What mixtures with own and with common loadings have in common, and the extrapolation of their iterates.

EM with factors as missing data converges slowly if they carry little information. SQUAREM (Varadhan & Roland 2008)
extrapolates: with t0, t1, t2 three iterates, r = t1 - t0 and v = (t2 - t1) - r, the point t0 - 2 a r + a^2 v with
a = -|r| / |v| is the limit of a sequence that converges at one rate. The loop accepts it only if it is more likely, so
the likelihood still never decreases.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...model.factors import Structure
from ..data.problem import Problem
from ..engine.family import Family, Solution, Step
from .axes import FEW_VARIABLES, column_variances, in_variables
from .moments import AroundMeans
from .steps import Bounds

__all__ = ["FactorModelFamily", "FactorModelSolution", "FactorModelStep", "Leaps"]

# Logarithms of variances are limited to this, so that squares of the variances do not overflow.
_LARGEST_LOG = 300.0
# The first iterates, which are too far from the limit to be extrapolated.
_PATIENCE = 6


@dataclass(frozen=True)
class FactorModelFamily(Family):
    """A structure, the floor of its noises, and the start of a run."""

    n_clusters: int
    n_factors: int | None
    structure: Structure
    variance_floor: float  # of a noise, relative to the variance of its variable
    variant: int = 0  # other first loadings for the same partition
    initial: Any = None  # for the partition that a run starts from

    monotone = True

    def prepared(self, problem: Problem) -> Problem:
        """The problem with rows of the variables themselves, where the noise is diagonal."""
        return in_variables(problem)

    def bounds(self, problem: Problem) -> Bounds:
        """The lower bounds of the noises of a problem's variables."""
        return Bounds(self.variance_floor * column_variances(problem), ~problem.constant)

    def n_parameters(self, solution: Any, p: int) -> int:
        """Free parameters of the structure."""
        return self.structure.n_parameters(self.n_clusters, p, solution.each)


@dataclass(frozen=True)
class FactorModelSolution(Solution):
    """The parameters of one iterate, as a density whose fields `parts` determine the others."""

    density: Any
    parts: ClassVar[tuple[str, ...]] = ()  # names of the fields, in the order of the density's `of`

    @property
    def means(self) -> np.ndarray:
        """The groups' means (K x p), relative to the centre."""
        return self.density.means

    @property
    def placing(self) -> AroundMeans:  # type: ignore[override]
        """No transformation: the density uses the rows themselves."""
        K, p = self.means.shape
        return AroundMeans(self.means, np.zeros((K, 0, p)))

    def record(self) -> dict[str, Any]:
        """The number of noises that were raised to their floor."""
        return {"n_floored": self.n_floored}  # type: ignore[attr-defined]

    def changed(self, **parts: np.ndarray) -> Any:
        """The density with some of its parts replaced."""
        return type(self.density).of(*(parts.get(name, getattr(self.density, name)) for name in self.parts))

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The parameters as arrays."""
        return {name: getattr(self.density, name) for name in self.parts}, self.record()


class FactorModelStep(Step):
    """M-steps of one run, each from the result of the last."""

    extrapolates = True

    def __init__(self, family: FactorModelFamily, problem: Problem):
        if family.initial is None:  # `adapt` found no rows in a group; an error that ends this start alone
            raise FloatingPointError("the start leaves a group without rows of positive weight")
        self.structure, self.bounds, self.present = family.structure, family.bounds(problem), family.initial
        self.few, self.leaps = problem.p <= FEW_VARIABLES, Leaps()
        floor = self.bounds.floor
        self.floor = np.full(len(floor), floor.mean()) if self.structure.noise.spherical else floor

    @abstractmethod
    def vector(self, density: Any) -> Sequence[np.ndarray]:
        """The parameters that the steps change, in unbounded coordinates where that is simple."""

    @abstractmethod
    def density(self, parts: list[np.ndarray], like: Any) -> Any:
        """The density with these coordinates."""

    def leap(self, solution: Any) -> Any:
        """All parameters extrapolated; None for steps that do not extrapolate."""
        if not self.extrapolates:
            return None
        parts = self.vector(solution.density)
        ahead = self.leaps.after(np.concatenate([part.ravel() for part in parts]))
        if ahead is None:
            return None
        pieces = np.split(ahead, np.cumsum([part.size for part in parts])[:-1])
        try:
            density = self.density(
                [own.reshape(part.shape) for own, part in zip(pieces, parts, strict=True)], solution.density
            )
        except np.linalg.LinAlgError:
            return None
        return replace(solution, density=density)

    def landed(self, solution: Any) -> None:
        """Continue from the extrapolation."""
        self.present = solution.density
        self.leaps.landed(np.concatenate([part.ravel() for part in self.vector(solution.density)]))

    @staticmethod
    def shares(logs: np.ndarray) -> np.ndarray:
        """Proportions from their logarithms up to a constant."""
        return np.exp(logs - np.logaddexp.reduce(logs))

    def noises(self, logs: np.ndarray) -> np.ndarray:
        """Noises from their logarithms, not below their floor."""
        return np.maximum(np.exp(np.minimum(logs, _LARGEST_LOG)), self.floor)


class Leaps:
    """Collects iterates as vectors and extrapolates every third one."""

    def __init__(self) -> None:
        self._recent: list[np.ndarray] = []
        self._count = 0

    def after(self, vector: np.ndarray) -> np.ndarray | None:
        """The extrapolation of the last three iterates, of which this is the last; None in between."""
        self._count += 1
        if self._count <= _PATIENCE:
            return None
        if self._recent and len(self._recent[-1]) != len(vector):
            self._recent = []
        self._recent.append(vector)
        if len(self._recent) < 3:
            return None
        t0, t1, t2 = self._recent
        self._recent = []
        r = t1 - t0
        v = (t2 - t1) - r
        length = float(np.linalg.norm(v))
        if length == 0 or (a := -float(np.linalg.norm(r)) / length) > -1:
            return None
        ahead = t0 - 2 * a * r + a**2 * v
        return ahead if np.isfinite(ahead).all() else None

    def landed(self, vector: np.ndarray) -> None:
        """The extrapolation was accepted and is the first of the next three."""
        self._recent = [vector]
