"""Types of options. Names from a register are looked up only when a value is converted or help is shown.

`fisherem --help` must be quick, but the registers are in modules that import NumPy. A register is therefore given by
its location, "package.module:NAME", relative to `fisherem`; NAME may also be a function that returns the names.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import click

__all__ = [
    "GROUPS", "SHARE", "Model", "NameList", "NamesOption", "Parsed", "Registered", "TableCommand", "names_at",
    "names_list", "or_auto", "whole",
]  # fmt: skip


def names_at(place: str) -> tuple[str, ...]:
    """The current names in the register at "package.module:NAME"."""
    module, _, name = place.partition(":")
    found: Any = getattr(import_module(f"fisherem.{module}"), name)
    names: Iterable[str] = found() if callable(found) else found
    return tuple(names)


class Registered(click.Choice):
    """One of the names in a register, or one of the additional `words`."""

    def __init__(self, place: str, *, words: tuple[str, ...] = ()):
        # does not call the parent's constructor, which would fix the choices
        self.place, self.words = place, words
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """The words and the current names in the register."""
        return (*self.words, *names_at(self.place))

    def __repr__(self) -> str:
        return f"Registered({self.place!r})"


class Model(Registered):
    """A model by any of its names, converted to its name in the register."""

    def convert(self, value, param, ctx):
        """The register's name of a model, which may be given in the paper's notation."""
        from ..model.dlm import resolve

        try:
            return value if value in self.words else resolve(value).name
        except ValueError:
            return super().convert(value, param, ctx)  # its error lists the choices


class NameList(Registered):
    """A list of names separated by commas, or "all". The caller checks the names, as some have several spellings.

    `brief` replaces the names in the option's metavar, for lists of names that are too long for it.
    """

    name = "names"

    def __init__(self, place: str, *, brief: str = ""):
        super().__init__(place)
        self.brief = brief

    def convert(self, value, param, ctx):
        """Convert "a,b" to ["a", "b"]."""
        if value == "all" or isinstance(value, (list, tuple)):
            return value
        names = [name.strip() for name in value.split(",") if name.strip()]
        return names or self.fail(f"expected names separated by commas; got {value!r}", param, ctx)

    def get_metavar(self, param, ctx):
        """The names, or `brief`."""
        return self.brief or f"[all|{','.join(names_at(self.place))}]"


class NamesOption(click.Option):
    """An option of type `NameList` whose help ends with the current names in the register."""

    def get_help_record(self, ctx):
        """(the option, its help followed by all names)."""
        assert isinstance(self.type, NameList)
        shown = copy.copy(self)
        shown.help = f"{self.help} {', '.join(names_at(self.type.place))}."
        return click.Option.get_help_record(shown, ctx)


class TableCommand(click.Command):
    """A command with the argument DATA; its help lists the kinds of files in the register of readers."""

    def format_epilog(self, ctx, formatter):
        """Write the suffixes after the options."""
        from ..tables.readers import kinds_of_files

        formatter.write_paragraph()
        formatter.write_text(f"DATA is a table in a file: {kinds_of_files()}.")


class Parsed(click.ParamType):
    """Text that the function `parse` converts; `expected` describes valid values in the error for a ValueError."""

    def __init__(self, name: str, parse: Callable[[str], Any], expected: str):
        self.name, self.parse, self.expected = name, parse, expected

    def convert(self, value, param, ctx):
        """Convert text; values that are not text are returned unchanged."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError:
            return self.fail(f"{value!r} is not {self.expected}", param, ctx)


def names_list(text: str) -> list[str]:
    """Convert "a, b" to ["a", "b"]."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError
    return names


def or_auto(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Apply `parse` to any value except "auto", which is returned unchanged."""
    return lambda text: text if text == "auto" else parse(text)


def whole(least: int) -> Callable[[str], int]:
    """Convert text to a whole number that is at least `least`."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or int(text) < least:
            raise ValueError
        return int(text)

    return parse


def _share(text: str) -> float:
    if not 0 < float(text) <= 1:
        raise ValueError
    return float(text)


GROUPS = Parsed("NUMBER", or_auto(whole(2)), "a number of groups: give 2, 3, ... or auto")
SHARE = Parsed("SHARE", or_auto(_share), "a share: give a number above 0 and at most 1, or auto")
