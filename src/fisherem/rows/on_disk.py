"""Rows read from a file, block by block, within a memory budget.

One thread reads ahead while the others compute. Values per row (K + d + 2 numbers) use up to half of the budget, and a
temporary file beyond it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from .base import ElsewhereRows, n_threads
from .blocks import access, block_of, check_finite, small_offset, visit_several
from .spill import Kept, Spill

__all__ = ["FileRows"]

# Shares of the budget: half for values per row, a quarter for blocks; the rest is for the covariance, tiles and
# temporary arrays of kernels.
_STATES_SHARE, _BLOCKS_SHARE = 2, 4
# Larger blocks do not reduce the overhead further, and the temporary arrays of kernels grow with them.
_MOST_BLOCK_BYTES = 2**24
_MOST_BLOCK_ROWS = 2**16
# Blocks read ahead: one being read and one waiting.
_AHEAD = 2


class FileRows(ElsewhereRows):
    """Rows of a source (shape, dtype, read(start, stop, buffer), take(index), row_step) in at most `memory` bytes.

    After every pass the source checks that its file has not changed (check_unchanged).

    A state is a dict from attribute to what `Spill` keeps.
    """

    def __init__(self, source, weights=None, *, memory: int, n_jobs=None, names=None):
        self.source, self.names = source, names
        self.n, self.p = source.shape
        self.dtype, self.weights = source.dtype, weights
        self.centre = np.zeros(self.p)
        self._uncentred = False
        self.n_threads = n_threads(n_jobs)
        self.block_bytes = self._block_bytes(memory)
        step = max(1, min(self.block_bytes // self._row_bytes, _MOST_BLOCK_ROWS))
        if step > source.row_step > 1:
            step -= step % source.row_step  # whole chunks, so that none is read twice
        self.slices = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        self.n_threads = min(self.n_threads, len(self.slices))
        self.spill = Spill(memory // _STATES_SHARE)

    def recentre(self, centre: np.ndarray) -> None:
        """Subtract this point (p) from the rows from now on."""
        super().recentre(centre)
        self._uncentred = False

    def learn_spreads(self, spreads: np.ndarray) -> None:
        """Skip centring for rows near 0."""
        self._uncentred = small_offset(self.centre, spreads, self.dtype)

    @property
    def _n_buffers(self) -> int:
        """Blocks in memory at a time: one per thread, one waiting for a thread, and those read ahead."""
        return self.n_threads + 1 + _AHEAD

    @property
    def _row_bytes(self) -> int:
        return self.p * self.dtype.itemsize

    @property
    def room_for_states(self) -> int:
        """States are kept within the budget anyway: only those of the blocks at work count, as much as blocks do."""
        return max(super().room_for_states, self.n * self._row_bytes * self._n_buffers // self.n_threads)

    def _block_bytes(self, memory: int) -> int:
        """The size of a block in bytes; raises if the budget is too small."""
        waiting = self._n_buffers
        # S, its factor, and a sum of cross-products for each thread
        least = 8 * self.p**2 * (2 + self.n_threads) + waiting * max(self._row_bytes, self.source.step_bytes)
        if memory < 2 * least:
            raise ValueError(
                f"memory is too small for rows of {self.p} columns that are read in steps of "
                f"{self.source.step_bytes / 1e6:.2g}MB: give at least {2.02 * least / 1e6:.2g}MB "
                f"(now {memory / 1e6:.2g}MB), or use fewer n_jobs"
            )
        return int(min(_MOST_BLOCK_BYTES, max(self._row_bytes, memory // _BLOCKS_SHARE // waiting)))

    # -- states ------------------------------------------------------------------------------------------------------

    def _firsts(self) -> list[int]:
        return [span.start for span in self.slices]

    def spread(self, states: list[dict], name: str, values: np.ndarray) -> None:
        """Each block's part of `values`, kept in memory or on disk."""
        for state, span in zip(states, self.slices, strict=True):
            state[name] = self.spill.keep(np.ascontiguousarray(values[..., span]))

    def gather(self, states: list[dict], name: str) -> np.ndarray:
        """The blocks' values side by side."""
        kept = "posteriors" if name == "labels" else name
        shape = (self.n,) if name == "labels" else (*states[0][kept].shape[:-1], self.n)
        out = np.empty(shape, np.int64 if name == "labels" else float)
        for state, span in zip(states, self.slices, strict=True):
            values = state[kept].get()
            out[..., span] = values.argmax(axis=0) if name == "labels" else values
        return out

    def take(self, index: np.ndarray) -> np.ndarray:
        """Rows by number, read from the file."""
        return self.source.take(np.asarray(index))

    def close(self) -> None:
        """Close the temporary file."""
        self.spill.close()

    # -- fold --------------------------------------------------------------------------------------------------------

    def fold_several(self, kernel: Callable, states: list, args: list[tuple], *, read: bool = True) -> list:
        """Visit blocks in threads as they are read, once for all fits; sum in the order of the blocks."""

        def run(index: int, raw: np.ndarray | None):
            return self._visit(kernel, index, raw, [own[index] for own in states], args)

        total = None
        with self.threads():
            pending: deque[Future] = deque()
            try:
                for index, raw, done in self._read_ahead() if read else self._nothing_read():
                    pending.append(self._start(run, index, raw, done))
                    if len(pending) > self.n_threads:
                        total = _plus(total, pending.popleft().result())
                while pending:
                    total = _plus(total, pending.popleft().result())
            finally:
                for future in pending:
                    future.cancel()
        if read:
            self.source.check_unchanged()
            self._checked = True
        assert total is not None
        return total

    def _nothing_read(self) -> Iterator[tuple[int, None, None]]:
        return ((index, None, None) for index in range(len(self.slices)))

    def _start(self, run: Callable, index: int, raw, done: Callable | None) -> Future:
        if self._pool is not None:
            future = self._pool.submit(run, index, raw)
        else:  # one thread: compute here while the reader continues
            future = Future()
            future.set_result(run(index, raw))
        if done is not None:
            future.add_done_callback(lambda _: done())
        return future

    def _visit(self, kernel: Callable, index: int, raw, states: list[dict], args: list[tuple]):
        declared = access(kernel)
        if raw is not None and not self._checked:
            span = self.slices[index]
            where = f", in block {index} (rows {span.start} to {span.stop - 1})"
            check_finite(raw, self.names, first=span.start, where=where)
        block = None if raw is None else block_of(raw, self.centre, uncentred=self._uncentred)
        kept = [{name: _value(state.get(name)) for name in declared.reads} for state in states]
        results, written = visit_several(kernel, block, kept, args)
        for state, new in zip(states, written, strict=True):
            for name in declared.drops:
                state.pop(name, None)
            for name, value in new.items():
                state.pop(name, None)
                if value is not None:
                    state[name] = self.spill.keep(value)
        return results

    def _read_ahead(self) -> Iterator[tuple[int, np.ndarray, Callable]]:
        """(index, rows, callback to release their buffer) of every block, read by a separate thread."""
        free: SimpleQueue = SimpleQueue()
        size = max(s.stop - s.start for s in self.slices) * self._row_bytes
        for _ in range(min(len(self.slices), self._n_buffers)):
            free.put(np.empty(size if self.source.wants_buffer else 0, np.uint8))

        def read(span: slice):
            buffer = free.get()
            return buffer, (None if buffer is None else self.source.read(span.start, span.stop, buffer))

        with ThreadPoolExecutor(1) as reader:
            waiting = deque(reader.submit(read, span) for span in self.slices[:_AHEAD])
            try:
                for index in range(len(self.slices)):
                    buffer, rows = waiting.popleft().result()
                    if index + _AHEAD < len(self.slices):
                        waiting.append(reader.submit(read, self.slices[index + _AHEAD]))
                    yield index, rows, lambda buffer=buffer: free.put(buffer)
            finally:  # also release the reader if the fold ends early
                for future in waiting:
                    future.cancel()
                free.put(None)


def _plus(total, more):
    return more if total is None else total + more


def _value(kept):
    return kept.get() if isinstance(kept, Kept) else kept
