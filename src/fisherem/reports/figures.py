"""The page's still pictures: box plots, profiles, criterion curves. Data in, SVG text out.

Pictures wider than a phone are drawn twice, wide and narrow, and the style sheet shows the one that fits: text keeps
its size then.
"""

from __future__ import annotations

import numpy as np

from . import svg
from .how_chosen import Path, Search
from .svg import Scale, element, label, labelled, mark, polyline, text, ticks
from .variables import Profile, Variable

__all__ = ["box_plot", "criterion_lines", "legend_mark", "path_panels", "profile_plot"]

WIDE, NARROW = 880, 340
# Up to here the profile lists every variable by name; beyond it is a curve.
MAX_NAMED = 40


def _both(draw, *args) -> str:
    return "".join(
        f'<div class="{name}">{draw(width, *args)}</div>' for name, width in (("wide", WIDE), ("narrow", NARROW))
    )


def _shorten(name: str, limit: int) -> str:
    return name if len(name) <= limit else name[: limit - 1] + "…"


def padded(values: np.ndarray, share: float = 0.05) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = share * (high - low) or 0.5 * abs(high) or 0.5
    return low - margin, high + margin


def legend_mark(k: int) -> str:
    return element("svg", mark(8, 8, k), viewBox="0 0 16 16", width=16, height=16, aria_hidden="true", class_="key")


def box_plot(variable: Variable) -> str:
    """A box per group: quartiles and median, whiskers from the 5% to the 95% quantile."""
    q = variable.quantiles
    assert q is not None
    K, row, left, right, width = len(q), 18, 26, 8, 300
    low, high = padded(q)
    x = Scale(low, high, left, width - right)
    bottom = 4 + K * row
    parts = []
    for value, shown in labelled(ticks(low, high, 4)):
        parts.append(element("line", x1=x(value), x2=x(value), y1=2, y2=bottom, class_="grid"))
        parts.append(text(x(value), bottom + 13, shown, text_anchor="middle", class_="tick"))
    for k in range(K):
        y = 4 + row * (k + 0.5)
        parts.append(mark(10, y, k))
        if not np.isfinite(q[k]).all():
            parts.append(text(left + 4, y + 4, "no rows", class_="tick"))
            continue
        a, b, median, c, e = (x(v) for v in q[k])
        group = element("line", x1=a, x2=e, y1=y, y2=y, class_="whisker")
        group += element("rect", x=b, y=y - 5, width=max(c - b, 0.5), height=10, rx=1.5, class_="box")
        group += element("line", x1=median, x2=median, y1=y - 6.5, y2=y + 6.5, class_="median")
        parts.append(element("g", group, class_=f"g{svg.colour(k)}"))
    medians = ", ".join(f"group {k} {label(m)}" for k, m in enumerate(q[:, 2]) if np.isfinite(m))
    alt = f"Distribution of {variable.name} in each group; medians: {medians}"
    return svg.figure(width, bottom + 20, "".join(parts), alt, style="max-width:420px")


def profile_plot(profile: Profile) -> str:
    return _both(_named_profile if profile.n_variables <= MAX_NAMED else _curve_profile, profile)


def _named_profile(width: int, profile: Profile) -> str:
    """A line per variable with the group means as marks; selected variables bold, with a band behind."""
    assert profile.names is not None
    K, p = profile.values.shape
    characters = 30 if width == WIDE else 15
    left = 24 + 7.8 * min(max(len(name) for name in profile.names), characters)
    marked = profile.selected & (not profile.selected.all())  # a mark on every line would say nothing
    row, top = 24, 22
    x = Scale(*padded(profile.values), left + 8, width - 10)
    bottom = top + p * row
    parts = [
        element("rect", x=0.0, y=top + row * j + 1.0, width=float(width), height=row - 2.0, rx=4, class_="band")
        for j in np.flatnonzero(marked)
    ]
    for value, shown in labelled(ticks(x.low, x.high, 8 if width == WIDE else 4)):
        kind = "zero" if value == 0 else "grid"
        parts.append(element("line", x1=x(value), x2=x(value), y1=top, y2=bottom, class_=kind))
        parts += [text(x(value), y, shown, text_anchor="middle", class_="tick") for y in (top - 8, bottom + 15)]
    for j, name in enumerate(profile.names):
        y = top + row * (j + 0.5)
        chosen = bool(profile.selected[j])
        words = element("title", svg.escape(name)) + svg.escape(_shorten(name, characters))
        parts.append(element("text", words, x=20, y=y + 4, class_="name selected" if marked[j] else "name"))
        if marked[j]:
            parts.append(element("circle", cx=10, cy=y, r=3.5, class_="dot"))
        values = profile.values[:, j]
        parts.append(element("line", x1=x(values.min()), x2=x(values.max()), y1=y, y2=y, class_="span"))
        parts += [mark(x(values[k]), y, k, class_="" if chosen else "faint") for k in range(K)]
    return svg.figure(width, bottom + 22, "".join(parts), _profile_alt(profile))


def _curve_profile(width: int, profile: Profile) -> str:
    """A curve per group over the variables in the order of the table; selected ones ticked below."""
    K, m = profile.values.shape
    height, top, left = (310 if width == WIDE else 270), 10, 44
    bottom = height - 52
    chosen = [] if profile.selected.all() else [int(i) for i in np.flatnonzero(profile.selected)]
    x = Scale(0, m - 1, left, width - 12)
    low, high = padded(profile.values)
    y = Scale(low, high, bottom, top)
    parts = []
    for value, shown in labelled(ticks(low, high, 5)):
        kind = "zero" if value == 0 else "grid"
        parts.append(element("line", x1=left, x2=width - 12, y1=y(value), y2=y(value), class_=kind))
        parts.append(text(left - 6, y(value) + 4, shown, text_anchor="end", class_="tick"))
    spot = Scale(0, profile.n_variables - 1, left, width - 12)
    for value, shown in labelled(ticks(0, profile.n_variables - 1, 6 if width == WIDE else 3)):
        parts.append(text(spot(value), bottom + 30, shown, text_anchor="middle", class_="tick"))
    rug = "".join(f"M{x(float(i)):.1f},{bottom + 4}v10" for i in chosen)
    parts += [element("path", d=rug, class_="rug")] if chosen else []
    xs = [x(i) for i in range(m)]
    for k in range(K):
        ys = [y(v) for v in profile.values[k]]
        parts.append(polyline(xs, ys, class_=f"curve g{svg.colour(k)}{' thin' if m > 150 else ''}", style=_dash(k)))
        # marks tell the curves apart without colour: at the selected variables, or one somewhere on each curve
        places = chosen if 0 < len(chosen) <= MAX_NAMED else [(2 * k + 1) * m // (2 * K)]
        parts += [mark(xs[i], ys[i], k) for i in places]
    title = "number of the variable, from 0"
    parts.append(text((left + width) / 2, height - 1, title, text_anchor="middle", class_="axis"))
    return svg.figure(width, height + 4, "".join(parts), _profile_alt(profile))


def _dash(k: int) -> str:
    return "" if k < 8 else "stroke-dasharray:5 3"


def _profile_alt(profile: Profile) -> str:
    K = len(profile.values)
    return (
        f"Means of {K} group{'s' * (K > 1)} over {profile.n_variables} variables in standard deviations from the "
        f"overall mean; the selected variables are marked"
    )


def criterion_lines(search: Search) -> str:
    return _both(_criterion_lines, search)


def ranked_models(search: Search) -> list[str]:
    """Models by their best criterion, best first."""
    best = search.values.max(axis=1)
    return [str(m) for m in best.sort_values(ascending=False, kind="stable").index]


def _criterion_lines(width: int, search: Search) -> str:
    """Criterion against K: the five best models in colour, the others grey; the best dense fit ringed."""
    height, top, left, right = 300, 10, 66, 14
    bottom = height - 42
    table = search.values.to_numpy(float)
    Ks = [int(K) for K in search.values.columns]
    x = Scale(min(Ks) - 0.25, max(Ks) + 0.25, left, width - right)
    low, high = padded(table)
    y = Scale(low, high, bottom, top)
    parts = []
    for value, shown in labelled(ticks(low, high, 5)):
        parts.append(element("line", x1=left, x2=width - right, y1=y(value), y2=y(value), class_="grid"))
        parts.append(text(left - 6, y(value) + 4, shown, text_anchor="end", class_="tick"))
    parts += [text(x(K), bottom + 18, str(K), text_anchor="middle", class_="tick") for K in Ks]
    order = ranked_models(search)
    rows = {str(name): i for i, name in enumerate(search.values.index)}
    for rank, model in reversed(list(enumerate(order))):
        found = [(x(K), y(v)) for K, v in zip(Ks, table[rows[model]], strict=True) if np.isfinite(v)]
        if not found:
            continue
        xs, ys = zip(*found, strict=True)
        kind = f"g{svg.colour(rank)}" if rank < 5 else "rest"
        parts.append(polyline(xs, ys, class_=f"curve {kind}"))
        if rank < 5:
            parts += [mark(a, b, rank) for a, b in found]
    K, model = search.best_dense
    parts.append(element("circle", cx=x(K), cy=y(table[rows[model], Ks.index(K)]), r=9, class_="ring"))
    parts.append(text((left + width) / 2, height - 4, "number of groups K", text_anchor="middle", class_="axis"))
    alt = f"{search.criterion.upper()} against the number of groups for {len(order)} models; best: {model}, K = {K}"
    return svg.figure(width, height, "".join(parts), alt)


def path_panels(path: Path) -> str:
    return _both(_path_panels, path)


def _path_panels(width: int, path: Path) -> str:
    """Three panels over the share of the l1 norm: criterion, number of variables, loadings of the largest."""
    left, right, panel, gap = 66, 14, 150, 34
    shares = [s for line in path.lines.values() for s, _, _ in line]
    x = Scale(min(shares), max(shares), left, width - right, log=True)
    steps = [v for v in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if x.low <= v <= x.high]
    words = path.criterion.replace("selection_", "").upper() + (" of the selection" * ("selection" in path.criterion))
    curves = [
        (words, [(name, [(s, c) for s, c, _ in line]) for name, line in path.lines.items()]),
        ("selected variables", [(name, [(s, v) for s, _, v in line]) for name, line in path.lines.items()]),
        ("size of the loadings", [(n, list(zip(path.shares, v, strict=True))) for n, v in path.sizes]),
    ]
    parts = []
    for i, (title, lines) in enumerate(curves):
        top = 20 + i * (panel + gap)
        low, high = padded(np.array([v for _, line in lines for _, v in line]))
        y = Scale(low if i == 0 else 0.0, high, top + panel, top)
        parts.append(text(left, top - 7, title, class_="axis"))
        for value, shown in labelled(ticks(y.low, y.high, 4)):
            parts.append(element("line", x1=left, x2=width - right, y1=y(value), y2=y(value), class_="grid"))
            parts.append(text(left - 6, y(value) + 4, shown, text_anchor="end", class_="tick"))
        parts.append(element("line", x1=x(path.chosen), x2=x(path.chosen), y1=top, y2=top + panel, class_="chosen"))
        for k, (name, line) in enumerate(lines):
            xs, ys = [x(s) for s, _ in line], [y(v) for _, v in line]
            main = i == 2 or name == path.weighting
            number = k if i == 2 else 0
            kind = f"curve g{svg.colour(number)}" if main else "curve rest"
            parts.append(polyline(xs, ys, class_=kind))
            if main:
                parts += [mark(a, b, number, class_="small") for a, b in zip(xs, ys, strict=True)]
    bottom = 20 + 3 * panel + 2 * gap
    parts += [
        text(x(v), bottom + 18, f"{v:g}", text_anchor="middle", class_="tick") for v in steps[:: _every(steps, width)]
    ]
    parts.append(
        text((left + width) / 2, bottom + 36, "sparsity (share of the l1 norm)", text_anchor="middle", class_="axis")
    )
    alt = f"Criterion, number of selected variables and loadings along the sparsity path; chosen: {path.chosen:.3g}"
    return svg.figure(width, bottom + 44, "".join(parts), alt)


def _every(steps: list[float], width: int) -> int:
    return 2 if width == NARROW and len(steps) > 6 else 1
