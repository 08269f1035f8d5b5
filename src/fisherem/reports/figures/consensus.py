"""The consensus matrix: how often fits to halves of the rows put two rows together."""

from __future__ import annotations

import numpy as np

from ..._utils.wording import group_name
from . import svg
from .pixels import colour_scale, indexed_png
from .svg import element, mark

__all__ = ["consensus_figure", "consensus_scale"]

# Pixels across, the strip with the groups' marks, and the levels of the shares.
_SIZE, _STRIP, _LEVELS = 320, 20, 11
# A group narrower than this has no room for its mark.
_ROOM = 12


def consensus_scale() -> list[str]:
    """The colours of the shares, lowest first."""
    return colour_scale("Blues", _LEVELS)


def consensus_figure(consensus: np.ndarray, groups: np.ndarray, names: list[str] | None = None) -> str:
    """The matrix (m x m) with the groups of its rows (m) above it and beside it; K `names` of groups."""
    called = [group_name(k) for k in range(int(groups.max()) + 1)] if names is None else names
    m = len(groups)
    levels = np.rint(consensus * (_LEVELS - 1)).astype(np.uint8)
    picture = element(
        "image", href=indexed_png(levels, consensus_scale()), x=_STRIP, y=_STRIP, width=_SIZE, height=_SIZE,
        preserveAspectRatio="none", class_="cells",
    )  # fmt: skip
    parts = [picture]
    for k in np.unique(groups).tolist():
        inside = np.flatnonzero(groups == k)
        start, end = (_STRIP + _SIZE * place / m for place in (inside[0], inside[-1] + 1))
        length, middle = max(end - start - 1, 0.5), (start + end) / 2
        strips = element("rect", x=start, y=0, width=length, height=_STRIP - 2, rx=2, class_="strip")
        strips += element("rect", x=0, y=start, width=_STRIP - 2, height=length, rx=2, class_="strip")
        if end - start > _ROOM:
            strips += mark(middle, _STRIP / 2 - 1, k) + mark(_STRIP / 2 - 1, middle, k)
        parts.append(element("g", element("title", svg.escape(called[k])) + strips, class_=f"g{svg.colour(k)}"))
    alt = (
        f"Consensus matrix of {m} rows, ordered by group: the share of fits to halves that put two rows together. "
        f"{_in_words(consensus, groups, called)}"
    )
    size = _STRIP + _SIZE
    return svg.figure(size, size, "".join(parts), alt)


def _in_words(consensus: np.ndarray, groups: np.ndarray, called: list[str]) -> str:
    """The mean share inside each group."""
    shares = [
        f"{called[k]} {consensus[np.ix_(groups == k, groups == k)].mean():.0%}" for k in np.unique(groups).tolist()
    ]
    return f"Inside the groups: {', '.join(shares)}."
