"""Small pictures made of levels: indexed PNG files inside the page, and colour scales."""

from __future__ import annotations

import base64
import io

import numpy as np

__all__ = ["colour_scale", "indexed_png"]


def colour_scale(name: str, n: int) -> list[str]:
    """n CSS colours of matplotlib's scale of that name, from its first to its last."""
    import matplotlib
    from matplotlib.colors import to_hex

    return [to_hex(c) for c in matplotlib.colormaps[name](np.linspace(0, 1, n))]


def indexed_png(codes: np.ndarray, colours: list[str], *, transparent: int | None = None) -> str:
    """A PNG, as a data address, of codes (rows x columns): places in the list of colours; one may be transparent."""
    from matplotlib.colors import to_rgb
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(codes))
    image.putpalette([round(255 * c) for colour in colours for c in to_rgb(colour)])
    packed = io.BytesIO()
    image.save(packed, "PNG", optimize=True, **({} if transparent is None else {"transparency": transparent}))
    return "data:image/png;base64," + base64.b64encode(packed.getvalue()).decode()
