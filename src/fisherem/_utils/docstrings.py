"""Docstrings that share sections: a subclass documents what it adds and inherits the other entries."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc
from typing import TypeVar

__all__ = ["section", "with_sections_of"]

C = TypeVar("C", bound=type)
# A numpydoc heading: a title underlined with hyphens.
_HEADING = r"(?m)^{}\n-+\n"


def section(doc: str, title: str) -> str:
    """The entries of a numpydoc section, "" if there is none; `doc` is without its indentation."""
    found = re.search(_HEADING.format(re.escape(title)), doc)
    if found is None:
        return ""
    rest = doc[found.end() :]
    following = re.search(_HEADING.format(r"[A-Z][\w ]+"), rest)
    return rest[: following.start() if following else None].strip("\n")


def with_sections_of(parent: type, *titles: str) -> Callable[[C], C]:
    """Class decorator: insert the entries of the parent's sections with these titles before the class's own."""

    def documented(cls: C) -> C:
        own, inherited = cleandoc(cls.__doc__ or ""), cleandoc(parent.__doc__ or "")
        for title in titles:
            heading = re.search(_HEADING.format(re.escape(title)), own)
            entries = section(inherited, title)
            if heading is not None and entries:
                own = f"{own[: heading.end()]}{entries}\n{own[heading.end() :]}"
        cls.__doc__ = own
        return cls

    return documented
