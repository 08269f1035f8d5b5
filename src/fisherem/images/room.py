"""The memory that the pixels of a scene need beside their values: labels, posteriors, projections and maps."""

from __future__ import annotations

from ..tables.parameters import parse_memory

__all__ = ["MEMORY", "check_room"]

# The budget where none is given.
MEMORY = 2**30
# Bytes at the largest moment of a call, for each pixel of the image, and for each group more; for each pixel that is
# used, and for each group more; and for each group more with a spatial prior.
_OF_MAP, _OF_MAP_GROUP = 30, 8
_OF_PIXEL, _OF_PIXEL_GROUP = 110, 14
_OF_NEIGHBOURS = 26


def check_room(shape: tuple[int, ...], used: int, n_clusters: int, memory, *, spatial: bool = False) -> None:
    """Raise an error if rows x columns pixels, of which some are `used`, need more than the budget at the least."""
    pixels, budget = shape[0] * shape[1], MEMORY if memory is None else parse_memory(memory)
    size = pixels * (_OF_MAP + _OF_MAP_GROUP * n_clusters)
    size += used * (_OF_PIXEL + (_OF_PIXEL_GROUP + _OF_NEIGHBOURS * spatial) * n_clusters)
    if size > budget:
        raise ValueError(
            f"the labels, posteriors and maps of {pixels:,} pixels in {n_clusters} groups take about "
            f"{size / 1e9:,.3g} GB, more than the memory budget of {budget / 1e9:,.3g} GB: give more memory "
            "(--memory), or cut a part out of the image"
        )
