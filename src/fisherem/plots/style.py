"""Colours, markers and names used by all displays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from .._utils.wording import column_name, group_name

__all__ = ["DARK_PALETTE", "MARKERS", "PALETTE", "Display", "group_style", "legend_names", "new_axes", "variable_names"]

# Okabe & Ito's palette, safe for colour-blind readers, darkest contrasts first; their yellow is too pale for lines.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
# The same for a dark page: lighter, and white for black (page.css has them too).
DARK_PALETTE = ("#3a9bdc", "#ee7733", "#1fbf91", "#e293bf", "#f0b429", "#9ad7ff", "#f2f2f2", "#c74f8c")
MARKERS = "os^DvPX*<>ph"
# Groups 9 to 12: olive, violet, brown and grey. Any two of the twelve are at least 26 apart in CIELAB, as the two blues
# are; a difference of about 2 can just be seen.
_MORE = ("#999933", "#6929C4", "#661100", "#8A8A8A")


# A `repr` longer than this is cut: it is what a notebook cell that ends in a plot prints below the picture.
_REPR_WIDTH = 110


class Display:
    """Base of the displays, which are dataclasses: one line as `repr`, with the shapes of the arrays in it."""

    def __repr__(self) -> str:
        held: Any = self
        text = ", ".join(f"{field.name}={_brief(getattr(self, field.name))}" for field in fields(held))
        text = f"{type(self).__name__}({text})"
        return text if len(text) <= _REPR_WIDTH else f"{text[: _REPR_WIDTH - 4]}...)"


def _brief(value: Any) -> str:
    """A value of a display in a word: numbers and text as they are, the shapes of arrays, the lengths of the rest."""
    if value is None or isinstance(value, (bool, int, float, str, np.number)):
        return repr(value)
    shape = getattr(value, "shape", None)
    if shape is None and hasattr(value, "__len__"):
        shape = (len(value),)
    return type(value).__name__ if shape is None else f"<{' x '.join(map(str, shape))}>"


def group_style(k: int) -> tuple[str, str]:
    """(colour, marker) of group k, from 0: a pair of its own for each of the first 144 groups, 12 colours by then."""
    colours = (*PALETTE, *_MORE)
    turn, place = divmod(k, len(colours))
    return colours[place], MARKERS[(place + turn) % len(MARKERS)]


def variable_names(model, names, p: int) -> list[str]:
    """p names: those given, else those that the model was fitted with, else x1, x2, ..."""
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    return [str(n) for n in names] if names is not None else [column_name(j) for j in range(p)]


def legend_names(names, K: int) -> list[str]:
    """K names of groups: those given, else "group 1", "group 2", ..."""
    return [group_name(k) for k in range(K)] if names is None else [str(name) for name in names]


def new_axes(ax, figsize=(8, 5)):
    """`ax` itself, or the axes of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]
