"""The packages of the extra `images`, imported when a format needs them."""

from __future__ import annotations

from .._utils.extras import need_extra

__all__ = ["need"]


def need(name: str, what: str):
    """The module `name`; without it an ImportError that says how to get it."""
    return need_extra(name, what, "images")
