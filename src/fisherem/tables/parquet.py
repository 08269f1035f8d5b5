"""Parquet files, and folders of them, read in whole row groups."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.extras import need_extra
from .contained import check_links
from .errors import TableError
from .kinds import NUMBERS, kind_of
from .readers import check_names
from .sources import Source
from .watch import Watch

__all__ = ["ParquetSource"]


class ParquetSource(Source):
    """One Parquet file, or the files of a folder sorted by name.

    Text columns are allowed as long as no rows are read: `select` leaves them out, `column` reads one of them.
    """

    names: list[str]

    def __init__(self, path: Path):
        self.path = path
        check_links(path)
        paths = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not paths:
            raise TableError(f"{path}: a folder without Parquet files")
        files = _open_all(path, paths)
        try:
            names, self._kinds = _columns(files, paths)
        except TableError:
            raise
        except Exception as error:  # damaged files may fail only when the schema is parsed
            raise TableError(_unreadable(path, error)) from None
        self._groups = [(f, g) for f in files for g in range(f.num_row_groups) if f.metadata.row_group(g).num_rows]
        lengths = [f.metadata.row_group(g).num_rows for f, g in self._groups]
        self._begin = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
        self.row_step = max(lengths, default=1)
        self._watch = Watch(paths)
        self._lock = threading.RLock()  # pyarrow's files are not thread-safe
        self._take_columns(names)

    def _take_columns(self, names: list[str]) -> None:
        self.names = names
        kinds = [self._kinds[name] for name in names]
        self.text_columns = {
            n: held for n, kind in zip(names, kinds, strict=True) if (held := kind_of(kind)) != NUMBERS
        }
        self.yes_no_columns = frozenset(n for n, kind in zip(names, kinds, strict=True) if kind == "bool")
        self.dtype = np.dtype(np.float32 if set(kinds) == {"float"} else np.float64)
        self.shape = (int(self._begin[-1]), len(names))
        self.step_bytes = self.row_step * self.shape[1] * self.dtype.itemsize
        self._last: tuple[int, np.ndarray] | None = None  # the most recently read row group

    def select(self, columns: Sequence[int]) -> ParquetSource:
        """The same rows with only these columns; the others are not read."""
        chosen = copy.copy(self)
        chosen._take_columns([self.names[j] for j in columns])
        return chosen

    def column(self, j: int) -> np.ndarray:
        """Column j of every row (n,), of any dtype."""
        parts = [self._arrow(g, [self.names[j]]).column(0).to_pandas().to_numpy() for g in range(len(self._groups))]
        return np.concatenate(parts) if parts else np.empty(0)

    def check_unchanged(self) -> None:
        """Raise an error if one of the files was written to since it was opened."""
        self._watch.check()

    def read(self, start: int, stop: int, buffer: np.ndarray | None = None) -> np.ndarray:
        """Rows start..stop, sliced from their row groups."""
        first, last = np.searchsorted(self._begin, [start, stop - 1], side="right") - 1
        parts = []
        for g in range(first, last + 1):
            low, high = max(start, self._begin[g]), min(stop, self._begin[g + 1])
            parts.append(self._group(g)[low - self._begin[g] : high - self._begin[g]])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def take(self, index: np.ndarray) -> np.ndarray:
        """The rows with these numbers; every row group is read at most once."""
        groups = np.searchsorted(self._begin, index, side="right") - 1
        out = np.empty((len(index), self.shape[1]), self.dtype)
        for g in np.unique(groups):
            here = groups == g
            out[here] = self._group(g)[index[here] - self._begin[g]]
        return out

    def _group(self, g: int) -> np.ndarray:
        """The rows of a row group; the most recent one is cached because blocks may be smaller."""
        with self._lock:
            if self._last is None or self._last[0] != g:
                self._last = None
                table = self._arrow(g, self.names)
                try:
                    values = np.empty((self._begin[g + 1] - self._begin[g], len(self.names)), self.dtype)
                    for j, name in enumerate(self.names):
                        values[:, j] = table.column(name).to_numpy()
                except (TypeError, ValueError) as error:
                    raise TableError(_unreadable(self.path, error)) from None
                self._last = g, values
            return self._last[1]

    def _arrow(self, g: int, names: list[str]) -> Any:
        file, number = self._groups[g]
        with self._lock:
            try:
                return file.read_row_group(number, columns=names)
            except Exception as error:  # pyarrow raises exceptions of its own
                self._watch.check()
                raise TableError(_unreadable(self.path, error)) from None


def _open_all(path: Path, paths: list[Path]) -> list:
    parquet = need_extra("pyarrow.parquet", "reading Parquet", "tables")
    try:
        return [parquet.ParquetFile(one, page_checksum_verification=True) for one in paths]
    except Exception as error:
        raise TableError(_unreadable(path, error)) from None


def _unreadable(path: Path, error: Exception) -> str:
    return f"{path}: not a readable Parquet file, or truncated ({_reason(error)})"


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _columns(files: list, paths: list[Path]) -> tuple[list[str], dict[str, str]]:
    """The names of the columns and their Arrow types; all files must have the same columns."""
    schemas = [file.schema_arrow for file in files]  # parsed at every access
    names = _names(schemas[0])
    check_names(paths[0], names)
    kinds = _kinds(schemas[0])
    for other, path in zip(schemas[1:], paths[1:], strict=True):
        if _names(other) != names:
            raise TableError(f"{path}: its columns differ from those of {paths[0].name}")
        here = _kinds(other)
        for name in names:
            held, first = kind_of(here[name]), kind_of(kinds[name])
            if held != first:
                raise TableError(f"{path}: column {name!r} holds {held}, but in {paths[0].name} it holds {first}")
    return names, {name: str(kinds[name]) for name in names}


def _kinds(schema) -> dict[str, Any]:
    """The Arrow types of the columns by their names."""
    return {str(field.name): field.type for field in schema}


def _names(schema) -> list[str]:
    """The names of the columns, excluding an index written by pandas."""
    index = {c for c in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(c, str)}
    return [str(name) for name in schema.names if name not in index]
