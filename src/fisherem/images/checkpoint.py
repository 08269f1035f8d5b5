"""Checkpoints of the passes over all pixels, so that a run that was ended goes on where it was.

The file holds the posteriors (K x n) and the history of the last iteration of the run that was under way, and a digest
of the cleaned pixels and of the settings: a checkpoint of anything else is ignored and overwritten. A file that is no
checkpoint is refused.
"""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._utils.atomic import atomic_file
from ..tables.checking import check_path
from .clean import Cleaned

__all__ = ["Checkpoint", "Watching", "check_checkpoint", "digest"]

# Seconds between two checkpoints, and how much longer than writing one: that takes at most 5% of the time.
SECONDS = 5.0
_TIMES = 20
# Class files hold at most this many groups, so checkpoints do as well; bytes before the values of an array.
_MOST_GROUPS, _HEADER_BYTES = 255, 10_000
_FOREIGN = "checkpoint {} is not a checkpoint of a segmentation ({}): remove it, or give another path"
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


def check_checkpoint(path) -> None:
    """Raise an error, before any work, if the file is there and is no checkpoint: it would be replaced and deleted."""
    if path is None:
        return
    check_path("checkpoint", path)
    if Path(path).exists():
        _about(Path(path))


def _about(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself; an error if it is none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes().decode())
        known = isinstance(about, dict) and about.keys() >= {"key", "run", "phase", "history"}
    except Exception as error:  # a damaged file can raise any error in a parser
        raise ValueError(_FOREIGN.format(path, " ".join(str(error).split())[:100] or type(error).__name__)) from None
    if not known:
        raise ValueError(_FOREIGN.format(path, "it holds other things"))
    return about


def _read(path: Path, key: str, n: int) -> dict[str, Any] | None:
    """What a checkpoint holds; None if there is none, or one of other pixels, settings or versions."""
    if not path.exists():
        return None
    about = _about(path)
    if about["key"] != key:
        return None
    try:
        with zipfile.ZipFile(path) as archive:  # before it is unpacked
            size = archive.getinfo("posteriors.npy").file_size
        if size > _MOST_GROUPS * 8 * n + _HEADER_BYTES:
            return None
        with np.load(path, allow_pickle=False) as file:
            posteriors = np.array(file["posteriors"], float)
        whole = posteriors.ndim == 2 and posteriors.shape[1] == n and bool((posteriors >= 0).all())
        if not whole or not np.allclose(posteriors.sum(axis=0), 1):
            return None
        if not np.isfinite([record["log_likelihood"] for record in about["history"]]).all():
            return None
    except Exception:  # damaged
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
