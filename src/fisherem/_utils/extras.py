"""Import optional dependencies when they are needed."""

from __future__ import annotations

from importlib import import_module

__all__ = ["need_extra"]


def need_extra(name: str, what: str, extra: str):
    """Import and return the module `name` of an optional package.

    If it is not installed, the ImportError says that `what` ("reading ENVI files") needs it and that the extra
    `extra` of fisherem installs it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{what} needs the package {package}: pip install 'fisherem[{extra}]'") from error
