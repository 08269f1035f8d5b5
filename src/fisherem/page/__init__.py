"""One self-contained HTML page about a fit."""

from .content import Content
from .render import report

__all__ = ["Content", "report"]
