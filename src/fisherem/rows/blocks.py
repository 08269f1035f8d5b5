"""One block of rows: its products, its state, and how kernels say what they touch of it.

A kernel is a function (block, state, *args) -> sums. It sees the rows through the products of `Block`, read in tiles
that fit the cache and centred as they are read, and keeps what it needs per row in the block's own `BlockState`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

__all__ = [
    "Access", "Block", "BlockState", "Sized", "Sums", "UncentredBlock", "access", "block_of", "buffer", "kernel",
    "quiet_overflow", "run_several", "several", "small_offset", "tile_rows", "visit_several",
]  # fmt: skip

# 2^19 doubles are 4 MB: the copy that centres a tile stays in the cache until its product is done. Measured at
# 38,400 x 256, two passes: 69 ms for tiles of 128 rows, 24 ms for 1024, 20 ms for 2048, 29 ms for 4096.
TILE_ELEMENTS = 2**19
# A centre that lies this many standard deviations from 0 costs two of sixteen digits. At 38,400 x 256 the copies that
# centre the rows take a quarter of an iteration.
_MOST_OFFSET = 100.0


@dataclass(slots=True)
class BlockState:
    """What a block's rows remember between two passes (m rows, along the last axis), or None."""

    weights: Any = None  # (m,)
    first: Any = None  # the number of the first row
    squared_norms: Any = None  # (m,) of the centred rows
    metric_norms: Any = None  # (m,) the same in the metric of the noise, where it has one
    start: Any = None  # labels (m,) or posteriors (K, m) to begin from
    posteriors: Any = None  # (K, m)
    placed: Any = None  # (c, m), where the rows stand for the present E-step: the family's own numbers
    log_density: Any = None  # (m,)
    log_prior: Any = None  # (K, m), what a prior over the rows adds to log pi_k

    @property
    def labels(self) -> np.ndarray:
        """The most probable group of each row (m,)."""
        return self.posteriors.argmax(axis=0)


class Sized:
    """Knows the bytes of its arrays (`sys.getsizeof`): what travels and what is kept is counted by those."""

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(getattr(value, "nbytes", 0) for value in vars(self).values())


# -- kernels -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    """What a kernel reads and writes of a block's state, and what nobody needs after it.

    An engine that keeps states elsewhere fetches and stores just these. `parts`: kernels that do the same one after
    the other. Such an engine runs them apart, so that what is written depends on nothing but the rows and the
    parameters and can be computed again from those.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    parts: tuple[Callable, ...] = ()
    rows: bool = True  # whether it looks at the rows, or at the state alone


_ACCESS: dict[Callable, Access] = {}


def kernel(**known):
    """Declare a kernel's `Access`."""

    def declare(function):
        _ACCESS[function] = Access(**known)
        return function

    return declare


def access(function: Callable) -> Access:
    """The declared `Access` of a kernel."""
    return _ACCESS[function]


_SEVERAL: dict[Callable, Callable] = {}


def several(single: Callable):
    """Declare how a kernel runs for several fits at once: (block, their states, their args) -> a list of results.

    It does what the single kernel does for each, with one product with the rows in place of one for each.
    """

    def declare(function):
        _SEVERAL[single] = function
        return function

    return declare


class Sums(list):
    """Results of several fits: merging adds them one by one."""

    def __add__(self, other):
        return Sums(one + more for one, more in zip(self, other, strict=True))


def run_several(function: Callable, block: Block | None, states: list[BlockState], args: list[tuple]) -> Sums:
    """A kernel on one block for several fits, each with its own state and args."""
    together = _SEVERAL.get(function)
    if together is not None and len(states) > 1:
        return Sums(together(block, states, args))
    return Sums(function(block, state, *own) for state, own in zip(states, args, strict=True))


def quiet_overflow():
    """No warnings of squares that overflow, in this thread: whoever asked for the sums finds inf or NaN in them."""
    return np.errstate(over="ignore", invalid="ignore")


def visit_several(
    function: Callable, block: Block | None, kept: list[dict[str, Any]], args: list[tuple]
) -> tuple[Sums, list[dict[str, Any]]]:
    """Run a kernel on a block for fits whose states are kept elsewhere: (their results, what each wrote)."""
    declared = access(function)
    states = [BlockState(**{name: one.get(name) for name in declared.reads}) for one in kept]
    with quiet_overflow():
        results = run_several(function, block, states, args)
    return results, [{name: getattr(state, name) for name in declared.writes} for state in states]


# -- blocks --------------------------------------------------------------------------------------------------------


class Block:
    """m consecutive rows z[i, j] = y[i, j] - centre[j], in double precision, and their products.

    `centred(i, j)` gives rows i..j of the block, valid until the next call.
    """

    def __init__(self, centred: Callable[[int, int], np.ndarray], m: int, tile_rows: int):
        self._centred, self._m, self._tile_rows = centred, m, tile_rows

    def __len__(self) -> int:
        return self._m

    def tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """The rows piece by piece: (position within the block, centred rows); valid until the next piece."""
        for i in range(0, self._m, self._tile_rows):
            j = min(i + self._tile_rows, self._m)
            yield slice(i, j), self._centred(i, j)

    def times(self, A: np.ndarray) -> np.ndarray:
        """out[a, i] = sum_j A[a, j] z[i, j]"""
        if self._m <= self._tile_rows:
            return A @ self._centred(0, self._m).T
        out = np.empty((len(A), len(self)))
        for position, tile in self.tiles():
            np.matmul(A, tile.T, out=out[:, position])
        return out

    def sums(self, W: np.ndarray) -> np.ndarray:
        """out[k, j] = sum_i W[k, i] z[i, j]"""
        if self._m <= self._tile_rows:
            return W @ self._centred(0, self._m)
        return reduce(add, (W[:, position] @ tile for position, tile in self.tiles()))

    def squared_norms(self) -> np.ndarray:
        """out[i] = sum_j z[i, j]^2"""
        out = np.empty(len(self))
        for position, tile in self.tiles():
            np.einsum("ij,ij->i", tile, tile, out=out[position])
        return out

    def cross(self, weights: np.ndarray | None) -> np.ndarray:
        """out[j, l] = sum_i weights[i] z[i, j] z[i, l]"""

        def one(position, tile):
            if weights is not None:
                tile = np.sqrt(weights[position])[:, None] * tile
            return tile.T @ tile

        return reduce(add, (one(*piece) for piece in self.tiles()))


class UncentredBlock(Block):
    """The same from rows as they are (m x p): products are made of those and corrected, which saves a copy of the rows.

    For rows whose centre is not large beside their spread: the corrections are differences then that lose next to
    nothing.
    """

    def __init__(self, raw: np.ndarray, centre: np.ndarray, centred: Callable[[int, int], np.ndarray], tile_rows: int):
        super().__init__(centred, len(raw), tile_rows)
        self._raw, self._centre = raw, centre

    def times(self, A: np.ndarray) -> np.ndarray:
        """out[a, i] = sum_j A[a, j] y[i, j] - sum_j A[a, j] centre[j]"""
        out = np.empty((len(A), len(self)))
        less = (A @ self._centre)[:, None]
        for i in range(0, self._m, self._tile_rows):
            part = out[:, i : i + self._tile_rows]
            np.matmul(A, self._raw[i : i + self._tile_rows].T, out=part)
            part -= less
        return out

    def sums(self, W: np.ndarray) -> np.ndarray:
        """out[k, j] = sum_i W[k, i] y[i, j] - centre[j] sum_i W[k, i]"""
        tiles = (slice(i, i + self._tile_rows) for i in range(0, self._m, self._tile_rows))
        out = reduce(add, (W[:, tile] @ self._raw[tile] for tile in tiles))
        out -= np.multiply.outer(W.sum(axis=1), self._centre)
        return out


_buffers = threading.local()


def buffer(m: int, p: int) -> np.ndarray:
    """m x p doubles that belong to this thread."""
    flat = getattr(_buffers, "flat", None)
    if flat is None or len(flat) < m * p:
        flat = _buffers.flat = np.empty(m * p)
    return flat[: m * p].reshape(m, p)


def tile_rows(m: int, p: int) -> int:
    """Rows of a tile: as many as stay in the cache, at most m."""
    return max(1, min(m, TILE_ELEMENTS // max(1, p)))


def small_offset(centre: np.ndarray, spreads: np.ndarray, dtype: np.dtype) -> bool:
    """Whether rows of this type need not be centred before their products (`UncentredBlock`)."""
    return dtype == np.float64 and bool((np.abs(centre) <= _MOST_OFFSET * spreads).all())


def block_of(raw: np.ndarray, centre: np.ndarray, *, uncentred: bool = False) -> Block:
    """Rows that have been read, as a block; `uncentred` where `small_offset` says so."""
    m, p = raw.shape

    def centred(i: int, j: int) -> np.ndarray:
        return np.subtract(raw[i:j], centre, out=buffer(j - i, p))

    size = tile_rows(m, p)
    return UncentredBlock(raw, centre, centred, size) if uncentred else Block(centred, m, size)
