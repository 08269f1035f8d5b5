"""The criterion of a search against the number of groups."""

from __future__ import annotations

import numpy as np

from ..words.how_chosen import SearchWords
from . import svg
from .frame import axis_title, both_widths, padded, value_grid
from .svg import Scale, element, mark, polyline, text

__all__ = ["MAX_COLOURED", "criterion_lines"]

# Models with a colour and a mark of their own; more could not be told apart.
MAX_COLOURED = 5
_HEIGHT, _TOP, _LEFT, _RIGHT = 314, 24, 66, 14


def criterion_lines(search: SearchWords) -> str:
    """A line per model: the five best in colour, the others grey; the best dense fit is ringed."""
    return both_widths(_criterion_lines, search)


def _criterion_lines(width: int, search: SearchWords) -> str:
    bottom = _HEIGHT - 42
    Ks = [int(K) for K in search.values.columns]
    x = Scale(min(Ks) - 0.25, max(Ks) + 0.25, _LEFT, width - _RIGHT)
    y = Scale(*padded(search.values.to_numpy(float)), bottom, _TOP)
    parts = [text(_LEFT, _TOP - 9, search.label, class_="axis"), value_grid(y, _LEFT, width - _RIGHT)]
    parts += [text(x(K), bottom + 18, str(K), text_anchor="middle", class_="tick") for K in Ks]
    order = search.ranking
    for rank, model in reversed(list(enumerate(order))):  # the best is drawn last, over the others
        values = search.values.loc[model].to_numpy(float)
        parts.append(_line([(x(K), y(v)) for K, v in zip(Ks, values, strict=True) if np.isfinite(v)], rank))
    K, model = search.best_dense
    best = search.values.loc[model].to_numpy(float)[Ks.index(K)]
    parts.append(element("circle", cx=x(K), cy=y(best), r=9, class_="ring"))
    parts.append(axis_title(_LEFT, width, _HEIGHT - 4, "number of groups K"))
    models = f"{len(order)} models" if len(order) > 1 else "1 model"
    alt = f"{search.label} against the number of groups for {models}; best: {model}, K = {K}"
    return svg.figure(width, _HEIGHT, "".join(parts), alt)


def _line(points: list[tuple[float, float]], rank: int) -> str:
    """The line of the model that comes `rank`-th (from 0); nothing if all of its fits failed."""
    if not points:
        return ""
    coloured = rank < MAX_COLOURED
    kind = f"g{svg.colour(rank)}" if coloured else "rest"
    line = polyline(*zip(*points, strict=True), class_=f"curve {kind}")
    return line + "".join(mark(a, b, rank) for a, b in points if coloured)
