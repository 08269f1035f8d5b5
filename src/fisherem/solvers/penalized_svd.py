"""Rank-one penalised singular value decomposition (Witten, Tibshirani & Hastie 2009) of a matrix in factors.

    maximise  u'Mv   subject to  |u|_2 <= 1, |v|_2 <= 1, |u|_1 <= bound        M = L R' with L, R of p x m

by alternation: v = M'u normalised, u = soft-thresholded Mv normalised. Each half-step is exact, so u'Mv never
decreases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from . import small

__all__ = ["PenalizedSVD", "l1_unit_vector", "penalized_svd"]


@dataclass
class PenalizedSVD:
    """The first penalised pair of singular vectors and its optimality gap."""

    u: np.ndarray  # (p,), sparse
    v: np.ndarray  # (p,)
    value: float  # u'Mv
    gap: float  # |u - next u|_2 after the last sweep: 0 at a stationary point
    history: list[float] = field(default_factory=list)  # u'Mv after each sweep


def l1_unit_vector(a: np.ndarray, bound: float, before: np.ndarray | None = None) -> np.ndarray:
    """argmax u'a subject to |u|_2 <= 1, |u|_1 <= bound, for a (p): soft(a, delta) normalised, delta found exactly.

    With the k largest |a| kept, |soft|_1 = bound |soft|_2 is a quadratic equation in delta; k is the one whose root
    is between the k-th and the (k+1)-th largest value. `before` (p) is the solution for a similar a, whose non-zero
    entries are tried first.
    """
    size = np.abs(a)
    norm = np.sqrt(a @ a)
    if norm == 0:
        return np.zeros_like(a)
    if size.sum() <= bound * norm:
        return a / norm
    if bound <= 1 or np.count_nonzero(size) == 1:
        return _unit(a, np.array([np.argmax(size)]))
    if before is not None and (u := _with_same_kept(a, size, bound, before.nonzero()[0])) is not None:
        return u
    # more than bound^2 values are kept, rarely many more: try the largest first
    for m in (4 * int(bound**2) + 16, len(a)):
        delta = _threshold(size, bound, m)
        if delta is not None:
            soft = np.sign(a) * _soft(size, delta, bound)
            return soft / np.sqrt(soft @ soft)
    # ties at the top: the bound is below sqrt(number of tied values)
    return _unit(a, np.flatnonzero(size >= size.max() * (1 - 1e-12))[: max(1, int(bound**2))])


def _unit(a, kept):
    u = np.zeros_like(a)
    u[kept] = np.sign(a[kept])
    return u / np.sqrt(len(kept))


def _with_same_kept(a: np.ndarray, size: np.ndarray, bound: float, kept: np.ndarray) -> np.ndarray | None:
    """The solution that keeps exactly these values, or None if there is none."""
    k = len(kept)
    if k <= bound**2:
        return None
    apart, mean = _apart(size[kept])
    shift = _shift(apart, bound)
    soft = apart + shift
    rest = size.copy()
    rest[kept] = 0
    if soft.min() <= 0 or rest.max() > mean - shift:  # the threshold is mean - shift
        return None
    u = np.zeros_like(a)
    u[kept] = np.copysign(soft / np.sqrt(soft @ soft), a[kept])
    return u


def _apart(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Values as differences from their mean, and the mean."""
    mean = values.sum() / len(values)
    return values - mean, mean


def _shift(apart: np.ndarray, bound: float) -> float:
    """How far the threshold lies below the mean of the kept values, where there are more than bound^2 of them."""
    k = len(apart)
    return bound * np.sqrt(apart @ apart / (k * (k - bound**2)))


def _soft(size: np.ndarray, delta: float, bound: float) -> np.ndarray:
    """max(size - delta, 0), computed from differences from the mean: for large values that differ little, size - delta
    would lose digits, and violate the l1 bound (by 1e-10)."""
    soft = np.maximum(size - delta, 0)
    kept = np.flatnonzero(soft)
    k = len(kept)
    if k > bound**2:
        apart, _ = _apart(size[kept])
        exact = apart + _shift(apart, bound)
        if (exact > 0).all():
            soft[kept] = exact
    return soft


def _threshold(size: np.ndarray, bound: float, m: int) -> float | None:
    """The soft threshold, if it lies among the m largest values."""
    p = len(size)
    largest = size if m >= p else np.partition(size, p - m - 1)[p - m - 1 :]
    ordered = np.sort(largest)[::-1]
    following = np.append(ordered[1:], 0) if m >= p else ordered[1:]
    ordered = ordered[: len(following)]
    k = np.arange(1, len(ordered) + 1)
    first, second = np.cumsum(ordered), np.cumsum(ordered**2)
    # (s1 - k x)^2 = bound^2 (s2 - 2 s1 x + k x^2): the smaller root
    spread = np.maximum(k * second - first**2, 0)
    enough = k > bound**2
    delta = np.full(len(k), np.inf)
    delta[enough] = (first - bound * np.sqrt(spread / np.where(enough, k - bound**2, 1)))[enough] / k[enough]
    valid = (delta < ordered) & (delta >= following)
    return float(delta[np.argmax(valid)]) if valid.any() else None


def _length(vector: np.ndarray) -> float:
    """|vector|_2, in half the time of `numpy.linalg.norm`."""
    return math.sqrt(vector @ vector)


def penalized_svd(
    L: np.ndarray,
    R: np.ndarray,
    bound: float,
    *,
    warm: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> PenalizedSVD:
    """argmax u'Mv subject to |u|_2 <= 1, |v|_2 <= 1, |u|_1 <= bound, with M = L R'.

    Parameters
    ----------
    L, R : (p, m)
    bound : float
        1 keeps one variable, sqrt(p) all of them.
    warm : (p,) or None
        A starting point for u, used if it is better than the unpenalised one.
    tol, max_iter : float and int
        Stop when u moves by no more than `tol` in a sweep, or after `max_iter` sweeps.
    """
    right = small.qr(R)
    left = right if L is R else small.qr(L)
    _, _, vt = small.svd(left[1] @ right[1].T)
    v = right[0] @ vt[0]
    u = l1_unit_vector(L @ (R.T @ v), bound, warm)
    if warm is not None and _length(R @ (L.T @ warm)) > _length(R @ (L.T @ u)):
        u = warm
    history: list[float] = []
    gap = np.inf
    for _ in range(max_iter):
        v = R @ (L.T @ u)
        length = _length(v)
        if length == 0:
            return PenalizedSVD(u, v, 0.0, 0.0, history)
        history.append(length)  # = u'Mv at the best v
        v /= length
        following = l1_unit_vector(L @ (R.T @ v), bound, u)
        gap = _length(following - u)
        u = following
        if gap <= tol:
            break
    value = float((u @ L) @ (R.T @ v))
    return PenalizedSVD(u, v, value, gap, history)
