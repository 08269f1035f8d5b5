"""The verbs of an engine: rows of a data set, visited in blocks.

The verb of an engine is `fold`: run a kernel on every block and add up what it returns. Kernels see the rows through
the products of a block and keep what they need per row in the block's own state. Around it stand the verbs that make,
share, fill and read states without saying where they are. Another engine is another subclass of `Rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from .threads import one_blas_thread

__all__ = ["ElsewhereRows", "Rows"]

# What is kept per row for all runs that go side by side may take this many bytes, however few rows there are.
_ROOM = 2**26


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

    @property
    def room_for_states(self) -> int:
        """Bytes that the states of runs side by side may take: 64 MB, or half of what the rows take."""
        return max(_ROOM, self.n * self.p * self.dtype.itemsize // 2)

    @abstractmethod
    def fold(self, kernel: Callable, states, *args: Any, read: bool = True):
        """sum over blocks of kernel(block, state, *args); block is None unless `read`."""

    @abstractmethod
    def fold_several(self, kernel: Callable, states: list, args: list[tuple], *, read: bool = True) -> list:
        """The folds of several fits in one pass over the rows: kernel(block, states[f], *args[f]) of each fit f."""

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
        """Subtract this point (p) from the rows from now on."""
        self.centre = centre

    def learn_spreads(self, spreads: np.ndarray) -> None:  # noqa: B027 (an engine may have no use for them)
        """The columns' standard deviations (p) about the centre: an engine may centre later where that is small."""

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
        with one_blas_thread(), ThreadPoolExecutor(self.n_threads) as pool:
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
        """A dict per block or bundle: its first row and weights."""
        states: list[dict[str, Any]] = [{"first": first} for first in self._firsts()]
        if self.weights is not None:
            self.spread(states, "weights", self.weights)
        return states

    def derive(self, states: list[dict], names: tuple[str, ...]) -> list[dict]:
        """Dicts that share the named values."""
        return [{name: s[name] for name in names if name in s} for s in states]
