"""The command line: `fisherem`."""

from .commands import main

__all__ = ["main"]
