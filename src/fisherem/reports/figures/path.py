"""A sparsity path: the criterion, the number of variables and the loadings against the share of the l1 norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..words.how_chosen import Path
from . import svg
from .frame import NARROW, axis_title, both_widths, padded, value_grid
from .svg import Scale, element, mark, polyline, text

__all__ = ["path_panels"]

_LEFT, _RIGHT = 66, 14
# Height of a panel, and of the gap above it, in which its title stands.
_PANEL, _GAP, _TOP = 150, 34, 20
_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass
class _Curve:
    """Points (share, value), drawn with mark and colour `number`, or in grey where that is None; `variable` is the
    number of the variable that they belong to."""

    points: list[tuple[float, float]]
    number: int | None
    variable: int | None = None


@dataclass
class _Panel:
    """A title and curves over one scale, which starts at 0 or at the smallest value."""

    title: str
    curves: list[_Curve]
    from_zero: bool


def path_panels(path: Path) -> str:
    """Three panels, one above the other; a dotted line at the chosen share."""
    return both_widths(_path_panels, path)


def _panels(path: Path) -> list[_Panel]:
    """The curves of each panel. Weightings of the axes that were not chosen are grey."""
    numbers = {name: 0 if name == path.weighting else None for name in path.lines}
    criterion = [_Curve([(s, c) for s, c, _ in line], numbers[name]) for name, line in path.lines.items()]
    variables = [_Curve([(s, v) for s, _, v in line], numbers[name]) for name, line in path.lines.items()]
    loadings = [
        _Curve(list(zip(path.shares, one.values, strict=True)), k, one.index) for k, one in enumerate(path.sizes)
    ]
    return [
        _Panel(path.label, criterion, from_zero=False),
        _Panel("selected variables", variables, from_zero=True),
        _Panel("size of the loadings", loadings, from_zero=True),
    ]


def _path_panels(width: int, path: Path) -> str:
    shares = [s for line in path.lines.values() for s, _, _ in line]
    x = Scale(min(shares), max(shares), _LEFT, width - _RIGHT, log=True)
    panels = _panels(path)
    tops = [_TOP + i * (_PANEL + _GAP) for i in range(len(panels))]
    parts = [_panel(panel, x, top, path.chosen) for panel, top in zip(panels, tops, strict=True)]
    bottom = tops[-1] + _PANEL
    for share in _shares_shown(x, width):
        parts.append(text(x(share), bottom + 18, f"{share:g}", text_anchor="middle", class_="tick"))
    parts.append(axis_title(_LEFT, width, bottom + 36, "sparsity (share of the l1 norm)"))
    alt = (
        "Criterion, number of selected variables and loadings along the sparsity path; "
        f"chosen: {path.chosen:.3g}, with {path.n_selected} variables"
    )
    return svg.figure(width, bottom + 44, "".join(parts), alt)


def _panel(panel: _Panel, x: Scale, top: float, chosen: float) -> str:
    low, high = padded(np.array([v for curve in panel.curves for _, v in curve.points]))
    y = Scale(0.0 if panel.from_zero else low, high, top + _PANEL, top)
    parts = [text(_LEFT, top - 7, panel.title, class_="axis"), value_grid(y, _LEFT, x.end, 4)]
    parts.append(element("line", x1=x(chosen), x2=x(chosen), y1=top, y2=top + _PANEL, class_="chosen"))
    parts += [_curve(curve, x, y) for curve in panel.curves]
    return "".join(parts)


def _curve(curve: _Curve, x: Scale, y: Scale) -> str:
    xs, ys = [x(s) for s, _ in curve.points], [y(v) for _, v in curve.points]
    if not xs:
        return ""
    if curve.number is None:
        return polyline(xs, ys, class_="curve rest")
    line = polyline(xs, ys, class_=f"curve g{svg.colour(curve.number)}")
    drawn = line + "".join(mark(a, b, curve.number, class_="small") for a, b in zip(xs, ys, strict=True))
    return drawn if curve.variable is None else element("g", drawn, data_variable=curve.variable)


def _shares_shown(x: Scale, width: int) -> list[float]:
    """Round shares inside the scale; every second one where a phone has no room for all."""
    inside = [v for v in _SHARES if x.low <= v <= x.high]
    return inside[:: 2 if width == NARROW and len(inside) > 6 else 1]
