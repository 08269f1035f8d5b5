"""The heat map: a line per variable, a column per row, by group; a dendrogram of the groups and tracks above."""

from __future__ import annotations

import numpy as np

from ..._utils.wording import count, shorten
from ..content.heat import HALF, MAX_VARIABLES, RANGE, HeatMap
from ..content.tracks import STEPS, Track
from . import svg
from .frame import WIDE, both_widths
from .pixels import colour_scale, indexed_png
from .svg import element, mark

__all__ = ["heat_figure", "heat_scale", "track_keys"]

# Pixels: a variable's height, and where there are many; the strip with the groups' marks above, the space between strip
# and cells, the dendrogram, a track.
_ROW, _LOW_ROW, _STRIP, _GAP, _TREE, _TRACK = 18, 10, 20, 4, 44, 14
# A group narrower than this has no room for its mark.
_ROOM = 12
# Where rows have names below the map, each is this wide, and the names this high.
_NAMED_ROW, _NAMES = 13, 120
# A missing cell, and on a dark page its inverse.
_GREY = "#bdbdbd"
# Red is high and blue is low, also for readers who cannot tell red from green.
_SCALE = "RdBu_r"
# Steps of a numeric track, and its categories: neighbours differ in lightness, and the first three groups, which stand
# above them, have other colours.
_TRACK_SCALE = "viridis"
_CATEGORIES = (
    "#882255", "#56B4E9", "#999933", "#000000", "#CC79A7", "#E69F00", "#009E73", "#661100", "#0072B2", "#D55E00",
    "#6929C4", "#8A8A8A",
)  # fmt: skip


def heat_figure(heat: HeatMap, key: str = "heat") -> str:
    """The heat map at both widths, and hidden a third time with room for the names of the rows.

    The cells are one picture with the id `key`-cells, which all of them show.
    """
    m = heat.levels.shape[1]
    pictures = [_picture(f"{key}-cells", heat.levels, [*heat_scale(), _GREY])]
    pictures += [
        _picture(f"{key}-track{i}", _codes(track)[None].astype(np.uint8), _colours(track))
        for i, track in enumerate(heat.tracks)
    ]
    hidden = element(
        "svg", element("defs", "".join(pictures)), width=0, height=0, class_="definitions", aria_hidden="true"
    )  # fmt: skip
    wide = 320 + _NAMED_ROW * m
    named = f'<div class="named scroll" hidden tabindex="0">{_heat(wide, heat, key, _NAMES)}</div>'
    return f'{hidden}<div class="plain">{both_widths(_heat, heat, key)}</div>{named}'


def _picture(name: str, codes: np.ndarray, colours: list[str]) -> str:
    return element(
        "image", id=name, href=indexed_png(codes, colours), width=codes.shape[1], height=codes.shape[0],
        preserveAspectRatio="none", class_="cells",
    )  # fmt: skip


def heat_scale() -> list[str]:
    """The colours of the levels, lowest first."""
    return colour_scale(_SCALE, 2 * HALF + 1)


def track_keys(track: Track) -> list[tuple[str, str]]:
    """(colour, words) of a track's legend: its categories, or its smallest and largest value."""
    colours = _colours(track)
    if track.categories is None:
        return [(colours[0], track.low), (colours[STEPS - 1], track.high)]
    return list(zip(colours, track.categories, strict=False))


def _colours(track: Track) -> list[str]:
    """The colours of a track's levels, and the one of missing values at the end."""
    if track.categories is None:
        return [*colour_scale(_TRACK_SCALE, STEPS), _GREY]
    return [*(_CATEGORIES[i % len(_CATEGORIES)] for i in range(len(track.categories))), _GREY]


def _codes(track: Track) -> np.ndarray:
    missing = STEPS if track.categories is None else len(track.categories)
    return np.where(track.levels < 0, missing, track.levels)


def _heat(width: int, heat: HeatMap, key: str, below: int = 0) -> str:
    v, m = heat.levels.shape
    row = _ROW if v <= MAX_VARIABLES else _LOW_ROW
    characters = 14 if width < WIDE else 30
    names = [*heat.names, *(track.name for track in heat.tracks)]
    left = 14 + 7.4 * min(max(len(name) for name in names), characters)
    across = (width - left) / m
    tree = _TREE if heat.tree.joins else 0
    above = tree + _STRIP + _GAP
    top = above + _TRACK * len(heat.tracks) + (_GAP if heat.tracks else 0)
    bottom = top + v * row
    parts = [_placed(f"{key}-cells", left, top, across, row)]
    parts += [_tree(heat, left, across, tree)] if tree else []
    for i, track in enumerate(heat.tracks):
        y = above + i * _TRACK
        parts.append(_placed(f"{key}-track{i}", left, y, across, _TRACK - 2))
        words = element("title", svg.escape(track.name)) + svg.escape(shorten(track.name, characters))
        parts.append(element("text", words, x=left - 8, y=y + 10, text_anchor="end", class_="name track"))
    parts += [_group(heat, k, left, across, tree, (top, bottom)) for k in np.unique(heat.groups).tolist()]
    if heat.tracks:
        size = {"width": width - left, "height": float(top - above)}
        parts.append(element("rect", "", x=left, y=above, **size, class_="trackarea", aria_hidden="true"))
    parts.append(element("rect", x=left, y=top, width=width - left, height=v * row, class_="area", aria_hidden="true"))
    parts += [_name(heat, i, top + i * row, width, left, characters, row) for i in range(v)]
    return element(
        "svg", "".join(parts), viewBox=f"0 0 {width} {bottom + below:.0f}", role="group", class_="heat",
        aria_label=_description(heat), style=f"{'width' if below else 'max-width'}:{width}px",
    )  # fmt: skip


def _placed(name: str, left: float, top: float, across: float, height: float) -> str:
    size = f"translate({left:.1f},{top}) scale({across:.4f},{height})"
    return element("use", href=f"#{name}", transform=size, class_="placed", aria_hidden="true")


def _tree(heat: HeatMap, left: float, across: float, height: float) -> str:
    """The dendrogram: a bracket per merge, over the middles of the groups."""
    order = [k for k in heat.tree.order if (heat.groups == k).any()]
    middles = [left + across * (np.flatnonzero(heat.groups == k).mean() + 0.5) for k in order]
    tallest = max(join[4] for join in heat.tree.joins) or 1.0
    places = np.arange(len(order))

    def y(value: float) -> float:
        return height - 3 - (height - 6) * value / tallest

    parts = []
    for one, one_at, other, other_at, at in heat.tree.joins:
        a, b = np.interp([one, other], places, middles)
        path = f"M{a:.1f},{y(one_at):.1f}V{y(at):.1f}H{b:.1f}V{y(other_at):.1f}"
        parts.append(element("path", d=path, class_="branch"))
    return element("g", element("title", "Dendrogram of the group means, average linkage") + "".join(parts))


def _group(heat: HeatMap, k: int, left: float, across: float, above: float, ends: tuple[float, float]) -> str:
    """The strip of group k above its rows, and a veil that covers them while another group is marked."""
    inside = np.flatnonzero(heat.groups == k)
    top, bottom = ends
    start, end = left + across * inside[0], left + across * (inside[-1] + 1)
    parts = element("rect", x=start, y=above, width=max(end - start - 1, 0.5), height=_STRIP, rx=2, class_="strip")
    if end - start > _ROOM:
        parts += mark((start + end) / 2, above + _STRIP / 2, k)
    parts += element("rect", x=start, y=top, width=end - start, height=bottom - top, class_="veil")
    parts += element("line", x1=end, x2=end, y1=top, y2=bottom, class_="border")
    name = svg.escape(heat.group_names[k])
    return element("g", element("title", name) + parts, class_=f"g{svg.colour(k)}", data_group=k)


def _name(heat: HeatMap, i: int, y: float, width: int, left: float, characters: int, row: int) -> str:
    """The name of a variable: a button in front of its line, and a frame around the line while it is marked."""
    name = heat.names[i]
    words = element("title", svg.escape(name)) + svg.escape(shorten(name, characters))
    parts = element("rect", x=1.0, y=y + 0.5, width=width - 2.0, height=row - 1.0, class_="line")
    parts += element("rect", x=1.0, y=y + 0.5, width=left - 4.0, height=row - 1.0, rx=3, class_="hit")
    kind = "name" if row == _ROW else "name low"
    parts += element("text", words, x=left - 8, y=y + 0.72 * row, text_anchor="end", class_=kind)
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
