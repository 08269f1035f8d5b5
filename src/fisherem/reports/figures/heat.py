"""The heat map: a line per selected variable, a column per row, ordered by group."""

from __future__ import annotations

import numpy as np

from ..._utils.wording import count, group_name
from ..content.heat import HALF, RANGE, HeatMap
from . import svg
from .frame import WIDE, both_widths, shorten
from .pixels import colour_scale, indexed_png
from .svg import element, mark

__all__ = ["heat_figure", "heat_scale"]

# Pixels: a variable's height, the strip with the groups' marks above, the space between strip and cells.
_ROW, _STRIP, _GAP = 18, 20, 4
# A group narrower than this has no room for its mark.
_ROOM = 12
# A missing cell, and on a dark page its inverse.
_GREY = "#bdbdbd"
# Red is high and blue is low, also for readers who cannot tell red from green.
_SCALE = "RdBu_r"


def heat_figure(heat: HeatMap) -> str:
    """The heat map at both widths. The cells are one picture, which both show."""
    v, m = heat.levels.shape
    cells = element(
        "image", id="heat-cells", href=indexed_png(heat.levels, [*heat_scale(), _GREY]), width=m, height=v,
        preserveAspectRatio="none", class_="cells",
    )  # fmt: skip
    hidden = element("svg", element("defs", cells), width=0, height=0, class_="definitions", aria_hidden="true")
    return hidden + both_widths(_heat, heat)


def heat_scale() -> list[str]:
    """The colours of the levels, lowest first."""
    return colour_scale(_SCALE, 2 * HALF + 1)


def _heat(width: int, heat: HeatMap) -> str:
    v, m = heat.levels.shape
    characters = 30 if width == WIDE else 14
    left = 14 + 7.4 * min(max(len(name) for name in heat.names), characters)
    across, top = (width - left) / m, _STRIP + _GAP
    size = f"translate({left:.1f},{top}) scale({across:.4f},{_ROW})"
    parts = [element("use", href="#heat-cells", transform=size, aria_hidden="true")]
    parts += [_group(heat, k, left, across, top) for k in np.unique(heat.groups).tolist()]
    parts.append(element("rect", x=left, y=top, width=width - left, height=v * _ROW, class_="area", aria_hidden="true"))
    parts += [_name(heat, i, top + i * _ROW, width, left, characters) for i in range(v)]
    return element(
        "svg", "".join(parts), viewBox=f"0 0 {width} {top + v * _ROW:.0f}", role="group", class_="heat",
        aria_label=_description(heat), style=f"max-width:{width}px",
    )  # fmt: skip


def _group(heat: HeatMap, k: int, left: float, across: float, top: float) -> str:
    """The strip of group k above its rows, and a veil that covers them while another group is marked."""
    inside = np.flatnonzero(heat.groups == k)
    start, end = left + across * inside[0], left + across * (inside[-1] + 1)
    parts = element("rect", x=start, y=0, width=max(end - start - 1, 0.5), height=_STRIP, rx=2, class_="strip")
    if end - start > _ROOM:
        parts += mark((start + end) / 2, _STRIP / 2, k)
    parts += element("rect", x=start, y=top, width=end - start, height=len(heat.names) * _ROW, class_="veil")
    parts += element("line", x1=end, x2=end, y1=top, y2=top + len(heat.names) * _ROW, class_="border")
    return element("g", element("title", group_name(k)) + parts, class_=f"g{svg.colour(k)}", data_group=k)


def _name(heat: HeatMap, i: int, y: float, width: int, left: float, characters: int) -> str:
    """The name of a variable: a button in front of its line, and a frame around the line while it is marked."""
    name = heat.names[i]
    words = element("title", svg.escape(name)) + svg.escape(shorten(name, characters))
    parts = element("rect", x=1.0, y=y + 0.5, width=width - 2.0, height=_ROW - 1.0, class_="line")
    parts += element("rect", x=1.0, y=y + 0.5, width=left - 4.0, height=_ROW - 1.0, rx=3, class_="hit")
    parts += element("text", words, x=left - 8, y=y + 13, text_anchor="end", class_="name")
    return element(
        "g", parts, role="button", tabindex=0 if i == 0 else -1, aria_pressed="false", aria_label=name,
        class_="pick", data_variable=heat.indices[i],
    )  # fmt: skip


def _description(heat: HeatMap) -> str:
    v, m = heat.levels.shape
    return (
        f"Heat map of {count(v, 'variable')} in {count(m, 'row')}, ordered by group; from {-RANGE:g} to {RANGE:g} "
        "standard deviations around the overall mean. Each name is a button that marks the variable on the page; arrow "
        "keys move between names."
    )
