"""Options whose values are the names in a register, looked up only when a value is converted or help is shown.

`fisherem --help` must be quick, and the registers live in modules that import NumPy. A register is therefore given by
its place, "package.module:NAME", relative to `fisherem`; NAME may also be a function that returns the names.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import click

__all__ = ["Groups", "Model", "NameList", "NamesOption", "Registered", "Share", "names_at"]


def names_at(place: str) -> tuple[str, ...]:
    """The names in the register at "package.module:NAME", as it is now."""
    module, _, name = place.partition(":")
    found: Any = getattr(import_module(f"fisherem.{module}"), name)
    names: Iterable[str] = found() if callable(found) else found
    return tuple(names)


class Registered(click.Choice):
    """One of the names in a register, or one of some `words` besides."""

    def __init__(self, place: str, *, words: tuple[str, ...] = ()):
        # the parent's constructor would fix the choices now
        self.place, self.words = place, words
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """The words and the names, as the register is now."""
        return (*self.words, *names_at(self.place))

    def __repr__(self) -> str:
        return f"Registered({self.place!r})"


class Model(Registered):
    """A model by any of its names; what comes out is the name that the register has."""

    def convert(self, value, param, ctx):
        """The register's name of a model that may be given in the paper's notation."""
        from ..model.dlm import resolve

        try:
            return value if value in self.words else resolve(value).name
        except ValueError:
            return super().convert(value, param, ctx)  # which says what the choices are


class NameList(Registered):
    """Names separated by commas, as a list; or "all". Whoever takes them checks them: some have several spellings.

    With `brief`, the help has that word in front and the names in its text, where they are too long to stand in front.
    """

    name = "names"

    def __init__(self, place: str, *, brief: str = ""):
        super().__init__(place)
        self.brief = brief

    def convert(self, value, param, ctx):
        """ "a,b" as ["a", "b"]."""
        if value == "all" or isinstance(value, (list, tuple)):
            return value
        names = [name.strip() for name in value.split(",") if name.strip()]
        return names or self.fail(f"expected names separated by commas; got {value!r}", param, ctx)

    def get_metavar(self, param, ctx):
        """all, or some of the names."""
        return self.brief or f"[all|{','.join(names_at(self.place))}]"


class NamesOption(click.Option):
    """An option of type `NameList` whose help ends with the names, as the register is now."""

    def get_help_record(self, ctx):
        """(the option, its help) with all names."""
        assert isinstance(self.type, NameList)
        shown = copy.copy(self)
        shown.help = f"{self.help} {', '.join(names_at(self.type.place))}."
        return click.Option.get_help_record(shown, ctx)


class Groups(click.ParamType):
    """A number of groups, 2 or more, or the word auto."""

    name = "NUMBER"

    def convert(self, value, param, ctx):
        """The number, or "auto"."""
        if value == "auto" or isinstance(value, int):
            return value
        if not (value.isascii() and value.isdigit()) or int(value) < 2:
            self.fail(f"{value!r} is not a number of groups: give 2, 3, ... or auto", param, ctx)
        return int(value)


class Share(click.ParamType):
    """A share in (0, 1], or the word auto."""

    name = "SHARE"

    def convert(self, value, param, ctx):
        """The number, or "auto"."""
        if value == "auto":
            return value
        try:
            share = float(value)
        except ValueError:
            share = float("nan")
        if not 0 < share <= 1:
            self.fail(f"{value!r} is not a share: give a number above 0 and at most 1, or auto", param, ctx)
        return share
