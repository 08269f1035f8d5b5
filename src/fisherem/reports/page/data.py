"""The JSON data that the scripts of the page use."""

from __future__ import annotations

import numpy as np

from ..._utils.wording import count
from ..content.heat import HALF, RANGE, HeatMap
from ..content.variables import QUANTILES
from ..content.why import Why
from ..figures import svg
from ..text import short
from ..words.how_chosen import Path
from .table_content import Content

__all__ = ["caveat", "page_data", "tables"]


def page_data(content: Content) -> dict:
    """The page's data: a list per property with a value per row that is listed, the rows that are drawn first.

    `axes` has a list per axis with a number per row that is drawn. `group` and `second` count from 0, as places in the
    list `groups`, whose names count from 1; `row` counts from 1. `heat` has the places of its rows in these lists, its
    variables by their numbers in the table, and a text per variable with a character per row: "A" is the lowest level.
    """
    points = content.points
    data = {
        "groups": [_group(content, k) for k in range(content.K)],
        "marks": list(svg.MARK_PATHS),
        "ids": points.ids,
        "row": (points.rows + 1).tolist(),
        "group": points.groups.tolist(),
        "posterior": np.round(points.posteriors, 4).tolist(),
        "second": points.seconds.tolist(),
        "secondPosterior": np.round(points.second_posteriors, 4).tolist(),
        "tail": np.round(points.tails, 4).tolist(),
        "axes": [_short(column) for column in points.coordinates.T],
        "centres": [_short(row) for row in content.centres],
        # six significant digits: the smallest direction of a covariance may be thousands of times below the largest
        "covariances": [[[float(f"{v:.6g}") for v in row] for row in one] for one in content.covariances],
        "arrows": [
            {"name": v.name, "variable": v.index, "loadings": np.round(v.loadings[: content.n_axes_shown], 4).tolist()}
            for v in content.variables
        ],
        "axisNames": content.axis_names,
        "names": _names(content),
        "tables": tables(content),
    }
    if content.heat is not None:
        data["heat"] = _heat(content.heat)
    if content.heat_all is not None:
        data["heatAll"] = _heat(content.heat_all)
    if points.placed is not None:
        data["placed"] = points.placed.tolist()
    if content.subgroups is not None and content.subgroups.parts:
        data["subgroup"] = content.subgroups.numbers[points.rows].tolist()
        data["subgroups"] = [
            {"name": part.name, "shape": part.place % len(svg.MARK_PATHS)} for part in content.subgroups.parts
        ]
    if content.why is not None:
        data["why"] = _why(content.why)
    if content.stability is not None and content.stability.back is not None:
        data["reproducibility"] = np.round(content.stability.back.shares[points.rows], 3).tolist()
    if points.classes is not None:
        data["classes"] = points.classes
    return data


def tables(content: Content) -> dict[str, list[list]]:
    """What is drawn in pictures that have no table beside them, as lines of texts and numbers, the header first."""
    profile: list[list] = [["variable", *content.names]]
    for name, means in zip(content.profile.names, content.profile.values.T, strict=True):
        profile.append([name, *map(_drawn, means)])
    boxes: list[list] = [["variable", "group", *(f"{share:.0%}" for share in QUANTILES)]]
    for v in content.variables:
        if v.quantiles is not None:
            boxes += [[v.name, content.names[k], *map(_drawn, row)] for k, row in enumerate(v.quantiles)]
    found = {"profile": profile, "distributions": boxes}
    if content.search is not None and content.search.path is not None:
        found["path"] = _path(content.search.path)
    if content.verdict is not None and content.verdict.consensus is not None:
        found["consensus"] = _consensus(content.verdict.consensus, content.verdict.groups, content.names)
    return found


def _path(path: Path) -> list[list]:
    """A line per weighting of the axes and sparsity; the loadings are those of the chosen weighting."""
    sizes = [dict(zip(path.shares, one.values, strict=True)) for one in path.sizes]
    lines: list[list] = [["axis weights", "sparsity", path.label, "variables", *(one.name for one in path.sizes)]]
    for name, points in path.lines.items():
        for share, value, variables in points:
            shown = [_drawn(size[share]) if name == path.weighting else "" for size in sizes]
            lines.append([name, share, value, variables, *shown])
    return lines


def _consensus(shares: np.ndarray, groups: np.ndarray, names: list[str]) -> list[list]:
    """How often rows of one group (lines) and rows of another (columns) were put together, on average."""
    there = np.unique(groups).tolist()
    means = [[_drawn(shares[np.ix_(groups == a, groups == b)].mean()) for b in there] for a in there]
    return [["group", *(names[k] for k in there)], *([names[a], *m] for a, m in zip(there, means, strict=True))]


def _drawn(value: float) -> float | str:
    """Four digits, about a pixel; nothing for a group without rows."""
    return float(f"{value:.4g}") if np.isfinite(value) else ""


def _heat(heat: HeatMap) -> dict:
    levels = ["".join(map(chr, ord("A") + line.astype(int))) for line in heat.levels]
    tracks = [{"name": track.name, "texts": track.texts} for track in heat.tracks]
    return {
        "places": heat.places.tolist(), "variables": heat.indices, "levels": levels, "unit": RANGE / HALF,
        "tracks": tracks,
    }  # fmt: skip


def caveat(content: Content) -> str:
    """What a picture that is taken from the page should say: the rows, and whether the groups were checked."""
    size = f"{content.n:,} rows in {count(content.K, 'group')}"
    if content.given:
        return f"{size} that were given, not found"
    if content.stability and content.stability.back:
        share, refits = content.stability.back.mean, count(content.stability.n_refits, "refit")
        return f"{size}; on other rows, a row is found in its group again in {share:.0%} of {refits}"
    return f"{size}; not checked on other rows"


def _why(why: Why) -> dict:
    """The bars of the rows: per row the numbers of its variables, of the others and of the baseline.

    `moves` has the smallest change of each row: the place of its variable in `moved`, the value, what it would have to
    be, and the group. `pairs` has the places of two variables in `names`, and their interaction.
    """
    numbers = np.column_stack([why.values, why.others, why.baseline])
    rows = [None if np.isnan(row).any() else row for row in np.round(numbers, 2).tolist()]
    moved = sorted({change.index for change in why.changes if change is not None})
    place = {j: at for at, j in enumerate(moved)}
    moves = [
        None if c is None else [place[c.index], short(c.value), _beyond(c.value, c.becomes), c.to] for c in why.changes
    ]
    pairs = [[int(one), int(other), round(value, 2)] for one, other, value in why.pairs.tolist()]
    return {
        "variables": why.indices.tolist(),
        "names": why.names,
        "rows": rows,
        "moved": [why.all_names[j] for j in moved],
        "moves": moves,
        "pairs": pairs if why.interact else None,
    }


def _beyond(value: float, becomes: float) -> str:
    """What a value becomes, in four digits that are rounded away from the value: it still crosses the border."""
    if not becomes:
        return "0"
    unit = 10.0 ** (np.floor(np.log10(abs(becomes))) - 3)
    return short((np.ceil if becomes > value else np.floor)(becomes / unit) * unit)


def _group(content: Content, k: int) -> dict:
    return {
        "name": content.names[k],
        "own": content.named,
        "count": int(content.groups.counts[k]),
        "colour": svg.colour(k),
        "shape": svg.shape(k),
        "hollow": svg.hollow(k),
    }


def _names(content: Content) -> dict[int, str]:
    """The names of the variables that can be marked, by their numbers in the table."""
    names = {v.index: v.name for v in content.variables}
    names |= dict(zip(content.profile.indices.tolist(), content.profile.names, strict=True))
    names |= {e.index: e.name for w in content.words for e in [*w.high, *w.low]}
    names |= {r.index: r.name for r in content.roles.rows} if content.roles else {}
    for heat in (content.heat, content.heat_all):
        names |= {} if heat is None else dict(zip(heat.indices, heat.names, strict=True))
    if content.markers is not None:
        names |= {r.index: r.name for r in content.markers.rows}
        dots = content.markers.dots
        names |= {} if dots is None else dict(zip(dots.indices, dots.names, strict=True))
    return names | ({r.index: r.name for r in content.stability.rows} if content.stability else {})


def _short(values: np.ndarray) -> list:
    """Numbers with as many decimals as one part in 100,000 of their range needs."""
    values = np.asarray(values, float)
    spread = float(np.ptp(values)) if values.size else 0.0
    spread = spread or float(np.abs(values).max(initial=0)) or 1.0
    return np.round(values, int(5 - np.floor(np.log10(spread)))).tolist()
