"""Rows of a data set, visited in blocks: the verbs of an engine, and the engine for arrays in memory.

The verb of an engine is `fold`: run a kernel on every block and add up what it returns. Kernels
(`statistics.py`) see the rows through the products of a block and keep what they need per row in the block's own state.
Around it stand the verbs that make, share, fill and read states without saying where they are. Another engine is
another subclass of `Rows`: `ArrayRows` (here) has everything in memory, `FileRows` reads blocks from a file and may
keep states on disk, `DaskRows` leaves blocks and states on the workers.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from .kernels import Block, BlockState, buffer, tile_rows

__all__ = ["ArrayRows", "ElsewhereRows", "Rows", "n_threads"]

# What is kept per row is worked on in longer stretches: below some thousand rows NumPy's cost per call shows, and
# two threads that make many short calls wait for each other. A multiple of 4 blocks balances up to 4 threads.
BLOCK_ROWS = 8192

_blas: ThreadpoolController | None = None


def n_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None is all cores (as for BLAS and for KMeans), negative counts from the end."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def _one_blas_thread():
    global _blas
    if _blas is None:
        _blas = ThreadpoolController()
    return _blas.limit(limits=1, user_api="blas")


class Rows(ABC):
    """n x p rows with optional weights (n), cut into blocks, less a centre: the verbs of an engine.

    The centre may be any point near the mean: formulas that need the exact mean correct for the difference. Sums are
    added in an order that the number of threads does not change.
    """

    n: int
    p: int
    dtype: np.dtype
    centre: np.ndarray
    weights: np.ndarray | None
    slices: list[slice]
    n_threads = 1
    portable = False  # whether another process may be given these rows
    _pool: ThreadPoolExecutor | None = None
    _limited = False

    @abstractmethod
    def fold(self, kernel: Callable, states, *args: Any, read: bool = True):
        """sum over blocks of kernel(block, state, *args); block is None unless `read`."""

    @abstractmethod
    def states(self) -> Any:
        """A fresh state per block: its weights and the number of its first row."""

    @abstractmethod
    def derive(self, states, names: tuple[str, ...]) -> Any:
        """New states that share the named values. (Kernels replace values, they never change them.)"""

    @abstractmethod
    def spread(self, states, name: str, values: np.ndarray) -> None:
        """state.name = values[..., rows of the block]"""

    @abstractmethod
    def gather(self, states, name: str) -> np.ndarray:
        """The rows' values of a state's attribute side by side: (..., n)."""

    @abstractmethod
    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows of these numbers (ascending), as they are stored."""

    def close(self) -> None:  # noqa: B027 (an engine in memory holds nothing)
        """Give back what is held outside of this object, also when a fit ends before its time."""

    @contextmanager
    def closed_on_error(self):
        """Close when the work inside ends by an error or an interruption."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def recentre(self, centre: np.ndarray) -> None:
        self.centre = centre

    def everything(self) -> np.ndarray:
        """All rows, for data that are known to be small."""
        return self.take(np.arange(self.n))

    @contextmanager
    def threads(self):
        """Keep the threads for several folds; inside, BLAS leaves the parallelism to them.

        Also with a single block: products of this shape (a few columns) are slower on two BLAS threads than on one
        (usps358, 1756 x 256: 4.3 against 2.1 ms per iteration).
        """
        if self._limited:
            yield
            return
        with _one_blas_thread(), ThreadPoolExecutor(self.n_threads) as pool:
            self._pool = pool if self.n_threads > 1 else None
            self._limited = True
            try:
                yield
            finally:
                self._pool, self._limited = None, False


class ElsewhereRows(Rows):
    """Rows that are not in this process's memory: a state is a dict from attribute to where its values are.

    They are looked through for values that are not finite in the first pass that reads them.
    """

    _checked = False

    @abstractmethod
    def _firsts(self) -> list:
        """What a fresh state says of its first rows."""

    def states(self) -> list[dict[str, Any]]:
        states: list[dict[str, Any]] = [{"first": first} for first in self._firsts()]
        if self.weights is not None:
            self.spread(states, "weights", self.weights)
        return states

    def derive(self, states: list[dict], names: tuple[str, ...]) -> list[dict]:
        return [{name: s[name] for name in names if name in s} for s in states]


class ArrayRows(Rows):
    """An n x p array: rows and states in memory.

    Any object will do that has shape and dtype and gives rows as arrays for a slice or an array of row numbers: rows
    that are made when they are read (an image on disk, cleaned) are never in memory all at once.

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

    def __getstate__(self):
        """Threads stay where they are: only the rows travel."""
        return {**self.__dict__, "_only": None, "_pool": None, "_limited": False}

    def recentre(self, centre: np.ndarray) -> None:
        self.centre = centre
        self._only = None

    def _block(self, span: slice) -> Block:
        return Block(lambda i, j: self._centred(span.start + i, span.start + j), span.stop - span.start, self.tile_rows)

    def _centred(self, start: int, stop: int) -> np.ndarray:
        """Rows start..stop less the centre."""
        if self._only is not None:
            return self._only
        whole = stop - start == self.n  # all of the data fit one tile: centre once
        tile = np.subtract(self.Y[start:stop], self.centre, out=None if whole else buffer(stop - start, self.p))
        if whole:
            self._only = tile
        return tile

    def states(self) -> list[BlockState]:
        return [
            BlockState(weights=None if self.weights is None else self.weights[s], first=s.start) for s in self.slices
        ]

    def derive(self, states: list[BlockState], names: tuple[str, ...]) -> list[BlockState]:
        return [BlockState(**{name: getattr(s, name) for name in names}) for s in states]

    def spread(self, states: list[BlockState], name: str, values: np.ndarray) -> None:
        for state, span in zip(states, self.slices, strict=True):
            setattr(state, name, values[..., span])

    def gather(self, states: list[BlockState], name: str) -> np.ndarray:
        return np.concatenate([getattr(s, name) for s in states], axis=-1)

    def take(self, index: np.ndarray) -> np.ndarray:
        return np.asarray(self.Y[index])

    def everything(self) -> np.ndarray:
        return np.asarray(self.Y[:])

    def fold(self, kernel: Callable, states: list[BlockState], *args: Any, read: bool = True):
        def run(index: int):
            return kernel(self._block(self.slices[index]) if read else None, states[index], *args)

        if self.n_threads == 1:
            return reduce(add, map(run, range(len(self.slices))))
        with self.threads():
            assert self._pool is not None
            return reduce(add, self._pool.map(run, range(len(self.slices))))
