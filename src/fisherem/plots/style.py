"""Colours, markers and names used by all displays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from .._utils.wording import column_name, count, group_names_of
from ..tables.parameters import check_list

__all__ = [
    "DARK_PALETTE", "MARKERS", "PALETTE", "Display", "caveat", "colormap_of", "colours_of", "group_legend",
    "group_style", "group_styles", "is_given", "legend_names", "new_axes", "note_below", "variable_names",
]  # fmt: skip

# Okabe & Ito's palette, safe for colour-blind readers, darkest contrasts first; their yellow is too pale for lines.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
# The same for a dark page: lighter, and white for black (page.css has them too).
DARK_PALETTE = ("#3a9bdc", "#ee7733", "#1fbf91", "#e293bf", "#f0b429", "#9ad7ff", "#f2f2f2", "#c74f8c")
MARKERS = "os^DvPX*<>ph"
# Groups 9 to 12: olive, violet, brown and grey. Any two of the twelve are at least 26 apart in CIELAB, as the two blues
# are; a difference of about 2 can just be seen.
_MORE = ("#999933", "#6929C4", "#661100", "#8A8A8A")


# Colormaps with at most this many colours are lists to choose from.
_LISTED = 20
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


def colours_of(palette, n: int) -> list[str]:
    """n colours: of the default palette, of a matplotlib colormap by its name, or of a sequence, from the beginning
    again where there are fewer.

    Colormaps that are lists (such as "tab10") are taken from their start, others at even steps.
    """
    if palette is None:
        found = [*PALETTE, *_MORE]
    elif isinstance(palette, str):
        found = _of_map(palette, n)
    else:
        found = _checked(palette)
    return [found[i % len(found)] for i in range(n)]


def _of_map(name: str, n: int) -> list[str]:
    import matplotlib
    from matplotlib.colors import ListedColormap, to_hex

    if name not in matplotlib.colormaps:
        raise ValueError(f"palette must be the name of a matplotlib colormap or a list of colours; got {name!r}")
    chosen = matplotlib.colormaps[name]
    if isinstance(chosen, ListedColormap) and chosen.N <= _LISTED:
        return [to_hex(colour) for colour in chosen(range(chosen.N))]
    return [to_hex(colour) for colour in chosen(np.linspace(0.05, 0.95, max(n, 1)))]


def colormap_of(palette, usual: str):
    """The matplotlib colormap of this name, or the usual one; a colormap is returned as it is."""
    import matplotlib

    if palette is None or (isinstance(palette, str) and palette in matplotlib.colormaps):
        return matplotlib.colormaps[palette or usual]
    if not isinstance(palette, matplotlib.colors.Colormap):
        raise ValueError(f"palette must be the name of a matplotlib colormap here; got {palette!r}")
    return palette


def _checked(palette) -> list[str]:
    from matplotlib.colors import is_color_like, to_hex

    given = check_list("palette", palette)
    wrong = [colour for colour in given if not is_color_like(colour)]
    if not given or wrong:
        what = repr(wrong[0]) if wrong else "an empty one"
        raise ValueError(f"palette must be a list of colours that matplotlib knows; got {what}")
    return [to_hex(colour) for colour in given]


def group_style(k: int) -> tuple[str, str]:
    """(colour, marker) of group k, from 0: a pair of its own for each of the first 144 groups, 12 colours by then."""
    colours = [*PALETTE, *_MORE]
    turn, place = divmod(k, len(colours))
    return colours[place], MARKERS[(place + turn) % len(MARKERS)]


def group_styles(K: int, palette=None) -> list[tuple[str, str]]:
    """(colour, marker) of K groups, in the colours of `palette` (see `colours_of`)."""
    if palette is None:
        return [group_style(k) for k in range(K)]
    return [(colour, MARKERS[k % len(MARKERS)]) for k, colour in enumerate(colours_of(palette, K))]


def note_below(ax, text: str, down: int = 34) -> None:
    """A line below the axes, `down` points under them: what a picture has to say when it is taken away."""
    ax.annotate(
        text, (0, 0), (0, -down), xycoords="axes fraction", textcoords="offset points", va="top", fontsize=8,
        color="0.3", annotation_clip=False,
    )  # fmt: skip


def is_given(model) -> bool:
    """Whether the groups of a fitted model were given rather than found."""
    return str(getattr(model, "stop_reason_", "")) == "given groups"


def caveat(n: int, K: int, given: bool = False) -> str:
    """How many rows and groups a picture is about, and that the groups were not checked."""
    size = f"{count(n, 'row')} in {count(K, 'group')}"
    return f"{size} that were given, not found" if given else f"{size}, not checked on other rows"


def variable_names(model, names, p: int) -> list[str]:
    """p names: those given, else those that the model was fitted with, else x1, x2, ..."""
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    return [str(n) for n in names] if names is not None else [column_name(j) for j in range(p)]


def legend_names(names, K: int) -> list[str]:
    """K names of groups: those given, else "group 1", "group 2", ..."""
    return group_names_of(names, K)


# More groups than this would hide what is drawn.
_LONG_LEGEND = 8


def group_legend(ax, K: int) -> None:
    """The legend of K groups: inside the axes where there is room, beside them if there are many."""
    place = {"loc": "best"} if K <= _LONG_LEGEND else {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
    ax.legend(frameon=False, **place)


def new_axes(ax, figsize=(8, 5)):
    """`ax` itself, or the axes of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]
