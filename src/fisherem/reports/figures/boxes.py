"""The values of a variable in each group, as boxes."""

from __future__ import annotations

import numpy as np

from ..content.variables import Variable
from ..text import short
from . import svg
from .frame import padded
from .svg import Scale, element, labelled, mark, text, ticks

__all__ = ["box_plot"]

# Pixels: the picture's width (three stand side by side), a group's height, room for its mark and on the right.
_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 300, 18, 26, 8, 4


def box_plot(variable: Variable) -> str:
    """A box per group for a variable with quantiles (K x 5): quartiles and median, whiskers from 5% to 95%."""
    q = variable.quantiles
    assert q is not None
    low, high = padded(q)
    x = Scale(low, high, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + len(q) * _ROW
    parts = []
    for value, shown in labelled(ticks(low, high, 4)):
        parts.append(element("line", x1=x(value), x2=x(value), y1=2, y2=bottom, class_="grid"))
        parts.append(text(x(value), bottom + 13, shown, text_anchor="middle", class_="tick"))
    parts += [_group(k, q[k], x) for k in range(len(q))]
    medians = ", ".join(f"{variable.group_names[k]} {short(m)}" for k, m in enumerate(q[:, 2]) if np.isfinite(m))
    alt = f"Distribution of {variable.name} in each group; medians: {medians}"
    return svg.figure(_WIDTH, bottom + 20, "".join(parts), alt, style="max-width:420px")


def _group(k: int, quantiles: np.ndarray, x: Scale) -> str:
    """The mark and the box of group k; quantiles that are not finite belong to a group without rows."""
    y = _TOP + _ROW * (k + 0.5)
    key = mark(10, y, k)
    if not np.isfinite(quantiles).all():
        return element("g", key + text(_LEFT + 4, y + 4, "no rows", class_="tick"), data_group=k)
    least, lower, median, upper, most = (x(v) for v in quantiles)
    box = element("line", x1=least, x2=most, y1=y, y2=y, class_="whisker")
    box += element("rect", x=lower, y=y - 5, width=max(upper - lower, 0.5), height=10, rx=1.5, class_="box")
    box += element("line", x1=median, x2=median, y1=y - 6.5, y2=y + 6.5, class_="median")
    return element("g", key + box, class_=f"g{svg.colour(k)}", data_group=k)
