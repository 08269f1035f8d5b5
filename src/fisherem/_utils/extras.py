"""Packages that only some inputs need, imported when they do."""

from __future__ import annotations

from importlib import import_module

__all__ = ["need_extra"]


def need_extra(name: str, what: str, extra: str):
    """The module `name`; without it an ImportError that says how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{what} needs the package {package}: pip install 'fisherem[{extra}]'") from error
