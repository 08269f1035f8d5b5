"""Least squares under an l1 budget, in Gram form.

    minimise  1/2 b'Gb - g'b   subject to  |b|_1 <= budget        (G p x p positive definite, g p)

or with a penalty, `penalty` |b|_1, in place of the budget or beside it.

The solution follows a piecewise linear path in the multiplier lambda (LARS with the lasso modification, Efron et
al. 2004). The homotopy starts at zero and stops *at the budget*, so a solution with k variables costs about k steps.
The active set changes little from one EM iteration to the next, so `solve` tries the given set first.

The Gram matrix need not be formed. Each class provides what an active-set solver needs, with `active` the m indices of
the variables in the set:

    times(active, values)   out[j] = sum_{l in active} g[j, l] values[l]      values (m) or (m x c) -> (p) or (p x c)
    solve(active, right)    G[active, active]^-1 right                        right (m) or (m x c) -> the same shape
    diagonal()              out[j] = g[j, j]                                  (p)
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotrs

__all__ = ["DenseGram", "L1Solution", "LowRankGram", "ScaledGram", "kkt_violation", "solve"]

# Correlations this close (relative to lambda) to the bound are treated as ties: the rounding error of a sum of p terms.
_TIE = 1e-10
# A coefficient this small beside the largest is the rounding error of one that is 0: with ties a variable may be active
# with a direction of exactly 0, and rounding errors must not determine its sign.
_ZERO = 1e-13
_NOT_DEFINITE = "the Gram matrix of the active variables is not positive definite: raise ridge"
# Maximum number of cached factors: a few per axis.
_KEPT_FACTORS = 16


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a positive definite system by LAPACK directly; SciPy's wrappers cost more than a small solve."""
    _, solution, info = dposv(matrix, right)
    if info:
        raise np.linalg.LinAlgError(_NOT_DEFINITE)
    return solution


class DenseGram:
    """A dense G (p x p). Recent Cholesky factors are cached because alternations return to the same active sets."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix
        self.p = len(matrix)
        self._factors: OrderedDict[bytes, np.ndarray] = OrderedDict()

    def __getstate__(self):
        return {"matrix": self.matrix, "p": self.p, "_factors": OrderedDict()}

    def times(self, active: np.ndarray, values: np.ndarray) -> np.ndarray:
        """out[j] = sum_{l in active} g[j, l] values[l]."""
        return self.matrix[active].T @ values  # G is symmetric, and gathering rows is contiguous

    def solve(self, active: np.ndarray, right: np.ndarray) -> np.ndarray:
        """G[active, active]^-1 right."""
        key = active.tobytes()
        factor = self._factors.get(key)
        if factor is None:
            factor, info = dpotrf(self.matrix[active[:, None], active], lower=1)
            if info:
                raise np.linalg.LinAlgError(_NOT_DEFINITE)
            self._factors[key] = factor
            if len(self._factors) > _KEPT_FACTORS:
                self._factors.popitem(last=False)
        return dpotrs(factor, right, lower=1)[0]

    def diagonal(self) -> np.ndarray:
        """out[j] = g[j, j]."""
        return self.matrix.diagonal()


class LowRankGram:
    """G = V diag(e) V' + ridge I with V of p x r, for n << p, where G would not fit in memory."""

    def __init__(self, V: np.ndarray, e: np.ndarray, ridge: float):
        there = e > 0  # rows of weight 0 add directions without variance
        self.V, self.e, self.ridge = (V, e, ridge) if there.all() else (V[:, there], e[there], ridge)
        self.p = len(V)

    def times(self, active, values):
        """out[j] = sum_{l in active} g[j, l] values[l], in O(p r)."""
        out = self.V @ ((self.e * (self.V[active].T @ values).T).T)
        out[active] += self.ridge * values
        return out

    def solve(self, active, right):
        """G[active, active]^-1 right, by a system of the size of the set or of the rank, whichever is smaller."""
        Va = self.V[active]
        if len(active) <= len(self.e):
            block = (Va * self.e) @ Va.T
            block[np.diag_indices_from(block)] += self.ridge
            return _solve(block, right)
        # Woodbury's identity: a system of the size of the rank
        core = Va.T @ Va
        core[np.diag_indices_from(core)] += self.ridge / self.e
        inner = _solve(core, Va.T @ right)
        return (right - Va @ inner) / self.ridge

    def diagonal(self):
        """out[j] = g[j, j]."""
        return np.einsum("jr,r,jr->j", self.V, self.e, self.V) + self.ridge


class ScaledGram:
    """D^-1 G D^-1 with D = diag(scale): the Gram matrix of predictors divided by their scales (p)."""

    def __init__(self, gram, scale: np.ndarray):
        self.gram, self.scale = gram, scale
        self.p = gram.p

    def times(self, active, values):
        """out[j] = sum_{l in active} g[j, l] / (scale[j] scale[l]) values[l]."""
        return (self.gram.times(active, (values.T / self.scale[active]).T).T / self.scale).T

    def solve(self, active, right):
        """(D^-1 G D^-1)[active, active]^-1 right."""
        scale = self.scale[active]
        return (self.gram.solve(active, (right.T * scale).T).T * scale).T

    def diagonal(self):
        """out[j] = g[j, j] / scale[j]^2."""
        return self.gram.diagonal() / self.scale**2


# -- the solver ----------------------------------------------------------------------------------------------------


@dataclass
class L1Solution:
    """The minimiser and its optimality gap."""

    coefficients: np.ndarray  # b (p)
    multiplier: float  # lambda of the equivalent penalty lambda |b|_1; 0 when the budget does not bind
    gap: float  # kkt_violation, relative to max|g|
    n_steps: int  # changes of the active set
    history: list[float] = field(default_factory=list)  # lambda at each breakpoint


def kkt_violation(gram, g: np.ndarray, b: np.ndarray, multiplier: float) -> float:
    """The largest violation of the optimality conditions by b (p), relative to max|g|.

    G b - g + lambda sign(b) = 0 where b is not 0, and |G b - g| <= lambda elsewhere.
    """
    active = np.flatnonzero(b)
    gradient = gram.times(active, b[active]) - g
    violation = np.maximum(np.abs(gradient) - multiplier, 0)
    violation[active] = np.abs(gradient[active] + multiplier * np.sign(b[active]))
    return float(violation.max() / max(np.abs(g).max(), np.finfo(float).tiny))


def solve(
    gram, g: np.ndarray, budget: float = np.inf, *, penalty: float = 0.0, warm: np.ndarray | None = None
) -> L1Solution:
    """argmin 1/2 b'Gb - g'b + penalty |b|_1 subject to |b|_1 <= budget.

    Parameters
    ----------
    gram : DenseGram, LowRankGram or ScaledGram
        G (p x p).
    g : (p,)
    budget : float
        0 or less gives b = 0.
    penalty : float
        The least multiplier: the path is followed to it, or to the budget if that comes first.
    warm : (p,) or None
        The solution of a similar problem: its signs are tried before the path is followed.
    """
    if budget <= 0 or np.abs(g).max(initial=0.0) <= penalty:
        return L1Solution(np.zeros(gram.p), float(np.abs(g).max(initial=0.0)), 0.0, 0)
    if warm is not None and np.any(warm):
        solution = _refine(gram, g, budget, penalty, warm)
        if solution is not None:
            return solution
    return _homotopy(gram, g, budget, penalty)


def _piece(gram, g, budget, penalty, active, signs):
    """The solution on one linear piece: b_A = G_AA^-1 (g_A - lambda s_A) with |b|_1 = budget (or lambda = penalty)."""
    both = gram.solve(active, np.column_stack([g[active], signs]))
    free, shrink = both[:, 0], both[:, 1]
    multiplier = max(penalty, (signs @ free - budget) / (signs @ shrink))
    return free - multiplier * shrink, multiplier


def _refine(gram, g, budget, penalty, warm) -> L1Solution | None:
    """Exchange variables in and out of the given active set until the conditions hold; None if that fails."""
    active = np.flatnonzero(warm)
    signs = np.sign(warm[active])
    for step in range(1, 21):
        values, multiplier = _piece(gram, g, budget, penalty, active, signs)
        wrong = values * signs <= 0
        if wrong.any():
            active, signs = active[~wrong], signs[~wrong]
            if not len(active):
                return None
            continue
        correlation = g - gram.times(active, values)
        excess = np.abs(correlation) - multiplier
        excess[active] = 0
        limit = 1e-9 * np.abs(g).max()
        if excess.max() <= limit:
            b = np.zeros(gram.p)
            b[active] = values
            gap = np.abs(correlation[active] - multiplier * signs).max()
            return L1Solution(b, multiplier, max(gap, excess.max(), 0.0) / np.abs(g).max(), step)
        # a few of the most violated at a time: one is often enough, and all are often too many
        entering = np.argsort(excess)[-max(4, len(active) // 8) :]
        entering = entering[excess[entering] > limit]
        order = np.argsort(np.concatenate([active, entering]))
        signs = np.concatenate([signs, np.sign(correlation[entering])])[order]
        active = np.concatenate([active, entering])[order]
    return None


def _homotopy(gram, g, budget, penalty) -> L1Solution:
    """Follow the path from b = 0 to the budget, or to lambda = penalty if the budget does not bind."""
    b = np.zeros(gram.p)
    correlation = g.astype(float).copy()  # c = g - G b; on the path |c_A| = lambda
    first = int(np.argmax(np.abs(correlation)))
    multiplier = float(abs(correlation[first]))
    active = np.array([first])
    inside = np.zeros(gram.p, bool)
    inside[first] = True
    history = [multiplier]
    for _ in range(8 * gram.p):
        signs = np.sign(correlation[active])
        direction = gram.solve(active, signs)  # b_A grows along it as lambda falls by 1
        slope = gram.times(active, direction)  # c falls along it
        changed = _settle_ties(active, inside, correlation, multiplier, b, signs, direction, slope)
        if changed is not None:
            active = changed
            continue
        norm = float(np.abs(b[active]).sum())
        to_budget = (budget - norm) / float(signs @ direction)
        # inactive j joins when |c_j - gamma a_j| = lambda - gamma
        with np.errstate(divide="ignore", invalid="ignore"):
            up = (multiplier - correlation) / (1 - slope)
            down = (multiplier + correlation) / (1 + slope)
            crossing = -b[active] / direction
        for steps in (up, down):
            steps[inside | ~(steps > multiplier * _TIE)] = np.inf
        joining = np.minimum(up, down)
        crossing[~(crossing > multiplier * _TIE)] = np.inf
        to_zero = float(crossing.min())
        to_join = float(joining.min())
        # of simultaneous events, changes of the active set come before the end of the path, and leaving before joining
        length = min(to_zero, to_join, to_budget, multiplier - penalty)
        b[active] += length * direction
        b[np.abs(b) <= _ZERO * np.abs(b).max()] = 0.0
        correlation -= length * slope
        multiplier -= length
        history.append(multiplier)
        if length < min(to_zero, to_join):  # at the budget or at the penalty
            break
        if length == to_zero:
            gone = active[crossing == to_zero]
            b[gone] = 0.0
            inside[gone] = False
            active = active[crossing != to_zero]
        else:
            joined = int(np.argmin(joining))
            inside[joined] = True
            active = np.sort(np.append(active, joined))
        if not len(active):
            break
    return _polish(gram, g, budget, penalty, b, multiplier, history)


def _settle_ties(active, inside, correlation, multiplier, b, signs, direction, slope) -> np.ndarray | None:
    """The active set with one variable exchanged where correlations tie, or None where the direction is right.

    An inactive variable whose correlation is at the bound has to join if the bound would fall below it. One that has
    just joined, at 0, leaves again if it would take the wrong sign.
    """
    wrong = (b[active] == 0) & (direction * signs < 0)
    if wrong.any() and len(active) > 1:
        gone = int(np.argmin(np.where(wrong, direction * signs, np.inf)))
        inside[active[gone]] = False
        return np.delete(active, gone)
    tied = ~inside & (np.abs(correlation) >= multiplier * (1 - _TIE))
    along = np.where(tied, np.sign(correlation) * slope, np.inf)
    late = int(np.argmin(along))
    if along[late] >= 1 - _TIE:
        return None
    inside[late] = True
    return np.sort(np.append(active, late))


def _polish(gram, g, budget, penalty, b, multiplier, history) -> L1Solution:
    """Solve the last piece again, to remove the accumulated rounding errors of the steps."""
    active = np.flatnonzero(b)
    values, exact = _piece(gram, g, budget, penalty, active, np.sign(b[active]))
    if np.all(values * b[active] > 0):
        b[active], multiplier = values, exact
    return L1Solution(b, multiplier, kkt_violation(gram, g, b, multiplier), len(history) - 1, history)
