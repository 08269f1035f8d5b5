"""The page of a segmented image: from its content to one HTML file. Maps and tables are static; buttons save them."""

from __future__ import annotations

from pathlib import Path

from ..._utils.wording import count
from .. import figures
from ..content import rows
from ..figures import svg
from ..page.document import asset, scripts, template, write_page
from .content import ImageContent, build_image
from .pictures import class_map, colour_map, group_colours, label_map, spectra_plot, uncertainty_map, viridis

__all__ = ["image_report", "render_image"]


def image_report(found, path, *, title=None) -> Path:
    """Write the page of a Segmentation to `path` and return the path; see `fisherem.report`."""
    return write_page(Path(path), render_image(build_image(found, title=title)))


def render_image(content: ImageContent) -> str:
    """The page as HTML text."""
    light, dark = group_colours(content.K)
    script, digest = scripts(("page.js", "legends.js", "saving.js"))
    return template("image.html").render(
        c=content,
        css=asset("page.css") + asset("image.css"),
        script=script,
        script_hash=digest,
        light=light,
        dark=dark,
        map_light=label_map(content.maps.labels, light),
        map_dark=label_map(content.maps.labels, dark) if dark != light else "",
        map_other="" if content.maps.other is None else label_map(content.maps.other, light),
        map_colours=colour_map(content.maps.colours, content.maps.shown),
        map_known="" if content.known is None else _known_map(content, light),
        map_known_dark="" if content.known is None or dark == light else _known_map(content, dark),
        map_doubt=uncertainty_map(content.maps.uncertainty),
        spectra=spectra_plot(content.spectra, content.names),
        scale=", ".join(viridis(9)),
        figures=figures,
        key=[_key(k) for k in range(content.K)],
        definitions=svg.definitions(),
        caveat=_caveat(content),
        doubt=rows.DOUBT,
    )


def _caveat(content: ImageContent) -> str:
    """What a picture that is taken from the page should say: the pixels, and whether the groups were checked."""
    size = f"{content.n:,} pixels in {count(content.K, 'group')}"
    if content.sure is None:
        return f"{size}; not checked on other pixels"
    refits = count(content.sure.n_refits, "refit")
    return f"{size}; on other pixels, a pixel is found in its group again in {content.sure.pixels:.0%} of {refits}"


def _known_map(content: ImageContent, colours: list[str]) -> str:
    assert content.known is not None
    return class_map(content.known.classes, content.known.comparison.group, colours)


def _key(k: int) -> str:
    """The mark of a group in its colour on this page."""
    inside = svg.mark(8, 8, k, style=f"--c:var(--m{k})")
    return svg.element("svg", inside, viewBox="0 0 16 16", width=16, height=16, aria_hidden="true", class_="key")
