"""The E-step with missing cells, and the statistics that are expected given the observed ones.

For a row with observed cells o and residual r = y_o - m_ok, let G = Q_o'Q_o, u = Q_o'r and

    A = C_k (beta_k I + G C_k)^-1        (q x q, one per pattern and group)

Then, by Woodbury's identity, the marginal of the observed cells and the conditional of the missing ones (m) are

    r'W_oo^-1 r    = (r'r - u'A u) / beta_k
    log|W_oo|      = (|o| - q) log beta_k + log|beta_k I + G C_k|
    E[y_m | y_o]   = m_mk + Q_m A u
    Cov(y_m | y_o) = beta_k (I + Q_m A Q_m')

so all linear systems are q x q. Rows are sorted by pattern; w are their weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..data.kernels import normalised
from .patterns import GapMixture, Patterns, by_rows, times_rows

__all__ = ["Conditional", "GapRows", "Solved"]

_LOG_2_PI = float(np.log(2 * np.pi))
# Distances outside the axes below this share of the squared length are computed from residuals: the difference of
# squares, which is faster, has lost too many digits.
_LOST = 1e-7


@dataclass(frozen=True)
class GapRows:
    """Rows with gaps, sorted by their pattern: values (n x p) relative to a centre, 0 for missing cells."""

    patterns: Patterns
    values: np.ndarray
    norms: np.ndarray  # n: sums of the squares of the observed cells
    weights: np.ndarray  # n

    @classmethod
    def of(
        cls, patterns: Patterns, table: np.ndarray, centre: np.ndarray, weights: np.ndarray | None,
        shift: np.ndarray | float = 0.0,
    ) -> GapRows:  # fmt: skip
        """From the table (n x p, NaN for missing cells) in its own order, relative to centre + shift.

        The shift (p) is too small to be added to a centre that is far away.
        """
        values = np.subtract(table[patterns.order], centre, dtype=float)
        values -= shift
        np.copyto(values, 0.0, where=np.isnan(values))
        w = np.ones(patterns.n) if weights is None else weights[patterns.order]
        return cls(patterns, values, np.einsum("np,np->n", values, values), w)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def times(self, matrix: np.ndarray, less: np.ndarray) -> np.ndarray:
        """out[i] = sum over the observed cells j of (y[i, j] - less[j]) matrix[j, :] (n x c)."""
        out = self.values @ matrix
        out -= by_rows(self.patterns.observed @ (less[:, None] * matrix), self.patterns.counts)
        return out


@dataclass(frozen=True)
class Solved:
    """The solved systems of a chunk of g patterns."""

    patterns: slice
    rows: slice
    counts: np.ndarray  # g
    gram: np.ndarray  # G, g x q x q
    inner: np.ndarray  # A, K x g x q x q
    log_dets: np.ndarray  # log|beta_k I + G C_k|, K x g


class Conditional:
    """Posteriors of the rows under a mixture, and the conditional distribution of their missing cells."""

    def __init__(
        self,
        rows: GapRows,
        mixture: GapMixture,
        log_prior: np.ndarray | None = None,
        posteriors: np.ndarray | None = None,
    ):
        """`log_prior` (K x n), in the order of the sorted rows, is added to log pi_k.

        With `posteriors` (K x n) the groups are given, and the likelihood is that of the rows inside them.
        """
        self.rows, self.mixture = rows, mixture
        K, n, q = len(mixture.noises), rows.patterns.n, mixture.q
        self.scores = np.empty((K, n, q))  # b = a_k + A u: the missing cells' means are overall + Q_m b
        self.distances = np.empty((K, n))  # r'W_oo^-1 r
        log_joint = np.empty((K, n))
        self._kept: list[Solved] | None = None
        residuals = rows.times(mixture.basis, mixture.overall)
        norms = _norms(rows, mixture.overall)
        for part in self.parts():
            log_joint[:, part.rows] = self._evaluate(part, residuals[part.rows], norms[part.rows])
        log_joint += np.log(mixture.proportions)[:, None]
        if log_prior is not None:
            log_joint += log_prior
        self.posteriors, self.log_density, self.entropies = _posteriors(log_joint, posteriors)
        self.weighted = self.posteriors * rows.weights
        self._norms = norms

    @property
    def log_likelihood(self) -> float:
        """sum_i w_i log f(observed cells of row i)."""
        return float(self.rows.weights @ self.log_density)

    @property
    def entropy(self) -> float:
        """The weighted entropy of the posteriors."""
        return float(self.rows.weights @ self.entropies)

    @property
    def weights(self) -> np.ndarray:
        """n_k (K)."""
        return self.weighted.sum(axis=1)

    def parts(self) -> Iterator[Solved]:
        """Iterate over chunks; a single chunk is solved once and cached."""
        if self._kept is not None:
            yield from self._kept
            return
        K, q = self.mixture.means.shape
        chunks = list(self.rows.patterns.chunks(3 * K * q * q))
        for chunk in chunks:
            solved = self._solve(*chunk)
            if len(chunks) == 1:
                self._kept = [solved]
            yield solved

    def _solve(self, patterns: slice, rows: slice) -> Solved:
        mixture, q = self.mixture, self.mixture.q
        observed = self.rows.patterns.observed[patterns]
        gram = _weighted_products(observed, mixture.basis, mixture.basis)
        inner = np.empty((len(mixture.noises), len(observed), q, q))
        log_dets = np.empty((len(mixture.noises), len(observed)))
        for k, (spread, noise) in enumerate(zip(mixture.spreads, mixture.noises, strict=True)):
            if k and noise == mixture.noises[0] and np.array_equal(spread, mixture.spreads[0]):
                inner[k], log_dets[k] = inner[0], log_dets[0]
                continue
            system = spread @ gram
            system[:, np.arange(q), np.arange(q)] += noise
            log_dets[k] = np.linalg.slogdet(system)[1]
            solved = np.linalg.solve(system, np.broadcast_to(spread, system.shape))
            inner[k] = (solved + solved.transpose(0, 2, 1)) / 2
        return Solved(patterns, rows, self.rows.patterns.counts[patterns], gram, inner, log_dets)

    def _evaluate(self, part: Solved, residuals: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """log f_k of the observed cells (K x rows of the chunk); scores and distances are kept."""
        mixture = self.mixture
        cells = by_rows(self.rows.patterns.observed[part.patterns].sum(axis=1), part.counts)
        out = np.empty((len(mixture.noises), len(residuals)))
        for k, (a, noise) in enumerate(zip(mixture.means, mixture.noises, strict=True)):
            shift = part.gram @ a
            u = residuals - by_rows(shift, part.counts)
            squares = norms - 2 * residuals @ a + by_rows(shift @ a, part.counts)
            score = times_rows(part.inner[k], u, part.counts)
            rest = squares - np.einsum("nq,nq->n", u, score)
            if (lost := np.flatnonzero(rest < _LOST * squares)).size:
                rest[lost], score[lost] = self._remaining(part, k, lost, score[lost])
            log_det = by_rows(part.log_dets[k], part.counts) + (cells - mixture.q) * np.log(noise)
            distances = np.maximum(rest, 0) / noise
            out[k] = -0.5 * (cells * _LOG_2_PI + log_det + distances)
            self.distances[k, part.rows] = distances
            self.scores[k, part.rows] = a + score
        return out

    def _remaining(self, part: Solved, k: int, lost: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(beta_k r'W_oo^-1 r, A u) of some rows of a chunk whose squares nearly cancel.

        |r - Q_o s|^2 + beta_k s'C^-1 s has positive terms only, and its least value at s = A u, which a Newton step
        finds again from the residuals.
        """
        mixture, rows = self.mixture, np.arange(part.rows.start, part.rows.stop)[lost]
        pattern = np.repeat(np.arange(len(part.counts)), part.counts)[lost]
        observed = self.rows.patterns.observed[part.patterns][pattern]
        centred = self.rows.values[rows] - observed * (mixture.overall + mixture.basis @ mixture.means[k])
        precision = mixture.noises[k] * np.linalg.pinv(mixture.spreads[k], hermitian=True)
        for step in range(2):
            left = centred - observed * (score @ mixture.basis.T)
            if not step:
                slope = left @ mixture.basis - score @ precision
                score = score + np.einsum("nab,nb->na", part.inner[k][pattern], slope)
        return np.einsum("np,np->n", left, left) + np.einsum("na,ab,nb->n", score, precision, score), score

    # -- statistics ------------------------------------------------------------------------------------------------

    def sums(self) -> np.ndarray:
        """out[k] = sum_i w_i t_ik E[y_i | observed cells, group k] (K x p)."""
        patterns, mixture = self.rows.patterns, self.mixture
        missing = 1 - patterns.observed
        out = self.weighted @ self.rows.values
        per_pattern = patterns.sums(self.weighted[:, :, None])[:, :, 0]  # K x P
        out += (per_pattern @ missing) * mixture.overall
        scores = patterns.sums(self.weighted[:, :, None] * self.scores)  # K x P x q
        K, P, q = scores.shape
        spread = scores.transpose(0, 2, 1).reshape(K * q, P) @ missing
        return out + np.einsum("kqp,pq->kp", spread.reshape(K, q, -1), mixture.basis)

    def products(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Second moments of the rows about the mixture's `overall`, given the observed cells, along columns R (p x c).

        (first, second, norms): sum_i w_i t_ik R'e (K x c), the same of R'ee'R (K x c x c) and of e'e (K), with
        e = y_i - overall; conditional covariances included.
        """
        mixture, patterns = self.mixture, self.rows.patterns
        K, c, q = len(mixture.noises), matrix.shape[1], mixture.q
        first, second, norms = np.zeros((K, c)), np.zeros((K, c, c)), np.zeros(K)
        seen = self.rows.times(matrix, mixture.overall)
        for part in self.parts():
            observed = patterns.observed[part.patterns]
            # R'D Q with D the missing cells, per pattern
            cross = matrix.T @ mixture.basis - _weighted_products(observed, matrix, mixture.basis)
            unseen = np.eye(q) - part.gram
            gaps = observed.shape[1] - observed.sum(axis=1)
            for k, noise in enumerate(mixture.noises):
                t, b = self.weighted[k, part.rows], self.scores[k, part.rows]
                x = seen[part.rows] + times_rows(cross, b, part.counts)
                first[k] += t @ x
                second[k] += (x.T * t) @ x
                tau = _sums(t, part.counts)
                spread = np.matmul(cross, part.inner[k])
                second[k] += noise * np.einsum("gaq,gbq->ab", spread * tau[:, None, None], cross, optimize=True)
                second[k] += noise * (matrix.T * (tau @ (1 - observed))) @ matrix
                inside = np.einsum("gab,gab->g", part.inner[k], unseen)
                norms[k] += t @ self._norms[part.rows] + noise * tau @ (gaps + inside)
                norms[k] += t @ np.einsum("nq,nq->n", b, times_rows(unseen, b, part.counts))
        return first, second, norms

    # -- completing ------------------------------------------------------------------------------------------------

    def mean_scores(self) -> np.ndarray:
        """sum_k t_ik b_ik (n x q): the missing cells' means are overall + Q_m times these."""
        return np.einsum("kn,knq->nq", self.posteriors, self.scores)

    def covariance_cores(self) -> tuple[np.ndarray, np.ndarray]:
        """(M (P x q x q), levels (P)): sum_i w_i Cov(y_i | observed) of a pattern's rows is D (Q M Q' + level I) D.

        D selects the missing cells. The uncertainty about the group is included.
        """
        patterns, mixture = self.rows.patterns, self.mixture
        tau = patterns.sums(self.weighted[:, :, None])[:, :, 0]
        mean = self.mean_scores()
        rows = np.einsum("kn,kna,knb->nab", self.weighted, self.scores, self.scores, optimize=True)
        rows -= np.einsum("n,na,nb->nab", self.rows.weights, mean, mean)
        q = mixture.q
        cores = patterns.sums(rows.reshape(len(rows), q * q)).reshape(len(patterns), q, q).copy()
        for part in self.parts():
            factors = mixture.noises[:, None] * tau[:, part.patterns]
            cores[part.patterns] += np.einsum("kg,kgab->gab", factors, part.inner)
        return cores, mixture.noises @ tau


def _posteriors(log_joint: np.ndarray, given: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(posteriors (K x n), log densities (n), entropies (n)) from the log joint densities."""
    if given is not None:
        return given, np.einsum("kn,kn->n", given, log_joint), np.zeros(given.shape[1])
    posteriors, highest, log_total = normalised(log_joint)
    entropies = log_total - np.einsum("kn,kn->n", posteriors, log_joint)
    return posteriors, highest + log_total, entropies


def _norms(rows: GapRows, overall: np.ndarray) -> np.ndarray:
    """Squared lengths of the observed parts of the rows less `overall` (n)."""
    less = by_rows(rows.patterns.observed @ overall**2, rows.patterns.counts)
    return np.maximum(rows.norms - 2 * rows.values @ overall + less, 0)


def _sums(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of values (n) over the rows of each pattern."""
    if len(counts) == len(values):
        return values
    return np.add.reduceat(values, np.concatenate([[0], np.cumsum(counts)[:-1]]))


def _weighted_products(weights: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """out[g] = left' diag(weights[g]) right: g x p, p x a and p x b give g x a x b."""
    a, b = left.shape[1], right.shape[1]
    return (weights @ (left[:, :, None] * right[:, None, :]).reshape(len(left), a * b)).reshape(len(weights), a, b)
