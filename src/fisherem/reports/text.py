"""Text from the data, made safe to show; numbers as they are printed on the page."""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup, escape

__all__ = ["breaking", "clean", "embedded", "exact", "integer", "number", "short", "tally"]

# A name that is longer does not fit into a line of a phone.
_LONG = 32
# Marks that turn the direction of the text after them: a name must not rearrange its neighbours.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(value, limit: int = 80) -> str:
    """`value` as one line of at most `limit` characters, with what cannot be shown (control characters, lone
    surrogates, direction marks) replaced. The template escapes it for HTML."""
    # decide on the raw character: a line feed is a control character too, but stands for a space
    text = "".join(
        " " if c in "\t\n\r" else "\ufffd" if c in _TURNING or unicodedata.category(c) in ("Cc", "Cs") else c
        for c in str(value)[: 4 * limit]
    ).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def breaking(name: str) -> Markup:
    """A name as HTML. One of more than 32 characters, longer than a phone is wide, may break after an underscore or a
    slash; a shorter one is not touched."""
    safe = escape(name)
    return safe if len(name) <= _LONG else Markup(safe.replace("_", Markup("_<wbr>")).replace("/", Markup("/<wbr>")))


def number(value, digits: int = 2, signed: bool = False) -> str:
    """1234.5 -> "1,234.50" with a true minus sign; what is not finite is a dash."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) < 0.5 * 10**-digits:
        return f"{0:.{digits}f}"  # no sign before a zero
    return f"{value:{'+' if signed else ''},.{digits}f}".replace("-", "−")


def short(value) -> str:
    """1234.56 -> "1235", 0.0123456 -> "0.01235": four digits with a true minus sign; what is not finite is a dash."""
    if not math.isfinite(value):
        return "–"
    return ("0" if value == 0 else f"{value:.4g}").replace("-", "−")


def exact(value) -> str:
    """The number with six digits, for a file that is saved from the page; nothing for what is not finite."""
    return f"{value:.6g}" if value is not None and math.isfinite(value) else ""


def integer(value) -> str:
    """1234 -> "1,234"."""
    return f"{int(value):,}"


def tally(reasons: Iterable) -> dict[str, int]:
    """How often each reason occurs, the commonest first; the reasons are made safe to show."""
    return dict(Counter(clean(reason, 160) for reason in reasons).most_common())


def embedded(data) -> str:
    """JSON that can stand inside a <script> element: no character in it can end the element or open a comment."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
