"""Rows of a Dask array: blocks and what is kept per row stay where Dask has them, sums and parameters travel.

Under `dask.distributed` blocks are computed once and held by the workers, states are futures beside them. A state
depends on its block, on the squared norms and on the last parameters, never on an earlier state: what is lost with a
worker is computed again from those. Under the other schedulers (threads, processes, synchronous) blocks are computed in
every pass, and states are values in this process.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .blocks import Rows
from .finite import check_finite
from .kernels import access, block_of, visit

__all__ = ["Cluster", "DaskRows", "Local", "executor"]


# -- where things are computed -------------------------------------------------------------------------------------


def executor(collection) -> Local | Cluster:
    """The scheduler that Dask would use for the collection."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return Local() if client is None or not hasattr(client, "scheduler_info") else Cluster(client)


class Local:
    """Schedulers of this process: values are computed when they are asked for."""

    def hold(self, delayed: list) -> list:
        return delayed

    def share(self, value):
        return _Value(value)

    def call(self, function: Callable, items: list[tuple]) -> list:
        import dask

        run = dask.delayed(_unpacked, pure=False)
        return list(
            dask.compute(*(run(function, *(_Value(a) if isinstance(a, dict) else a for a in i)) for i in items))
        )

    def later(self, function: Callable, items: list[tuple]) -> list:
        """Like `call`, but computed when it is needed, and each time again."""
        import dask

        return [dask.delayed(function)(*item) for item in items]

    def bring(self, values: list) -> list:
        return values

    def close(self) -> None:
        pass


class _Value:
    """Hides a value from Dask, which would look for tasks inside it."""

    def __init__(self, value):
        self.value = value


def _unpacked(function, *args):
    return function(*(a.value if isinstance(a, _Value) else a for a in args))


class Cluster:
    """A `dask.distributed` client: values are futures."""

    def __init__(self, client):
        self.client = client
        self._alive: weakref.WeakSet = weakref.WeakSet()

    def _remember(self, futures: list) -> list:
        self._alive.update(futures)
        return futures

    def hold(self, delayed: list) -> list:
        return self._remember(self.client.compute(delayed))

    def share(self, value):
        """One task holds the value: it goes to a worker once, from there to the others, and can be had again."""
        return self._remember([self.client.submit(_same, value, key=f"fisherem-shared-{uuid.uuid4().hex}")])[0]

    def call(self, function: Callable, items: list[tuple]) -> list:
        if not items:
            return []
        keys = [f"fisherem{function.__name__}-{uuid.uuid4().hex}-{i}" for i in range(len(items))]
        return self._remember(self.client.map(function, *zip(*items, strict=True), key=keys, pure=False))

    later = call

    def bring(self, futures: list) -> list:
        return self.client.gather(futures)

    def close(self) -> None:
        """No task of ours goes on, also if somebody (a traceback) still holds its future."""
        self.client.cancel(list(self._alive), force=True)


def _same(value):
    return value


# -- what runs there -----------------------------------------------------------------------------------------------


def _visit_block(kernel, raw, centre, kept: dict, args: tuple, check: tuple | None):
    """(sums, what was written) of one block."""
    if check is not None:
        names, number, first = check
        where = f", in block {number} (rows {first} to {first + len(raw) - 1})"
        check_finite(raw, names, first=first, where=where)
    block = None if raw is None else block_of(raw, centre)
    values = {name: value[1][name] if isinstance(value, tuple) else value for name, value in kept.items()}
    return visit(kernel, block, values, args)


def _result(visited):
    return visited[0]


def _put(name: str, values):
    return None, {name: values}


def _get(visited, name: str):
    values = visited[1]["posteriors" if name == "labels" else name]
    return values.argmax(axis=0).astype(np.int32) if name == "labels" else values


def _some_rows(raw, positions):
    return raw[positions]


# -- the engine ----------------------------------------------------------------------------------------------------


class DaskRows(Rows):
    """Rows of a `DaskTable`. A state is a dict from attribute to what an executor's call gave for the block."""

    def __init__(self, table, weights=None):
        self.n, self.p = table.shape
        self.dtype, self.weights, self.names = table.dtype, weights, table.names
        self.executor, self.blocks, self.slices = table.executor, table.blocks, table.slices
        self.recentre(np.zeros(self.p))
        self._checked = False

    def recentre(self, centre: np.ndarray) -> None:
        self.centre = centre
        self._shared_centre = self.executor.share(centre)

    def states(self) -> list[dict[str, Any]]:
        states: list[dict[str, Any]] = [{"first": s.start} for s in self.slices]
        if self.weights is not None:
            self.spread(states, "weights", self.weights)
        return states

    def derive(self, states: list[dict], names: tuple[str, ...]) -> list[dict]:
        return [{name: s[name] for name in names if name in s} for s in states]

    def spread(self, states: list[dict], name: str, values: np.ndarray) -> None:
        put = self.executor.call(_put, [(name, np.ascontiguousarray(values[..., span])) for span in self.slices])
        for state, value in zip(states, put, strict=True):
            state[name] = value

    def gather(self, states: list[dict], name: str) -> np.ndarray:
        source = "posteriors" if name == "labels" else name
        parts = self.executor.call(_get, [(_as_item(state[source]), name) for state in states])
        return np.concatenate(self.executor.bring(parts), axis=-1)

    def take(self, index: np.ndarray) -> np.ndarray:
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
        self.executor.close()

    def fold(self, kernel: Callable, states: list[dict], *args: Any, read: bool = True):
        parts = access(kernel).parts or (kernel,)
        shared = self.executor.share(args)
        with self.threads():  # workers in this process shall not use BLAS threads on top of their own
            for part in parts:
                visited = self._visit(part, states, shared, read and access(part).rows)
            if access(part).writes:  # what was written stays there: only the sums are to come
                results = self.executor.bring(self.executor.call(_result, [(_as_item(v),) for v in visited]))
            else:
                results = [_result(v) for v in self.executor.bring(visited)]
            total = reduce(add, results)
        self._checked |= read
        return total

    def _visit(self, kernel: Callable, states: list[dict], shared, read: bool) -> list:
        declared = access(kernel)
        items = []
        for number, (state, block, span) in enumerate(zip(states, self.blocks, self.slices, strict=True)):
            kept = {name: state[name] for name in declared.reads if name in state}
            check = (self.names, number, span.start) if read and not self._checked else None
            items.append((kernel, block if read else None, self._shared_centre if read else None, kept, shared, check))
        visited = self.executor.call(_visit_block, items)
        for state, value in zip(states, visited, strict=True):
            for name in declared.drops:
                state.pop(name, None)
            for name in declared.writes:
                state[name] = value
        return visited


def _as_item(value):
    """A state's value as an argument of a call: Dask looks into tuples for tasks, so a computed one is hidden."""
    return _Value(value) if isinstance(value, tuple) else value
