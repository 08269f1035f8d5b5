"""Rows of a data set, visited in blocks, read in tiles that fit the cache and centred as they are read.

The engine has one verb, `fold`: run a kernel on every block and add up what it returns. Kernels
(`statistics.py`) see the rows through the three products of `Block` and keep what they need per row in the block's own
state, so another engine (a file, a cluster) is another class with the same `fold`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["ArrayRows", "Block", "BlockState", "n_threads"]

# 2^19 doubles are 4 MB: the copy that centres a tile stays in the cache until its product is done. Measured at
# 38,400 x 256, two passes: 69 ms for tiles of 128 rows, 24 ms for 1024, 20 ms for 2048, 29 ms for 4096.
TILE_ELEMENTS = 2**19
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


class BlockState:
    """What a block's rows remember between two passes. Arrays have the rows along the last axis.

    weights (m,) · squared_norms (m,) of the centred rows · posteriors (K, m) · projected (d, m) ·
    residuals (K, m), the squared distance to each mean outside the latent space · log_density (m,) ·
    log_prior (K, m), what a prior over the rows adds to log pi_k, or None.
    """

    __slots__ = ("log_density", "log_prior", "posteriors", "projected", "residuals", "squared_norms", "weights")

    def __init__(self, weights=None, squared_norms=None, posteriors=None):
        self.weights = weights
        self.squared_norms = squared_norms
        self.posteriors = posteriors
        self.projected = None
        self.residuals = None
        self.log_density = None
        self.log_prior = None


class Block:
    """m consecutive rows z[i, j] = y[i, j] - centre[j], in double precision, and their products."""

    def __init__(self, rows: ArrayRows, span: slice):
        self._rows, self._span = rows, span

    def __len__(self) -> int:
        return self._span.stop - self._span.start

    def tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """The rows piece by piece: (position within the block, centred rows); valid until the next piece."""
        start, stop, step = self._span.start, self._span.stop, self._rows.tile_rows
        for i in range(start, stop, step):
            j = min(i + step, stop)
            yield slice(i - start, j - start), self._rows.centred(i, j)

    def times(self, A: np.ndarray) -> np.ndarray:
        """out[a, i] = sum_j A[a, j] z[i, j]"""
        out = np.empty((len(A), len(self)))
        for position, tile in self.tiles():
            np.matmul(A, tile.T, out=out[:, position])
        return out

    def sums(self, W: np.ndarray) -> np.ndarray:
        """out[k, j] = sum_i W[k, i] z[i, j]"""
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


class ArrayRows:
    """An n x p array with optional row weights, its blocks and the centre that is taken off as they are read.

    Any object will do that has shape and dtype and gives rows as arrays for a slice or an array of row numbers: rows
    that are made when they are read (an image on disk, cleaned) are never in memory all at once.

    The centre may be any point near the mean: formulas that need the exact mean correct for the difference.
    Block and tile boundaries depend on n and p alone and sums are added in block order, so the number of threads
    changes nothing.
    """

    def __init__(self, Y, weights=None, *, n_jobs=None, block_rows=None):
        self.Y = Y
        self.n, self.p = Y.shape
        self.weights = weights
        n_blocks = -(-self.n // (block_rows or BLOCK_ROWS))
        if n_blocks > 1 and block_rows is None:
            n_blocks = 4 * -(-n_blocks // 4)
        step = -(-self.n // n_blocks)
        self.slices = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        self.tile_rows = max(1, min(step, TILE_ELEMENTS // max(1, self.p)))
        self.centre = np.zeros(self.p)
        self.n_threads = min(n_threads(n_jobs), len(self.slices))
        self._buffers = threading.local()
        self._only: np.ndarray | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._limited = False

    def __getstate__(self):
        """Threads and their buffers stay where they are: only the rows travel."""
        kept = self.__dict__.copy()
        del kept["_buffers"]
        return {**kept, "_only": None, "_pool": None, "_limited": False}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._buffers = threading.local()

    def recentre(self, centre: np.ndarray) -> None:
        self.centre = centre
        self._only = None

    def centred(self, start: int, stop: int) -> np.ndarray:
        """Rows start..stop less the centre, in this thread's buffer."""
        if self._only is not None:
            return self._only
        buffer = getattr(self._buffers, "array", None)
        if buffer is None or len(buffer) < stop - start:
            buffer = self._buffers.array = np.empty((stop - start, self.p))
        tile = buffer[: stop - start]
        np.subtract(self.Y[start:stop], self.centre, out=tile)
        if stop - start == self.n:
            self._only = tile  # all of the data fit one tile: centre once
        return tile

    def states(self) -> list[BlockState]:
        """A fresh state per block (weights shared)."""
        return [BlockState(None if self.weights is None else self.weights[s]) for s in self.slices]

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

    def fold(self, kernel: Callable, states: list[BlockState], *args: Any, read: bool = True):
        """sum over blocks of kernel(block, state, *args), added in block order."""

        def run(index: int):
            return kernel(Block(self, self.slices[index]) if read else None, states[index], *args)

        if self.n_threads == 1:
            return reduce(add, map(run, range(len(self.slices))))
        with self.threads():
            assert self._pool is not None
            return reduce(add, self._pool.map(run, range(len(self.slices))))

    def gather(self, states: list[BlockState], name: str) -> np.ndarray:
        """The rows' values of a state attribute side by side: (..., n)."""
        return np.concatenate([getattr(s, name) for s in states], axis=-1)

    def tiles(self) -> Iterator[np.ndarray]:
        """All rows in order, a tile at a time."""
        for span in self.slices:
            for _, tile in Block(self, span).tiles():
                yield tile
