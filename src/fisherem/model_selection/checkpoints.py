"""Finished fits on disk, so that a search that was killed goes on where it stopped.

One .npz file per fit, written atomically; arrays and JSON only, so reading one never executes anything. A file that is
cut short or belongs to something else is reported and the fit computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np

from .._utils.atomic import atomic_file
from ..em.family import Family
from ..em.loop import Fit
from ..em.problem import Problem
from ..em.stopping import Stop

__all__ = ["Store", "fingerprint"]

_FORMAT = 2


def fingerprint(problem: Problem, settings: str) -> str:
    """What a fit depends on: the data (through their moments and a few rows) and the settings."""
    digest = hashlib.sha256()
    given = problem.given
    digest.update(json.dumps([_FORMAT, (given.n, given.p), str(given.dtype), problem.weight, settings]).encode())
    some = given.take(np.arange(0, given.n, max(1, given.n // 100)))
    for array in (problem.centre, problem.scatter.gram.diagonal(), some):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Store:
    """Fits under a folder, by key. With folder None nothing is kept."""

    def __init__(self, folder: str | os.PathLike | None, mark: str):
        self.folder = None if folder is None else Path(folder)
        self.mark = mark
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"fit-{hashlib.sha256((self.mark + key).encode()).hexdigest()[:24]}.npz"

    def get(self, key: str, family: Family) -> tuple[Fit | None, dict] | None:
        """The fit of that family (None for a failed one) and its record, or None if it is not there."""
        if self.folder is None or not (path := self._path(key)).exists():
            return None
        try:
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            meta = json.loads(str(arrays.pop("meta")))
            if meta["mark"] != self.mark or meta["key"] != key:
                raise ValueError("it belongs to another search")
            return (_unpack(family, arrays, meta["fit"]) if meta["fit"] else None), meta["record"]
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            warnings.warn(f"checkpoint {path} cannot be used ({error}); the fit is computed again", stacklevel=2)
            return None

    def put(self, key: str, fit: Fit | None, record: dict) -> None:
        """Write a fit and its record; a reader never sees half of it."""
        if self.folder is None:
            return
        arrays, meta = _pack(fit) if fit is not None else ({}, None)
        text = json.dumps({"mark": self.mark, "key": key, "fit": meta, "record": record})
        with atomic_file(self._path(key)) as file:
            np.savez(file, allow_pickle=False, meta=np.array(text), **arrays)


def _pack(fit: Fit) -> tuple[dict[str, np.ndarray], dict]:
    arrays, values = fit.solution.pack()
    meta = {
        "solution": values,
        "log_likelihood": fit.log_likelihood,
        "entropy": fit.entropy,
        "stop": str(fit.stop),
        "history": fit.history,
    }
    return arrays, meta


def _unpack(family: Family, arrays: dict[str, np.ndarray], meta: dict) -> Fit:
    # JSON has no tuples: what was one in a record is one again
    history = [{k: tuple(v) if isinstance(v, list) else v for k, v in record.items()} for record in meta["history"]]
    solution, stop = family.unpack(arrays, meta["solution"]), Stop.parse(meta["stop"])
    return Fit(solution, [], meta["log_likelihood"], meta["entropy"], history, stop)
