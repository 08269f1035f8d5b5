"""Checkpoints of the passes over all pixels, so that a run that was ended goes on where it was.

The file holds the posteriors (K x n) and the history of the last iteration of the run that was under way, and a digest
of the cleaned pixels and of the settings: a checkpoint of anything else is ignored and overwritten.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._utils.atomic import atomic_file
from .clean import Cleaned

__all__ = ["Checkpoint", "Watching", "digest"]

# Seconds between two checkpoints, and how much longer than writing one: that takes at most 5% of the time.
SECONDS = 5.0
_TIMES = 20
# Pixels that the digest looks at.
_PIXELS = 200


def digest(cleaned: Cleaned, estimator, settings: Any) -> str:
    """A digest of what determines the passes: pixels, bands, the estimator's parameters, the version."""
    rows = cleaned.rows
    even = np.unique(np.linspace(0, len(rows) - 1, min(_PIXELS, len(rows))).astype(int))
    said = hashlib.sha256()
    for part in (np.asarray(rows[even]), cleaned.mask, cleaned.bands):
        said.update(np.ascontiguousarray(part).tobytes())
    parameters = sorted((name, repr(value)) for name, value in estimator.get_params().items())
    said.update(json.dumps([__version__, list(rows.shape), parameters, repr(settings)]).encode())
    return said.hexdigest()


class Checkpoint:
    """The checkpoint of a segmentation of n pixels in the file `path`.

    `resumed` is the number of iterations that a run went on from, 0 if there was nothing to go on from.
    """

    def __init__(self, path, key: str, n: int):
        self.path, self.key, self.n = Path(path), key, n
        self.resumed = 0
        self._run = -1  # the number of the run over all pixels that is under way
        self._saved = _read(self.path, key, n)
        self._last, self._took = time.monotonic(), 0.0

    def resume(self, n: int, phase: str) -> tuple[np.ndarray, list[dict]] | None:
        """What the run that begins goes on from."""
        if n != self.n:
            return None
        self._run += 1
        saved = self._saved
        if saved is None or (saved["run"], saved["phase"]) != (self._run, phase):
            return None
        self._saved = None
        self.resumed = len(saved["history"])
        return saved["posteriors"], saved["history"]

    def passed(self, n: int, phase: str, history: list[dict], posteriors: Callable[[], np.ndarray]) -> None:
        """Write a checkpoint if the last one is old enough."""
        begin = time.monotonic()
        if n != self.n or self._saved is not None or begin - self._last < max(SECONDS, _TIMES * self._took):
            return
        about = {"key": self.key, "run": self._run, "phase": phase, "history": history}
        text = np.frombuffer(json.dumps(about, default=float).encode(), np.uint8)
        with atomic_file(self.path) as file:
            np.savez(file, about=text, posteriors=posteriors())
        self._last = time.monotonic()
        self._took = self._last - begin

    def remove(self) -> None:
        """Delete the file: the work is done."""
        self.path.unlink(missing_ok=True)


def _read(path: Path, key: str, n: int) -> dict[str, Any] | None:
    """What a checkpoint holds; None if there is none, or one of other pixels or settings, or a damaged one."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes().decode())
            if about["key"] != key:
                return None
            posteriors = np.array(file["posteriors"], float)
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    if posteriors.ndim != 2 or posteriors.shape[1] != n or not np.isfinite(posteriors).all():
        return None
    return {**about, "posteriors": posteriors}


class Watching:
    """A progress bar that shows every iteration, and a checkpoint if there is one."""

    def __init__(self, bar, checkpoint: Checkpoint | None = None):
        self.bar, self.checkpoint = bar, checkpoint

    def resume(self, n: int, phase: str) -> tuple[np.ndarray, list[dict]] | None:
        """What the checkpoint has."""
        return None if self.checkpoint is None else self.checkpoint.resume(n, phase)

    def passed(self, n: int, phase: str, history: list[dict], posteriors: Callable[[], np.ndarray]) -> None:
        """Show the iteration, and hand it to the checkpoint."""
        self.bar.add(1)
        value = history[-1]["log_likelihood"] / n
        self.bar.step(
            f"{phase or 'fit'} on {n:,} pixels, iteration {len(history)}, log-likelihood {value:.6g} per pixel"
        )
        if self.checkpoint is not None:
            self.checkpoint.passed(n, phase, history, posteriors)
