"""Large data: random samples of rows, and starts that are rules instead of n labels.

Both depend only on the rows' numbers and a seed, not on how the rows are cut into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.random import sample_without_replacement

from ...rows.blocks import Block, BlockState, kernel
from .kernels import Nothing

__all__ = ["Centres", "RandomPartition", "one_sample", "two_samples"]

# Sample size for a start on large data, enough for the centres of about a hundred groups.
SAMPLE_ROWS = 10_000


def one_sample(problem, rng: np.random.RandomState, size: int | None = None) -> np.ndarray:
    """`size` rows less the centre (or all rows, if fewer), in order.

    Rows are drawn with probability proportional to their weights and have equal weights in the sample.
    """
    return _rows_less_centre(problem, np.sort(_numbers(problem, rng, SAMPLE_ROWS if size is None else size)))


def two_samples(problem, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Two disjoint samples: one for finding starts, one for choosing among them.

    With fewer than twice as many rows the second sample is smaller; if no rows are left, it is the first again.
    """
    chosen = _numbers(problem, rng, 2 * SAMPLE_ROWS)
    first, second = np.sort(chosen[:SAMPLE_ROWS]), np.sort(chosen[SAMPLE_ROWS:])
    both = np.sort(chosen)  # one request, which may be a pass over a file
    drawn = _rows_less_centre(problem, both)
    one = drawn[np.searchsorted(both, first)]
    return one, drawn[np.searchsorted(both, second)] if len(second) else one


def _numbers(problem, rng: np.random.RandomState, size: int) -> np.ndarray:
    rows = problem.rows
    if rows.weights is None:
        return sample_without_replacement(rows.n, min(size, rows.n), random_state=rng)
    seed = rng.randint(np.iinfo(np.int32).max)
    numbers = rows.fold(draw, problem.states, int(seed), size, read=False).numbers
    return numbers[rng.permutation(len(numbers))]


def _rows_less_centre(problem, numbers: np.ndarray) -> np.ndarray:
    return problem.rows.take(numbers) - problem.rows.centre


def _uniform(first: int, m: int, seed: int) -> np.ndarray:
    """A number in (0, 1) for each of the rows first..first + m, by a hash of its number (splitmix64)."""
    z = (np.arange(first, first + m, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(float) * 2.0**-53 + 2.0**-54


@dataclass
class Drawn:
    """The rows with the `size` largest keys so far."""

    keys: np.ndarray
    numbers: np.ndarray
    size: int

    def __add__(self, other: Drawn) -> Drawn:
        keys, numbers = np.concatenate([self.keys, other.keys]), np.concatenate([self.numbers, other.numbers])
        return Drawn(keys, numbers, self.size).cut()

    def cut(self) -> Drawn:
        """The `size` largest keys, in the order of the rows."""
        kept = np.sort(np.argsort(-self.keys, kind="stable")[: self.size])
        return Drawn(self.keys[kept], self.numbers[kept], self.size)


@kernel(reads=("weights", "first"))
def draw(block: Block | None, state: BlockState, seed: int, size: int) -> Drawn:
    """A weighted sample without replacement: the largest u^(1/w), u uniform (Efraimidis & Spirakis 2006)."""
    counting = np.flatnonzero(state.weights)
    keys = np.log(_uniform(state.first, len(state.weights), seed)[counting]) / state.weights[counting]
    return Drawn(keys, state.first + counting, size).cut()


@dataclass(frozen=True)
class Centres:
    """Start each row in the group of its nearest centre (K x r, in the rows' coordinates, less their centre)."""

    centres: np.ndarray

    def fill(self, rows, states, n_clusters: int) -> None:
        """Set the posteriors of every block."""
        rows.fold(nearest, states, self.centres)


@kernel(writes=("posteriors",))
def nearest(block: Block, state: BlockState, centres: np.ndarray) -> Nothing:
    """Posteriors 1 for the nearest centre, 0 for the others."""
    half = 0.5 * np.einsum("kj,kj->k", centres, centres)
    best = (block.times(centres) - half[:, None]).argmax(axis=0)
    state.posteriors = (best == np.arange(len(centres))[:, None]).astype(float)
    return Nothing()


@dataclass(frozen=True)
class RandomPartition:
    """Start each row in a group given by a hash of its number."""

    seed: int

    def fill(self, rows, states, n_clusters: int) -> None:
        """Set the posteriors of every block."""
        rows.fold(partition, states, self.seed, n_clusters, read=False)


@kernel(reads=("first", "squared_norms"), writes=("posteriors",))
def partition(block: Block | None, state: BlockState, seed: int, n_clusters: int) -> Nothing:
    """Posteriors 1 for the group given by the hash of a row's number."""
    labels = (_uniform(state.first, len(state.squared_norms), seed) * n_clusters).astype(int)
    state.posteriors = (labels == np.arange(n_clusters)[:, None]).astype(float)
    return Nothing()
