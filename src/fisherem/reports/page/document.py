"""HTML files made of the package's templates, and written in one piece."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from ..._utils.atomic import atomic_file
from ..._utils.wording import group_name
from ..figures import svg
from ..text import breaking, integer, number

__all__ = ["asset", "scripts", "template", "write_page"]


@cache
def asset(name: str) -> str:
    """The text of a file in the folder `templates`."""
    return files("fisherem.reports").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def template(name: str):
    """A Jinja template of that folder; it escapes what it is given and refuses names that it is not given."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, lstrip_blocks=True
    )
    environment.filters |= {"num": number, "int": integer, "colour": svg.colour, "group_name": group_name}
    environment.filters["breaking"] = breaking
    return environment.get_template(name)


def scripts(names: Sequence[str]) -> tuple[str, str]:
    """(the scripts of these files in one, its SHA-256 in base 64): the page's policy runs this script and no other."""
    script = "".join(asset(name) for name in names)
    return script, base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def write_page(path: Path, html: str) -> Path:
    """Write the page in one piece, with its folder if need be; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        file.write(html.encode("utf-8"))
    return path
