"""Registers: the entries of one kind by name, used by all other code.

The search, the report, the command line, `compare`, model files and the documentation read names and entries from here,
so a new entry needs its own file and one call of `add`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Generic, TypeVar

__all__ = ["Register", "added_entries", "receive_entries"]

T = TypeVar("T")

_REGISTERS: dict[str, Register] = {}  # every register of this process, by kind
_WAITING: dict[str, Mapping[str, Any]] = {}  # entries from another process, for registers that are not imported yet


class Register(Mapping[str, T], Generic[T]):
    """Entries of one `kind` by name, in the order in which they were added.

    `filled_by` is the full name of the module that adds the package's own entries; it is imported when the register is
    first used, because most programs do not need it.
    """

    def __init__(self, kind: str, entries: Mapping[str, T] | None = None, *, filled_by: str | None = None):
        if kind in _REGISTERS:
            raise ValueError(f"there is already a register of kind {kind!r}")
        self.kind = kind
        self._entries: dict[str, T] = dict(entries or {})
        self._own = set(self._entries)  # what every process that imports the package has
        self._filled_by = filled_by
        _REGISTERS[kind] = self
        self._receive(_WAITING.pop(kind, {}))

    def _fill(self) -> None:
        """Import the module that adds the package's own entries, once."""
        home, self._filled_by = self._filled_by, None
        if home is not None:
            import_module(home)

    def __getitem__(self, name: str) -> T:
        self._fill()
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return iter(self._entries)

    def __len__(self) -> int:
        self._fill()
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Register({self.kind!r}: {', '.join(self)})"

    def add(self, name: str, entry: T | None = None) -> Any:
        """Add an entry; as a decorator (`@REGISTER.add("name")`) when only the name is given."""
        if entry is None:
            return lambda entry: self.add(name, entry)
        self._fill()
        if name in self._entries:
            raise ValueError(f"there is already a {self.kind} named {name!r}")
        self._entries[name] = entry
        return entry

    def provide(self, name: str, entry: T) -> None:
        """Add one of the package's own entries, from a module that `filled_by` imports."""
        self._entries[name] = entry
        self._own.add(name)

    def seal(self) -> None:
        """Mark the current entries as part of the package: every process that imports it has them."""
        self._own = set(self._entries)

    def _receive(self, entries: Mapping[str, T]) -> None:
        self._entries |= {name: entry for name, entry in entries.items() if name not in self._entries}

    def remove(self, name: str) -> T:
        """Remove an entry and return it."""
        return self._entries.pop(name)

    def find(self, name: str) -> T:
        """The entry of that name; a ValueError that lists the names if there is none."""
        self._fill()
        if not isinstance(name, str) or name not in self._entries:
            raise ValueError(f"unknown {self.kind} {name!r}; choose one of {', '.join(self._entries)}")
        return self._entries[name]

    @contextmanager
    def having(self, name: str, entry: T) -> Iterator[T]:
        """Add an entry for the duration of a with block: for experiments and tests."""
        self.add(name, entry)
        try:
            yield entry
        finally:
            self.remove(name)


def added_entries() -> dict[str, dict[str, Any]]:
    """Entries that are not part of the package, by kind and name: worker processes do not have them."""
    added = {
        kind: {name: entry for name, entry in register._entries.items() if name not in register._own}
        for kind, register in _REGISTERS.items()
    }
    return {kind: entries for kind, entries in added.items() if entries}


def receive_entries(added: Mapping[str, Mapping[str, Any]]) -> None:
    """Add the entries of another process; existing entries are kept."""
    for kind, entries in added.items():
        if kind in _REGISTERS:
            _REGISTERS[kind]._receive(entries)
        else:
            _WAITING[kind] = entries
