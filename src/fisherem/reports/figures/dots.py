"""The dot plot of the markers: a line per variable, a column per group."""

from __future__ import annotations

import numpy as np

from ..._utils.wording import count, shorten
from ..content.heat import HALF
from ..content.markers import Dots
from . import svg
from .frame import WIDE, both_widths
from .heat import heat_scale
from .svg import element, mark

__all__ = ["dot_keys", "dot_plot"]

# Pixels: a line, the marks of the groups above, the largest dot, the widest column and the room on the right.
_ROW, _TOP, _RADIUS, _COLUMN, _RIGHT = 20, 26, 8.5, 64, 8
# Characters of a name on a phone.
_NARROW_NAME = 14
# More groups than this do not fit a phone.
_MANY = 12
# Shares in the legend.
_SHARES = (0.25, 0.5, 0.75, 1.0)


def dot_plot(dots: Dots) -> str:
    """A dot per variable and group: its area is the share beyond the others' mean, its colour the effect.

    With many groups there is one picture, which a phone scrolls.
    """
    if len(dots.group_names) <= _MANY:
        return both_widths(_dots, dots)
    return f'<div class="scroll">{_dots(WIDE, dots)}</div>'


def dot_keys() -> list[tuple[str, str]]:
    """(drawing, words) of the legend of sizes."""
    return [(_key(share), f"{share:.0%}") for share in _SHARES]


def _key(share: float) -> str:
    dot = element("circle", cx=10, cy=10, r=_RADIUS * np.sqrt(share), class_="size")
    return element("svg", dot, viewBox="0 0 20 20", width=20, height=20, aria_hidden="true", class_="key")


def _tells(dots: Dots, characters: int) -> bool:
    return characters > _NARROW_NAME and len(dots.group_names) <= _MANY


def _colour(effect: float, limit: float) -> str:
    return heat_scale()[round(float(np.clip(effect / limit, -1, 1)) * HALF) + HALF]


def _dots(width: int, dots: Dots) -> str:
    v, K = dots.effect.shape
    characters = 30 if width == WIDE else _NARROW_NAME
    left = 14 + 7.4 * min(max(len(name) for name in dots.names), characters)
    across = min(_COLUMN, (width - left - _RIGHT) / K)
    wide = round(left + across * K + _RIGHT)
    radius = min(_RADIUS, 0.48 * across)
    parts = []
    for k in range(K):
        head = element("title", svg.escape(dots.group_names[k])) + mark(left + across * (k + 0.5), _TOP / 2 - 2, k)
        parts.append(element("g", head, data_group=k))
    for i in range(v):
        parts.append(_line(dots, i, _TOP + _ROW * i, left, across, radius, characters))
    for last in np.flatnonzero(np.diff(dots.marks)).tolist():
        y = _TOP + _ROW * (last + 1.0)
        parts.append(element("line", x1=4.0, x2=float(wide), y1=y, y2=y, class_="grid"))
    alt = (
        f"Dot plot of {count(v, 'variable')} that mark {count(K, 'group')}: the area of a dot is the share of the "
        "group's rows beyond the mean of the others, its colour the effect. The table below has the numbers."
    )
    return svg.figure(wide, _TOP + _ROW * v + 4, "".join(parts), alt, class_="dots")


def _line(dots: Dots, i: int, y: float, left: float, across: float, radius: float, characters: int) -> str:
    name = dots.names[i]
    words = element("title", svg.escape(name)) + svg.escape(shorten(name, characters))
    room = left + across * dots.effect.shape[1] + _RIGHT
    parts = [element("rect", x=0.0, y=y + 1.0, width=room, height=_ROW - 2.0, rx=4, class_="hit")]
    parts.append(element("text", words, x=left - 8, y=y + 14.0, text_anchor="end", class_="name"))
    for k, (effect, share) in enumerate(zip(dots.effect[i], dots.share[i], strict=True)):
        if not np.isfinite(effect) or not np.isfinite(share):
            continue
        says = f"{name}, {dots.group_names[k]}: effect {effect:+.1f}, {share:.0%} beyond the others' mean"
        x, size = left + across * (k + 0.5), radius * np.sqrt(share)
        # nothing points on a phone, and the table has the numbers
        shown = element("title", svg.escape(says)) if _tells(dots, characters) else ""
        place = {"cx": x, "cy": y + _ROW / 2, "r": size}
        parts.append(element("circle", shown, **place, fill=_colour(effect, dots.limit)))
    head, circles = parts[:2], parts[2:]
    held = element("g", "".join(circles), class_="beyond")
    return element("g", "".join(head) + held, data_variable=dots.indices[i])
