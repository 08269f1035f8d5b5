"""One picture per model for docs/choosing.md: python docs/model_pictures.py writes docs/images/models/*.svg.

Colour is what a group has to itself, grey what all groups have in common. Left: how the groups are spread (inside the
axes or the factor space, or around their means); right: their noise, a bar per variable where variables differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

COLOURS = ("#0072b2", "#d55e00", "#009e73")
GREY, INK = "#8a8a8a", "#444444"
CENTRES = ((62, 86), (132, 48), (190, 84))
WIDTH, HEIGHT, RIGHT = 380, 150, 255
# Half axes and angle of every group's own ellipse, and the one that stands for all.
OWN = ((34, 12, -25), (22, 16, 40), (30, 9, 75))
COMMON = (30, 13, -25)
LEVELS = (30, 52, 40)
PER_VARIABLE = ((26, 48, 16, 36), (52, 22, 40, 30), (34, 58, 24, 46))


def ellipse(centre, half_axes, angle, colour, dashed=False) -> str:
    """An outline with a light filling."""
    (x, y), (a, b) = centre, half_axes
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    turn = f' transform="rotate({angle} {x} {y})"' if angle else ""
    style = f'fill="{colour}" fill-opacity="0.16" stroke="{colour}" stroke-width="2"{dash}'
    return f'<ellipse cx="{x}" cy="{y}" rx="{a}" ry="{b}"{turn} {style}/>'


def dot(centre, colour) -> str:
    """The mean of a group."""
    return f'<circle cx="{centre[0]}" cy="{centre[1]}" r="3" fill="{colour}"/>'


def arrow(centre, length, angle, colour) -> str:
    """A loading: both ways from the mean."""
    dx, dy = length * math.cos(math.radians(angle)), length * math.sin(math.radians(angle))
    x, y = centre
    line = f'x1="{x - dx:.1f}" y1="{y - dy:.1f}" x2="{x + dx:.1f}" y2="{y + dy:.1f}"'
    return f'<line {line} stroke="{colour}" stroke-width="3" stroke-linecap="round"/>'


def text(x, y, words, anchor="middle", colour=INK) -> str:
    """A label."""
    return (
        f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="11" text-anchor="{anchor}" '
        f'fill="{colour}">{words}</text>'
    )


def bars(sets, colours, x=RIGHT + 12, base=118) -> list[str]:
    """Groups of bars side by side: the noise of the variables (or one bar for all of them)."""
    out, step = [], 100 / max(len(sets), 1)
    for heights, colour, start in zip(sets, colours, range(len(sets)), strict=True):
        width = min(14.0, (step - 8) / len(heights))
        for j, height in enumerate(heights):
            left = x + start * step + j * width
            out.append(
                f'<rect x="{left:.1f}" y="{base - height}" width="{width - 1.5:.1f}" height="{height}" '
                f'fill="{colour}" fill-opacity="0.75"/>'
            )
    return [*out, f'<line x1="{x - 4}" y1="{base}" x2="{x + 102}" y2="{base}" stroke="{INK}"/>']


def axes() -> list[str]:
    """The common axes of a latent space."""
    return [
        f'<line x1="18" y1="122" x2="238" y2="122" stroke="{GREY}" stroke-width="2"/>',
        f'<line x1="18" y1="122" x2="18" y2="14" stroke="{GREY}" stroke-width="2"/>',
    ]


def spreads(kind: str) -> list[str]:
    """The groups inside common axes: "Dk", "D", "Akj", "Ak", "Aj" or "A"."""
    shapes: dict[str, Callable[[int], tuple]] = {
        "Dk": lambda k: OWN[k],
        "D": lambda k: COMMON,
        "Akj": lambda k: (*OWN[k][:2], 0) if k != 1 else (14, 26, 0),
        "Ak": lambda k: ((26, 15, 20)[k], (26, 15, 20)[k], 0),
        "Aj": lambda k: (30, 14, 0),
        "A": lambda k: (20, 20, 0),
    }
    common = kind in ("D", "Aj", "A")
    out = axes()
    for k, centre in enumerate(CENTRES):
        a, b, angle = shapes[kind](k)
        colour = GREY if common else COLOURS[k]
        out += [ellipse(centre, (a, b), angle, colour, dashed=common), dot(centre, COLOURS[k])]
    return out


def loadings(common: bool) -> list[str]:
    """Two factors around every mean: the groups' own, or the same for all."""
    out = []
    for k, centre in enumerate(CENTRES):
        first, second, angle = COMMON if common else OWN[k]
        colour = GREY if common else COLOURS[k]
        out += [
            arrow(centre, first, angle, colour),
            arrow(centre, second + 4, angle + 70, colour),
            dot(centre, COLOURS[k]),
        ]
    return out


def noise(kind: str) -> list[str]:
    """Noise: "Bk", "B" (spherical, own or common), "own" or "common" per variable."""
    if kind == "Bk":
        return bars([(level,) * 4 for level in LEVELS], COLOURS)
    if kind == "B":
        return bars([(42,) * 4], [GREY])
    return bars(list(PER_VARIABLE), COLOURS) if kind == "own" else bars([PER_VARIABLE[1]], [GREY])


def picture(left: list[str], right: list[str], inside: str, outside: str, name: str) -> str:
    """A whole SVG file."""
    parts = [*left, *right, text(128, 142, inside), text(RIGHT + 62, 142, outside)]
    body = "\n  ".join(parts)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">'
    return f'{head}\n  <rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n  {body}\n</svg>\n'


def pictures() -> dict[str, str]:
    """Name of a model -> its picture."""
    words = {
        "Dk": "own covariances", "D": "one covariance", "Akj": "own variances per axis", "Ak": "own variance",
        "Aj": "a variance per axis", "A": "one variance",
    }  # fmt: skip
    outside = {"Bk": "own noise", "B": "one noise"}
    found = {}
    for shape, inside in words.items():
        for level, says in outside.items():
            name = shape + level
            found[name] = picture(spreads(shape), noise(level), f"{inside} inside common axes", f"{says} outside", name)
    found["MFA"] = picture(loadings(False), noise("own"), "own factors", "own noise per variable", "MFA")
    found["PPCA"] = picture(loadings(False), noise("Bk"), "own factors", "own noise", "PPCA")
    found["CUU"] = picture(loadings(True), noise("own"), "common factors", "own noise per variable", "PGMM-CUU")
    found["MCFA"] = picture(
        spreads("Dk"), noise("common"), "own covariances in a common factor space", "noise per variable", "MCFA"
    )
    found["MCUFSA"] = picture(
        spreads("Akj"), noise("B"), "own variances on common orthonormal axes", "one noise", "MCUFSA"
    )
    return found


def main() -> None:
    """Write all pictures."""
    folder = Path(__file__).parent / "images" / "models"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pictures().items():
        (folder / f"{name}.svg").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
