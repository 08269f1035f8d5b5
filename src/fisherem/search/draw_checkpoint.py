"""Finished draws in a file, so that an interrupted `significance` goes on: arrays only, nothing is executed."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from .._utils.atomic import atomic_file

__all__ = ["DrawStore"]

# Seconds between two writes: a file of many draws takes some milliseconds.
_EVERY = 1.0


class DrawStore:
    """Statistics of draws by key. With path None nothing is stored. A file of another call is never replaced."""

    def __init__(self, path, mark: str):
        self.path = None if path is None else Path(path)
        self.mark = mark
        self.found: dict[str, np.ndarray] = {}
        self._written = time.monotonic()
        if self.path is not None and self.path.exists():
            self.found = self._read(self.path)

    def _read(self, path: Path) -> dict[str, np.ndarray]:
        try:
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            mark = str(arrays.pop("mark"))
        except Exception as error:  # a damaged file can raise any error in a parser
            reason = str(error) or type(error).__name__
            raise ValueError(
                f"checkpoint {path} is not a file of finished draws ({reason}): remove it, or give another path"
            ) from None
        if mark != self.mark:
            raise ValueError(
                f"checkpoint {path} belongs to another table, model, seed or version of fisherem: remove it, or give "
                "another path"
            )
        return arrays

    def put(self, key: str, values: np.ndarray) -> None:
        """Keep the statistics of a draw; they are written about once a second."""
        self.found[key] = values
        if time.monotonic() - self._written > _EVERY:
            self.write()

    def write(self) -> None:
        """Write everything that is kept, atomically."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(self.path) as file:
                np.savez(file, allow_pickle=False, mark=np.array(self.mark), **self.found)
        self._written = time.monotonic()
