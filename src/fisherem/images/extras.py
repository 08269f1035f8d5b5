"""The packages of the extra `images`, imported when a format needs them."""

from __future__ import annotations

from importlib import import_module

__all__ = ["need"]


def need(name: str, what: str):
    """The module `name`; without it an ImportError that says how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{what} needs the package {package}: pip install fisherem[images]") from error
