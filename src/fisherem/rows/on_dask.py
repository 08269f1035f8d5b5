"""Rows of a Dask array: blocks and values per row stay on the workers, and only sums and parameters are transferred.

Under `dask.distributed` the workers compute blocks once and hold them, and states are futures. A worker's blocks are
visited by as many tasks as it has threads, so that no task waits and Dask does not move blocks. A state depends on its
block, the squared norms and the last parameters, but not on an earlier state, so it can be recomputed if a worker is
lost. Under the other schedulers (threads, processes, synchronous) blocks are computed in every pass, and states are
values in this process.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .base import ElsewhereRows
from .blocks import access, block_of, check_finite, visit_several

__all__ = ["Bundle", "Cluster", "DaskRows", "Local", "executor"]


# -- where things are computed -------------------------------------------------------------------------------------


def executor(collection) -> Local | Cluster:
    """The scheduler that Dask would use for the collection."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return Local() if client is None or not hasattr(client, "scheduler_info") else Cluster(client)


class Local:
    """The schedulers of this process, which compute values on request."""

    def hold(self, delayed: list) -> list:
        """The blocks, which are computed in every pass."""
        return delayed

    def hold_array(self, array):
        """The array, unchanged."""
        return array

    def place(self, blocks: list, lengths: list[int]) -> tuple[list, list[Bundle]]:
        """(blocks, which of them are visited by one task)"""
        return blocks, [Bundle((number,)) for number in range(len(blocks))]

    def share(self, value):
        """A value for all tasks, wrapped so that Dask does not inspect it."""
        return _Value(value)

    def call(self, function: Callable, items: list[tuple], bundles=None) -> list:
        """function(*item) of every item, computed now."""
        import dask

        run = dask.delayed(_unpacked, pure=False)
        return list(dask.compute(*(run(function, *map(_hidden, item)) for item in items)))

    def bring(self, values: list) -> list:
        """The values, which are already in this process."""
        return values

    def close(self) -> None:
        """Does nothing."""


@dataclass(frozen=True)
class Bundle:
    """The numbers of the blocks that one task visits, and the worker that holds them."""

    numbers: tuple[int, ...]
    worker: str | None = None


class _Value:
    """Wraps a value, so that Dask does not search it for tasks."""

    def __init__(self, value):
        self.value = value


def _hidden(value):
    """Wrap states (a dict per fit), which hold no tasks here."""
    states = isinstance(value, list) and value and isinstance(value[0], dict)
    return _Value(value) if states else value


def _unpacked(function, *args):
    return function(*(a.value if isinstance(a, _Value) else a for a in args))


@dataclass
class _Slot:
    """A thread of a worker, and the blocks it visits."""

    worker: str
    numbers: list[int] = field(default_factory=list)
    load: int = 0  # rows

    def add(self, number: int, length: int) -> None:
        self.numbers.append(number)
        self.load += length


class Cluster:
    """A `dask.distributed` client: values are futures."""

    def __init__(self, client):
        self.client = client
        self._alive: weakref.WeakSet = weakref.WeakSet()

    def _remember(self, futures: list) -> list:
        self._alive.update(futures)
        return futures

    def hold_array(self, array):
        """The array, computed and held by the workers."""
        from distributed import futures_of

        held = self.client.persist(array)
        self._remember(futures_of(held))
        return held

    def hold(self, delayed: list) -> list:
        """Futures of blocks, which the workers compute and keep."""
        return self._remember(self.client.compute(delayed))

    def share(self, value):
        """A future of the value: it is sent to one worker, copied from there, and can be recomputed."""
        return self._remember([self.client.submit(_same, value, key=f"fisherem-shared-{uuid.uuid4().hex}")])[0]

    def place(self, blocks: list, lengths: list[int]) -> tuple[list, list[Bundle]]:
        """Assign blocks to the threads of the workers that hold them, with about equal numbers of rows.

        If Dask has put many more rows on one worker than on another, blocks are moved once.
        """
        from distributed import wait

        wait(blocks)
        holders = self.client.who_has(blocks)
        slots = [_Slot(worker) for worker, count in sorted(self.client.nthreads().items()) for _ in range(count)]
        share = sum(lengths) / len(slots)
        blocks, homeless = list(blocks), []
        for number, (block, length) in enumerate(zip(blocks, lengths, strict=True)):
            near = [slot for slot in slots if slot.worker in holders.get(block.key, ())]
            slot = min(near, key=lambda s: s.load, default=None)
            if slot is not None and slot.load + length / 2 <= share:
                slot.add(number, length)
            else:
                homeless.append(number)
        for number in homeless:
            slot = min(slots, key=lambda s: s.load)
            slot.add(number, lengths[number])
            if slot.worker not in holders.get(blocks[number].key, ()):
                blocks[number] = self.call(_same, [(blocks[number],)], [Bundle((number,), slot.worker)])[0]
        bundles = [Bundle(tuple(sorted(slot.numbers)), slot.worker) for slot in slots if slot.numbers]
        return blocks, sorted(bundles, key=lambda bundle: bundle.numbers)

    def call(self, function: Callable, items: list[tuple], bundles: list[Bundle] | None = None) -> list:
        """Futures of function(*item), each on the worker of its bundle."""
        name = f"fisherem{function.__name__}-{uuid.uuid4().hex}"
        futures = []
        for i, item in enumerate(items):
            worker = None if bundles is None else bundles[i].worker
            place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
            futures.append(self.client.submit(function, *item, key=f"{name}-{i}", pure=False, **place))
        return self._remember(futures)

    def bring(self, futures: list) -> list:
        """The values of futures."""
        return self.client.gather(futures)

    def close(self) -> None:
        """Cancel all tasks, also those whose futures are still referenced, as by a traceback."""
        self.client.cancel(list(self._alive), force=True)


def _same(value):
    return value


# -- what runs there -----------------------------------------------------------------------------------------------
# The value of a state's attribute is a pair (sum over a bundle's blocks, values written for each block).


def _visit_blocks(kernel, raws, centre, kept: list[dict], args: list[tuple], checks: list | None):
    """Run a kernel on the blocks of a bundle for several fits, and add up, so that only sums are transferred.

    Returns (a sum per fit, for each fit the values written for each block).
    """
    total: Any = None
    written: list[list] = [[] for _ in kept]
    for i in range(len(kept[0]["first"])):
        raw: Any = None if raws is None else raws[i]
        if checks is not None:
            names, number, first = checks[i]
            where = f", in block {number} (rows {first} to {first + len(raw) - 1})"
            check_finite(raw, names, first=first, where=where)
        block = None if raw is None else block_of(raw, centre)
        values = [
            {name: value[1][i][name] if isinstance(value, tuple) else value[i] for name, value in own.items()}
            for own in kept
        ]
        results, new = visit_several(kernel, block, values, args)
        total = results if total is None else total + results
        for own, more in zip(written, new, strict=True):
            own.append(more)
    return total, written


def _part(visited, fit: int):
    """The part of a visit that belongs to one of several fits."""
    return visited[0][fit], visited[1][fit]


def _visit_alone(*args):
    """The same for one fit, as its own part."""
    return _part(_visit_blocks(*args), 0)


def _total(visited):
    return visited[0]


def _put(name: str, values: list):
    return None, [{name: value} for value in values]


def _get(visited, name: str) -> list[np.ndarray]:
    if name == "labels":
        return [values["posteriors"].argmax(axis=0).astype(np.int64) for values in visited[1]]
    return [values[name] for values in visited[1]]


def _some_rows(raw, positions):
    return raw[positions]


# -- the engine ----------------------------------------------------------------------------------------------------


class DaskRows(ElsewhereRows):
    """Rows of a `DaskTable`. States: for each bundle of blocks a dict from attribute to the result of a call."""

    def __init__(self, table, weights=None):
        self.n, self.p = table.shape
        self.dtype, self.weights, self.names = table.dtype, weights, table.names
        self.executor, self.blocks, self.bundles = table.executor, table.blocks, table.bundles
        self.slices = table.slices
        self.recentre(np.zeros(self.p))

    def recentre(self, centre: np.ndarray) -> None:
        """Send the point (p) to the workers, which subtract it from now on."""
        self.centre = centre
        self._shared_centre = self.executor.share(centre)

    def _of_bundles(self, values: Sequence) -> list[list]:
        """One value per block, as a list for each bundle."""
        return [[values[number] for number in bundle.numbers] for bundle in self.bundles]

    def _of_blocks(self, values: list[list]) -> list:
        """A list for each bundle, as one value per block."""
        out = [None] * len(self.blocks)
        for bundle, some in zip(self.bundles, values, strict=True):
            for number, value in zip(bundle.numbers, some, strict=True):
                out[number] = value
        return out

    def _firsts(self) -> list[list[int]]:
        return self._of_bundles([span.start for span in self.slices])

    def spread(self, states: list[dict], name: str, values: np.ndarray) -> None:
        """Each bundle's part of `values` goes to its worker."""
        parts = [np.ascontiguousarray(values[..., span]) for span in self.slices]
        put = self.executor.call(_put, [(name, some) for some in self._of_bundles(parts)], self.bundles)
        for state, value in zip(states, put, strict=True):
            state[name] = value

    def gather(self, states: list[dict], name: str) -> np.ndarray:
        """The bundles' values, fetched and put in the order of the rows."""
        source = "posteriors" if name == "labels" else name
        parts = self.executor.call(_get, [(_as_item(state[source]), name) for state in states], self.bundles)
        return np.concatenate(self._of_blocks(self.executor.bring(parts)), axis=-1)

    def take(self, index: np.ndarray) -> np.ndarray:
        """Rows by number, fetched from the blocks that have them."""
        index = np.asarray(index)
        ends = np.searchsorted(index, [s.stop for s in self.slices])
        begins = np.concatenate([[0], ends[:-1]])
        items = [
            (block, index[i:j] - span.start)
            for block, span, i, j in zip(self.blocks, self.slices, begins, ends, strict=True)
            if j > i
        ]
        return np.concatenate(self.executor.bring(self.executor.call(_some_rows, items)))

    def close(self) -> None:
        """Cancel what is still running."""
        self.executor.close()

    def fold_several(self, kernel: Callable, states: list, args: list[tuple], *, read: bool = True) -> list:
        """One task per bundle and part of the kernel, which returns only sums: one round trip for all fits."""
        shared = self.executor.share(args)
        with self.threads():  # workers in this process must not use BLAS threads in addition to their own
            for part in access(kernel).parts or (kernel,):
                visited = self._visit(part, states, shared, read and access(part).rows)
            if access(part).writes:  # leave the written values there and fetch only the sums
                totals = self.executor.bring(self.executor.call(_total, [(_as_item(v),) for v in visited]))
            else:
                totals = [_total(v) for v in self.executor.bring(visited)]
        self._checked |= read
        total = reduce(add, totals)
        return [total] if len(states) == 1 else total

    def _visit(self, kernel: Callable, states: list[list[dict]], shared, read: bool) -> list:
        declared = access(kernel)
        raws = self._of_bundles(self.blocks)
        firsts = self._of_bundles([(self.names, number, span.start) for number, span in enumerate(self.slices)])
        items = []
        for own, some, checks in zip(zip(*states, strict=True), raws, firsts, strict=True):
            kept = [{name: state[name] for name in ("first", *declared.reads) if name in state} for state in own]
            check = checks if read and not self._checked else None
            items.append((kernel, some if read else None, self._shared_centre if read else None, kept, shared, check))
        alone = len(states) == 1
        visited = self.executor.call(_visit_alone if alone else _visit_blocks, items, self.bundles)
        for fit, own in enumerate(states):
            parts = visited
            if declared.writes and not alone:
                parts = self.executor.call(_part, [(_as_item(v), fit) for v in visited], self.bundles)
            for state, value in zip(own, parts, strict=True):
                for name in declared.drops:
                    state.pop(name, None)
                for name in declared.writes:
                    state[name] = value
        return visited


def _as_item(value):
    """A state's value as an argument of a call: Dask searches tuples for tasks, so a computed one is wrapped."""
    return _Value(value) if isinstance(value, tuple) else value
