"""What the pictures share: the two widths, the room around the values, grid lines, titles, marks for a legend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .svg import Scale, element, labelled, mark, text, ticks

__all__ = ["NARROW", "WIDE", "axis_title", "both_widths", "legend_mark", "padded", "value_grid"]

# Pixels across: the text column of a wide page, and a phone.
WIDE, NARROW = 880, 340


def both_widths(draw: Callable[..., str], *args) -> str:
    """`draw(width, *args)` at both widths, each in a block that the style sheet shows where it fits."""
    return "".join(
        f'<div class="{name}">{draw(width, *args)}</div>' for name, width in (("wide", WIDE), ("narrow", NARROW))
    )


def padded(values: np.ndarray, share: float = 0.05) -> tuple[float, float]:
    """The smallest and largest finite value with a margin, a `share` of the range, on both sides."""
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = share * (high - low) or 0.5 * abs(high) or 0.5
    return low - margin, high + margin


def value_grid(y: Scale, left: float, right: float, count: int = 5, *, zero: bool = False) -> str:
    """Horizontal lines at round values from `left` to `right`, with their numbers; `zero` draws 0 darker."""
    parts = []
    for value, shown in labelled(ticks(y.low, y.high, count)):
        kind = "zero" if zero and value == 0 else "grid"
        parts.append(element("line", x1=left, x2=right, y1=y(value), y2=y(value), class_=kind))
        parts.append(text(left - 6, y(value) + 4, shown, text_anchor="end", class_="tick"))
    return "".join(parts)


def axis_title(left: float, width: float, y: float, title: str) -> str:
    """The name of the horizontal axis, in the middle below it."""
    return text((left + width) / 2, y, title, text_anchor="middle", class_="axis")


def legend_mark(k: int, own: int | None = None) -> str:
    """The mark of group (or curve) k, counted from 0, for a legend; `own` is another shape in its colour."""
    return element(
        "svg", mark(8, 8, k, own), viewBox="0 0 16 16", width=16, height=16, aria_hidden="true", class_="key"
    )
