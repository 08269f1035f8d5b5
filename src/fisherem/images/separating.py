"""Bands that are far apart: which selected bands can be exchanged for others without lowering C(K, S).

Neighbouring bands carry nearly the same information. A share of the l1 norm (Algorithms 1 to 3) therefore selects
whole blocks of them and misses other features of the spectra. C(K, S) measures what each band adds to the others, and
thus whether a band elsewhere adds more than one of a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..policy.criterion import Partition, judge
from ..policy.thresholds import THRESHOLDS

__all__ = ["Exchange", "exchanges", "neighbours_of", "separated"]

_ROUNDING = 1e-9
# The largest number of selected bands for which exchanges are computed: as many as the page lists.
_MOST = 100


@dataclass(frozen=True)
class Exchange:
    """A selected band, the adjacent bands that could replace it at no cost, and the redundant ones around it.

    Numbers of bands from 0. `instead` is a contiguous range that includes `band`; `redundant` are the bands between the
    selected ones, assigned to the nearest, that differ between the groups but add nothing to the selection.
    """

    band: int
    instead: tuple[int, ...]
    redundant: tuple[int, ...]


class _Swaps:
    """C of S with one of its bands exchanged for any other: n/2 log(t / w), with the variances t (in all pixels) and w
    (within the groups) of a band given the others.

    Leaving s out of S adds B[s, j]^2 / (T_SS^-1)_ss to the variance of band j given S, where B are the coefficients of
    the bands on S; so all swaps need one inverse.
    """

    def __init__(self, partition: Partition):
        self.partition = partition
        self.between = partition.H  # all differences between groups, as a block of bands may show only some of them
        self.total = np.maximum(partition.scatter.variances(), np.finfo(float).tiny)
        self.within = np.maximum(self.total - (self.between**2).sum(axis=1), _ROUNDING * self.total)
        self._columns: dict[int, np.ndarray] = {}

    def gains(self, support: np.ndarray) -> np.ndarray:
        """out[a, j] = what band j adds to S without its a-th band, in nats; -inf where it is redundant."""
        for j in support:
            if int(j) not in self._columns:
                self._columns[int(j)] = self.partition.scatter.column(int(j))
        columns = np.array([self._columns[int(j)] for j in support])  # m x p
        all_pixels = _given_the_others(columns, support, self.total)
        groups = _given_the_others(columns - self.between[support] @ self.between.T, support, self.within)
        own = (groups > THRESHOLDS.own_variance * self.within) & (all_pixels > 0) & ~self.partition.constant
        out = np.full(columns.shape, -np.inf)
        out[own] = self.partition.n / 2 * np.log(all_pixels[own] / groups[own])
        return out


def _given_the_others(columns: np.ndarray, support: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """out[a, j] = the variance of band j given the bands of S but the a-th; `columns` (m x p) of their covariance."""
    scale = 1 / np.sqrt(variances)  # so that units do not matter
    scaled = columns * scale[support][:, None] * scale
    block = scaled[:, support].copy()
    block[np.diag_indices(len(block))] = 1 + _ROUNDING
    inverse = np.linalg.inv(block)
    coefficients = inverse @ scaled
    given = np.maximum(1 - (coefficients * scaled).sum(axis=0), 0)
    return (given + coefficients**2 / np.diagonal(inverse)[:, None]) * variances


def separated(partition: Partition, support: np.ndarray) -> np.ndarray:
    """As many bands as in `support` (indices), exchanged for non-adjacent ones where C(K, S) does not decrease.

    The best swap of a band with a selected neighbour for a band without one is made as long as C does not decrease.
    Each swap reduces the number of neighbours, so the loop ends.
    """
    before = found = np.sort(np.asarray(support, int))
    p = partition.p
    if not 1 < len(found) <= min(p - 1, (partition.n - partition.n_clusters) / THRESHOLDS.rows_per_selected):
        return found
    swaps = _Swaps(partition)
    while (crowded := np.isin(found - 1, found) | np.isin(found + 1, found)).any():
        gains = swaps.gains(found)
        near = np.abs(found[:, None] - np.arange(p)) <= 1  # m x p
        apart = near.sum(axis=0) - near == 0  # next to none of the others
        with np.errstate(invalid="ignore"):  # of two swaps that are both impossible
            better = gains - gains[np.arange(len(found)), found][:, None]
        better[~apart | ~crowded[:, None] | ~np.isfinite(better)] = -np.inf
        a, j = np.unravel_index(better.argmax(), better.shape)
        if not better[a, j] >= 0:
            break
        found = np.sort(np.append(np.delete(found, a), j))
    return found if judge(partition, found).value >= judge(partition, before).value else before


def exchanges(partition: Partition, support: np.ndarray, roles: np.ndarray) -> list[Exchange]:
    """An `Exchange` per selected band, in their order: the bands that could replace it while all others stay.

    `support` are indices; `roles` (p) are those of `roles_`. Empty where all bands, or more than 100, are selected.
    """
    support = np.sort(np.asarray(support, int))
    if not 0 < len(support) <= min(_MOST, partition.p - 1):
        return []
    gains = _Swaps(partition).gains(support)
    around = neighbours_of(support, np.asarray(roles) == "redundant")
    out = []
    for band, by_band in zip(support, gains, strict=True):
        own = by_band[band]
        free = _free(by_band, own)
        free[support] = False
        out.append(Exchange(int(band), _stretch(int(band), free), around[int(band)]))
    return out


def _free(gains: np.ndarray, own: float) -> np.ndarray:
    """Which bands cost nothing in place of one that adds `own`, from what they would add (bool)."""
    return gains >= own - THRESHOLDS.free_exchange if np.isfinite(own) else np.zeros(len(gains), bool)


def _stretch(band: int, free: np.ndarray) -> tuple[int, ...]:
    """The contiguous free bands around `band`, including `band`; empty if no neighbour is free."""
    first = last = band
    while first > 0 and free[first - 1]:
        first -= 1
    while last < len(free) - 1 and free[last + 1]:
        last += 1
    return tuple(range(first, last + 1)) if last > first else ()


def neighbours_of(support: np.ndarray, redundant: np.ndarray) -> dict[int, tuple[int, ...]]:
    """For each selected band the redundant ones (bool p) that are contiguous with it and nearest to it."""
    out: dict[int, tuple[int, ...]] = {}
    for band in support:
        mine = redundant & (np.abs(np.arange(len(redundant)) - band) < _distance(support[support != band], redundant))
        out[int(band)] = tuple(j for j in _stretch(int(band), mine) if j != band)
    return out


def _distance(support: np.ndarray, redundant: np.ndarray) -> np.ndarray:
    """From each band to the nearest of `support`; ties go to the earlier band."""
    if not len(support):
        return np.full(len(redundant), np.inf)
    return np.abs(np.arange(len(redundant))[:, None] - support - 0.25).min(axis=1)
