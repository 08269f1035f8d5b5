"""Groups of a table with categories: latent classes, with the variables that tell them apart.

Within a class the variables are independent: a number is Gaussian with the same variance in all classes, a category has
its own shares in every class. EM from a partition, as in Marbac, Sedki and Patin (2020): a variable takes part in an
E-step only while what it explains,

    n/2 log(t_j / w_j) - (K - 1)/2 log n                              for a number,
    sum_kl n_kl log(q_kl / q_l) - (K - 1)(L - 1)/2 log n              for a category of L levels,

is above 0. The gain over one class, in nats, is the log-likelihood less that of one class less log n / 2 for each
parameter of the variables that take part and of the shares of the classes.

A Gaussian density takes the small variance of an indicator within a group for a small noise, and its likelihood has no
bound for a group that holds one level; the shares of a category have no such variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.data.problem import Problem
from .columns import columns_of
from .judge import Gain
from .scores import Scores, standardised

__all__ = ["ClassJudge", "Classes", "LatentClasses"]

_ITERATIONS, _SETTLED = 200, 1e-3
# Iterations before a partition is judged: few, so that it is still the same partition.
_JUDGED = 3
# Rows with the shares of all rows that are added to every class, so that no share is 0.
_PRIOR_ROWS = 1.0
_TINY = 1e-9
# Least variance of a number within the classes, as a share of its own.
_LEAST_VARIANCE = 1e-3


@dataclass(frozen=True)
class Classes:
    """A partition by latent classes: labels (n), the gain in nats, and the variables (numbers) that take part."""

    labels: np.ndarray
    gain: float
    variables: np.ndarray


class LatentClasses:
    """The rows of a problem with categories, ready for EM from any partition."""

    def __init__(self, problem: Problem):
        given, blocks = problem.given, problem.blocks
        assert blocks is not None
        self.weights = np.ones(given.n) if given.weights is None else np.asarray(given.weights, float)
        values, single = np.asarray(given.everything(), float), ~blocks.indicators
        floors = columns_of(problem).floors
        scores = Scores.of(values[:, single], self.weights, floors[single]).transform(values[:, single])
        self.numbers = standardised(scores, self.weights)
        self._floors = np.maximum(floors[single], _LEAST_VARIANCE)
        self._varies = ~problem.constant[single]
        self._single = blocks.variable[single]
        self._wide = blocks.wide
        # of a row whose level is unknown, the most probable one
        self.levels = [_indicators(values[:, blocks.members[v]]) for v in blocks.wide]
        self._total = float(self.weights.sum())
        self._of_all = [(self.weights @ D) / self._total for D in self.levels]

    def settle(self, labels: np.ndarray, n_clusters: int, iterations: int = _ITERATIONS) -> Classes | None:
        """The classes that EM from labels (n) ends in; None if one of them has no rows."""
        P = (labels[:, None] == np.arange(n_clusters)).astype(float)
        step, last = None, -np.inf
        for _ in range(iterations):
            step = self._step(P)
            P = step.posteriors
            if abs(step.gain - last) < _SETTLED:
                break
            last = step.gain
        assert step is not None
        labels = P.argmax(axis=1)
        if np.bincount(labels, self.weights, n_clusters).min() <= 0:
            return None
        return Classes(labels, step.gain, np.sort(step.variables))

    def _step(self, P: np.ndarray) -> _Step:
        """An M-step with the choice of the variables, and the E-step after it."""
        n, K = self._total, P.shape[1]
        weighted = P * self.weights[:, None]
        sizes = np.maximum(weighted.sum(axis=0), _TINY)
        penalty = (K - 1) / 2 * np.log(n)
        logs = np.tile(np.log(sizes / n), (len(P), 1))
        one = parameters = 0.0
        used: list[int] = []
        means = weighted.T @ self.numbers / sizes[:, None]
        squares = self.weights @ self.numbers**2 / n
        within = np.maximum(squares - (sizes / n) @ means**2, 0) + self._floors
        all_of = squares + self._floors
        use = self._varies & (n / 2 * np.log(all_of / within) > penalty)
        if use.any():
            Z, m, v = self.numbers[:, use], means[:, use], within[use]
            distances = (Z**2 / v).sum(axis=1)[:, None] - 2 * Z @ (m / v).T + (m**2 / v).sum(axis=1)
            logs += -0.5 * distances - 0.5 * np.log(v).sum()
            one -= n / 2 * np.log(all_of[use]).sum() + 0.5 * float((n * squares[use] / all_of[use]).sum())
            parameters += use.sum()
            used += self._single[use].tolist()
        for v, D, shares in zip(self._wide, self.levels, self._of_all, strict=True):
            counts = weighted.T @ D
            inside = np.log((counts + _PRIOR_ROWS * shares) / (sizes[:, None] + _PRIOR_ROWS))
            outside = np.log(np.maximum(shares, _TINY))
            if (counts * (inside - outside)).sum() <= (D.shape[1] - 1) * penalty:
                continue
            logs += D @ inside.T
            one += float(n * shares @ outside)
            parameters += D.shape[1] - 1
            used.append(v)
        top = logs.max(axis=1, keepdims=True)
        posteriors = np.exp(logs - top)
        total = posteriors.sum(axis=1)
        likelihood = float(self.weights @ (top[:, 0] + np.log(total)))
        gain = likelihood - one - parameters * penalty - penalty
        return _Step(posteriors / total[:, None], gain, np.array(used, int))


class ClassJudge:
    """Gains of partitions of a table with categories, as `judge.Judge` tells them for numbers."""

    wide = False

    def __init__(self, problem: Problem):
        self.problem, self._classes = problem, LatentClasses(problem)

    def gain(self, labels: np.ndarray) -> Gain:
        """What the classes that a few iterations from labels (n) lead to gain over one class."""
        labels = np.unique(labels, return_inverse=True)[1]
        K, weights, blocks = int(labels.max()) + 1, self._classes.weights, self.problem.blocks
        assert blocks is not None
        total, smallest = float(weights.sum()), float(np.bincount(labels, weights, K).min())
        found = self._classes.settle(labels, K, _JUDGED) if K > 1 and smallest > 0 else None
        if found is None or not len(found.variables):
            return Gain(-np.inf, total, np.zeros(0, int), smallest)
        return Gain(found.gain, total, blocks.free(blocks.columns_of(found.variables)), smallest)


@dataclass(frozen=True)
class _Step:
    posteriors: np.ndarray
    gain: float
    variables: np.ndarray


def _indicators(columns: np.ndarray) -> np.ndarray:
    """0 and 1 from the columns of a block, however they are scaled: the largest one is the level of the row."""
    return (columns.argmax(axis=1)[:, None] == np.arange(columns.shape[1])).astype(float)
