"""A data set made ready: rows, covariance and its factor, computed once and shared by all that is fitted to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.lapack import dgeqrf, dorgqr

from ...rows.base import Rows
from ...rows.in_memory import ArrayRows
from .e_step import COMPLETE_ROWS, EStep
from .kernels import ColumnMoments, begin, column_moments, group_sums, varying_columns
from .noise_metric import NoiseMetric, metric_norms
from .scatter import DenseScatter, RowSpaceScatter, Scatter, WhitenedScatter
from .spatial_prior import SpatialPrior

if TYPE_CHECKING:
    from ..missing.completion import Gaps

__all__ = ["AUTO_RIDGE", "Problem", "prepare", "unit_for"]

AUTO_RIDGE = "auto"
# With many rows per variable a small ridge serves (1e-6 to 1e-2 differ little). Towards n = p the covariance becomes
# singular and the axes follow its noise: on the paper's simulation (25 variables, AkB) the error with a ridge of 1e-3
# and of 1 is 0.25 and 0.14 for 30 rows, 0.15 and 0.12 for 45 (`python benchmarks/default_model.py ridge`). Beyond, with
# n << p, the ridge hardly matters.
_LEAST_RIDGE, _MOST_RIDGE = 1e-3, 1.0

# Singular values below this share of the largest are rounding of the rotation into the row space.
_ROW_SPACE_TOLERANCE = 1e-10
# Values that the rotation works on at once (32 MB), and the columns of a block of LAPACK's.
_PIECE, _LAPACK_BLOCK = 2**22, 64
# What a state keeps from one fit to the next.
_LASTING = ("weights", "squared_norms", "first")
# Rows in which columns are first looked at for being constant: those that vary mostly do so at once.
_FIRST_LOOK = 1000
# Multiplications below which a second BLAS thread costs more than it saves (about 20 ms of one core).
_BLAS_THREADS_FROM = 5e8
# Mean variances outside 2^-200 ... 2^200 call for another unit: the engine multiplies up to four values, and those of
# single columns or groups lie far from the mean.
_MOST_EXPONENT = 200
# The first step where squares overflow or vanish altogether: after it the mean variance is known and says the rest.
_BLIND_STEP = 600


@dataclass(frozen=True)
class Problem:
    """Frozen inputs of a fit. `rows` are centred at `centre`; means are relative to it, in the rows' coordinates."""

    rows: Rows
    scatter: Scatter
    states: Any  # weights and squared norms of the rows; never with posteriors
    weight: float  # sum of the weights: the n of the formulas
    mean: np.ndarray  # overall mean relative to the centre (rounding, not zero)
    centre: np.ndarray  # p, in the variables
    constant: np.ndarray  # bool p: columns without any variation
    lightest: float  # the smallest positive weight
    given: Rows  # the rows as given: `rows` unless those are coordinates in the row space
    e_step: EStep = COMPLETE_ROWS  # how runs pass over the rows
    metric: NoiseMetric | None = None  # of a noise with factors; `states` know the rows' norms in it
    whitened: WhitenedScatter | None = None  # S in that metric
    shift: np.ndarray | float = 0.0  # p: what coordinates in the row space lack beside the centre (its rounding)
    unit: float = 1.0  # the power of two that all rows were divided by before they came here
    gaps: Gaps | None = None  # what is known of missing cells: `rows` are completed where there are any

    @property
    def prior(self) -> SpatialPrior | None:
        """The prior over the rows, where those that lie near each other tend to the same group."""
        return self.e_step.prior

    @property
    def p(self) -> int:
        """The number of variables."""
        return self.scatter.p

    @property
    def n_varying(self) -> int:
        """The number of variables that vary: what the others add to a noise is nothing."""
        return int(np.count_nonzero(~self.constant))

    @property
    def floor_unit(self) -> float:
        """The mean variance per variable, trace(S) / p: what floors and ridges are relative to.

        In the metric of the noise it is that of S in it. Where the columns' variances differ by orders of magnitude,
        the smallest ones lie below any floor in their own units, and raising their level would raise all of N with it.
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

    def in_metric(self, metric: NoiseMetric | None, states: Any) -> Problem:
        """The same data seen in the metric of a noise with factors; the states learn the rows' norms in it."""
        if metric is None:
            return self
        self.rows.fold(metric_norms, states, metric)
        half = metric.half_solve(self.scatter.covariance())
        share = self.scatter.ridge / self.scatter.mean_variance
        whitened = WhitenedScatter(metric.half_solve(half.T), share, self.p)
        return replace(self, metric=metric, whitened=whitened)

    def fresh_states(self) -> Any:
        """States that know the rows' weights and norms, and nothing of a fit."""
        return self.rows.derive(self.states, _LASTING)

    def states_of(self, fit, *names: str) -> Any:
        """Fresh states that share the named values with a fit's."""
        return self.rows.derive(fit.states, _LASTING + names)

    def start_states(self, start, n_clusters: int) -> Any:
        """States with posteriors from labels (n), from posteriors (n x K), or from a rule that fills them itself."""
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
) -> Problem:
    """Two passes over the rows: their mean, then squared norms and cross-products about it.

    Y is an array, anything that `ArrayRows` reads, or a table that knows its own engine (`Y.rows(weights, n_jobs)`).
    With `rescale(Y, unit)`, which divides all rows by a power of two, rows whose squares would overflow or vanish are
    divided by one, the problem's `unit`; others stay as they are. `correction` (p x p, or for n <= p its diagonal) is
    added to the covariance: what completed cells hide.
    """
    make = getattr(Y, "rows", None)
    rows = ArrayRows(Y, weights, n_jobs=n_jobs, block_rows=block_rows) if make is None else make(weights, n_jobs)
    if prior is not None and make is not None:
        raise ValueError("a prior over the rows needs all posteriors at once: give the rows as an array")
    # a single block leaves the cross-products to BLAS's own threads, once they are worth starting
    alone = rows.n_threads == 1 and rows.n * rows.p**2 > _BLAS_THREADS_FROM
    with rows.closed_on_error(), nullcontext() if alone else rows.threads():
        moments = _moments(rows)
        unit = 1.0 if rescale is None else unit_for(moments.mean_variance)
        if unit == 1:
            return _prepare(rows, moments, ridge, prior, correction)
    rows.close()
    assert rescale is not None
    problem = prepare(
        rescale(Y, unit), weights, ridge=ridge, n_jobs=n_jobs, block_rows=block_rows, prior=prior, rescale=rescale
    )
    return replace(problem, unit=unit * problem.unit)


def unit_for(mean_variance: float) -> float:
    """What to divide rows of this mean variance by: 1, unless its square would be out of reach of a double."""
    if not np.isfinite(mean_variance):
        return 2.0**_BLIND_STEP
    if mean_variance == 0:
        return 2.0**-_BLIND_STEP
    exponent = np.log2(mean_variance)
    return 1.0 if abs(exponent) <= _MOST_EXPONENT else float(2.0 ** np.round(exponent / 2))


@dataclass(frozen=True)
class _Moments:
    """What two passes over rows gave, which are centred now."""

    states: Any
    centre: np.ndarray
    constant: np.ndarray
    sums: ColumnMoments  # about the centre; without cross-products where n <= p
    wide: bool
    mean_variance: float  # not finite where squares overflow, 0 where they vanish


def _moments(rows: Rows) -> _Moments:
    n_rows = rows.n if rows.weights is None else int(np.count_nonzero(rows.weights))
    wide = n_rows <= rows.p
    states = rows.states()
    first = rows.fold(column_moments, states, False)
    centre = first.sums / first.weight
    # The centre must be a number of the data's own type, or constant columns would leave a residue
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
    lightest = 1.0 if weights is None else float(weights[weights > 0].min())
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
    return Problem(rows, scatter, states, n, mean, centre, constant, lightest, given, e_step, shift=shift)


def _check_reach(squared_norms: np.ndarray) -> None:
    """Refuse rows of little or no weight that lie so far away that their squares overflow."""
    far = np.flatnonzero(~np.isfinite(squared_norms))
    if len(far):
        raise ValueError(
            f"row {far[0]} of X, which has little weight or none, is more than 1e150 times as far away as the others: "
            "leave it out"
        )


def _constant_columns(rows: Rows, states) -> tuple[np.ndarray, np.ndarray]:
    """bool p: one and the same value in every row that counts; and those values."""
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
    """n <= p: coordinates in the row space. Distances and products between rows stay what they were."""
    w = np.ones(rows.n) if rows.weights is None else rows.weights
    # of the unweighted rows, so that rows of weight 0 fit in
    basis, coordinates = _row_space(_centred(rows, mean))
    covariance = (coordinates.T * w) @ coordinates / weight
    if rows.weights is None:
        eigenvalues = np.diagonal(covariance).copy()
    else:  # weights turn the principal axes inside the row space
        eigenvalues, turn = np.linalg.eigh(covariance)
        eigenvalues = np.maximum(eigenvalues, 0)
        basis, coordinates = _times_in_place(basis, turn), coordinates @ turn
    rotated = ArrayRows(coordinates, rows.weights, n_jobs=1)
    states = rotated.states()
    rotated.fold(column_moments, states, False)
    return rotated, states, RowSpaceScatter(basis, eigenvalues, ridge, correction), np.zeros(basis.shape[1])


def _centred(rows: Rows, mean: np.ndarray) -> np.ndarray:
    """The rows about their mean (n x p): the one copy that is made of them, some rows at a time."""
    centred = np.empty((rows.n, rows.p))
    step = max(1, _PIECE // rows.p)
    for start in range(0, rows.n, step):
        piece = centred[start : start + step]
        np.subtract(rows.take(np.arange(start, start + len(piece))), rows.centre, out=piece)
        piece -= mean
    return centred


def _row_space(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(basis V (p x r) of the row space, coordinates of the rows in it (n x r)) from rows (n x p), which V replaces.

    A' = QR and the SVD of R (min(n, p) x n): LAPACK writes Q over the rows, so that nothing else of their size is
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
