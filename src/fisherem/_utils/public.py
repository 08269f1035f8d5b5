"""Public classes report `fisherem` as their module, which is the name used in model files."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["public"]

C = TypeVar("C", bound=type)


def public(cls: C) -> C:
    """Class decorator: `cls.__module__` becomes the package, so that a file can move without breaking saved models."""
    cls.__module__ = "fisherem"
    return cls
