"""One self-contained HTML page about a fit."""

from .table import report
from .table_content import Content

__all__ = ["Content", "report"]
