"""Pictures of a segmented image: the groups, the uncertainty, the mean spectra with the selected bands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .places import MapPlace
from .style import PALETTE, Display, colormap_of, colours_of, legend_names, new_axes

__all__ = ["ColourViewDisplay", "LabelMapDisplay", "SpectraDisplay", "UncertaintyDisplay", "class_colours", "scale_bar"]

# For more groups than the palette has: evenly spaced in this map.
_MORE = "turbo"
_MASKED = (0.85, 0.85, 0.85)


def class_colours(n: int, palette=None) -> np.ndarray:
    """A colour per group: n x 3 values of red, green and blue in [0, 1]; `palette` as in `ProjectionDisplay.plot`."""
    import matplotlib
    from matplotlib.colors import to_rgb

    if palette is not None:
        return np.array([to_rgb(c) for c in colours_of(palette, n)])
    if n <= len(PALETTE):
        return np.array([to_rgb(c) for c in PALETTE[:n]])
    return np.asarray(matplotlib.colormaps[_MORE](np.linspace(0.05, 0.95, n)))[:, :3]


def _round_length(most: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above `most`."""
    power = 10.0 ** np.floor(np.log10(most))
    return float(power * max(f for f in (1, 2, 5) if f * power <= most * (1 + 1e-12)))


def scale_bar(columns: int, pixel_size: float | None, unit: str) -> tuple[float, str]:
    """(share of the map's width, text) of a bar of a round length, about a quarter of the width."""
    size, name = (1.0, "pixels") if pixel_size is None else (pixel_size, unit)
    length = _round_length(columns * size / 4)
    text = f"{length / 1000:g} km" if name == "m" and length >= 1000 else f"{length:g} {name}"
    return length / size / columns, text


def _map_axes(ax, shape, display):
    """Axes without ticks for a map of this shape, with the scale bar of the display."""
    height = float(np.clip(6 * shape[0] / shape[1], 3, 12))
    ax = new_axes(ax, (6 + 2.4, height + 0.6))
    ax.set_xticks([])
    ax.set_yticks([])
    share, text = scale_bar(shape[1], display.pixel_size, display.unit)
    ax.plot([0, share], [0, 0], transform=_below(ax, 0, -9), color="black", lw=3, clip_on=False)
    ax.text(0, 0, text, transform=_below(ax, 0, -13), va="top", fontsize=9)
    if display.place is not None:
        _draw_place(ax, shape, display.place)
    return ax


def _below(ax, right: float, up: float):
    """Coordinates of the axes (0 to 1), moved by points: what is drawn below a map does not depend on its height."""
    from matplotlib.transforms import offset_copy

    return offset_copy(ax.transAxes, ax.figure, x=right, y=up, units="points")


def _draw_place(ax, shape, place: MapPlace) -> None:
    """Coordinates along the upper and the left edge, those of the corners below a turned map, and an arrow to north."""
    right, up = place.north
    ax.annotate(
        "N", (0.97, 0), xycoords=_below(ax, 0, -24 - 11 * up), xytext=(22 * right, 22 * up), textcoords="offset points",
        ha="center", va="center", fontsize=9, annotation_clip=False, arrowprops={"arrowstyle": "<|-", "color": "black"},
    )  # fmt: skip
    columns, rows = place.ticks(shape)
    ax.xaxis.tick_top()
    ax.set_xticks([at for at, _ in columns], [text for _, text in columns], fontsize=7)
    ax.set_yticks([at for at, _ in rows], [text for _, text in rows], fontsize=7, rotation=90, va="center")
    said = place.corners(shape) if place.turned else place.system
    ax.text(0, 0, said, transform=_below(ax, 0, -28), va="top", fontsize=7)


@dataclass(repr=False)
class ColourViewDisplay(Display):
    """What a scene looks like: three bands as red, green and blue.

    Attributes
    ----------
    colours : ndarray of shape (rows, columns, 3), uint8
        The view.
    shown : ndarray of shape (rows, columns), bool
        The pixels that are shown; the others are masked.
    bands : tuple of 3 int
        The bands that are red, green and blue, from 0.
    names : list of 3 str
        Their names.
    natural : bool
        Whether these are the colours that the eye would see.
    pixel_size : float or None
        The size of a pixel in `unit`; None for a scale in pixels.
    unit : str
        The unit of `pixel_size`.
    place : MapPlace or None
        Coordinates and the direction of north.
    """

    colours: np.ndarray
    shown: np.ndarray
    bands: tuple[int, int, int]
    names: list[str]
    natural: bool
    pixel_size: float | None = None
    unit: str = ""
    place: MapPlace | None = None

    def __str__(self) -> str:
        """ "natural colours: red is 0.65 um, ..."."""
        kind = "natural colours" if self.natural else "false colours"
        channels = zip(("red", "green", "blue"), self.names, strict=True)
        return f"{kind}: " + ", ".join(f"{colour} is {name}" for colour, name in channels)

    def plot(self, ax=None):
        """The view with a scale bar; masked pixels are grey."""
        ax = _map_axes(ax, self.shown.shape, self)
        grey = np.round(255 * np.array(_MASKED)).astype(np.uint8)
        ax.imshow(np.where(self.shown[..., None], self.colours, grey), interpolation="nearest")
        ax.set_title(str(self), fontsize=9)
        self.ax_ = ax
        return self


@dataclass(repr=False)
class LabelMapDisplay(Display):
    """A map of the groups.

    Attributes
    ----------
    labels : ndarray of shape (rows, columns)
        The group of each pixel, from 0; -1 where masked.
    names : list of K str
        What the legend calls the groups.
    colours : ndarray of shape (K, 3)
        Their colours, in [0, 1].
    shares : ndarray of shape (K,)
        Their shares of the pixels that are not masked.
    pixel_size : float or None
        The size of a pixel in `unit`; None for a scale in pixels.
    unit : str
        The unit of `pixel_size`.
    place : MapPlace or None
        Coordinates and the direction of north.
    """

    labels: np.ndarray
    names: list[str]
    colours: np.ndarray
    shares: np.ndarray
    pixel_size: float | None = None
    unit: str = ""
    place: MapPlace | None = None

    @classmethod
    def from_labels(
        cls, labels, *, names=None, n_clusters=None, pixel_size=None, unit="", place=None
    ) -> LabelMapDisplay:
        """A map of labels (rows x columns, from 0, -1 where masked); names are "group 1", ... unless given."""
        K = int(labels.max()) + 1 if n_clusters is None else n_clusters
        counts = np.bincount(labels[labels >= 0], minlength=K)
        shares = counts / max(1, counts.sum())
        return cls(labels, legend_names(names, K), class_colours(K), shares, pixel_size, unit, place)

    def image(self, palette=None) -> np.ndarray:
        """rows x columns x 3, in the colours of `palette`; masked pixels are grey."""
        return np.concatenate([self._colours(palette), [_MASKED]])[self.labels]

    def _colours(self, palette) -> np.ndarray:
        return self.colours if palette is None else class_colours(len(self.colours), palette)

    def plot(self, ax=None, *, palette=None):
        """The map with a legend (groups and their shares) and a scale bar; `palette` as in `ProjectionDisplay.plot`."""
        from matplotlib.patches import Patch

        ax = _map_axes(ax, self.labels.shape, self)
        ax.imshow(self.image(palette), interpolation="nearest")
        handles = [
            Patch(color=colour, label=f"{name} ({share:.1%})")
            for colour, name, share in zip(self._colours(palette), self.names, self.shares, strict=True)
        ]
        if (self.labels < 0).any():
            handles.append(Patch(color=_MASKED, label="masked"))
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
        self.ax_ = ax
        return self


@dataclass(repr=False)
class UncertaintyDisplay(Display):
    """A map of the uncertainty: `values` (rows x columns) are 1 - the largest posterior, NaN where masked.

    `pixel_size`, `unit` and `place` are as in `LabelMapDisplay`.
    """

    values: np.ndarray
    pixel_size: float | None = None
    unit: str = ""
    place: MapPlace | None = None

    @classmethod
    def from_posteriors(cls, posteriors, *, pixel_size=None, unit="", place=None) -> UncertaintyDisplay:
        """A map of posteriors (rows x columns x K, NaN where masked)."""
        return cls(1 - posteriors.max(axis=2), pixel_size, unit, place)

    def plot(self, ax=None, *, palette=None):
        """The map with its colour scale from 0 to 1 - 1/2, beyond which no group holds the majority.

        `palette` is the name of a matplotlib colormap; the default is "viridis".
        """
        ax = _map_axes(ax, self.values.shape, self)
        colours = colormap_of(palette, "viridis").with_extremes(bad=_MASKED)
        image = ax.imshow(np.ma.masked_invalid(self.values), cmap=colours, vmin=0, vmax=0.5, interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, label="uncertainty (1 - largest posterior)", shrink=0.8, extend="max")
        self.ax_ = ax
        return self


@dataclass(repr=False)
class SpectraDisplay(Display):
    """The mean spectra of the groups with the selected bands, as in the paper's figure.

    Attributes
    ----------
    positions : ndarray of shape (bands,)
        The wavelengths, or the numbers of the bands from 1.
    spectra : ndarray of shape (K, bands)
        The mean spectra; NaN where a band was left out.
    selected : ndarray of shape (bands,), bool
        The bands that make the groups.
    names : list of K str
        What the legend calls the groups.
    label : str
        What the positions are.
    values : str
        What the spectra are.
    """

    positions: np.ndarray
    spectra: np.ndarray
    selected: np.ndarray
    names: list[str]
    label: str
    values: str = "mean value"

    @classmethod
    def from_spectra(
        cls, spectra, selected, wavelengths=None, units="", *, names=None, values="mean value"
    ) -> SpectraDisplay:
        """Spectra (K x bands) over wavelengths in `units`, or over the bands' numbers if there are none."""
        K, p = spectra.shape
        positions = np.arange(1, p + 1) if wavelengths is None else np.asarray(wavelengths)
        label = "band" if wavelengths is None else f"wavelength ({units})" if units else "wavelength"
        return cls(positions, spectra, selected, legend_names(names, K), label, values)

    def plot(self, ax=None, *, palette=None):
        """A line per group; a grey bar per selected band, as wide as the spacing of the bands.

        `palette` has the colours of the groups (see `ProjectionDisplay.plot`).
        """
        ax = new_axes(ax, (9, 5))
        order = np.argsort(self.positions, kind="stable")
        width = float(np.median(np.diff(self.positions[order])))
        for x in self.positions[self.selected]:
            ax.axvspan(x - width / 2, x + width / 2, color="0.75", lw=0, zorder=0)
        for spectrum, name, colour in zip(
            self.spectra, self.names, class_colours(len(self.spectra), palette), strict=True
        ):
            ax.plot(self.positions[order], spectrum[order], color=colour, lw=1.4, label=name)
        ax.set_xlabel(self.label)
        ax.set_ylabel(self.values)
        ax.set_title(f"{int(self.selected.sum())} of {len(self.selected)} bands selected (grey)", fontsize=10)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)  # "best" is slow with many bands
        self.ax_ = ax
        return self
