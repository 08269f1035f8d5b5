"""Render HTML pages from the package's templates and write them atomically."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from ..._utils.atomic import atomic_file
from ..._utils.wording import group_name
from ..text import breaking, exact, integer, number, short

__all__ = ["asset", "scripts", "template", "write_page"]


@cache
def asset(name: str) -> str:
    """The text of a file in the folder `templates`."""
    return files("fisherem.reports").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def template(name: str):
    """A Jinja template of that folder; values are escaped, and undefined names raise an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, lstrip_blocks=True
    )
    environment.filters |= {
        "num": number, "int": integer, "short": short, "exact": exact, "group_name": group_name, "breaking": breaking
    }  # fmt: skip
    return environment.get_template(name)


def scripts(names: Sequence[str]) -> tuple[str, str]:
    """(the scripts of these files in one, its SHA-256 in base 64); the page's security policy allows no other."""
    script = "".join(asset(name) for name in names)
    return script, base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def write_page(path: Path, html: str) -> Path:
    """Write the page atomically, creating its folder if necessary; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        file.write(html.encode("utf-8"))
    return path
