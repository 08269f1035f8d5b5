"""Is one group enough? Tables of one group to compare with, single columns that show groups, and joint tails.

The one-group model is a Gaussian copula: sinh-arcsinh margins, so that skew and tails are no evidence for groups, and
the correlations of the scores (shrunk as Ledoit and Wolf say where rows are few), so that common factors are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from ...core.starts.partitions import adjusted_rand, in_shrunk_metric, principal
from ...solvers.kmeans_runs import best_kmeans
from ..columns import spacing_floors, spiked
from ..judge import mixture_gain
from ..scores import Scores, moments, standardised
from ..thresholds import THRESHOLDS
from .candidates import Data

__all__ = [
    "DRAWS",
    "Compared",
    "column_gain",
    "draws_needed",
    "flatness",
    "inner_gain",
    "joint_tails",
    "p_value",
    "quick_gain",
]

LIMITS = THRESHOLDS.number_of_groups

# Tables drawn from the one-group model: the smallest p-value is 1/20.
DRAWS = 19
# Draws end when this many of them gain as much as the data do: the p-value is then at least 0.2.
_ENOUGH = 4
# Correlations are shrunk with fewer rows per column than this.
_MANY_ROWS = 5
# Starts in two metrics of the scores, k-means runs each, and rounds in which the judge's groups are judged again.
_SHRINKAGES, _RUNS, _ROUNDS = (0.1, 0.02), 3, 3
# Partitions that agree by this (adjusted Rand index) are one.
_SAME = 0.98
# Tables with more values than this would take longer than the search itself.
_MOST_VALUES = 1_000_000
# Rows per column that the joint tails need.
_ROWS_PER_COLUMN = 4
# Rows that columns are looked at on by themselves: groups 4 standard deviations apart show on as many.
_ROWS_PER_SCAN = 500
# Steps after which scores are fitted to within a nat: of 400 log-normal columns of 60 to 500 rows all are.
_TO_THE_END = 100
# Rows of a group that is looked into, and principal axes that are looked at besides the columns.
_ROWS_INSIDE, _AXES = 20, 2
# Numbers of groups of a single column, iterations of k-means on it, and the columns that are judged for each number.
_NUMBERS, _LLOYD, _LOOKED_AT = (2, 3, 4, 6), 15, 3


@dataclass(frozen=True)
class Compared:
    """The rows (n x p) that tables of one group are compared with: those with a weight, without constant columns."""

    values: np.ndarray

    @classmethod
    def of(cls, data: Data) -> Compared | None:
        """None where tables cannot be drawn: of very few rows, of very many values, of categories."""
        if data.encoding is not None:  # the copula of one group has no categories
            return None
        values = data.values[data.weights > 0]
        values = values[:, values.min(axis=0) < values.max(axis=0)]
        n, p = values.shape
        return None if n * p > _MOST_VALUES or p < 1 or n < 8 else cls(values)

    @cached_property
    def model(self) -> _OneGroup:
        """One group with the margins and correlations of the rows."""
        return _OneGroup.of(self.values)

    def gain(self, draw: int, n_clusters: int, seed: int) -> float:
        """What so many groups gain in a table of one group, by its number from 1 on; in the rows themselves for 0.

        The rows and the tables go through the same short search for groups.
        """
        if draw == 0:
            return quick_gain(self.values, n_clusters, seed)
        rng = np.random.RandomState(np.random.MT19937(np.random.SeedSequence([seed, draw])))
        return quick_gain(self.model.draw(rng), n_clusters, int(rng.randint(np.iinfo(np.int32).max)))


def draws_needed(gains: dict[int, float]) -> range:
    """The numbers of the tables that are needed for sure, given the gains by number: all until enough gain as much."""
    done, larger = _counted(gains)
    return range(min(DRAWS, done + _ENOUGH - larger) + 1)


def p_value(gains: dict[int, float]) -> float:
    """The share of one-group tables in which groups gain as much as in the rows; nan where tables are missing."""
    done, larger = _counted(gains)
    return (1 + larger) / (1 + done) if len(draws_needed(gains)) == done + 1 and 0 in gains else float("nan")


def _counted(gains: dict[int, float]) -> tuple[int, int]:
    """(tables without a missing one before them, those that gain as much as the rows), until these are enough."""
    done = larger = 0
    while larger < _ENOUGH and 0 in gains and done + 1 in gains:
        done += 1
        larger += gains[done] >= gains[0]
    return done, larger


@dataclass(frozen=True)
class _OneGroup:
    """A Gaussian copula with the correlations of `scores` (n x p, standardised) and sinh-arcsinh margins."""

    scores: np.ndarray
    share: float  # of independent columns
    margins: Scores
    means: np.ndarray  # of the scores before they were standardised
    deviations: np.ndarray
    ordered: np.ndarray  # the columns' values, ascending, for those of few values

    @classmethod
    def of(cls, values: np.ndarray) -> _OneGroup:
        margins, ones = Scores.of(values), np.ones(len(values))
        raw = margins.transform(values)
        mean, variance = moments(raw, ones)
        scores = standardised(raw, ones)
        share = float(ledoit_wolf_shrinkage(scores)) if len(values) < _MANY_ROWS * values.shape[1] else 0.0
        return cls(scores, share, margins, mean, np.sqrt(variance), np.sort(values, axis=0))

    def draw(self, rng: np.random.RandomState) -> np.ndarray:
        """A table of the same size."""
        n, p = self.scores.shape
        # a random combination of the rows has their covariance, whatever the number of columns
        common = rng.normal(size=(n, n)) @ self.scores * np.sqrt((1 - self.share) / n)
        normal = common + np.sqrt(self.share) * rng.normal(size=(n, p))
        m = self.margins
        bent = np.arcsinh(self.means + self.deviations * normal)
        out = m.location + m.scale * np.sinh((bent + m.skew) / np.exp(m.tail))
        for j in np.flatnonzero(m.kept):
            out[np.argsort(normal[:, j]), j] = self.ordered[:, j]
        return out


def quick_gain(values: np.ndarray, n_clusters: int, seed: int) -> float:
    """The largest gain that a short search finds: k-means in a few metrics, and the judge's groups."""
    rng, ones, data = np.random.RandomState(seed), np.ones(len(values)), Data.of(values, None)
    plain = standardised(values, ones)
    scores = plain if values.shape[1] > len(values) else standardised(Scores.of(values).transform(values), ones)
    best = -np.inf
    seen: list[np.ndarray] = []
    axes, p = principal(scores), scores.shape[1]
    for start in (plain, scores, *(in_shrunk_metric(*axes, p, share) for share in _SHRINKAGES)):
        labels = best_kmeans(start, n_clusters, _RUNS, int(rng.randint(np.iinfo(np.int32).max))).labels
        for _ in range(_ROUNDS):
            if any(adjusted_rand(labels, other) > _SAME for other in seen):
                break
            seen.append(labels)
            gain = data.judge.gain(labels)
            best = max(best, gain.value)
            if gain.mixture is None:
                break
            labels = gain.mixture.log_joint(scores[:, gain.support]).argmax(axis=1)
            if len(np.unique(labels)) < n_clusters:
                break
    return float(best)


def column_gain(data: Data) -> float:
    """What groups of a single column gain over one, in nats, less the price of having looked at p columns.

    Groups that one column of many shows are easily missed by a search in all of them. -inf where no column can be
    asked.
    """
    there = np.flatnonzero(data.weights > 0)
    rows = there[np.unique(np.linspace(0, len(there) - 1, _ROWS_PER_SCAN).astype(int))]
    values, weights = data.values[rows], data.weights[rows]
    floors = spacing_floors(values)  # rounded values have no variance inside a group of equal ones
    margins = Scores.of(values, weights, floors)
    asked = ~(margins.kept | spiked(values))
    values, floors, margins = values[:, asked], floors[asked], margins.only(np.flatnonzero(asked).tolist())
    scores = standardised(margins.transform(values), weights)
    gains: dict[int, float] = {}
    for K in _NUMBERS if asked.any() else ():
        labels, explained = _cuts(scores, K)
        for j in np.argsort(-explained)[:_LOOKED_AT].tolist():
            found = np.unique(labels[:, j], return_inverse=True)[1]
            if np.bincount(found).min() >= LIMITS.candidate_rows:  # fewer are outlying rows
                gain = mixture_gain(scores[:, [j]], found, weights, floors=floors[[j]])
                gains[j] = max(gain, gains.get(j, -np.inf))
    columns = list(gains)
    beyond = _beyond_scores(values[:, columns], weights, margins.only(columns)) if gains else 0.0
    best = np.max(np.array(list(gains.values())) - beyond, initial=-np.inf)
    total = data.weights.sum() / max(weights.sum(), 1e-300)  # a sample gains as much less as it has fewer rows
    return float(best * total - np.log(max(len(asked), 1)))


def _beyond_scores(values: np.ndarray, weights: np.ndarray, margins: Scores) -> np.ndarray:
    """What one group explains beyond the density of the scores (p): a uniform column, or scores fitted to the end."""
    uniform = -weights.sum() * np.log(np.ptp(values, axis=0))
    fitted = Scores.of(values, weights, steps=_TO_THE_END).log_likelihood(values, weights)
    return np.maximum(np.maximum(uniform, fitted) - margins.log_likelihood(values, weights), 0.0)


def inner_gain(data: Data, labels: np.ndarray) -> float:
    """The largest gain of groups that a column, or one of two principal axes, shows inside a group (`column_gain`).

    A fit with one group too few has put two of them together, even where the fit with one more has found others.
    """
    found = [-np.inf]
    for k in np.unique(labels):
        rows = labels == k
        values, weights = data.values[rows], data.weights[rows]
        values = values[:, values.min(axis=0) < values.max(axis=0)]
        if len(values) < _ROWS_INSIDE or not values.shape[1]:
            continue
        z = standardised(values, weights)
        axes = np.linalg.svd(z, full_matrices=False)[2][:_AXES] if min(z.shape) > 1 else np.zeros((0, z.shape[1]))
        found.append(column_gain(Data(np.column_stack([values, z @ axes.T]), weights, data.weighted)))
    return max(found)


def _cuts(scores: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """(labels (n x p) of k-means on each column, from equal parts of its range; what they explain of its variance)."""
    low, high = np.quantile(scores, (0.02, 0.98), axis=0)
    means = low + (high - low) * ((np.arange(K) + 0.5) / K)[:, None]
    labels = np.zeros(scores.shape, int)
    for _ in range(_LLOYD):
        labels = np.abs(scores[:, None, :] - means[:, :]).argmin(axis=1)
        member = labels[:, None, :] == np.arange(K)[:, None]
        sizes = member.sum(axis=0)
        sums = np.einsum("nkp,np->kp", member, scores)
        means = np.where(sizes > 0, sums / np.maximum(sizes, 1), means)
    return labels, (sizes * means**2).sum(axis=0)


def flatness(data: Data) -> float:
    """How far the kurtosis of the flattest column is below that of a Gaussian one, in standard errors.

    A unimodal transformation makes a flat column Gaussian, so groups that overlap in one column cannot be seen in the
    gain: five groups 3 standard deviations apart on a line have no valleys between them, but no tails either.
    """
    z = standardised(data.values, data.weights)
    kurtosis = (data.weights @ z**4) / data.weights.sum() - 3
    asked = (z != 0).any(axis=0) & ~spiked(data.values[data.weights > 0])
    return float(-kurtosis[asked].min(initial=np.inf) * np.sqrt(data.weights.sum() / 24)) if asked.any() else -np.inf


def joint_tails(data: Data) -> float:
    """Mardia's kurtosis of the scores beyond that of their margins, in standard errors; nan with few rows.

    It is large where rows that are far out in one column are far out in others: groups that differ in their spread
    alone, which a gain in means does not see, or one group with heavy tails in all directions.
    """
    values, weights = data.numbers[data.weights > 0], data.weights[data.weights > 0]
    if not values.shape[1]:
        return float("nan")
    values = values[:, values.min(axis=0) < values.max(axis=0)]
    n, p = values.shape
    if p < 2 or n < _ROWS_PER_COLUMN * p:
        return float("nan")
    scores = standardised(Scores.of(values, weights).transform(values), weights)
    total = weights.sum()
    covariance = (scores.T * weights) @ scores / total
    try:
        distances = (np.linalg.solve(covariance, scores.T).T * scores).sum(axis=1)
    except np.linalg.LinAlgError:
        return float("nan")
    margins = float(((weights @ scores**4) / total - 3).sum())
    excess = float(weights @ distances**2) / total - margins - p * (p + 2)
    return excess / np.sqrt(8 * p * (p + 2) / n)
