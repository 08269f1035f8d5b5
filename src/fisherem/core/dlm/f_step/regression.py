"""Algorithm 2, `sparse_regression`: Fisher's criterion as a penalised regression (after Qiao et al. 2009).

    minimise  sum_k |R_W^-t h_k - A B'h_k|^2 + rho sum_j b_j'S_W b_j   over A'A = I, |b_j|_1 <= t_j

where R_W'R_W = S_W and h_k are the columns of H, by alternating A and B. It is cheap for four reasons:

* the Gram matrix of the b-problems, S_B + rho S_W, is S itself for rho = 1, and rho S + (1 - rho) H H' otherwise;
* A enters only through F'A with F = R_W^-t H (p x K), and A = polar(F C) with C = H'B, so all of the alternation
  is K x K: with N = F'F = H'S_W^-1 H = M (I - M)^-1, M = H'S^-1 H, we have F'A = N^1/2 polar(N^1/2 C);
* the root R_W cancels, so no Cholesky factor of S_W is needed;
* as long as no loading becomes or ceases to be 0, B is an affine function of F'A (`_Face`), so that the thousands of
  sweeps to convergence that some tables need solve no l1 problem.

By default the budgets t_j = s_j |full solution at the first A|_1 are held fixed while A and B alternate, so every
half-step minimises the same objective, which therefore never increases. `AlternationRule` has the other readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....solvers import small
from ....solvers.l1_budget import ScaledGram
from .lasso import SparseResult, l1_budgets, lasso_per_axis, norm_weights
from .step import Between, discriminant_vectors

__all__ = ["ALTERNATIONS", "BUDGETS", "CONVERGED", "AlternationRule", "Stopping", "sparse_regression"]

# The readings of the budgets, and the ways to alternate.
# By how much a correlation may exceed its bound on a face, relative to the largest target: as in `l1_budget`.
_EXCESS = 1e-9
# Sweeps on one face after which its signs are taken to be those of the minimum.
_SETTLED = 300


@dataclass(frozen=True)
class Stopping:
    """When the alternation ends: B moves less than `tolerance` of its size, or the objective gains too little."""

    tolerance: float
    least_gain: float
    max_sweeps: int
    anew: bool = False  # every F-step starts from step 3, not from the last B


# The EM loop around it needs no more precision. In flat directions B can drift for hundreds of sweeps without improving
# the objective (usps358 at shares of 0.13 to 0.22), and such sweeps are saved.
FAST = Stopping(1e-4, 1e-6, 200)
# Sweeps converge linearly where the budgets bind. Where they hardly do, the objective is nearly the same for all
# rotations of the axes, and B still moves by 4e-7 a sweep after 20,000 of them (raw glass): docs/reproduce.md.
CONVERGED = Stopping(1e-12, 0.0, 20_000, anew=True)
ALTERNATIONS = {"fast": FAST, "converged": CONVERGED}
# Whether the full solution of the first round of an F-step, of which the budgets are shares, is that of all rounds.
BUDGETS = {"first": True, "each": False}


@dataclass(frozen=True)
class AlternationRule:
    """How Algorithm 2 is read where the paper leaves it open."""

    rho: float  # the weight of b'S_W b
    budgets_held: bool  # shares of the full solution at the first A of an F-step, or of each round's own
    stopping: Stopping


@dataclass(frozen=True)
class _Round:
    """The l1 problems of one round, in the coordinates in which their norm has no weights.

    With G the Gram matrix and g_j = H F'a_j:  minimise 1/2 b'Gb - g_j'b + least |b|_1 subject to |b|_1 <= t_j.
    """

    gram: Any
    H: np.ndarray  # p x K
    root: np.ndarray  # K x K: F'F = root root', so that F equals root' up to a rotation, which cancels
    full: np.ndarray  # p x K: F'A -> the solutions without a budget
    least: float  # the multiplier of the penalty
    budgets: Callable[[np.ndarray], np.ndarray]  # F'A -> t (d)

    def solve(self, FA: np.ndarray, warm: dict) -> tuple[np.ndarray, float, float]:
        """(B, optimality gap, objective without its terms in A) at this A; `warm` is updated."""
        B, gap, quadratic, norms = lasso_per_axis(
            self.gram, 1.0, self.H @ FA, self.full @ FA, self.budgets(FA), warm, self.least
        )
        return B, gap, quadratic + 2 * self.least * norms

    def rotate(self, B: np.ndarray) -> tuple[np.ndarray, float]:
        """Step 5, A = polar(F C): (F'A, |F - A C'|^2 - |C|^2)."""
        C = self.H.T @ B
        FA, A = _rotate(self.root, C)
        return FA, float(np.sum((self.root.T - A @ C.T) ** 2) - np.sum(C**2))


class _Face:
    """The affine map F'A -> B that holds while the signs of B (p x d) do, in the coordinates of a `_Round`.

    With G_s the Gram matrix of the variables with a sign, b = G_s^-1 (g - lambda s), and lambda is where the l1 norm
    s'b meets the budget.
    """

    def __init__(self, problems: _Round, B: np.ndarray, FA: np.ndarray):
        self.problems, self.signs = problems, np.sign(B).T  # d x p
        d, (p, K) = B.shape[1], problems.H.shape
        # for each axis the maps of F'A and of lambda to b (p), to the correlations (p) and to the norm of b
        maps, falls = np.zeros((d, 2 * p + 1, K)), np.zeros((d, 2 * p + 1))
        for j, signs in enumerate(self.signs):
            active = np.flatnonzero(signs)
            both = problems.gram.solve(active, np.column_stack([problems.H[active], signs[active]]))
            maps[j, active], falls[j, active] = both[:, :K], both[:, K]
            moved = problems.gram.times(active, both)
            maps[j, p : 2 * p], falls[j, p : 2 * p] = problems.H - moved[:, :K], -moved[:, K]
            maps[j, 2 * p], falls[j, 2 * p] = signs[active] @ both[:, :K], signs[active] @ both[:, K]
        self.maps, self.falls = maps, falls
        self.inactive = self.signs == 0
        self.excess = _EXCESS * float(np.abs(problems.H @ FA).max())

    def at(self, FA: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """(B, multipliers) at this A, or None if a sign changes there."""
        problems, p = self.problems, self.signs.shape[1]
        parts = (self.maps @ FA.T[:, :, None])[:, :, 0]
        multiplier = np.maximum(problems.least, (parts[:, -1] - problems.budgets(FA)) / self.falls[:, -1])[:, None]
        parts -= multiplier * self.falls
        b, correlation = parts[:, :p], np.abs(parts[:, p:-1])
        right = (b * self.signs > 0) | self.inactive & (correlation <= multiplier + self.excess)
        return (b.T, multiplier) if right.all() else None

    def value(self, B: np.ndarray, multiplier: np.ndarray, FA: np.ndarray) -> float:
        """The objective at B, which `at` found at FA, without its terms in A: b'Gb = g'b - lambda |b|_1."""
        penalised = np.sum((2 * self.problems.least - multiplier) * np.abs(B.T))
        return float(np.sum((self.problems.H @ FA) * B) + penalised)


def _on_face(problems: _Round, B: np.ndarray, FA: np.ndarray, stopping: Stopping, sweeps: int):
    """(B, F'A, number of sweeps) after sweeps on the face of B, as long as its signs hold and it moves.

    Once the signs have held for a while, every third sweep begins from an extrapolation of the two before it (SQUAREM,
    Varadhan & Roland 2008), if the objective is not larger there. Before that it could lead to another minimum.
    """
    if not B.any(axis=0).all():
        return B, FA, 0
    face, recent = _Face(problems, B, FA), [FA]
    for done in range(sweeps):
        found = face.at(FA)
        if found is None:
            return B, FA, done
        moved, B = _relative_move(B, found[0]), found[0]
        if len(recent) < 2:
            FA, _ = _rotate(problems.root, problems.H.T @ B)
        else:
            FA, rest = problems.rotate(B)
        if moved <= stopping.tolerance:
            return B, FA, done + 1
        recent.append(FA)
        if len(recent) == 3 and done < _SETTLED:
            recent = [FA]
        elif len(recent) == 3:
            leap = _leap(face, recent, face.value(*found, recent[1]) + rest)
            B, FA = (B, FA) if leap is None else leap
            recent = [FA]
    return B, FA, sweeps


def _leap(face: _Face, recent: list[np.ndarray], objective: float) -> tuple[np.ndarray, np.ndarray] | None:
    """(B, F'A) from an extrapolation of three iterates of F'A, or None if that leaves the face or is worse."""
    first, change = recent[0], recent[1] - recent[0]
    bend = recent[2] - recent[1] - change
    size = float((bend * bend).sum())
    if size == 0:
        return None
    length = max(1.0, math.sqrt(float((change * change).sum()) / size))
    start = first + 2 * length * change + length**2 * bend
    found = face.at(start)
    if found is None:
        return None
    FA, rest = face.problems.rotate(found[0])
    return (found[0], FA) if face.value(*found, start) + rest <= objective else None


def _relative_move(before: np.ndarray, after: np.ndarray) -> float:
    change, size = after - before, float((after * after).sum())
    return math.sqrt(float((change * change).sum()) / max(size, np.finfo(float).tiny))


def sparse_regression(
    between: Between, d, sparsity, dense, *, scale_penalty=False, warm=None, penalty: float | None = None,
    rho: float = 1.0, budgets: str = "first", alternation: str = "fast", stopping: Stopping | None = None,
) -> SparseResult:  # fmt: skip
    """Alternate A and B within the l1 budgets: p x d sparse loadings, their optimality gap and the objective."""
    del dense  # the criterion itself is penalised
    stopping = stopping or ALTERNATIONS[alternation]
    how = AlternationRule(rho, BUDGETS[budgets] or penalty is not None, stopping)
    problems, FA = _problems(between, d, sparsity, how, scale_penalty, penalty)
    scale = norm_weights(between.scatter, scale_penalty)
    d = FA.shape[1]
    kept = {} if warm is None or stopping.anew else warm
    if len(kept) == d:  # B of the last iteration is a better start than the dense axes
        FA, _ = problems.rotate((np.column_stack([kept[j] for j in range(d)]).T * scale).T)
    own = {j: b * scale for j, b in kept.items()}
    loadings, gap, moved, sweeps = problems.full @ FA, 0.0, np.inf, 0
    history: list[float] = []
    while sweeps < stopping.max_sweeps:
        following, gap, value = problems.solve(FA, own)
        moved, loadings, sweeps = _relative_move(loadings, following), following, sweeps + 1
        FA, rest = problems.rotate(loadings)
        history.append(value + rest)
        gained = history[-2] - history[-1] if how.budgets_held and len(history) > 1 else np.inf
        if moved <= stopping.tolerance or (stopping.least_gain and gained <= stopping.least_gain * abs(history[-1])):
            break
        # one sweep is left for a round of this loop, so that the last move, gap and objective are those of the result
        left = stopping.max_sweeps - sweeps - 1
        if left > 0 and not stopping.least_gain and np.isfinite(problems.budgets(FA)).all():
            loadings, FA, more = _on_face(problems, loadings, FA, stopping, left)
            sweeps += more
            own = dict(enumerate(loadings.T))  # the next round confirms where it ended
    loadings = (loadings.T / scale).T
    kept.update(enumerate(loadings.T))
    return SparseResult(loadings, gap, history, moved)


def _problems(between: Between, d, sparsity, how: AlternationRule, scale_penalty, penalty) -> tuple[_Round, np.ndarray]:
    """The l1 problems of this F-step, and F'A (K x d) for the A of step 3."""
    scatter, rho = between.scatter, how.rho
    _, ratio, E = discriminant_vectors(between, between.H.shape[1])
    d = min(d, len(ratio))
    ratio = np.minimum(ratio, 1 - 1e-12)  # with n << p the groups can be separated completely
    root = E * np.sqrt(ratio / (1 - ratio))  # with the singular values of F
    # (S_B + rho S_W)^-1 H = S^-1 H (rho I + (1 - rho) M)^-1
    K = between.H.shape[1]
    full = between.solved if rho == 1 else between.solved @ np.linalg.inv(rho * np.eye(K) + (1 - rho) * between.M)
    gram: Any = scatter.gram if rho == 1 else scatter.gram_within(between.H, rho)
    scale = norm_weights(scatter, scale_penalty)
    if scale_penalty:
        gram = ScaledGram(gram, scale)
    H = (scatter.to_variables(between.H).T / scale).T
    full = (scatter.to_variables(full).T * scale).T
    FA = root[:, :d]
    first = l1_budgets(1.0, full @ FA, sparsity, penalty)

    def budgets(FA: np.ndarray) -> np.ndarray:
        return first if how.budgets_held else l1_budgets(1.0, full @ FA, sparsity)

    return _Round(gram, H, root, full, 0.0 if penalty is None else penalty / 2, budgets), FA


def _rotate(root, C):
    """Step 5, A = polar(F C), in the coordinates of the root: (F'A, A)."""
    u, _, vt = small.svd(root.T @ C)
    A = u @ vt
    return root @ A, A
