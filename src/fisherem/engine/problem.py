"""A data set made ready: rows, covariance and its factor, computed once and shared by all that is fitted to it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from .blocks import ArrayRows, BlockState
from .prior import SpatialPrior
from .scatter import DenseScatter, RowSpaceScatter, Scatter
from .statistics import column_moments, group_sums

__all__ = ["Problem", "prepare"]

# Singular values below this share of the largest are rounding of the rotation into the row space.
_ROW_SPACE_TOLERANCE = 1e-10
# Multiplications below which a second BLAS thread costs more than it saves (about 20 ms of one core).
_BLAS_THREADS_FROM = 5e8


@dataclass(frozen=True)
class Problem:
    """Frozen inputs of a fit. `rows` are centred at `centre`; means are relative to it, in the rows' coordinates."""

    source: np.ndarray  # n x p, as given
    rows: ArrayRows
    scatter: Scatter
    states: list[BlockState]  # weights and squared norms of the rows; never with posteriors
    weight: float  # sum of the weights: the n of the formulas
    mean: np.ndarray  # overall mean relative to the centre (rounding, not zero)
    centre: np.ndarray  # p, in the variables
    constant: np.ndarray  # bool p: columns without any variation
    lightest: float  # the smallest positive weight
    prior: SpatialPrior | None = None  # rows that lie near each other tend to the same group

    @property
    def p(self) -> int:
        return self.scatter.p

    @property
    def floor_unit(self) -> float:
        """The mean variance per variable, trace(S) / p: what floors and ridges are relative to."""
        return self.scatter.mean_variance

    def fresh_states(self) -> list[BlockState]:
        return [BlockState(s.weights, s.squared_norms) for s in self.states]

    def start_states(self, start: np.ndarray, n_clusters: int) -> list[BlockState]:
        """States with posteriors from labels (n) or from posteriors (n x K)."""
        states = self.fresh_states()
        for state, rows in zip(states, self.rows.slices, strict=True):
            part = start[rows]
            state.posteriors = (
                np.ascontiguousarray(part.T)
                if part.ndim == 2
                else (part == np.arange(n_clusters)[:, None]).astype(float)
            )
        return states

    def group_sums(self, states):
        return self.rows.fold(group_sums, states)


def prepare(Y, weights=None, *, ridge: float, n_jobs=None, block_rows=None, prior=None) -> Problem:
    """Two passes over the rows: their mean, then squared norms and cross-products about it."""
    rows = ArrayRows(Y, weights, n_jobs=n_jobs, block_rows=block_rows)
    # a single block leaves the cross-products to BLAS's own threads, once they are worth starting
    alone = rows.n_threads == 1 and rows.n * rows.p**2 > _BLAS_THREADS_FROM
    with nullcontext() if alone else rows.threads():
        return _prepare(rows, weights, ridge, prior)


def _prepare(rows: ArrayRows, weights, ridge: float, prior) -> Problem:
    Y = rows.Y
    n_rows = rows.n if weights is None else int(np.count_nonzero(weights))
    wide = n_rows <= rows.p
    states = rows.states()
    first = rows.fold(column_moments, states, False)
    centre = first.sums / first.weight
    # The centre must be a number of the data's own type, or constant columns would leave a residue
    centre = centre.astype(Y.dtype).astype(float) if Y.dtype == np.float32 else centre
    constant = _constant_columns(rows)
    first_row = 0 if weights is None else int(np.argmax(weights > 0))
    centre[constant] = Y[first_row : first_row + 1][0, constant]
    rows.recentre(centre)
    second = rows.fold(column_moments, states, not wide)
    mean = second.sums / second.weight
    lightest = 1.0 if weights is None else float(weights[weights > 0].min())
    if wide:
        rows, states, scatter, mean = _rotate(rows, states, mean, second.weight, ridge)
    else:
        covariance = second.cross / second.weight - np.outer(mean, mean)
        scatter = DenseScatter(covariance, ridge)
    return Problem(Y, rows, scatter, states, float(second.weight), mean, centre, constant, lightest, prior)


def _constant_columns(rows: ArrayRows) -> np.ndarray:
    """bool p: one and the same value in every row that counts. Few blocks are read: most columns vary at once."""
    constant = np.ones(rows.p, bool)
    first = None
    for start in range(0, rows.n, 1000):
        block = rows.Y[start : start + 1000]
        if rows.weights is not None:
            block = block[rows.weights[start : start + 1000] > 0]
        if not len(block):
            continue
        first = block[0].copy() if first is None else first
        constant &= (block == first).all(axis=0)
        if not constant.any():
            break
    return constant


def _rotate(rows: ArrayRows, states, mean, weight, ridge):
    """n <= p: coordinates in the row space. Distances and products between rows stay what they were."""
    centred = np.concatenate([block.copy() for block in rows.tiles()]) - mean
    w = np.ones(rows.n) if rows.weights is None else rows.weights
    # Tall (p x n) so that LAPACK reduces by QR first; the SVD is of the unweighted rows so that zero-weight rows fit in
    basis, singular, _ = np.linalg.svd(centred.T, full_matrices=False)
    keep = singular > _ROW_SPACE_TOLERANCE * max(singular[0], np.finfo(float).tiny)
    basis = basis[:, keep]
    coordinates = centred @ basis
    covariance = (coordinates.T * w) @ coordinates / weight
    if rows.weights is None:
        eigenvalues = np.diagonal(covariance).copy()
    else:  # weights turn the principal axes inside the row space
        eigenvalues, turn = np.linalg.eigh(covariance)
        eigenvalues = np.maximum(eigenvalues, 0)
        basis, coordinates = basis @ turn, coordinates @ turn
    rotated = ArrayRows(coordinates, rows.weights, n_jobs=1)
    states = rotated.states()
    rotated.fold(column_moments, states, False)
    return rotated, states, RowSpaceScatter(basis, eigenvalues, ridge), np.zeros(basis.shape[1])
