"""The F-step that the loop calls: sums of the groups in, axes out.

A dense step gives orthonormal axes U (p x d) that maximise Fisher's criterion, eq. (6); the sparse algorithms are in
`sparse`. The soft between-group covariance is kept in factored form, S_B = H H' (eqs 7 and 14), so every eigenproblem
is K x K. The criterion depends only on the span of U, and its maximum is attained on the span of the first d
eigenvectors of S^-1 S_B, which for d = K - 1 is that of S^-1 H: `svd` and `regression` attain it, with different bases.
`orthonormal` is the paper's choice (Foley & Sammon 1975): the best axis, then the best axis orthogonal to it, and so
on. It is greedy, so its span and its value of the criterion differ in general (docs/departures.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...._utils.register import Register
from ....solvers import small
from ...data.scatter import DenseScatter, Scatter

if TYPE_CHECKING:
    from .sparse import SparseStep

__all__ = [
    "AXIS_WEIGHTS", "DISCRIMINANTS", "SPARSE_STEPS", "Axes", "Between", "FStep", "FrozenStep", "SubsetStep",
    "discriminant_vectors", "equal_shares", "fisher_criterion", "orthonormal", "regression", "svd",
]  # fmt: skip

# Discriminant ratios below this share of the largest are treated as rounding error.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Between:
    """S_B = H H' with H (r x K), columns sqrt(n_k / n) (m_k - mean), in the rows' coordinates; and S."""

    H: np.ndarray
    scatter: Scatter
    weight: float = 1.0  # n, the total weight of the rows

    @classmethod
    def of(cls, weights, means, overall_mean, scatter) -> Between:
        """From the groups' weights (K), means (K x r) and the overall mean (r)."""
        share = np.sqrt(weights / weights.sum())
        return cls(((means - overall_mean) * share[:, None]).T, scatter, float(weights.sum()))

    @cached_property
    def solved(self) -> np.ndarray:
        """S^-1 H (r x K)"""
        return self.scatter.solve(self.H)

    @property
    def M(self) -> np.ndarray:
        """H' S^-1 H (K x K). Its eigenvalues are the discriminant ratios, all below 1."""
        M = self.H.T @ self.solved
        return (M + M.T) / 2


def fisher_criterion(between: Between, axes: np.ndarray, total: np.ndarray) -> float:
    """trace((U'SU)^-1 U'S_BU), eq. (6), for axes U in the rows' coordinates and U'SU given as `total`."""
    projected = axes.T @ between.H
    return float(small.solve(total, projected @ projected.T).trace())


def orthonormal(between: Between, d: int) -> np.ndarray:
    """Foley-Sammon axes: u_j maximises u'S_Bu / u'Su among directions orthogonal to u_1 ... u_(j-1).

    With P = S^-1 - S^-1 U (U'S^-1U)^-1 U'S^-1, the inverse of S restricted to the complement of U, the next axis is
    P H v with v the first eigenvector of H'PH (K x K), so no basis of the complement is needed.
    """
    H, G = between.H, between.solved.copy()  # G = P H
    axes = np.zeros((len(H), 0))
    solved_axes = np.zeros((len(H), 0))
    for j in range(d):
        M = H.T @ G
        values, vectors = np.linalg.eigh((M + M.T) / 2)
        if j == 0:  # no more axes than the rank of S_B
            d = min(d, int((values > RANK_TOLERANCE * max(values[-1], 0)).sum()))
        if j >= d or values[-1] <= 0:
            break
        axis = G @ vectors[:, -1]
        axis -= axes @ (axes.T @ axis)  # zero in exact arithmetic
        axis /= np.linalg.norm(axis)
        axes = np.column_stack([axes, axis])
        if j == d - 1:
            break
        solved_axes = np.column_stack([solved_axes, between.scatter.solve(axis)])
        G = between.solved - solved_axes @ np.linalg.solve(axes.T @ solved_axes, axes.T @ between.solved)
    return axes


def discriminant_vectors(between: Between, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvectors S^-1 H E of S^-1 S_B with their ratios gamma, and E (K x d), largest ratio first."""
    values, vectors = _ratios(between, d)
    return between.solved @ vectors, values, vectors


def _ratios(between: Between, d: int) -> tuple[np.ndarray, np.ndarray]:
    """(gamma, E): at most d of the largest eigenvalues of H'S^-1 H above rounding, and their vectors (K x d)."""
    values, vectors = small.eigh(between.M)
    values, vectors = values[::-1][:d], vectors[:, ::-1][:, :d]
    keep = values > RANK_TOLERANCE * max(values[0], 0) if len(values) else values > 0
    return values[keep], vectors[:, keep]


def svd(between: Between, d: int) -> np.ndarray:
    """The left singular vectors of S^-1 S_B = (S^-1 H) H', for fewer axes than its rank inside the best span.

    Of S^-1 S_B itself the first d would not attain the maximum.
    """
    values, vectors = _ratios(between, d)
    if len(values) == 1:  # a line has one basis
        axis = between.solved @ vectors
        return axis / np.linalg.norm(axis)
    if len(values) < between.H.shape[1] - 1:  # fewer axes than the rank: find the best span, then its basis
        q, _ = small.qr(between.solved @ vectors)
        r = q.T @ between.solved
    else:
        q, r = small.qr(between.solved)
    u, _, _ = small.svd(r @ between.H.T)
    return q @ u[:, : len(values)]


def regression(between: Between, d: int) -> np.ndarray:
    """The unpenalised Proposition 3: B = S_W-orthonormal discriminant vectors shrunk by Lambda / (Lambda + rho),
    then the nearest orthonormal matrix (Proposition 2). rho = 1, as in `sparse.sparse_regression`.

    For u = S^-1 H e with ratio gamma: u'S_Wu = gamma - gamma^2 and Lambda = gamma / (1 - gamma).
    """
    axes, ratio, _ = discriminant_vectors(between, d)
    within = np.maximum(ratio * (1 - ratio), np.finfo(float).tiny)
    return small.nearest_orthonormal(axes * (ratio / np.sqrt(within)))


# (between, d) -> U (r x at most d), orthonormal.
DISCRIMINANTS: Register[Callable[[Between, int], np.ndarray]] = Register(
    "discriminant", {"orthonormal": orthonormal, "svd": svd, "regression": regression}
)
SPARSE_STEPS: Register[SparseStep] = Register("sparse step", filled_by="fisherem.core.dlm.f_step.sparse")


def equal_shares(shares: np.ndarray, between: Between, d: int) -> np.ndarray:
    """The shares as they are given."""
    return shares


def _by_relevance(shares: np.ndarray, between: Between, d: int) -> np.ndarray:
    """s_j^(gamma_1 / gamma_j): the most relevant axis keeps its share; the less relevant an axis, the sparser it gets.

    gamma_j, the eigenvalues of S^-1 S_B, are the axes' contributions to Fisher's criterion. A share of 1 stays 1.
    """
    ratio = np.maximum(np.linalg.eigvalsh(between.M)[::-1][:d], np.finfo(float).tiny)
    ratio = np.append(ratio, np.full(d - len(ratio), np.finfo(float).tiny))
    with np.errstate(under="ignore"):
        return np.maximum(shares ** (ratio[0] / ratio), np.finfo(float).tiny)


AXIS_WEIGHTS: Register[Callable[[np.ndarray, Between, int], np.ndarray]] = Register(
    "weighting of the axes", {"equal": equal_shares, "relevance": _by_relevance}
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
    options: dict[str, Any] = field(default_factory=dict)  # further keywords of the sparse step
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
        kept = small.independent_columns(result.loadings)
        sparse = result.loadings[:, kept]
        loadings = small.nearest_orthonormal(sparse)
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
        H = between.scatter.to_variables(between.H, self.support)
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
