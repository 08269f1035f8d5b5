"""Preparation of tables with missing cells: completion by conditional means, and the conditional covariances.

Starts, k-means and the choice of a model, of factors and of variables use a completed table. Its covariance S is the
expected one: that of the completed rows plus the mean conditional covariance of their missing cells, the *correction*.
The fit itself is *exact*: its E-step uses only the observed cells (`expectation`).

A completion depends on the groups only through their posteriors (a single group at first). The groups' means are free
in every variable, and their common covariance has factors. This is the model behind Fisher's criterion and C(K, S), so
S and the groups' means are consistent. The constraints of the fitted model, such as a spherical noise, are not imposed
here: if the means were expected under one model and S under another, S^-1 H would follow their difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..data.noise_metric import NoiseMetric, factor_numbers, factor_values, fewest_factors
from ..data.problem import Problem, prepare, unit_for
from ..dlm.f_step.step import FStep
from .expectation import Conditional, GapRows
from .patterns import GapMixture, Patterns

__all__ = ["Gaps", "Observed", "complete_first", "complete_with", "conditional_of", "filled", "mixture_of"]

# The smallest number of factors with this share of the gain in BIC is chosen. With a full covariance, 20% of wine27's
# cells were imputed worse than by column means.
_ENOUGH = 0.9
# Iterations stop when the log-likelihood per row increases by less than this, or after this many.
_TOLERANCE, _MOST_ITERATIONS = 1e-2, 20
# Cached completions: an alternation needs the same partition two or three times in a row, and a dozen of them may run
# concurrently. At most this many are kept, or as many as fit 64 MB, but at least three.
_MOST_SEEN, _SEEN_BYTES = 32, 2**26
# Variances below this share of the mean are rounding errors.
_LEAST_REST = 1e-6


@dataclass(frozen=True)
class Gaps:
    """The missing cells of a problem."""

    observed: Observed  # the rows as they were given
    rows: GapRows  # the same relative to the problem's centre
    correction: np.ndarray  # of S: p x p, or (for n <= p) its diagonal (p)
    seen: dict[bytes, Problem] = field(default_factory=dict, repr=False)  # recent completions with groups

    def __getstate__(self):
        """The cache is not pickled."""
        return {**self.__dict__, "seen": {}}

    def hidden(self, columns: np.ndarray) -> np.ndarray:
        """R'(correction)R for columns R (p x c)."""
        if self.correction.ndim == 1:
            return (columns.T * self.correction) @ columns
        return columns.T @ self.correction @ columns

    @property
    def n_missing(self) -> int:
        """The number of missing cells."""
        patterns = self.rows.patterns
        return int(patterns.counts @ (1 - patterns.observed).sum(axis=1))

    @property
    def hidden_trace(self) -> float:
        """The trace of the correction."""
        return float(self.correction.sum() if self.correction.ndim == 1 else np.trace(self.correction))


def filled(table: np.ndarray, conditional: Conditional, centre: np.ndarray, scales: np.ndarray | float = 1.0):
    """The table (n x p) with conditional means in its missing cells; the mixture is of (rows - centre) / scales."""
    mixture, patterns = conditional.mixture, conditional.rows.patterns
    means = np.empty((patterns.n, len(mixture.overall)))
    means[patterns.order] = mixture.overall + conditional.mean_scores() @ mixture.basis.T
    means *= scales
    means += centre
    return np.where(np.isnan(table), means, table)


def _correction(conditional: Conditional, wide: bool) -> np.ndarray:
    """sum_i w_i Cov(y_i | observed cells) / n: p x p, or its diagonal for wide tables.

    The row space of n <= p rows cannot represent the covariances of the missing cells.
    """
    basis, missing = conditional.mixture.basis, 1 - conditional.rows.patterns.observed
    cores, levels = conditional.covariance_cores()
    weight = conditional.rows.weight
    diagonal = levels @ missing
    if wide:
        q = basis.shape[1]
        per_cell = (missing.T @ cores.reshape(len(cores), q * q)).reshape(-1, q, q)
        return (diagonal + np.einsum("pab,pa,pb->p", per_cell, basis, basis)) / weight
    out = np.diag(diagonal)
    for a in range(basis.shape[1]):
        out += (missing * basis[:, a]).T @ (missing * (cores[:, a] @ basis.T))
    return (out + out.T) / (2 * weight)


def _is_wide(table, weights: np.ndarray | None) -> bool:
    n = len(table) if weights is None else int(np.count_nonzero(weights))
    return n <= table.shape[1]


@dataclass(frozen=True)
class Observed:
    """A table (n x p) with missing cells, its columns standardised by their observed ones."""

    table: np.ndarray
    weights: np.ndarray | None
    centre: np.ndarray  # p
    scales: np.ndarray  # p
    rows: GapRows  # (table - centre) / scales
    constant: np.ndarray  # indices of the columns with a single observed value in rows of positive weight

    @classmethod
    def of(cls, table: np.ndarray, weights: np.ndarray | None) -> Observed:
        """Every column must have observed cells in rows of positive weight."""
        centre, scales = _observed_moments(table, weights)
        rows = GapRows.of(Patterns.of(~np.isnan(table)), table, centre, weights)
        rows = replace(rows, values=rows.values / scales)
        rows = replace(rows, norms=np.einsum("np,np->n", rows.values, rows.values))
        counting = table if weights is None else table[weights > 0]
        constant = np.flatnonzero(np.nanmin(counting, axis=0) == np.nanmax(counting, axis=0))
        return cls(table, weights, centre, scales, rows, constant)

    def by_neighbours(self) -> np.ndarray:
        """The table with missing cells imputed by the mean of the five nearest rows, without a covariance model.

        Equal rows count once, so that weights and repetitions are equivalent. Distances use the standardised cells that
        are observed in both rows.
        """
        from sklearn.impute import KNNImputer  # slow to import, and rarely needed

        values = (
            np.ascontiguousarray((self.table - self.centre) / self.scales) + 0.0
        )  # replaces -0.0, whose bytes differ from 0.0
        values[np.isnan(values)] = np.nan
        keys = values.view(f"V{values.shape[1] * values.itemsize}")[:, 0]
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
        distinct = values[first]
        counting = np.ones(len(values), bool) if self.weights is None else self.weights > 0
        donors = np.zeros(len(first), bool)
        donors[index[counting]] = True
        filled = KNNImputer(keep_empty_features=True).fit(distinct[donors]).transform(distinct)[index]
        return self._with_constants(np.where(np.isnan(self.table), filled * self.scales + self.centre, self.table))

    def completed(self, posteriors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the table completed by conditional means, the correction of S), for given groups (K x n)."""
        wide = _is_wide(self.table, self.weights)
        conditional = _grouped(self.rows, posteriors[:, self.rows.patterns.order], wide)
        table, correction = filled(self.table, conditional, self.centre, self.scales), _correction(conditional, wide)
        correction *= self.scales**2 if wide else np.multiply.outer(self.scales, self.scales)
        correction[self.constant] = 0.0
        if not wide:
            correction[:, self.constant] = 0.0
        return self._with_constants(table), correction

    def _with_constants(self, table: np.ndarray) -> np.ndarray:
        """Fill the missing cells of constant columns with their constant, in place."""
        for j in self.constant:
            column = self.table[:, j]
            table[np.isnan(column), j] = np.nanmin(column if self.weights is None else column[self.weights > 0])
        return table


def complete_first(
    table: np.ndarray, weights: np.ndarray | None, *, rescale: Callable[[Any, float], Any], **options: Any
) -> Problem:
    """The problem of a table (n x p) with missing cells, completed as one group. Every column has observed cells.

    `options` and `rescale` are those of `prepare`.
    """
    observed = Observed.of(table, weights)
    if len(observed.constant) == table.shape[1]:
        raise ValueError("the observed cells of every column are equal: there is nothing to cluster")
    with np.errstate(over="ignore"):
        unit = unit_for(float(np.mean(observed.scales**2)))
    if unit != 1:
        problem = complete_first(rescale(table, unit), weights, rescale=rescale, **options)
        return replace(problem, unit=unit * problem.unit)
    completed, correction = observed.completed(np.ones((1, len(table))))
    problem = prepare(completed, weights, correction=correction, **options)
    rows = GapRows.of(observed.rows.patterns, table, problem.centre, weights, problem.shift)
    return replace(problem, e_step=replace(problem.e_step, gaps=Gaps(observed, rows, correction)))


def complete_with(problem: Problem, posteriors: np.ndarray) -> Problem:
    """The same rows, with missing cells completed given the groups of these posteriors (K x n)."""
    scatter, gaps = problem.scatter, problem.gaps
    assert gaps is not None
    key = np.ascontiguousarray(posteriors).tobytes()
    if key not in gaps.seen:
        completed, correction = gaps.observed.completed(posteriors)
        ridge, given = scatter.ridge / scatter.mean_variance, problem.given
        again = prepare(completed, given.weights, ridge=ridge, n_jobs=given.n_threads, correction=correction)
        again = replace(again, blocks=problem.blocks)
        most = max(3, min(_MOST_SEEN, _SEEN_BYTES // max(completed.nbytes, 1)))
        while len(gaps.seen) >= most:
            del gaps.seen[next(iter(gaps.seen))]
        gaps.seen[key] = replace(again, unit=problem.unit)
    return gaps.seen[key]


def conditional_of(problem: Problem, solution: Any, log_prior: np.ndarray | None = None) -> Conditional:
    """The conditional distribution of the rows of a problem with gaps under a solution."""
    assert problem.gaps is not None
    return Conditional(problem.gaps.rows, mixture_of(problem, solution), log_prior)


def mixture_of(problem: Problem, solution: Any) -> GapMixture:
    """A solution as a mixture in the variables, relative to the problem's centre."""
    scatter, density = problem.scatter, solution.density
    loadings = FStep.loadings(solution.axes, scatter)
    metric = None if solution.metric is None else solution.metric.in_variables(scatter)
    if solution.overall is None:
        means = scatter.to_variables(solution.means.T).T
    else:
        inside = density.latent_means - solution.overall @ solution.axes.rows
        along = loadings if metric is None else metric.spread_along(loadings)
        means = scatter.to_variables(solution.overall[:, None])[:, 0] + inside @ along.T
    return GapMixture.of(density.proportions, means, loadings, density.covariances, density.noises, metric)


# -- given groups --------------------------------------------------------------------------------------------------


def _observed_moments(table: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations (p) of the observed cells; 1 for columns that do not vary."""
    observed = ~np.isnan(table)
    w = observed.astype(float) if weights is None else observed * weights[:, None]
    total = w.sum(axis=0)
    centre = np.einsum("np,np->p", w, np.where(observed, table, 0.0)) / total
    centred = np.where(observed, table - centre, 0.0)
    largest = np.abs(centred).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    centred /= largest  # to avoid overflow
    scales = np.sqrt(np.einsum("np,np,np->p", w, centred, centred) / total) * largest
    return centre, np.where(scales > 0, scales, 1.0)


def _grouped(rows: GapRows, posteriors: np.ndarray, wide: bool) -> Conditional:
    """EM for given groups with their own means and a common covariance, whose number of factors BIC chooses once."""
    n, p = rows.weight, rows.values.shape[1]
    weighted = posteriors * rows.weights
    sizes = np.maximum(weighted.sum(axis=1), np.finfo(float).tiny)
    means = _observed_means(rows, weighted)
    values, vectors, total = _first_spectrum(rows, posteriors, means, wide)
    m = _n_factors(values, n, p, total)
    last = -np.inf
    for _ in range(_MOST_ITERATIONS):
        mixture = _factor_model(sizes / n, means, values, vectors[:, :m], total)
        conditional = Conditional(rows, mixture, posteriors=posteriors)
        if conditional.log_likelihood - last < _TOLERANCE * n:
            break
        last = conditional.log_likelihood
        means = conditional.sums() / sizes[:, None]
        within = conditional.mean_scores() @ mixture.basis.T + mixture.overall
        within *= np.repeat(1 - rows.patterns.observed, rows.patterns.counts, axis=0)
        within += rows.values
        within -= posteriors.T @ means
        correction = _correction(conditional, wide)
        values, vectors, total = _spectrum(within, rows.weights / n, correction)
    return conditional


def _observed_means(rows: GapRows, weighted: np.ndarray) -> np.ndarray:
    """Means (K x p) of the observed cells of each group; 0, the overall mean, if a group has none."""
    seen = rows.patterns.sums(weighted[:, :, None])[:, :, 0] @ rows.patterns.observed
    return np.where(seen > 0, weighted @ rows.values / np.maximum(seen, np.finfo(float).tiny), 0.0)


def _factor_model(
    proportions: np.ndarray, means: np.ndarray, values: np.ndarray, vectors: np.ndarray, total: float
) -> GapMixture:
    """Groups whose common covariance has m free eigenvalues; the others are replaced by their mean."""
    K, (p, m) = len(means), vectors.shape
    # few rows may leave no variance at all inside the groups; the columns have the variance 1
    least = _LEAST_REST * max(total / p, _LEAST_REST)
    rest = max((total - float(values[:m].sum())) / max(p - m, 1), least)
    gains = np.maximum(values[:m] / rest - 1, 0)
    nothing = np.zeros((p, 0)), np.zeros((K, 0, 0))
    return GapMixture.of(proportions, means, *nothing, np.full(K, rest), NoiseMetric(vectors, gains))


def _spectrum(rows: np.ndarray, shares: np.ndarray, correction: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Eigenvalues, largest first, eigenvectors (p x r) and trace of rows' diag(shares) rows + correction.

    A diagonal correction (p) is added to the trace only.
    """
    weighted = rows * np.sqrt(shares)[:, None]
    if correction.ndim == 2:
        matrix = weighted.T @ weighted + correction
        return *_eigen(matrix), float(np.trace(matrix))
    gram = weighted @ weighted.T
    values, left = _eigen(gram)
    values = np.maximum(values, max(_LEAST_REST * values[0], np.finfo(float).tiny))
    return values, weighted.T @ (left / np.sqrt(values)), float(np.trace(gram) + correction.sum())


def _eigen(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values[::-1], 0), vectors[:, ::-1]


def _first_spectrum(
    rows: GapRows, posteriors: np.ndarray, means: np.ndarray, wide: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """The spectrum of pairwise-complete covariances; for wide tables, of the rows with 0 for missing cells."""
    patterns, w, p = rows.patterns, rows.weights, rows.values.shape[1]
    within = rows.values - (posteriors.T @ means) * np.repeat(patterns.observed, patterns.counts, axis=0)
    if wide:
        return _spectrum(within, w / rows.weight, np.zeros(p))
    per_pattern = patterns.sums(w[:, None])[:, 0]
    together = (patterns.observed.T * per_pattern) @ patterns.observed
    cross = (within.T * w) @ within
    matrix = np.where(together > 0, cross / np.maximum(together, np.finfo(float).tiny), 0.0)
    return *_eigen(matrix), float(np.trace(matrix))


def _n_factors(values: np.ndarray, n: float, p: int, total: float) -> int:
    """The number of factors that BIC chooses, at least one."""
    found = factor_values(values, n, p, factor_numbers(n, p, full=False), total=total)
    return max(1, fewest_factors(found, _ENOUGH))
