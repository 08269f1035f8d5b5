"""What the page of a segmented image shows, as plain data: computed first, drawn afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._utils.wording import ranges
from ...core.data.problem import AUTO_RIDGE
from ...plots.maps import scale_bar
from ..content import rows
from ..content.criteria import CriterionRow, criteria
from ..page.table_content import page_date
from ..text import clean, integer, number
from ..words.certainty import Certainty, certainty
from ..words.facts import facts, made_by_selected
from ..words.how_chosen import SearchWords, search_of
from ..words.how_many import JoinRow, VerdictPart, in_words, joins_of, verdict_of
from .pictures import Spectra, reduce_colours, reduce_map

__all__ = ["Band", "ImageContent", "Known", "Maps", "build_image"]

# Selected bands with a row in the table.
MAX_BANDS = 100


@dataclass
class Maps:
    """`labels` and `uncertainty` (rows x columns) as drawn: each of their pixels stands for `factor` x `factor` pixels
    of the image. `scale` is the scale bar's share of the width, and its text. `colours` (rows x columns x 3) is the
    view of the scene, `shown` which of its pixels are, `view` what its colours mean. `other` has the labels of another
    way to treat the pixels, where they differ much. `corners` has the coordinates of two corners, `north` the angle of
    north from upwards, clockwise in degrees; "" and None where the file does not say."""

    labels: np.ndarray
    uncertainty: np.ndarray
    factor: int
    scale: tuple[float, str]
    colours: np.ndarray
    shown: np.ndarray
    view: str
    other: np.ndarray | None = None
    corners: str = ""
    north: float | None = None


@dataclass
class Known:
    """The map against known classes: `classes` (rows x columns) as drawn, and the `comparison` with its table."""

    classes: np.ndarray
    comparison: Any


@dataclass
class Band:
    """A selected band: number from 1, its name or wavelength, size of its loadings, mean value in each group.

    `instead` says which contiguous bands could take its place, `redundant` which around it add nothing;
    `reproducibility` is the share of the refits that selected it, None where that was not counted.
    """

    number: int
    name: str
    size: float
    means: np.ndarray
    instead: str = ""
    redundant: str = ""
    reproducibility: float | None = None

    @property
    def around(self) -> bool:
        """Whether there is something to say of its neighbours."""
        return bool(self.instead or self.redundant)


@dataclass
class ImageContent:
    """What the page of an image shows: `n` valid pixels of an image of `shape`, `p` bands, of which `n_used` were left
    after cleaning and `n_selected` were selected, and a part per section.

    `sure` is what was found again on other pixels, `exchanged` (how many selected bands a neighbour could replace, how
    many were looked at), `said` what was done to groups and bands after they were found; None or empty where there is
    nothing to say. `features` are (group, position, depth, where, selected bands) of absorption features, `identified`
    (group, way, nearest library spectrum, runner-up)."""

    title: str
    created: str
    shape: tuple[int, int]
    n: int
    p: int
    n_used: int
    n_selected: int
    K: int
    model: str
    converged: bool
    names: list[str]
    groups: rows.GroupSizes
    n_doubts: int
    refitted: bool
    certainty: Certainty
    maps: Maps
    spectra: Spectra
    bands: list[Band]
    facts: list[tuple[str, str]]
    criteria: list[CriterionRow]
    notes: list[str]
    search: SearchWords | None
    verdict: VerdictPart | None
    known: Known | None
    sure: Any
    exchanged: tuple[int, int] | None
    said: list[str]
    features: list[tuple[int, float, float, str, str]]
    identified: list[tuple[int, str, str, str]]
    joins: list[JoinRow]
    made_by_selected: bool
    usage: str


def build_image(found, *, title=None) -> ImageContent:
    """The content of the page of a Segmentation."""
    valid = found.labels >= 0
    posteriors = found.posteriors[valid]
    fitted, cube = found.model, found.cube
    n, K = posteriors.shape
    doubtful = found.in_doubt[valid]
    sure = certainty(float(posteriors.max(axis=1).mean()), K, n, found.cleaning.used_bands, ("pixel", "band"))
    labels, uncertainty, factor = reduce_map(found.labels, found.uncertainty, K)
    return ImageContent(
        title=clean(title, 160) if title else _title(cube.path),
        created=page_date(),
        shape=found.labels.shape,
        n=n,
        p=len(found.support),
        n_used=found.cleaning.used_bands,
        n_selected=int(found.support.sum()),
        K=K,
        model=fitted.model_,
        converged=bool(fitted.converged_),
        names=[clean(name) for name in found.group_names],
        groups=rows.groups(posteriors, fitted.weights_, in_doubt=doubtful),
        n_doubts=int(doubtful.sum()),
        refitted=found.agreement is not None,
        certainty=sure,
        maps=Maps(
            labels,
            uncertainty,
            factor,
            scale_bar(found.labels.shape[1], *found.pixel_size),
            *reduce_colours(found.colours.colours, found.colours.shown),
            clean(str(found.colours).replace(" um", " µm"), 200),
            _other(found, K),
            *_where(found),
        ),
        spectra=_spectra(found),
        bands=_bands(found),
        facts=_facts(found, n),
        criteria=criteria(fitted),
        notes=[*_notes(found.cleaning), *([] if found.normalisation is None else [str(found.normalisation)])],
        search=None if found.search is None else search_of(found.search),
        verdict=None if found.search is None else verdict_of(found.search, ("pixels", "bands")),
        known=_known(found),
        sure=found.stability,
        exchanged=_exchanged(found),
        said=[_sentence(note) for note in found.notes],
        features=_features(found),
        identified=_identified(found),
        joins=[] if sure.saturated else joins_of(posteriors),
        made_by_selected=made_by_selected(fitted),
        usage=_usage(found),
    )


def _other(found, K: int) -> np.ndarray | None:
    """The map of the other way to treat the pixels, as drawn."""
    choice = found.normalisation
    if choice is None or choice.other is None:
        return None
    return reduce_map(choice.other, np.where(choice.other < 0, np.nan, 0.0), K)[0]


def _where(found) -> tuple[str, float | None]:
    """The coordinates of two corners, and the angle of north from upwards."""
    place = found.place
    if place is None:
        return "", None
    right, up = place.north
    return clean(place.corners(found.labels.shape), 200), float(np.degrees(np.arctan2(right, up)))


def _known(found) -> Known | None:
    comparison = found.comparison
    if comparison is None:
        return None
    empty = np.where(comparison.classes < 0, np.nan, 0.0)
    return Known(reduce_map(comparison.classes, empty, len(comparison.names))[0], comparison)


def _exchanged(found) -> tuple[int, int] | None:
    """How many of the selected bands have neighbours that could take their place, of how many."""
    if not found.exchanges:
        return None
    return sum(bool(exchange.instead) for exchange in found.exchanges), len(found.exchanges)


# Absorption features of a group with a row in the table.
MAX_FEATURES = 6


def _features(found) -> list[tuple[int, float, float, str, str]]:
    table, names = found.features_table(), found.group_names
    return [
        (names.index(row.group), row.position, row.depth, f"{row[4]:.4g}–{row[5]:.4g}", row.selected_bands)
        for row in table.groupby("group", sort=False).head(MAX_FEATURES).itertuples()
    ]


def _identified(found) -> list[tuple[int, str, str, str]]:
    if found.identified is None:
        return []

    def shown(name: str, value: float, unit: str) -> str:
        return f"{clean(name, 60)} ({value:.3g}{unit})" if name else "–"

    rows = []
    for row in found.identified.table().itertuples():
        unit = "°" if row.by == "spectral angle" else ""
        pair = shown(row.nearest, row.value, unit), shown(row.runner_up, row.runner_up_value, unit)
        rows.append((found.group_names.index(row.group), row.by, *pair))
    return rows


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."


def _stretch(found, bands: tuple[int, ...]) -> str:
    """Contiguous bands (from 0) as people read them: "41–47 (1.82–1.9 µm)"."""
    if not bands:
        return ""
    text = ranges(b + 1 for b in bands).replace("-", "–")
    if found.wavelengths is None:
        return text
    waves, units = np.asarray(found.wavelengths)[list(bands)], found.cube.units.replace("um", "µm")
    shown = f"{waves.min():.4g}" if len(bands) == 1 else f"{waves.min():.4g}–{waves.max():.4g}"
    return f"{text} ({shown} {units})".replace(" )", ")")


def _facts(found, n: int) -> list[tuple[str, str]]:
    """What was fitted; what `segment` decided comes before the versions."""
    words = ("pixels", "bands")
    pairs = facts(found.model, n, found.cleaning.used_bands, words)
    decided = [(one.decision.capitalize(), in_words(f"{one.choice}: {one.reason}", words)) for one in found.decided]
    if found.spatial and not decided:  # the groups of another scene
        decided = [("Spatial prior", f"strength {number(found.spatial)}")]
    return [*pairs[:-1], *decided, *pairs[-1:]]


def _title(path: str) -> str:
    return clean(f"{Path(path).name}: groups and the bands that make them" if path else "A map of groups", 160)


def _spectra(found) -> Spectra:
    """The mean spectra by ascending wavelength: files of overlapping detectors do not store them in that order."""
    units = found.cube.units.replace("um", "µm")
    if found.wavelengths is None:
        positions, label = np.arange(1, len(found.support) + 1), "band"
    else:
        positions, label = np.asarray(found.wavelengths), f"wavelength ({units})" if units else "wavelength"
    order = np.argsort(positions, kind="stable")
    return Spectra(positions[order].astype(float), found.mean_spectra[:, order], found.support[order], label)


def _bands(found) -> list[Band]:
    """The selected bands, largest loadings first."""
    table, names = found.bands_table().head(MAX_BANDS), found.cube.names()
    if found.wavelengths is not None:
        units = found.cube.units.replace("um", "µm")
        given = found.cube.band_names
        names = [f"{w:.5g} {units}".strip() for w in found.wavelengths]
        names = names if given is None else [f"{name} ({w})" for name, w in zip(given, names, strict=True)]
    exchanges = {exchange.band: exchange for exchange in found.exchanges}
    shares = None if found.stability is None else found.stability.bands
    listed = []
    for band, size in zip(table["band"].to_numpy() - 1, table["loading"], strict=True):
        own = exchanges.get(int(band))
        around = ("", "") if own is None else (_stretch(found, own.instead), _stretch(found, own.redundant))
        share = None if shares is None else float(shares[band])
        means = found.mean_spectra[:, band]
        listed.append(Band(int(band) + 1, clean(names[band], 60), float(size), means, *around, share))
    return listed


def _notes(cleaning) -> list[str]:
    used = (
        f"{integer(cleaning.used_pixels)} of {integer(cleaning.n_pixels)} pixels and "
        f"{integer(cleaning.used_bands)} of {integer(cleaning.n_bands)} bands were used"
    )
    left_out = [f"{integer(count)} {what}" for what, count in cleaning.lines()]
    return [used, *left_out, *cleaning.done()]


def _usage(found) -> str:
    """Python that makes the map again."""
    fitted, cleaning = found.model, found.cleaning
    source = repr(Path(found.cube.path).name) if found.cube.path else "cube"
    sparse = hasattr(fitted, "sparsity")
    options = [f"model={fitted.model_!r}", f"method={fitted.method!r}" if sparse else "method=None"]
    if sparse:
        options.append(f"sparsity={np.asarray(fitted.sparsity).tolist()!r}")
    if fitted.ridge != AUTO_RIDGE:
        options.append(f"ridge={fitted.ridge!r}")
    options += [f"spatial={found.spatial:.3g}"] * bool(found.spatial)
    options += ["bands=..."] * bool(cleaning.bands_not_asked) + ["mask=..."] * bool(cleaning.masked_by_request)
    options += ["separate_bands=True"] * found.moved
    options += ["min_size=..."] * found.shrunk + ["truth=..."] * (found.comparison is not None)
    options += [f"normalise={cleaning.normalised!r}"] + ["standardise=True"] * cleaning.standardised
    return "\n".join(
        [
            "from fisherem.images import segment",
            "",
            f"found = segment({source}, {_numbers(found)}, {', '.join(options)})",
            "found.labels  # rows x columns, -1 where masked",
            "found.posteriors  # rows x columns x groups",
            "found.bands_table()  # the selected bands",
            "found.mean_spectra  # groups x bands",
            'found.save("out")  # maps, tables and this page',
        ]
    )


def _numbers(found) -> str:
    """The number of groups as `segment` was asked for it: a verdict also chooses the bands, so it is asked again."""
    judged = found.search is not None and hasattr(found.search, "verdict_")
    return repr(found.search.n_clusters) if judged else str(found.n_clusters)
