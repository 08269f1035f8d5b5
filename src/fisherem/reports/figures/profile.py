"""The profile of the group means over all variables: a line per variable by name, or a curve per group."""

from __future__ import annotations

import numpy as np

from ..._utils.wording import count
from .. import svg
from ..svg import Scale, element, labelled, mark, polyline, text, ticks
from ..variables import Profile
from .frame import WIDE, axis_title, both_widths, padded, shorten, value_grid

__all__ = ["MAX_NAMED", "profile_plot"]

# Up to this many variables the profile lists each by name; with more it is a curve.
MAX_NAMED = 40
# A named variable takes this height; the first stands below the upper numbers of the scale.
_ROW, _TOP = 24, 22
# Curves of more points than this are drawn thin: they would hide each other.
_MANY_POINTS = 150


def profile_plot(profile: Profile) -> str:
    """The group means (K x m) of a profile in standard deviations, with the selected variables marked."""
    return both_widths(_named if profile.n_variables <= MAX_NAMED else _curves, profile)


def _named(width: int, profile: Profile) -> str:
    """A line per variable with the group means as marks; selected variables bold, with a band behind."""
    assert profile.names is not None
    p = profile.values.shape[1]
    characters = 30 if width == WIDE else 15
    left = 24 + 7.8 * min(max(len(name) for name in profile.names), characters)
    marked = profile.selected & (not profile.selected.all())  # a mark on every line would say nothing
    x = Scale(*padded(profile.values), left + 8, width - 10)
    bottom = _TOP + p * _ROW
    parts = [
        element("rect", x=0.0, y=_TOP + _ROW * j + 1.0, width=float(width), height=_ROW - 2.0, rx=4, class_="band")
        for j in np.flatnonzero(marked)
    ]
    for value, shown in labelled(ticks(x.low, x.high, 8 if width == WIDE else 4)):
        kind = "zero" if value == 0 else "grid"
        parts.append(element("line", x1=x(value), x2=x(value), y1=_TOP, y2=bottom, class_=kind))
        parts += [text(x(value), y, shown, text_anchor="middle", class_="tick") for y in (_TOP - 8, bottom + 15)]
    parts += [_variable(profile, j, x, bool(marked[j]), characters) for j in range(p)]
    return svg.figure(width, bottom + 22, "".join(parts), _description(profile))


def _variable(profile: Profile, j: int, x: Scale, marked: bool, characters: int) -> str:
    """The line of one variable: its name, and a mark at each group's mean."""
    assert profile.names is not None
    name, values, y = profile.names[j], profile.values[:, j], _TOP + _ROW * (j + 0.5)
    words = element("title", svg.escape(name)) + svg.escape(shorten(name, characters))
    parts = [element("text", words, x=20, y=y + 4, class_="name selected" if marked else "name")]
    parts += [element("circle", cx=10, cy=y, r=3.5, class_="dot")] if marked else []
    parts.append(element("line", x1=x(values.min()), x2=x(values.max()), y1=y, y2=y, class_="span"))
    parts += [mark(x(v), y, k, class_="" if profile.selected[j] else "faint") for k, v in enumerate(values)]
    return "".join(parts)


def _curves(width: int, profile: Profile) -> str:
    """A curve per group over the variables in the order of the table; selected ones ticked below."""
    m = profile.values.shape[1]
    height, top, left = (310 if width == WIDE else 270), 10, 44
    bottom = height - 52
    chosen = [] if profile.selected.all() else [int(i) for i in np.flatnonzero(profile.selected)]
    x = Scale(0, m - 1, left, width - 12)
    y = Scale(*padded(profile.values), bottom, top)
    parts = [value_grid(y, left, width - 12, zero=True)]
    spot = Scale(1, profile.n_variables, left, width - 12)
    for value, shown in labelled([1.0, *_inner_ticks(profile.n_variables, 6 if width == WIDE else 3)]):
        parts.append(text(spot(value), bottom + 30, shown, text_anchor="middle", class_="tick"))
    rug = "".join(f"M{x(float(i)):.1f},{bottom + 4}v10" for i in chosen)
    parts += [element("path", d=rug, class_="rug")] if chosen else []
    parts += [_curve(profile.values, k, x, y, chosen) for k in range(len(profile.values))]
    parts.append(axis_title(left, width, height - 1, "number of the variable, from 1"))
    return svg.figure(width, height + 4, "".join(parts), _description(profile))


def _inner_ticks(n: int, most: int) -> list[float]:
    """Round numbers between 1 and n that leave room for the 1 in front of them."""
    return [v for v in ticks(1, n, most) if v > 1 + 0.06 * n]


def _curve(values: np.ndarray, k: int, x: Scale, y: Scale, chosen: list[int]) -> str:
    """The curve of group k. Marks tell curves apart without colour: at the selected variables, or one on each curve."""
    K, m = values.shape
    xs, ys = [x(i) for i in range(m)], [y(v) for v in values[k]]
    thin = " thin" if m > _MANY_POINTS else ""
    dash = "" if k < 8 else "stroke-dasharray:5 3"  # the ninth group has the colour of the first
    places = chosen if 0 < len(chosen) <= MAX_NAMED else [(2 * k + 1) * m // (2 * K)]
    line = polyline(xs, ys, class_=f"curve g{svg.colour(k)}{thin}", style=dash)
    return line + "".join(mark(xs[i], ys[i], k) for i in places)


def _description(profile: Profile) -> str:
    return (
        f"Means of {count(len(profile.values), 'group')} over {count(profile.n_variables, 'variable')} in standard "
        f"deviations from the overall mean; the selected variables are marked"
    )
