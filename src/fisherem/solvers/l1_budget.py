"""Least squares under an l1 budget, in Gram form.

    minimise  1/2 b'Gb - g'b   subject to  |b|_1 <= budget        (G p x p positive definite, g p)

The solution follows a piecewise linear path in the multiplier lambda (LARS with the lasso modification, Efron et
al. 2004); the homotopy starts at zero and stops *at the budget*, so a solution with k variables costs about k steps.
Across EM iterations the active set hardly changes: `solve` first tries the set it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

__all__ = ["L1Solution", "kkt_violation", "solve"]

# Correlations this close (relative to lambda) to the bound count as on it: rounding of one product of p terms.
_TIE = 1e-10


class _Event(Enum):
    """What ends a linear piece of the path."""

    LEAVES = auto()  # an active coefficient reaches 0
    JOINS = auto()  # an inactive variable's correlation reaches lambda
    BUDGET = auto()  # |b|_1 reaches the budget: the solution
    UNBOUND = auto()  # lambda reaches 0, the least-squares solution: the budget does not bind


@dataclass
class L1Solution:
    """The minimiser, with the measure of its optimality."""

    coefficients: np.ndarray  # b (p)
    multiplier: float  # lambda of the equivalent penalty lambda |b|_1; 0 when the budget does not bind
    gap: float  # kkt_violation, relative to max|g|
    n_steps: int
    active: np.ndarray  # indices of the non-zero coefficients
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
    gram, g: np.ndarray, budget: float, *, warm: np.ndarray | None = None, max_steps: int | None = None
) -> L1Solution:
    """argmin 1/2 b'Gb - g'b subject to |b|_1 <= budget.

    Parameters
    ----------
    gram : DenseGram, LowRankGram or ScaledGram
        G (p x p), by the products and solutions that it offers.
    g : (p,)
    budget : float
        0 or less gives b = 0.
    warm : (p,) or None
        The solution of a nearby problem: its signs are tried before the path is followed.
    max_steps : int or None
        Limit of the steps along the path; None is 8 p.
    """
    if budget <= 0 or not np.any(g):
        return L1Solution(np.zeros(gram.p), float(np.abs(g).max(initial=0.0)), 0.0, 0, np.zeros(0, int))
    if warm is not None and np.any(warm):
        solution = _refine(gram, g, budget, warm)
        if solution is not None:
            return solution
    return _homotopy(gram, g, budget, max_steps or 8 * gram.p)


def _piece(gram, g, budget, active, signs):
    """The solution on one linear piece: b_A = G_AA^-1 (g_A - lambda s_A) with |b|_1 = budget (or lambda = 0)."""
    both = gram.solve(active, np.column_stack([g[active], signs]))
    free, shrink = both[:, 0], both[:, 1]
    multiplier = max(0.0, (signs @ free - budget) / (signs @ shrink))
    return free - multiplier * shrink, multiplier


def _refine(gram, g, budget, warm) -> L1Solution | None:
    """Exchange variables in and out of the given active set until the conditions hold; None if it does not settle."""
    active = np.flatnonzero(warm)
    signs = np.sign(warm[active])
    for step in range(1, 21):
        values, multiplier = _piece(gram, g, budget, active, signs)
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
            return L1Solution(b, multiplier, max(gap, excess.max(), 0.0) / np.abs(g).max(), step, active)
        # a few at a time: the most violated would often be enough, all of them often too many
        entering = np.argsort(excess)[-max(4, len(active) // 8) :]
        entering = entering[excess[entering] > limit]
        order = np.argsort(np.concatenate([active, entering]))
        signs = np.concatenate([signs, np.sign(correlation[entering])])[order]
        active = np.concatenate([active, entering])[order]
    return None


def _homotopy(gram, g, budget, max_steps) -> L1Solution:
    """Follow the path from b = 0 to the budget, or to lambda = 0 where the budget does not bind."""
    b = np.zeros(gram.p)
    correlation = g.astype(float).copy()  # c = g - G b; on the path |c_A| = lambda
    first = int(np.argmax(np.abs(correlation)))
    multiplier = float(abs(correlation[first]))
    active = np.array([first])
    inside = np.zeros(gram.p, bool)
    inside[first] = True
    history = [multiplier]
    for _ in range(max_steps):
        signs = np.sign(correlation[active])
        direction = gram.solve(active, signs)  # b_A grows along it as lambda falls by 1
        slope = gram.times(active, direction)  # c falls along it
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
        event, length = _next_event(to_zero, float(joining.min()), to_budget, multiplier)
        b[active] += length * direction
        correlation -= length * slope
        multiplier -= length
        history.append(multiplier)
        if event in (_Event.BUDGET, _Event.UNBOUND):
            break
        if event is _Event.LEAVES:
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
    return _polish(gram, g, budget, b, multiplier, len(history) - 1, history)


def _next_event(to_zero: float, to_join: float, to_budget: float, multiplier: float) -> tuple[_Event, float]:
    """The event that comes first along the path, and how far lambda falls until then.

    Where several coincide, the active set changes before the path ends, and variables leave before others join.
    """
    lengths = {
        _Event.LEAVES: to_zero,
        _Event.JOINS: to_join,
        _Event.BUDGET: to_budget,
        _Event.UNBOUND: multiplier,
    }
    event = min(lengths, key=lengths.__getitem__)
    return event, lengths[event]


def _polish(gram, g, budget, b, multiplier, n_steps, history) -> L1Solution:
    """Solve the last piece afresh: removes what the steps have accumulated in rounding."""
    active = np.flatnonzero(b)
    values, exact = _piece(gram, g, budget, active, np.sign(b[active]))
    if np.all(values * b[active] > 0):
        b[active], multiplier = values, exact
    return L1Solution(b, multiplier, kkt_violation(gram, g, b, multiplier), n_steps, active, history)
