"""The profile of the group means: a line per variable, with a mark per group."""

from __future__ import annotations

import numpy as np

from ..._utils.wording import count, shorten
from ..content.variables import Profile
from . import svg
from .frame import WIDE, axis_title, both_widths, padded
from .svg import Scale, element, labelled, mark, text, ticks

__all__ = ["profile_plot"]

# A variable takes this height; the first stands below the upper numbers of the scale.
_ROW, _TOP = 24, 22


def profile_plot(profile: Profile) -> str:
    """The group means (K x m) of a profile in standard deviations: a line per variable, the selected ones marked."""
    return both_widths(_profile, profile)


def _profile(width: int, profile: Profile) -> str:
    """A line per variable with the group means as marks; selected variables bold, with a band behind."""
    m = profile.values.shape[1]
    characters = 30 if width == WIDE else 15
    left = 24 + 7.8 * min(max(len(name) for name in profile.names), characters)
    marked = profile.selected & (not profile.selected.all())  # marking every line would distinguish none
    x = Scale(*padded(profile.values), left + 8, width - 10)
    bottom = _TOP + m * _ROW
    parts = [
        element("rect", x=0.0, y=_TOP + _ROW * j + 1.0, width=float(width), height=_ROW - 2.0, rx=4, class_="band")
        for j in np.flatnonzero(marked)
    ]
    for value, shown in labelled(ticks(x.low, x.high, 8 if width == WIDE else 4)):
        kind = "zero" if value == 0 else "grid"
        parts.append(element("line", x1=x(value), x2=x(value), y1=_TOP, y2=bottom, class_=kind))
        parts += [text(x(value), y, shown, text_anchor="middle", class_="tick") for y in (_TOP - 8, bottom + 15)]
    parts += [_variable(profile, i, x, bool(marked[i]), characters) for i in range(m)]
    parts.append(axis_title(x.start, width, bottom + 34, "standard deviations from the overall mean"))
    return svg.figure(width, bottom + 40, "".join(parts), _description(profile))


def _variable(profile: Profile, i: int, x: Scale, marked: bool, characters: int) -> str:
    """The line of one variable: its name, and a mark at each group's mean."""
    name, values, y = profile.names[i], profile.values[:, i], _TOP + _ROW * (i + 0.5)
    words = element("title", svg.escape(name)) + svg.escape(shorten(name, characters))
    parts = [element("rect", x=0.0, y=y - _ROW / 2 + 1, width=x.end + 10, height=_ROW - 2.0, rx=4, class_="hit")]
    parts.append(element("text", words, x=20, y=y + 4, class_="name selected" if marked else "name"))
    parts += [element("circle", cx=10, cy=y, r=3.5, class_="dot")] if marked else []
    parts.append(element("line", x1=x(values.min()), x2=x(values.max()), y1=y, y2=y, class_="span"))
    faint = "" if profile.selected[i] else "faint"
    parts += [mark(x(v), y, k, class_=faint, data_group=k) for k, v in enumerate(values)]
    return element("g", "".join(parts), data_variable=profile.indices[i])


def _description(profile: Profile) -> str:
    return (
        f"Means of {count(len(profile.values), 'group')} in {count(len(profile.names), 'variable')} of "
        f"{profile.n_variables:,}, in standard deviations from the overall mean; the selected variables are marked"
    )
