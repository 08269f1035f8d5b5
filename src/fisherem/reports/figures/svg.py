"""SVG made by hand: scales, ticks, marks, elements. Colours come from the page's style sheet by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np

from ...plots.style import PALETTE

__all__ = [
    "MARK_PATHS",
    "Scale",
    "colour",
    "definitions",
    "element",
    "figure",
    "labelled",
    "mark",
    "polyline",
    "text",
    "ticks",
]

# Marks of radius about 4.5 around the origin, of like area: disc, square, triangle, diamond, triangle down, plus,
# cross, star. The browser draws the points with the same paths.
MARK_PATHS = (
    "M4,0A4,4 0 1,1 -4,0A4,4 0 1,1 4,0Z",
    "M-3.5,-3.5H3.5V3.5H-3.5Z",
    "M0,-4.8L4.4,3.2H-4.4Z",
    "M0,-5L5,0L0,5L-5,0Z",
    "M0,4.8L4.4,-3.2H-4.4Z",
    "M-1.6,-4.6H1.6V-1.6H4.6V1.6H1.6V4.6H-1.6V1.6H-4.6V-1.6H-1.6Z",
    "M-4.4,-2.2L-2.2,-4.4L0,-2.2L2.2,-4.4L4.4,-2.2L2.2,0L4.4,2.2L2.2,4.4L0,2.2L-2.2,4.4L-4.4,2.2L-2.2,0Z",
    "M0,-5.4L1.4,-1.8L5.2,-1.6L2.2,0.8L3.2,4.5L0,2.4L-3.2,4.5L-2.2,0.8L-5.2,-1.6L-1.4,-1.8Z",
)


def colour(k: int) -> int:
    """The number of group k's colour in the palette; both from 0."""
    return k % len(PALETTE)


def shape(k: int) -> int:
    """The number of group k's mark: past eight groups the colours begin again, each with another mark."""
    return (k + k // len(PALETTE)) % len(MARK_PATHS)


def hollow(k: int) -> bool:
    """Whether group k is drawn as an outline: every second round of colours is."""
    return k // len(PALETTE) % 2 == 1


@dataclass(frozen=True)
class Scale:
    """From [low, high] to pixels [start, end]; `log` for positive values."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (np.log((self.low, self.high, value))) if self.log else (self.low, self.high, value)
        share = (value - low) / (high - low) if high > low else 0.5
        return float(self.start + share * (self.end - self.start))


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers (1, 2, 5 times a power of ten) inside [low, high]."""
    if not high > low:
        return [float(low)]
    raw = (high - low) / max(count, 1)
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.7)
    first = np.ceil(low / step - 1e-9) * step
    return [float(round(v / step) * step) for v in np.arange(first, high + step * 1e-6, step)]


def labelled(values: list[float]) -> list[tuple[float, str]]:
    """Ticks with their numbers, with the digits that tell neighbours apart (273.151, 273.152)."""
    largest = max(map(abs, values), default=0.0)
    step = min((b - a for a, b in pairwise(values)), default=largest) or 1.0
    digits = int(max(0, -np.floor(np.log10(step) + 1e-9)))
    short = largest < 1e-3 or step >= 1e5
    texts = [f"{v:.3g}" if short else f"{v:,.{digits}f}" for v in values]
    return [(v, "0" if v == 0 else t.replace("-", "−")) for v, t in zip(values, texts, strict=True)]


def element(name: str, content: str = "", **attributes) -> str:
    """`<name ...>content</name>`; attribute names with _ for -, values escaped; `content` is SVG already."""
    parts = []
    for key, value in attributes.items():
        shown = f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, (float, np.floating)) else str(value)
        parts.append(f' {key.rstrip("_").replace("_", "-")}="{escape(shown)}"')
    return f"<{name}{''.join(parts)}>{content}</{name}>" if content else f"<{name}{''.join(parts)}/>"


def text(x: float, y: float, content: str, **attributes) -> str:
    """Words at a place; `content` is escaped."""
    return element("text", escape(content), x=x, y=y, **attributes)


def polyline(xs: Sequence[float], ys: Sequence[float], **attributes) -> str:
    """A line through the points (xs[i], ys[i])."""
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return element("path", d=path, **attributes)


def mark(x: float, y: float, k: int, own: int | None = None, **attributes) -> str:
    """The mark of group k, in its colour; its outline stands once on the page (`definitions`).

    `own` is another shape for it.
    """
    attributes["class_"] = " ".join(
        ["mark", f"g{colour(k)}", *["hollow"] * hollow(k), *attributes.pop("class_", "").split()]
    )
    return element(
        "use",
        href=f"#m{shape(k) if own is None else own % len(MARK_PATHS)}",
        transform=f"translate({x:.1f},{y:.1f})",
        **attributes,
    )


def definitions() -> str:
    """The outlines of the marks, which `mark` refers to; nothing is drawn here."""
    paths = "".join(element("path", id=f"m{i}", d=path) for i, path in enumerate(MARK_PATHS))
    return element("svg", element("defs", paths), width=0, height=0, class_="definitions", aria_hidden="true")


def figure(width: int, height: float, content: str, alt: str, **attributes) -> str:
    """A drawing of that size that shrinks with the page, with its description."""
    return element(
        "svg",
        content,
        viewBox=f"0 0 {width} {height:.0f}",
        role="img",
        aria_label=alt,
        **({"style": f"max-width:{width}px"} | attributes),
    )
