"""The F-step that the loop calls: sums of the groups in, axes out; dense or one of the sparse algorithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...._utils.register import Register
from ....solvers.small import independent_columns, nearest_orthonormal
from ...data.scatter import DenseScatter
from .dense import DISCRIMINANTS, Between
from .sparse import SPARSE_STEPS

__all__ = ["AXIS_WEIGHTS", "SPARSE_STEPS", "Axes", "FStep", "FrozenStep", "SubsetStep"]


def _by_relevance(shares: np.ndarray, between: Between, d: int) -> np.ndarray:
    """s_j^(gamma_1 / gamma_j): the most relevant axis keeps its share; the less relevant an axis, the sparser it gets.

    gamma_j, the eigenvalues of S^-1 S_B, are the axes' contributions to Fisher's criterion. A share of 1 stays 1.
    """
    ratio = np.maximum(np.linalg.eigvalsh(between.M)[::-1][:d], np.finfo(float).tiny)
    ratio = np.append(ratio, np.full(d - len(ratio), np.finfo(float).tiny))
    with np.errstate(under="ignore"):
        return np.maximum(shares ** (ratio[0] / ratio), np.finfo(float).tiny)


AXIS_WEIGHTS: Register[Callable[[np.ndarray, Between, int], np.ndarray]] = Register(
    "weighting of the axes", {"equal": lambda shares, between, d: shares, "relevance": _by_relevance}
)


@dataclass(frozen=True)
class Axes:
    """The result of an F-step."""

    rows: np.ndarray  # r x d, what multiplies the rows in their own coordinates
    sparse: np.ndarray | None = None  # p x d sparse loadings before Procrustes; None for a dense step
    loadings: np.ndarray | None = None  # p x d orthonormal; None for a dense step (see `FStep.loadings`)
    gap: float = 0.0  # optimality gap of the sparse solver
    dropped: tuple[int, ...] = ()  # axes that are combinations of those before them
    moved: float = 0.0  # of an alternating sparse step: the relative move of its last sweep

    @property
    def d(self) -> int:
        """The number of axes."""
        return self.rows.shape[1]

    @property
    def n_zeros(self) -> int:
        """d_e of section 3.4: zeros before the Procrustes rotation, which fills rows."""
        return 0 if self.sparse is None else int((self.sparse == 0).sum())

    @property
    def n_selected(self) -> int | None:
        """Variables with a loading; None for a dense step, which selects none."""
        return None if self.sparse is None else int(self.sparse.any(axis=1).sum())


@dataclass
class FStep:
    """A configured F-step, which keeps the last sparse solution as a warm start for the next."""

    discriminant: str
    d: int
    method: str | None = None  # None: dense
    sparsity: np.ndarray | None = None  # one share per axis, each in (0, 1]
    scale_penalty: bool = False
    axis_weights: str = "equal"
    options: dict[str, Any] = field(default_factory=dict)  # keywords of the sparse step (`STEP_OPTIONS`)
    _warm: dict = field(default_factory=dict)

    def __call__(self, between: Between) -> Axes:
        if self.d == 0:  # a single group
            return Axes(np.zeros((len(between.H), 0)))
        dense = DISCRIMINANTS[self.discriminant]
        if self.method is None or np.all(self.sparsity == 1):
            axes = dense(between, self.d)
            return Axes(axes, dropped=tuple(range(axes.shape[1], self.d)))
        assert self.sparsity is not None
        shares = AXIS_WEIGHTS[self.axis_weights](self.sparsity, between, self.d)
        result = SPARSE_STEPS[self.method](
            between, self.d, shares, dense, scale_penalty=self.scale_penalty, warm=self._warm, **self.options
        )
        kept = independent_columns(result.loadings)
        sparse = result.loadings[:, kept]
        loadings = nearest_orthonormal(sparse)
        dropped = tuple(j for j in range(self.d) if j not in set(kept))
        return Axes(between.scatter.to_rows(loadings), sparse, loadings, result.gap, dropped, result.moved)

    @staticmethod
    def loadings(axes: Axes, scatter) -> np.ndarray:
        """The orthonormal p x d loadings of any result."""
        return scatter.to_variables(axes.rows) if axes.loadings is None else axes.loadings


@dataclass(frozen=True)
class SubsetStep:
    """The dense F-step on some of the variables; the loadings of the others are 0."""

    discriminant: str
    d: int
    support: np.ndarray  # indices of the m variables
    scatter: DenseScatter  # their covariance (m x m) and its factor

    def __call__(self, between: Between) -> Axes:
        H = between.scatter.to_variables(between.H)[self.support]
        axes = DISCRIMINANTS[self.discriminant](Between(H, self.scatter), self.d)
        loadings = np.zeros((between.scatter.p, axes.shape[1]))
        loadings[self.support] = axes
        dropped = tuple(range(axes.shape[1], self.d))
        return Axes(between.scatter.to_rows(loadings), loadings, loadings, dropped=dropped)


@dataclass(frozen=True)
class FrozenStep:
    """Fixed axes: only the mixture inside them is fitted."""

    axes: Axes

    @property
    def d(self) -> int:
        """The number of axes."""
        return self.axes.d

    def __call__(self, between: Between) -> Axes:
        return self.axes
