"""Whether groups have covariances of their own: Gaussian groups on the leading principal components of the rows.

k-means and Fisher-EM with a common covariance cut wide groups and take rows of one group for another's where some
groups are tight and others wide (pictures of a 1 and of an 8). Few principal components hold what the groups differ in
even where there are hundreds of columns, or columns in which one value is frequent. On their sinh-arcsinh scores a
mixture with a covariance per group is fitted from the groups that were found,

    S_k = (sum_i t_ik (z_i - m_k)(z_i - m_k)' + a W) / (n_k + a),      W the common covariance within the groups

and its gain over one group, less BIC's price, is compared with that of a common covariance. Gains of covariances of
their own are large wherever rows lie close together, too: in the core of one cloud, or on the few values of a column.
So the new groups must differ in their means as much as the old ones do: with a common covariance they gain as much.
Where the means show nothing, covariances alone decide, but only in tables of few columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

from ..core.data.problem import Problem
from ..model.dlm import AUTO, resolve
from .decisions import Decision
from .judge import least_rows, mixture_gain
from .scores import Scores, standardised
from .starts import same_partition
from .thresholds import THRESHOLDS

__all__ = ["OWN_COVARIANCES", "OwnCovariances", "covariances_decision", "own_covariances_allowed"]

# The model that is fitted to groups with covariances of their own where model="auto".
OWN_COVARIANCES = "DkB"
# EM ends after so many iterations, or when the likelihood rises by less than this, in nats per row.
_ITERATIONS, _SETTLED = 50, 1e-3
_TINY = 1e-9


@dataclass(frozen=True)
class _Climb:
    labels: np.ndarray  # n
    gain: float  # in nats per row


class OwnCovariances:
    """Gaussian groups with covariances of their own on the component scores of rows in memory."""

    def __init__(self, problem: Problem, n_clusters: int):
        self.n_clusters, self.p = n_clusters, int((~problem.constant).sum())
        weights = problem.given.weights
        self.weights = np.ones(problem.given.n) if weights is None else weights
        n = self.total = float(self.weights.sum())
        most = int(n // (THRESHOLDS.rows_per_component * n_clusters))
        counting = int(np.count_nonzero(self.weights))  # heavy weights do not make more directions
        self.q = min(THRESHOLDS.components, self.p, most, counting - 1)
        if self.q >= max(1, n_clusters - 1):
            self.scores = self._scores(np.asarray(problem.given.everything(), float) - problem.given.centre)
            self.common = (self.scores.T * self.weights) @ self.scores / n
            self.one = self._densities(np.zeros(self.q), self.common) @ self.weights

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        """The standardised scores of the leading principal components (n x q)."""
        counting = self.weights > 0
        root = np.sqrt(self.weights[counting])[:, None]
        U, s, _ = randomized_svd(rows[counting] * root, self.q, random_state=0)
        components = np.zeros((len(rows), self.q))
        components[counting] = U * s / root
        components[:, s <= _TINY * s[0]] = 0.0
        scores = Scores.of(components, self.weights, np.zeros(self.q)).transform(components)
        return standardised(scores, self.weights)

    def in_common(self, labels: np.ndarray) -> float:
        """What groups with a common covariance gain over one group, in nats per row."""
        return mixture_gain(self.scores, labels, self.weights, iterations=1) / self.total

    def climbed(self, labels: np.ndarray, iterations: int = _ITERATIONS) -> _Climb | None:
        """EM from labels (n); None where a group is lost."""
        posteriors = (labels[:, None] == np.arange(self.n_clusters)).astype(float)
        value = -np.inf
        for _ in range(iterations):
            if (self.weights @ posteriors).min() < 1:
                return None
            logs = self._log_joint(posteriors)
            top = logs.max(axis=1, keepdims=True)
            posteriors = np.exp(logs - top)
            total = posteriors.sum(axis=1)
            posteriors /= total[:, None]
            before, value = value, float(self.weights @ (top[:, 0] + np.log(total)))
            if value - before < _SETTLED * self.total:
                break
        parameters = (self.n_clusters - 1) * (self.q + self.q * (self.q + 1) / 2 + 1)
        found = logs.argmax(axis=1)
        if len(np.unique(found)) < self.n_clusters:
            return None
        return _Climb(found, (value - self.one) / self.total - parameters / 2 * np.log(self.total) / self.total)

    def _log_joint(self, posteriors: np.ndarray) -> np.ndarray:
        """log shares and densities (n x K) after an M-step."""
        sizes = self.weights @ posteriors
        means = (posteriors * self.weights[:, None]).T @ self.scores / sizes[:, None]
        within = self.common - (means.T * (sizes / self.total)) @ means
        prior = THRESHOLDS.rows_of_common * self.q
        logs = np.empty_like(posteriors)
        for k, size in enumerate(sizes):
            centred = self.scores - means[k]
            own = (centred.T * (self.weights * posteriors[:, k])) @ centred
            logs[:, k] = np.log(size / self.total) + self._densities(means[k], (own + prior * within) / (size + prior))
        return logs

    def _densities(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Log densities of the rows (n), without the constant that all groups share."""
        root = np.linalg.cholesky(covariance + _TINY * np.eye(self.q))
        squares = (((self.scores - mean) @ np.linalg.inv(root).T) ** 2).sum(axis=1)
        return -0.5 * squares - np.log(np.diagonal(root)).sum()

    def enough(self, smallest: float) -> bool:
        """Whether there are enough rows to decide by covariances alone."""
        return self.p <= self.q and smallest >= THRESHOLDS.rows_per_own_parameter * self.p * (self.p + 3) / 2


def own_covariances_allowed(model: str) -> bool:
    """Whether a model, or "auto", lets groups have covariances of their own."""
    if model == AUTO:
        return True
    shape = resolve(model).covariance
    return shape.count(2, 1) > shape.count(1, 1)


def covariances_decision(
    problem: Problem, labels: np.ndarray, n_clusters: int, min_size: float | str
) -> tuple[np.ndarray | None, OwnCovariances, float, Decision]:
    """(labels (n) of groups with covariances of their own, what judged, what the old groups gain, why).

    Labels are None where a common covariance stays.
    """
    mixture = OwnCovariances(problem, n_clusters)

    def common(tried: str, reason: str):
        return None, mixture, 0.0, Decision("covariances", "common", tried, reason)

    if mixture.q < max(1, n_clusters - 1):
        return common("", "too few rows for covariances of their own")
    sizes = np.bincount(labels, mixture.weights, n_clusters)
    apart = mixture.in_common(labels)
    if apart <= 0 and not mixture.enough(sizes.min()):
        return common(f"common {apart:+.2f}", "the groups gain nothing by their means, on the principal components")
    before = max(apart, 0.0)
    found = mixture.climbed(labels)
    if found is None:
        return common(f"common {apart:+.2f}", "with covariances of their own a group is lost")
    tried = f"common {apart:+.2f}, own {found.gain:+.2f} (gain over one group in nats per row)"
    if same_partition(found.labels, [labels]):
        return common(tried, "covariances of their own lead to the same groups")
    smallest = np.bincount(found.labels, mixture.weights, n_clusters).min()
    if smallest < min(sizes.min(), least_rows(min_size, mixture.total)):
        return common(tried, "with covariances of their own, outlying rows become a group")
    if smallest <= mixture.q:
        return common(tried, "with covariances of their own, a group has no more rows than there are components")
    if found.gain < before + THRESHOLDS.move * np.log(n_clusters):
        return common(tried, "covariances of their own do not gain clearly more")
    if apart > 0 and mixture.in_common(found.labels) < apart * (1 - THRESHOLDS.tie):
        return common(tried, "with covariances of their own, the groups' means are less apart")
    return found.labels, mixture, before, Decision("covariances", "own", tried, "covariances of their own gain more")
