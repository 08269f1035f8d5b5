"""A prepared data set: rows, covariance and its factor, computed once and shared by all fits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.lapack import dgeqrf, dorgqr

from ...rows.base import ArrayRows, Rows, States
from ...rows.variables import Blocks
from .e_step import COMPLETE_ROWS, EStep
from .kernels import ColumnMoments, begin, column_moments, group_sums, varying_columns
from .noise_metric import NoiseMetric, metric_norms
from .scatter import DenseScatter, RowSpaceScatter, Scatter, WhitenedScatter
from .spatial_prior import SpatialPrior

if TYPE_CHECKING:
    from ..missing.completion import Gaps

__all__ = ["AUTO_RIDGE", "Problem", "prepare", "unit_for"]

AUTO_RIDGE = "auto"
# With many rows per variable a small ridge is enough (1e-6 to 1e-2 differ little). Near n = p the covariance becomes
# singular and the axes follow noise: on the paper's simulation (25 variables, AkB) the error with a ridge of 1e-3
# and of 1 is 0.25 and 0.14 for 30 rows, 0.15 and 0.12 for 45 (`python benchmarks/default_model.py ridge`). With
# n << p the ridge hardly matters.
_LEAST_RIDGE, _MOST_RIDGE = 1e-3, 1.0

# Singular values below this share of the largest are treated as rounding errors.
_ROW_SPACE_TOLERANCE = 1e-10
# Values that the rotation processes at once (32 MB), and the block size for LAPACK.
_PIECE, _LAPACK_BLOCK = 2**22, 64
# The attributes of a state that are kept from one fit to the next.
_LASTING = ("weights", "squared_norms", "first")
# Rows in which constant columns are looked for first; most columns that vary do so within them.
_FIRST_LOOK = 1000
# Multiplications below which a second BLAS thread costs more than it saves (about 20 ms of one core).
_BLAS_THREADS_FROM = 5e8
# Rows with a mean variance outside 2^-200 ... 2^200 are rescaled: the engine multiplies up to four values, and those of
# single columns or groups can be far from the mean.
_MOST_EXPONENT = 200
# The first rescaling if squares overflow or underflow; afterwards the mean variance is known.
_BLIND_STEP = 600
# Two blind steps cover the exponents of a double, and one more rescaling follows.
_MOST_RESCALINGS = 4


@dataclass(frozen=True)
class Problem:
    """Frozen inputs of a fit. `rows` are centred at `centre`; means are relative to it, in the rows' coordinates."""

    rows: Rows
    scatter: Scatter
    states: States  # weights and squared norms of the rows; never with posteriors
    weight: float  # sum of the weights: the n of the formulas
    mean: np.ndarray  # overall mean relative to the centre (rounding, not zero)
    centre: np.ndarray  # p, in the variables
    constant: np.ndarray  # bool p: columns without any variation
    given: Rows  # the rows as given: `rows` unless those are coordinates in the row space
    e_step: EStep = COMPLETE_ROWS  # how runs pass over the rows
    whitened: WhitenedScatter | None = None  # S in the metric of a noise with factors
    shift: np.ndarray | float = 0.0  # p: the rounding of the centre, omitted by coordinates in the row space
    unit: float = 1.0  # the power of two by which all rows were divided
    blocks: Blocks | None = None  # the variables that the columns belong to, where they are not one each

    @property
    def prior(self) -> SpatialPrior | None:
        """The prior over the rows, under which neighbours tend to be in the same group."""
        return self.e_step.prior

    @property
    def gaps(self) -> Gaps | None:
        """The missing cells, if any, for which `rows` are completed."""
        return self.e_step.gaps

    @property
    def metric(self) -> NoiseMetric | None:
        """The metric of a noise with factors; the states know the rows' norms in it."""
        return None if self.whitened is None else self.whitened.metric

    @cached_property
    def lightest(self) -> float:
        """The smallest positive weight."""
        weights = self.rows.weights
        return 1.0 if weights is None else float(weights[weights > 0].min())

    @property
    def p(self) -> int:
        """The number of columns."""
        return self.scatter.p

    @property
    def n_variables(self) -> int:
        """The number of variables, each of which is one column or a block of them."""
        return self.p if self.blocks is None else self.blocks.n_variables

    @property
    def n_varying(self) -> int:
        """The number of variables that are not constant."""
        return int(np.count_nonzero(~self.constant))

    @property
    def floor_unit(self) -> float:
        """The mean variance per variable, trace(S) / p, to which floors and ridges are relative.

        For a noise with factors, S is taken in its metric. If the columns' variances differ by orders of magnitude,
        the smallest are below any floor in their own units, and raising them would raise all of N.
        """
        return self.inverted.mean_variance

    @property
    def inverted(self) -> Scatter:
        """The covariance that a dense F-step inverts: S, or S in the metric of the noise."""
        return self.scatter if self.whitened is None else self.whitened

    def with_ridge(self, share: float) -> Problem:
        """The same data with another ridge, as a share of the mean variance."""
        if self.whitened is not None:
            return replace(self, whitened=self.whitened.with_ridge(share))
        return replace(self, scatter=self.scatter.with_ridge(share))

    def in_metric(self, metric: NoiseMetric | None, states: States) -> Problem:
        """The same data in the metric of a noise with factors; the rows' norms in it are added to the states."""
        if metric is None:
            return self
        self.rows.fold(metric_norms, states, metric)
        half = metric.half_solve(self.scatter.covariance())
        share = self.scatter.ridge / self.scatter.mean_variance
        return replace(self, whitened=WhitenedScatter(metric, metric.half_solve(half.T), share, self.p))

    def fresh_states(self) -> States:
        """New states with the rows' weights and norms only."""
        return self.rows.derive(self.states, _LASTING)

    def states_of(self, fit, *names: str) -> States:
        """New states that share the named values with those of a fit."""
        return self.rows.derive(fit.states, _LASTING + names)

    def start_states(self, start, n_clusters: int) -> States:
        """States with posteriors from labels (n), posteriors (n x K), or a rule with a `fill` method."""
        states = self.fresh_states()
        if isinstance(start, np.ndarray):
            self.rows.spread(states, "start", start.T)
            self.rows.fold(begin, states, n_clusters, read=False)
        else:
            start.fill(self.rows, states, n_clusters)
        return states

    def group_sums(self, states):
        """n_k and T'Y of the posteriors in the states."""
        return self.rows.fold(group_sums, states)


def _ridge_for(ridge: float | str, weight: float, p: int) -> float:
    """The ridge as a share of the mean variance; "auto": 1e-3 from about n = 6 p on, 1 from n = 1.1 p down."""
    if isinstance(ridge, str):
        return min(_MOST_RIDGE, max(_LEAST_RIDGE, (1.1 * p / weight) ** 4))
    return ridge


def prepare(
    Y,
    weights=None,
    *,
    ridge: float | str,
    n_jobs=None,
    block_rows=None,
    prior=None,
    rescale: Callable[[Any, float], Any] | None = None,
    correction: np.ndarray | None = None,
    attempts: int = _MOST_RESCALINGS,
) -> Problem:
    """Two passes over the rows: their mean, then squared norms and cross-products about it.

    Y is an array, anything that `ArrayRows` reads, or a table with its own engine (`Y.rows(weights, n_jobs)`). If the
    squares of the rows would overflow or underflow, they are divided by a power of two, the problem's `unit`, by
    `rescale(Y, unit)`. `correction` (p x p, or for n <= p its diagonal) is added to the covariance, for the conditional
    covariance of completed cells. `attempts` is how many times the rows may be rescaled.
    """
    make = getattr(Y, "rows", None)
    rows = ArrayRows(Y, weights, n_jobs=n_jobs, block_rows=block_rows) if make is None else make(weights, n_jobs)
    if prior is not None and make is not None:
        raise ValueError("a prior over the rows needs all posteriors at once: give the rows as an array")
    # a single large block uses BLAS's own threads for the cross-products
    alone = rows.n_threads == 1 and rows.n * rows.p**2 > _BLAS_THREADS_FROM
    with rows.closed_on_error(), nullcontext() if alone else rows.threads():
        moments = _moments(rows)
        unit = 1.0 if rescale is None else unit_for(moments.mean_variance)
        if unit == 1:
            return _prepare(rows, moments, ridge, prior, correction)
    rows.close()
    assert rescale is not None
    if attempts == 0:
        raise ValueError(
            "the variances of the columns cannot be computed: their values are too large or too small, or equal except "
            "for rounding; subtract a constant from the columns, or scale them"
        )
    problem = prepare(
        rescale(Y, unit), weights, ridge=ridge, n_jobs=n_jobs, block_rows=block_rows, prior=prior, rescale=rescale,
        attempts=attempts - 1,
    )  # fmt: skip
    return replace(problem, unit=unit * problem.unit)


def unit_for(mean_variance: float) -> float:
    """The divisor for rows of this mean variance: 1, unless squares of variances would overflow or underflow."""
    if not np.isfinite(mean_variance):
        return 2.0**_BLIND_STEP
    if mean_variance == 0:
        return 2.0**-_BLIND_STEP
    exponent = np.log2(max(mean_variance, np.finfo(float).tiny))  # rounding may make it negative
    return 1.0 if abs(exponent) <= _MOST_EXPONENT else float(2.0 ** np.round(exponent / 2))


@dataclass(frozen=True)
class _Moments:
    """The result of two passes over the rows, after which they are centred."""

    states: States
    centre: np.ndarray
    constant: np.ndarray
    sums: ColumnMoments  # about the centre; without cross-products where n <= p
    wide: bool
    mean_variance: float  # not finite if squares overflow, 0 if they underflow


def _moments(rows: Rows) -> _Moments:
    n_rows = rows.n if rows.weights is None else int(np.count_nonzero(rows.weights))
    wide = n_rows <= rows.p
    states = rows.states()
    first = rows.fold(column_moments, states, False)
    centre = first.sums / first.weight
    # The centre must be representable in the data's type, so that constant columns become exactly 0
    centre = centre.astype(rows.dtype).astype(float) if rows.dtype == np.float32 else centre
    constant, values = _constant_columns(rows, states)
    if constant.all():
        raise ValueError("all rows (of positive weight) are equal: there is nothing to cluster")
    centre[constant] = values[constant]
    rows.recentre(centre)
    second = rows.fold(column_moments, states, not wide)
    with np.errstate(over="ignore", invalid="ignore"):
        if wide:
            norms = rows.gather(states, "squared_norms")
            trace = norms.sum() if rows.weights is None else norms[rows.weights > 0] @ rows.weights[rows.weights > 0]
        else:
            trace = np.trace(second.cross)
            rows.learn_spreads(np.sqrt(np.diagonal(second.cross) / second.weight))
        mean_variance = float(trace / second.weight / rows.p)
    return _Moments(states, centre, constant, second, wide, mean_variance)


def _prepare(rows: Rows, moments: _Moments, ridge: float | str, prior, correction: np.ndarray | None) -> Problem:
    weights, states, second = rows.weights, moments.states, moments.sums
    mean = second.sums / second.weight
    if weights is not None:
        _check_reach(rows.gather(states, "squared_norms"))
    given, shift = rows, 0.0 if not moments.wide else mean
    share = _ridge_for(ridge, float(second.weight), rows.p)
    if moments.wide:
        rows, states, scatter, mean = _rotate(rows, mean, second.weight, share, correction)
    else:
        covariance = second.cross / second.weight - np.outer(mean, mean)
        covariance = covariance if correction is None else covariance + correction
        scatter = DenseScatter(covariance, share)
    centre, constant = moments.centre, moments.constant
    n, e_step = float(second.weight), EStep(prior)
    return Problem(rows, scatter, states, n, mean, centre, constant, given, e_step, shift=shift)


def _check_reach(squared_norms: np.ndarray) -> None:
    """Reject rows of little or no weight whose squares overflow."""
    far = np.flatnonzero(~np.isfinite(squared_norms))
    if len(far):
        raise ValueError(
            f"row {far[0]} of X, which has little weight or none, is more than 1e150 times as far away as the others: "
            "leave it out"
        )


def _constant_columns(rows: Rows, states) -> tuple[np.ndarray, np.ndarray]:
    """(bool p, columns with a single value in all rows of positive weight; values p of the first such row)."""
    look_at = np.arange(min(rows.n, _FIRST_LOOK))
    if rows.weights is not None:
        look_at = np.flatnonzero(rows.weights)[:_FIRST_LOOK]
    first = rows.take(look_at[:1])[0].astype(float)
    constant = np.ones(rows.p, bool)
    for start in range(0, len(look_at), step := max(1, _PIECE // rows.p)):
        constant &= (rows.take(look_at[start : start + step]) == first).all(axis=0)
    columns = np.flatnonzero(constant)
    if len(columns) and len(look_at) < rows.n:
        constant[columns] = rows.fold(varying_columns, states, first[columns], columns) == 0
    return constant, first


def _rotate(rows: Rows, mean, weight, ridge, correction: np.ndarray | None):
    """n <= p: coordinates in the row space, which preserve distances and products between rows."""
    w = np.ones(rows.n) if rows.weights is None else rows.weights
    # of the unweighted rows, so that rows of weight 0 are included
    basis, coordinates = _row_space(_centred(rows, mean))
    covariance = (coordinates.T * w) @ coordinates / weight
    if rows.weights is None:
        eigenvalues = np.diagonal(covariance).copy()
    else:  # weights rotate the principal axes within the row space
        eigenvalues, turn = np.linalg.eigh(covariance)
        eigenvalues = np.maximum(eigenvalues, 0)
        basis, coordinates = _times_in_place(basis, turn), coordinates @ turn
    rotated = ArrayRows(coordinates, rows.weights, n_jobs=1)
    states = rotated.states()
    rotated.fold(column_moments, states, False)
    return rotated, states, RowSpaceScatter(basis, eigenvalues, ridge, correction), np.zeros(basis.shape[1])


def _centred(rows: Rows, mean: np.ndarray) -> np.ndarray:
    """A centred copy of the rows (n x p), made in pieces."""
    centred = np.empty((rows.n, rows.p))
    step = max(1, _PIECE // rows.p)
    for start in range(0, rows.n, step):
        piece = centred[start : start + step]
        np.subtract(rows.take(np.arange(start, start + len(piece))), rows.centre, out=piece)
        piece -= mean
    return centred


def _row_space(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(basis V (p x r) of the row space, coordinates of the rows in it (n x r)); overwrites the rows (n x p).

    Uses A' = QR and the SVD of R (min(n, p) x n). LAPACK writes Q over the rows, so no other array of their size is
    needed.
    """
    n, k = len(centred), min(centred.shape)  # rows of weight 0 may be more than there are variables
    reduced, scales, _, _ = dgeqrf(centred.T, lwork=_LAPACK_BLOCK * n, overwrite_a=1)
    R = np.triu(reduced[:k])
    left, singular, _ = np.linalg.svd(R, full_matrices=False)
    keep = singular > _ROW_SPACE_TOLERANCE * max(singular[0], np.finfo(float).tiny)
    left = left[:, keep]
    Q, _, _ = dorgqr(reduced[:, :k], scales, lwork=_LAPACK_BLOCK * n, overwrite_a=1)
    return _times_in_place(Q, left), R.T @ left


def _times_in_place(basis: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """basis (p x n) @ turn (n x r, r <= n), in the memory of the basis."""
    step = max(1, _PIECE // basis.shape[1])
    for start in range(0, len(basis), step):
        basis[start : start + step, : turn.shape[1]] = basis[start : start + step] @ turn
    return basis[:, : turn.shape[1]]
