"""Finished fits on disk, so that an interrupted search can be resumed.

There is one .npz file per fit, written atomically. Files hold only arrays and JSON, so reading one never executes code.
A file that is truncated or belongs to another search is reported, and the fit is computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from pathlib import Path

import numpy as np

from ..._utils.atomic import atomic_file
from ...rows.base import Rows
from ...rows.blocks import Block, BlockState, kernel
from ..data.problem import Problem
from .family import Family
from .loop import Fit, Stop

__all__ = ["Store", "fingerprint"]

_FORMAT = 3
# The finalizer of MurmurHash3, in which every input bit changes half of the output bits. Signs and exponents are the
# highest bits of a double, so in a plain sum or product of the words two changed signs could cancel.
_SHIFT, _FACTORS = np.uint64(33), (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
# Words that are mixed at a time: 512 KB fit the cache for eight passes (3 ns per value, against 8 ns for a whole tile).
_HASH_ELEMENTS = 2**16


def fingerprint(problem: Problem, settings: str) -> str:
    """A hash of everything that determines a fit: the rows, their order and weights, and the settings.

    It does not depend on where the rows are stored, how they are cut into blocks, or the number of threads.
    """
    digest = hashlib.sha256()
    given = problem.given
    digest.update(json.dumps([_FORMAT, (given.n, given.p), str(given.dtype), settings]).encode())
    digest.update(_hash_of_rows(given).tobytes())
    if given.weights is not None:
        digest.update(np.ascontiguousarray(given.weights, float).tobytes())
    if problem.prior is not None:
        digest.update(repr((problem.prior.mask.shape, problem.prior.strength, problem.prior.steps)).encode())
        digest.update(np.packbits(problem.prior.mask).tobytes())
    return digest.hexdigest()


def _hash_of_rows(rows: Rows) -> np.ndarray:
    """sum_i mix(number of row i + sum_j mix(y[i, j] + key[j])) modulo 2^64, of the rows as they were given."""
    keys = np.arange(rows.p, dtype=np.uint64)
    _mix(keys)
    centre = rows.centre
    rows.recentre(np.zeros(rows.p))  # the rounding of the mean depends on the blocks
    try:
        return rows.fold(hash_rows, rows.states(), keys)
    finally:
        rows.recentre(centre)


@kernel(reads=("first",))
def hash_rows(block: Block, state: BlockState, keys: np.ndarray) -> np.ndarray:
    """The block's contribution to the hash, as an array of one word, because array sums overflow without a warning."""
    total = np.zeros(1, np.uint64)
    step = max(1, _HASH_ELEMENTS // len(keys))
    for position, tile in block.tiles():
        rows = np.ascontiguousarray(tile).view(np.uint64)
        hashes = np.arange(state.first + position.start, state.first + position.stop, dtype=np.uint64)
        for i in range(0, len(rows), step):
            words = rows[i : i + step] + keys
            _mix(words)
            hashes[i : i + step] += words.sum(axis=1)
        _mix(hashes)
        total += hashes.sum()
    return total


def _mix(words: np.ndarray) -> None:
    """Scramble 64-bit words in place."""
    shifted = words >> _SHIFT
    for factor in _FACTORS:
        words ^= shifted
        words *= factor
        np.right_shift(words, _SHIFT, out=shifted)
    words ^= shifted


class Store:
    """Fits in a folder, by key. With folder None nothing is stored."""

    def __init__(self, folder: str | os.PathLike | None, mark: str):
        self.folder = None if folder is None else Path(folder)
        self.mark = mark
        if self.folder is not None:
            if self.folder.exists() and not self.folder.is_dir():
                raise ValueError(f"checkpoint must be a folder for the finished fits; {self.folder} is a file")
            self.folder.mkdir(parents=True, exist_ok=True)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"fit-{hashlib.sha256((self.mark + key).encode()).hexdigest()[:24]}.npz"

    def get(self, key: str, family: Family) -> tuple[Fit | None, dict] | None:
        """The stored fit (None for a failed one) and its record, or None if there is none."""
        if self.folder is None or not (path := self._path(key)).exists():
            return None
        try:
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            meta = json.loads(str(arrays.pop("meta")))
            if meta["mark"] != self.mark or meta["key"] != key:
                raise ValueError("it belongs to another search")
            # the archive's checksums cover its members, not their names
            if sorted(arrays) != meta["arrays"]:
                raise ValueError("its arrays are not those that were written")
            return (_unpack(family, arrays, meta["fit"]) if meta["fit"] else None), meta["record"]
        except Exception as error:  # a damaged file can raise any error in a parser
            reason = str(error) or type(error).__name__
            warnings.warn(f"checkpoint {path} cannot be used ({reason}); the fit is computed again", stacklevel=2)
            return None

    def put(self, key: str, fit: Fit | None, record: dict) -> None:
        """Write a fit and its record atomically."""
        if self.folder is None:
            return
        arrays, meta = _pack(fit) if fit is not None else ({}, None)
        names = sorted(arrays)
        text = json.dumps({"mark": self.mark, "key": key, "fit": meta, "record": record, "arrays": names})
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
    # JSON has no tuples: convert lists back
    history = [{k: tuple(v) if isinstance(v, list) else v for k, v in record.items()} for record in meta["history"]]
    solution, stop = family.unpack(arrays, meta["solution"]), Stop.parse(meta["stop"])
    return Fit(solution, [], meta["log_likelihood"], meta["entropy"], history, stop)
