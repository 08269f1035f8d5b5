"""The pictures of a segmented image: maps as PNG inside the page, mean spectra with the selected bands as SVG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...plots.maps import class_colours
from ...plots.style import DARK_PALETTE, PALETTE
from ..figures import svg
from ..figures.frame import WIDE, axis_title, both_widths, padded, value_grid
from ..figures.pixels import colour_scale, indexed_png
from ..figures.svg import Scale, element, labelled, mark, text, ticks

__all__ = [
    "Spectra", "class_map", "colour_map", "group_colours", "label_map", "reduce_colours", "reduce_map", "spectra_plot",
    "uncertainty_map", "viridis",
]  # fmt: skip

# Pixels along the longer side of a map on the page: more than a screen shows, and at most 0.5 MB per map.
MAX_SIDE = 1000
# Steps of the uncertainty from 0 to 1/2: finer ones cannot be seen, and noise compresses badly.
_STEPS = 32
# Colours of the view of the scene: with more of them a page of a million pixels would be larger than a megabyte.
_TINTS = 63
# Classes that match no group: greys that differ from each other, and from every group.
_GREYS = ("#555555", "#8c8c8c", "#bbbbbb")
# Points of a curve; a picture has fewer pixels across.
_MAX_POINTS = 800


@dataclass
class Spectra:
    """`values` (K x p, NaN where a band was left out) over `positions` (p, ascending), `selected` (bool p)."""

    positions: np.ndarray
    values: np.ndarray
    selected: np.ndarray
    label: str


def group_colours(K: int) -> tuple[list[str], list[str]]:
    """CSS colours of the groups on a light and on a dark page."""
    if len(PALETTE) >= K:
        return list(PALETTE[:K]), list(DARK_PALETTE[:K])
    from matplotlib.colors import to_hex

    same = [to_hex(c) for c in class_colours(K)]
    return same, same


def reduce_map(labels: np.ndarray, uncertainty: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Both maps (rows x columns), made smaller by a whole factor f where a side is longer than the page shows.

    A block of f x f pixels becomes one, with the commonest group (the first of equals) and the mean uncertainty; it is
    masked if all of its pixels are. Returns (labels, uncertainty, f).
    """
    f = -(-max(labels.shape) // MAX_SIDE)
    if f == 1:
        return labels, uncertainty, 1
    counts = np.stack([_block_sums(labels == k, f) for k in range(K)])
    valid = counts.sum(axis=0)
    sums = _block_sums(np.nan_to_num(uncertainty), f)
    mean = np.divide(sums, valid, out=np.full(valid.shape, np.nan), where=valid > 0)
    return np.where(valid > 0, counts.argmax(axis=0), -1), mean, f


def _block_sums(values: np.ndarray, f: int) -> np.ndarray:
    """out[a, b] = sum of the values in the block of f rows and f columns; the last blocks may be smaller."""
    by_rows = np.add.reduceat(values, np.arange(0, values.shape[0], f), axis=0, dtype=float)
    return np.add.reduceat(by_rows, np.arange(0, values.shape[1], f), axis=1)


def label_map(labels: np.ndarray, colours: list[str]) -> str:
    """A PNG (as a data address) of labels (rows x columns, from 0) with a colour per group; masked pixels (-1) are
    transparent."""
    return indexed_png((labels + 1).astype(np.uint8), ["#808080", *colours], transparent=0)


def class_map(classes: np.ndarray, group: np.ndarray, colours: list[str]) -> str:
    """A PNG (as a data address) of known classes (rows x columns, from 0): each in the colour of the group that it is
    matched with (`group`, -1 for none, which is grey); pixels without a class (-1) are transparent."""
    shown = [_GREYS[c % len(_GREYS)] if k < 0 else colours[k] for c, k in enumerate(group)]
    return indexed_png((classes + 1).astype(np.uint8), ["#808080", *shown], transparent=0)


def reduce_colours(colours: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A view (rows x columns x 3, uint8) and the pixels that it shows (bool), as small as `reduce_map` makes the maps:
    the mean colour of a block."""
    f = -(-max(shown.shape) // MAX_SIDE)
    if f == 1:
        return colours, shown
    counts = _block_sums(shown, f)
    sums = np.stack([_block_sums(np.where(shown, colours[..., c], 0), f) for c in range(3)], axis=2)
    return np.round(sums / np.maximum(counts, 1)[..., None]).astype(np.uint8), counts > 0


def colour_map(colours: np.ndarray, shown: np.ndarray) -> str:
    """A PNG (as a data address) of a view (rows x columns x 3, uint8), in 63 colours; what is not shown is
    transparent."""
    from PIL import Image

    # the other methods take seconds for a million pixels
    tinted = Image.fromarray(np.ascontiguousarray(colours)).quantize(_TINTS, Image.Quantize.FASTOCTREE)
    palette = np.array(tinted.getpalette(), int).reshape(-1, 3)[:_TINTS]
    codes = np.where(shown, np.asarray(tinted).astype(int) + 1, 0).astype(np.uint8)
    return indexed_png(codes, ["#808080", *("#" + bytes(tint.tolist()).hex() for tint in palette)], transparent=0)


def uncertainty_map(values: np.ndarray) -> str:
    """A PNG (as a data address) of 1 - the largest posterior (rows x columns), in the colours of `viridis` from 0 to
    1/2; larger values look like 1/2."""
    masked = ~np.isfinite(values)
    step = np.floor(np.clip(np.where(masked, 0, values) * 2 * _STEPS, 0, _STEPS - 1)).astype(np.uint8)
    codes = np.where(masked, 0, step + 1).astype(np.uint8)
    return indexed_png(codes, ["#808080", *viridis(_STEPS)], transparent=0)


def viridis(n: int) -> list[str]:
    """n CSS colours of matplotlib's viridis, from dark to bright."""
    return colour_scale("viridis", n)


def spectra_plot(spectra: Spectra, names: list[str]) -> str:
    """The paper's figure: a curve per group, a grey bar per selected band; drawn wide and narrow (see `figures`)."""
    return both_widths(_spectra, spectra, names)


def _spectra(width: int, spectra: Spectra, names: list[str]) -> str:
    K, p = spectra.values.shape
    height, top, left, right = (380 if width == WIDE else 300), 10, 58, 12
    bottom = height - 44
    y = Scale(*padded(spectra.values.ravel()), bottom, top)
    x = Scale(float(spectra.positions[0]), float(spectra.positions[-1]), left + 4, width - right - 4)
    parts = [_bars(spectra, x, top, bottom), value_grid(y, left, width - right)]
    for value, shown in labelled(ticks(x.low, x.high, min(8 if width == WIDE else 4, p - 1))):
        parts.append(text(x(value), bottom + 17, shown, text_anchor="middle", class_="tick"))
    parts += [_curve(spectra, k, x, y) for k in range(K)]
    parts.append(axis_title(left, width, height - 4, spectra.label))
    chosen = ", ".join(f"{v:.4g}" for v in spectra.positions[spectra.selected][:40])
    alt = f"Mean spectra of {', '.join(names[:12])} against {spectra.label}" + (
        f"; grey bars at the selected bands: {chosen}" if 0 < spectra.selected.sum() < p else ""
    )
    return svg.figure(width, height, "".join(parts), alt)


def _curve(spectra: Spectra, k: int, x: Scale, y: Scale) -> str:
    """The spectrum of group k, with one mark, at a different place for each group: no colour is needed."""
    K, p = spectra.values.shape
    drawn = np.arange(0, p, -(-p // _MAX_POINTS))
    line = " ".join(_run(x, y, spectra.positions[run], spectra.values[k, run]) for run in _runs(spectra, k, drawn))
    colour, dash = f"--c:var(--m{k})", ";stroke-dasharray:6 3" if k % 16 >= 8 else ""
    parts = [element("path", d=line, class_="curve", style=colour + dash)]
    seen = np.flatnonzero(np.isfinite(spectra.values[k]))
    for place in seen[(2 * k + 1) * len(seen) // (2 * K) :][:1]:
        parts.append(mark(x(spectra.positions[place]), y(spectra.values[k, place]), k, style=colour))
    return "".join(parts)


def _bars(spectra: Spectra, x: Scale, top: float, bottom: float) -> str:
    """A bar per selected band, as wide as the spacing of the bands: wide enough to be seen, and still a bar."""
    if spectra.selected[np.isfinite(spectra.values).any(axis=0)].all():  # a bar on every band would say nothing
        return ""
    step = float(np.median(np.diff(spectra.positions)))
    width = float(np.clip(x(x.low + step) - x(x.low), 2, 12))
    return "".join(
        element("rect", x=x(v) - width / 2, y=top, width=width, height=bottom - top, class_="chosenband")
        for v in spectra.positions[spectra.selected]
    )


def _runs(spectra: Spectra, k: int, drawn: np.ndarray) -> list[np.ndarray]:
    """Stretches of bands with values: the curve has a gap where bands were left out."""
    there = np.isfinite(spectra.values[k, drawn])
    cuts = np.flatnonzero(np.diff(there.astype(int))) + 1
    return [part for part in np.split(drawn, cuts) if np.isfinite(spectra.values[k, part[0]])]


def _run(x: Scale, y: Scale, positions: np.ndarray, values: np.ndarray) -> str:
    points = [f"{x(a):.1f},{y(b):.1f}" for a, b in zip(positions, values, strict=True)]
    return "M" + "L".join(points if len(points) > 1 else points * 2)  # a single band: a dot by the round cap
