"""One block of rows: its products, its state, and the declaration of kernels.

A kernel is a function (block, state, *args) -> sums. It accesses the rows through the products of `Block`, which reads
them in tiles that fit the cache and centres them, and keeps what it needs per row in the block's own `BlockState`.
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
    "Access", "Block", "BlockState", "Sized", "Sums", "UncentredBlock", "access", "block_of", "buffer", "check_finite",
    "kernel", "quiet_overflow", "run_several", "several", "small_offset", "tile_rows", "visit_several",
]  # fmt: skip

# 2^19 doubles are 4 MB, so that a centred tile stays in the cache until its product is done. Measured at 38,400 x 256,
# two passes: 69 ms for tiles of 128 rows, 24 ms for 1024, 20 ms for 2048, 29 ms for 4096.
TILE_ELEMENTS = 2**19
# A centre this many standard deviations from 0 costs two of sixteen digits. At 38,400 x 256 the copies that centre the
# rows take a quarter of an iteration.
_MOST_OFFSET = 100.0


@dataclass(slots=True)
class BlockState:
    """What is kept per row of a block between two passes (m rows, along the last axis), or None."""

    weights: Any = None  # (m,)
    first: Any = None  # the number of the first row
    squared_norms: Any = None  # (m,) of the centred rows
    metric_norms: Any = None  # (m,) the same in the metric of a noise with factors
    start: Any = None  # labels (m,) or posteriors (K, m) to start from
    posteriors: Any = None  # (K, m)
    placed: Any = None  # (c, m), the rows transformed by the family's `Placing`, for the E-step
    log_density: Any = None  # (m,)
    log_prior: Any = None  # (K, m), added to log pi_k by a prior over the rows

    @property
    def labels(self) -> np.ndarray:
        """The most probable group of each row (m,)."""
        return self.posteriors.argmax(axis=0)


class Sized:
    """Includes the bytes of its arrays in `sys.getsizeof`, by which Dask counts what it sends and keeps."""

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(getattr(value, "nbytes", 0) for value in vars(self).values())


# -- kernels -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    """The attributes of a block's state that a kernel reads and writes, and those not needed afterwards.

    Engines that keep states elsewhere fetch and store only these. `parts` are kernels that do the same in sequence.
    Such an engine runs them separately, so that what is written depends only on the rows and the parameters and can be
    recomputed from them.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    parts: tuple[Callable, ...] = ()
    rows: bool = True  # whether it uses the rows, or only the state


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
    """Declare a version of a kernel for several fits: (block, their states, their args) -> a list of results.

    It gives the results of the single kernel, with one product with the rows instead of one per fit.
    """

    def declare(function):
        _SEVERAL[single] = function
        return function

    return declare


class Sums(list):
    """Results of several fits, added element by element."""

    def __add__(self, other):
        return Sums(one + more for one, more in zip(self, other, strict=True))


def run_several(function: Callable, block: Block | None, states: list[BlockState], args: list[tuple]) -> Sums:
    """Run a kernel on one block for several fits, each with its own state and args."""
    together = _SEVERAL.get(function)
    if together is not None and len(states) > 1:
        return Sums(together(block, states, args))
    return Sums(function(block, state, *own) for state, own in zip(states, args, strict=True))


def quiet_overflow():
    """Silence overflow warnings in this thread; callers check the sums for inf and NaN."""
    return np.errstate(over="ignore", invalid="ignore")


def visit_several(
    function: Callable, block: Block | None, kept: list[dict[str, Any]], args: list[tuple]
) -> tuple[Sums, list[dict[str, Any]]]:
    """Run a kernel on a block for fits whose states are kept elsewhere: (results, values written)."""
    declared = access(function)
    states = [BlockState(**{name: one.get(name) for name in declared.reads}) for one in kept]
    with quiet_overflow():
        results = run_several(function, block, states, args)
    return results, [{name: getattr(state, name) for name in declared.writes} for state in states]


# -- blocks --------------------------------------------------------------------------------------------------------


class Block:
    """m consecutive rows z[i, j] = y[i, j] - centre[j], in double precision, and their products.

    `centred(i, j)` returns rows i..j of the block, valid until the next call.
    """

    def __init__(self, centred: Callable[[int, int], np.ndarray], m: int, tile_rows: int):
        self._centred, self._m, self._tile_rows = centred, m, tile_rows

    def __len__(self) -> int:
        return self._m

    def tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Iterate over (position within the block, centred rows); the rows are valid until the next tile."""
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
    """The same from uncentred rows (m x p): products are corrected for the centre, which saves a copy of the rows.

    For rows whose centre is not large relative to their spread, so that little precision is lost.
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
    """A thread-local buffer of m x p doubles."""
    flat = getattr(_buffers, "flat", None)
    if flat is None or len(flat) < m * p:
        flat = _buffers.flat = np.empty(m * p)
    return flat[: m * p].reshape(m, p)


def tile_rows(m: int, p: int) -> int:
    """The number of rows of a tile: as many as fit the cache, at most m."""
    return max(1, min(m, TILE_ELEMENTS // max(1, p)))


def small_offset(centre: np.ndarray, spreads: np.ndarray, dtype: np.dtype) -> bool:
    """Whether products of uncentred rows are precise enough (`UncentredBlock`)."""
    return dtype == np.float64 and bool((np.abs(centre) <= _MOST_OFFSET * spreads).all())


def block_of(raw: np.ndarray, centre: np.ndarray, *, uncentred: bool = False) -> Block:
    """A block of rows in memory; `uncentred` if `small_offset` allows it."""
    m, p = raw.shape

    def centred(i: int, j: int) -> np.ndarray:
        return np.subtract(raw[i:j], centre, out=buffer(j - i, p))

    size = tile_rows(m, p)
    return UncentredBlock(raw, centre, centred, size) if uncentred else Block(centred, m, size)


def check_finite(X: np.ndarray, names=None, *, first: int = 0, where: str = "", missing: bool = False) -> None:
    """Raise on the first NaN or infinite value, naming row (counted from `first`) and column; `missing` allows NaN."""
    # the sum is finite only if all terms are; it may also overflow, so the values are checked below
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return
    for start in range(0, len(X), 4096):
        block = X[start : start + 4096]
        bad = np.isinf(block) if missing else ~np.isfinite(block)
        if bad.any():
            i, j = np.argwhere(bad)[0]
            what = "NaN" if np.isnan(block[i, j]) else "infinity"
            more = int(bad.sum()) - 1
            column = f"column {j}" if names is None else f"column {names[j]!r}"
            raise ValueError(
                f"Input X contains {what}: row {first + start + i}, {column}{where}"
                + (f" (and {more} more in nearby rows)" if more else "")
                + "; remove or impute such values first"
                + (" (FisherEM and SparseFisherEM fit around missing values in memory)" if what == "NaN" else "")
            )
