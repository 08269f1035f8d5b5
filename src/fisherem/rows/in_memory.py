"""Rows in memory: the engine for arrays, and for anything that gives rows as arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .base import Rows
from .blocks import Block, BlockState, UncentredBlock, buffer, quiet_overflow, run_several, small_offset, tile_rows
from .threads import n_threads

__all__ = ["ArrayRows"]

# What is kept per row is worked on in longer stretches: below some thousand rows NumPy's cost per call shows, and
# two threads that make many short calls wait for each other. A multiple of 4 blocks balances up to 4 threads.
BLOCK_ROWS = 8192


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
        self._uncentred = False

    def __getstate__(self):
        """Threads stay where they are: only the rows travel."""
        return {**self.__dict__, "_only": None, "_pool": None, "_limited": False}

    def recentre(self, centre: np.ndarray) -> None:
        """Subtract this point (p) from the rows from now on."""
        self.centre = centre
        self._only = None
        self._uncentred = False

    def learn_spreads(self, spreads: np.ndarray) -> None:
        """Rows near 0 that fill several tiles are used as they are; those of one tile are centred once anyhow."""
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
        whole = stop - start == self.n  # all of the data fit one tile: centre once
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
        """Blocks in threads; sums in the order of the blocks."""
        return self._fold(lambda block, index: kernel(block, states[index], *args), read)

    def fold_several(self, kernel: Callable, states: list, args: list[tuple], *, read: bool = True) -> list:
        """The same for several fits: each block is centred once, and the products of all are one."""
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
