"""The rows of a data set, visited in blocks: the interface of an engine, and the engine for rows in memory.

The main method of an engine is `fold`: run a kernel on every block and add up the results. Kernels access the rows
through the products of a block and keep what they need per row in the block's own state. The other methods create,
share, fill and read states, wherever they are stored. A new engine is a subclass of `Rows`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits

from .blocks import Block, BlockState, UncentredBlock, buffer, quiet_overflow, run_several, small_offset, tile_rows

__all__ = ["ArrayRows", "ElsewhereRows", "Rows", "States", "n_threads", "one_blas_thread", "one_thread_each"]

# Bytes that the states of all concurrent runs may take, however few rows there are.
_ROOM = 2**26
# Rows of a block. Below some thousand rows NumPy's overhead per call is noticeable, and two threads that make many
# short calls wait for each other. A multiple of 4 blocks balances up to 4 threads.
BLOCK_ROWS = 8192


# What a run keeps per row: an entry per block (or bundle of blocks), a `BlockState` for rows in memory and a dict of
# arrays or futures elsewhere. Only an engine's own methods look into them.
States: TypeAlias = list[Any]

_blas: ThreadpoolController | None = None


def n_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None means all cores (as for BLAS and KMeans), and negative numbers count from the end."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def one_blas_thread():
    """A context in which BLAS uses one thread; the libraries are looked up once per process."""
    global _blas
    if _blas is None:
        _blas = ThreadpoolController()
    return _blas.limit(limits=1, user_api="blas")


def one_thread_each():
    """A context in which BLAS and OpenMP (k-means) use one thread each."""
    return threadpool_limits(1)


class Rows(ABC):
    """n x p rows with optional weights (n), less a centre, cut into blocks.

    The centre may be any point near the mean: formulas that need the exact mean correct for the difference. Sums are
    added in an order that does not depend on the number of threads.
    """

    n: int
    p: int
    dtype: np.dtype
    centre: np.ndarray
    weights: np.ndarray | None
    slices: list[slice]
    n_threads = 1
    portable = False  # whether the rows can be sent to another process
    _pool: ThreadPoolExecutor | None = None
    _limited = False

    @property
    def room_for_states(self) -> int:
        """Bytes that the states of concurrent runs may take: 64 MB, or half the size of the rows if that is more."""
        return max(_ROOM, self.n * self.p * self.dtype.itemsize // 2)

    def fold(self, kernel: Callable, states: States, *args: Any, read: bool = True):
        """sum over blocks of kernel(block, state, *args); block is None unless `read`."""
        return self.fold_several(kernel, [states], [args], read=read)[0]

    @abstractmethod
    def fold_several(self, kernel: Callable, states: list[States], args: list[tuple], *, read: bool = True) -> list:
        """The folds of several fits in one pass over the rows: kernel(block, states[f], *args[f]) for each fit f."""

    @abstractmethod
    def states(self) -> States:
        """A new state per block with its weights and the number of its first row."""

    @abstractmethod
    def derive(self, states: States, names: tuple[str, ...]) -> States:
        """New states that share the named values. (Kernels replace values, they never change them.)"""

    @abstractmethod
    def spread(self, states: States, name: str, values: np.ndarray) -> None:
        """state.name = values[..., rows of the block]"""

    @abstractmethod
    def gather(self, states: States, name: str) -> np.ndarray:
        """The rows' values of a state's attribute side by side: (..., n)."""

    @abstractmethod
    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers (ascending), as they are stored."""

    def close(self) -> None:  # noqa: B027 (optional)
        """Release resources outside of this object."""

    @contextmanager
    def closed_on_error(self):
        """Close if the block raises an error or is interrupted."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def recentre(self, centre: np.ndarray) -> None:
        """Subtract this point (p) from the rows from now on."""
        self.centre = centre

    def learn_spreads(self, spreads: np.ndarray) -> None:  # noqa: B027 (optional)
        """Tell the engine the columns' standard deviations (p), which may allow it to skip centring."""

    def everything(self) -> np.ndarray:
        """All rows, for small data."""
        return self.take(np.arange(self.n))

    @contextmanager
    def threads(self):
        """Keep the thread pool for several folds, and limit BLAS to one thread.

        BLAS is limited for a single block, too: products with a few columns are slower on two BLAS threads than on one
        (usps358, 1756 x 256: 4.3 against 2.1 ms per iteration).
        """
        if self._limited:
            yield
            return
        with one_blas_thread(), ThreadPoolExecutor(self.n_threads) as pool:
            self._pool = pool if self.n_threads > 1 else None
            self._limited = True
            try:
                yield
            finally:
                self._pool, self._limited = None, False


class ArrayRows(Rows):
    """An n x p array: rows and states in memory.

    Y may be any object with a shape and a dtype that returns rows as arrays for a slice or an array of row numbers, so
    that rows computed when they are read (an image on disk, cleaned) are never in memory all at once.

    Block and tile boundaries depend on n and p alone.
    """

    portable = True

    def __init__(self, Y, weights=None, *, n_jobs=None, block_rows=None):
        self.Y = Y
        self.n, self.p = Y.shape
        self.dtype = Y.dtype
        self.weights = weights
        n_blocks = -(-self.n // (block_rows or BLOCK_ROWS))
        if n_blocks > 1 and block_rows is None:
            n_blocks = 4 * -(-n_blocks // 4)
        step = -(-self.n // n_blocks)
        self.slices = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        self.tile_rows = tile_rows(step, self.p)
        self.centre = np.zeros(self.p)
        self.n_threads = min(n_threads(n_jobs), len(self.slices))
        self._only: np.ndarray | None = None
        self._uncentred = False

    def __getstate__(self):
        """Threads and caches are not pickled."""
        return {**self.__dict__, "_only": None, "_pool": None, "_limited": False}

    def recentre(self, centre: np.ndarray) -> None:
        """Subtract this point (p) from the rows from now on."""
        super().recentre(centre)
        self._only = None
        self._uncentred = False

    def learn_spreads(self, spreads: np.ndarray) -> None:
        """Skip centring for rows near 0 that fill several tiles; a single tile is centred only once."""
        in_place = isinstance(self.Y, np.ndarray) and self.Y.flags.c_contiguous and self.tile_rows < self.n
        self._uncentred = in_place and small_offset(self.centre, spreads, self.dtype)

    def _block(self, span: slice) -> Block:
        def centred(i: int, j: int) -> np.ndarray:
            return self._centred(span.start + i, span.start + j)

        if self._uncentred:
            return UncentredBlock(self.Y[span], self.centre, centred, self.tile_rows)
        return Block(centred, span.stop - span.start, self.tile_rows)

    def _centred(self, start: int, stop: int) -> np.ndarray:
        """Rows start..stop less the centre."""
        if self._only is not None:
            return self._only
        whole = stop - start == self.n  # all of the data are one tile: centre once
        tile = np.subtract(self.Y[start:stop], self.centre, out=None if whole else buffer(stop - start, self.p))
        if whole:
            self._only = tile
        return tile

    def states(self) -> list[BlockState]:
        """A `BlockState` per block."""
        return [
            BlockState(weights=None if self.weights is None else self.weights[s], first=s.start) for s in self.slices
        ]

    def derive(self, states: list[BlockState], names: tuple[str, ...]) -> list[BlockState]:
        """New states that share the named arrays."""
        return [BlockState(**{name: getattr(s, name) for name in names}) for s in states]

    def spread(self, states: list[BlockState], name: str, values: np.ndarray) -> None:
        """Views of `values`, one per block."""
        for state, span in zip(states, self.slices, strict=True):
            setattr(state, name, values[..., span])

    def gather(self, states: list[BlockState], name: str) -> np.ndarray:
        """The blocks' arrays side by side."""
        return np.concatenate([getattr(s, name) for s in states], axis=-1)

    def take(self, index: np.ndarray) -> np.ndarray:
        """Rows of the array."""
        return np.asarray(self.Y[index])

    def everything(self) -> np.ndarray:
        """The array itself, where it is one."""
        return np.asarray(self.Y[:])

    def fold(self, kernel: Callable, states: list[BlockState], *args: Any, read: bool = True):
        """Visit blocks in threads; sum in the order of the blocks."""
        return self._fold(lambda block, index: kernel(block, states[index], *args), read)

    def fold_several(self, kernel: Callable, states: list[States], args: list[tuple], *, read: bool = True) -> list:
        """The same for several fits: each block is centred once, and their products are combined."""
        return self._fold(lambda block, i: run_several(kernel, block, [own[i] for own in states], args), read)

    def _fold(self, visit: Callable[[Block | None, int], Any], read: bool):
        def run(index: int):
            with quiet_overflow():
                return visit(self._block(self.slices[index]) if read else None, index)

        if self.n_threads == 1:
            return reduce(add, map(run, range(len(self.slices))))
        with self.threads():
            assert self._pool is not None
            return reduce(add, self._pool.map(run, range(len(self.slices))))


class ElsewhereRows(Rows):
    """Rows outside this process's memory: a state is a dict from attribute to a handle of its values.

    The first pass that reads the rows checks that all values are finite.
    """

    _checked = False

    @abstractmethod
    def _firsts(self) -> list:
        """The `first` entries of new states."""

    def states(self) -> list[dict[str, Any]]:
        """A dict per block or bundle with its first row and weights."""
        states: list[dict[str, Any]] = [{"first": first} for first in self._firsts()]
        if self.weights is not None:
            self.spread(states, "weights", self.weights)
        return states

    def derive(self, states: list[dict], names: tuple[str, ...]) -> list[dict]:
        """Dicts that share the named values."""
        return [{name: s[name] for name in names if name in s} for s in states]
