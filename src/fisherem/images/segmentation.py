"""The result of segmenting a cube: the map, its uncertainty, the selected bands and the mean spectra."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._utils.wording import group_name, ranges
from ..plots.maps import ColourViewDisplay, LabelMapDisplay, SpectraDisplay, UncertaintyDisplay
from ..plots.places import MapPlace
from ..policy.decisions import Decision, decisions_of, decisions_table
from ..reports.content.rows import DOUBT
from ..reports.images.page import image_report
from .cleaning_report import CleaningReport
from .colours import colour_bands, colour_view
from .continuum import Feature, continuum_removed, features
from .cube import Cube
from .georeference import crs_name, pixel_size
from .identify import Identified, identify
from .library import Library, read_library
from .normalising import Normalisation
from .sample_stability import PixelStability
from .separating import Exchange
from .truth import Comparison
from .units import wavelength_units
from .write import WRITERS

if TYPE_CHECKING:
    from .scene_model import SceneModel

__all__ = ["Segmentation"]


@dataclass(frozen=True)
class Segmentation:
    """The groups of the pixels of a cube.

    labels (rows x columns, -1 where masked) · posteriors (rows x columns x K, NaN where masked) · support (bool,
    bands) · mean_spectra (K x bands, in the cube's units, NaN for bands that were left out) · model, the estimator
    fitted to the bands that were used · cleaning · cube · search, the ModelSearch if the number of groups was chosen
    (`search.verdict_` has its certainty) · spatial, the final strength of the spatial prior · normalisation, the choice
    of normalise="auto", or None · comparison with a ground truth, or None · stability of groups and bands on a sample
    of pixels, or None · exchanges, the bands that could replace each selected band · notes about changes to the groups
    and bands after the fit · rgb, the bands of the colour view if they were given · shrunk, whether small groups were
    dissolved · moved, whether bands were exchanged for others that are further apart · bands, the numbers in the cube
    of the model's columns · scene_model, what other scenes need (`predict`) · identified, the groups against a spectral
    library, or None · agreement (rows x columns, NaN where masked), the share of six refits to halves of a sample of
    the pixels that put each pixel into the same group; None for one group and for the groups of another scene ·
    decided, what `segment` decided by itself, the first rows of `decisions_`.
    """

    labels: np.ndarray = field(repr=False)
    posteriors: np.ndarray = field(repr=False)
    support: np.ndarray = field(repr=False)
    mean_spectra: np.ndarray = field(repr=False)
    model: Any
    cleaning: CleaningReport
    cube: Cube = field(repr=False)
    search: Any = field(default=None, repr=False)
    spatial: float = 0.0
    normalisation: Normalisation | None = field(default=None, repr=False)
    comparison: Comparison | None = field(default=None, repr=False)
    stability: PixelStability | None = field(default=None, repr=False)
    exchanges: list[Exchange] = field(default_factory=list, repr=False)
    notes: tuple[str, ...] = ()
    rgb: tuple[int, int, int] | None = field(default=None, repr=False)
    shrunk: bool = field(default=False, repr=False)
    moved: bool = field(default=False, repr=False)
    bands: np.ndarray = field(default_factory=lambda: np.zeros(0, int), repr=False)
    scene_model: SceneModel | None = field(default=None, repr=False)
    identified: Identified | None = field(default=None, repr=False)
    agreement: np.ndarray | None = field(default=None, repr=False)
    decided: tuple[Decision, ...] = field(default=(), repr=False)

    @property
    def decisions_(self) -> pd.DataFrame:
        """How the map was made: a row per decision (decision, choice, alternatives, reason).

        First how the pixels were divided, the ridge, the number of groups and the spatial prior, as far as they apply;
        then what the fit of the model decided.
        """
        return decisions_table([*self.decided, *decisions_of(self.model.decisions_)])

    @property
    def n_clusters(self) -> int:
        """The number of groups K."""
        return self.posteriors.shape[2]

    @property
    def wavelengths(self) -> np.ndarray | None:
        """The cube's wavelengths (bands); None where its file has none."""
        return self.cube.wavelengths

    @property
    def selected_bands(self) -> np.ndarray:
        """Numbers of the selected bands, from 0."""
        return np.flatnonzero(self.support)

    @property
    def uncertainty(self) -> np.ndarray:
        """1 - the largest posterior (rows x columns); NaN where masked."""
        return 1 - self.posteriors.max(axis=2)

    @property
    def in_doubt(self) -> np.ndarray:
        """The pixels (bool, rows x columns) that a refit puts into another group; without refits those whose largest
        posterior is below 0.9. Masked ones are not in doubt."""
        if self.agreement is None:
            return self.uncertainty > 1 - DOUBT
        return self.agreement < 1

    @cached_property
    def colours(self) -> ColourViewDisplay:
        """The colour view of the scene: three bands as red, green and blue (rows x columns x 3)."""
        used = np.isfinite(self.mean_spectra).any(axis=0)
        bands, natural = colour_bands(self.cube, used) if self.rgb is None else (self.rgb, False)
        shown = self.labels >= 0
        size, unit = self.pixel_size
        names = [f"band {b + 1}" for b in bands]
        if self.wavelengths is not None:
            names = [f"{self.wavelengths[b]:.4g} {self.cube.units}".strip() for b in bands]
        return ColourViewDisplay(
            colour_view(self.cube, bands, shown), shown, bands, names, natural, size, unit, self.place
        )

    @property
    def group_names(self) -> list[str]:
        """The names of the K groups: those of `named`, else "group 1", "group 2", ..."""
        if self.scene_model is not None:
            return list(self.scene_model.class_names)
        return [group_name(k) for k in range(self.n_clusters)]

    def _applicable(self) -> SceneModel:
        if self.scene_model is None:
            raise ValueError("this segmentation was made without a model for other scenes: make it with segment(...)")
        return self.scene_model

    def named(self, names) -> Segmentation:
        """The same with these names of the groups, which maps, tables, pages and the model file then carry."""
        model = self._applicable().renamed(names)
        again = None if self.identified is None else replace(self.identified, groups=model.class_names)
        return replace(self, scene_model=model, identified=again)

    @property
    def positions(self) -> np.ndarray:
        """What spectra are drawn over: the wavelengths, or the numbers of the bands from 1."""
        return (
            np.arange(1.0, len(self.support) + 1) if self.wavelengths is None else np.asarray(self.wavelengths, float)
        )

    @cached_property
    def continuum_removed(self) -> np.ndarray:
        """The mean spectra (K x bands) divided by their continua, the upper convex hulls; NaN for bands left out."""
        return np.array([continuum_removed(self.positions, spectrum) for spectrum in self.mean_spectra])

    def features(self) -> list[list[Feature]]:
        """The absorption features of each group's mean spectrum, deepest first."""
        return [features(self.positions, spectrum) for spectrum in self.continuum_removed]

    def features_table(self) -> pd.DataFrame:
        """One row per absorption feature of a group, deepest first: position and depth of its lowest point, the
        wavelengths between which it lies, and the selected bands (numbers from 1) among them."""
        rows = []
        for name, own in zip(self.group_names, self.features(), strict=True):
            for feature in own:
                inside = self.support & (self.positions >= feature.left) & (self.positions <= feature.right)
                rows.append((name, feature.position, feature.depth, feature.left, feature.right,
                             _numbers(tuple(np.flatnonzero(inside)))))  # fmt: skip
        return pd.DataFrame(rows, columns=["group", "position", "depth", "from", "to", "selected_bands"])

    def identify(self, library) -> Segmentation:
        """The same with the nearest spectra of a library (a `Library`, or a .csv or .sli file; see `read_library`) for
        each group, by spectral angle and by the fit of absorption features: `identified.table()`."""
        known = library if isinstance(library, Library) else read_library(library)
        found = identify(self.mean_spectra, self.wavelengths, self._units, known, self.group_names)
        return replace(self, identified=found)

    @property
    def _units(self) -> str:
        return "" if self.wavelengths is None else wavelength_units(self.cube.units, self.wavelengths)

    def predict(
        self,
        source,
        *,
        mask=None,
        truth=None,
        tolerance: float | None = None,
        resample: bool = False,
        rgb=None,
        keep=(),
        library=None,
        memory=None,
    ) -> Segmentation:
        """The groups of the pixels of another scene, cleaned and normalised as this one: see `SceneModel.predict`."""
        return self._applicable().predict(
            source, mask=mask, truth=truth, tolerance=tolerance, resample=resample, rgb=rgb, keep=keep,
            library=library, memory=memory,
        )  # fmt: skip

    def spectra_table(self) -> pd.DataFrame:
        """One row per band: number (from 1), name, wavelength, whether it is selected, the groups' means."""
        bands = np.arange(len(self.support))
        table = {"band": bands + 1, "name": self.cube.names()}
        if self.wavelengths is not None:
            table[f"wavelength_{self.cube.units}" if self.cube.units else "wavelength"] = self.wavelengths
        table["selected"] = self.support
        means = dict(zip(self.group_names, self.mean_spectra, strict=True))
        return pd.DataFrame(table | means)

    def bands_table(self) -> pd.DataFrame:
        """The selected bands with the size of their loadings, largest first.

        `instead` has the numbers (from 1) of the contiguous bands that could replace the band, `redundant` those around
        it that add nothing to the selected ones, `reproducibility` the share of the refits that selected the band.
        """
        table = self.spectra_table().loc[self.support]
        sizes = np.zeros(len(self.support))
        np.maximum.at(sizes, self.bands, np.linalg.norm(self.model.sparse_loadings_, axis=1))
        added: dict[str, Any] = {"loading": sizes[self.support]}
        if self.exchanges:
            known = {exchange.band: exchange for exchange in self.exchanges}
            added["instead"] = [_numbers(known[b].instead) for b in self.selected_bands]
            added["redundant"] = [_numbers(known[b].redundant) for b in self.selected_bands]
        if self.stability is not None and self.stability.bands is not None:
            added["reproducibility"] = self.stability.bands[self.support]
        for name, values in added.items():
            table.insert(len(table.columns) - self.n_clusters, name, values)
        return table.drop(columns=["selected", *self.group_names]).sort_values("loading", ascending=False)

    def truth_table(self) -> pd.DataFrame:
        """Pixels by known class (rows) and group (columns), with the group matched to each class."""
        if self.comparison is None:
            raise ValueError("there is no ground truth: give one to segment(..., truth=...)")
        table = pd.DataFrame(self.comparison.table, columns=self.group_names)
        table.insert(0, "class", self.comparison.names)
        table["matched"] = ["" if k < 0 else self.group_names[int(k)] for k in self.comparison.group]
        return table

    @property
    def pixel_size(self) -> tuple[float | None, str]:
        """(size, unit) of a pixel on the ground; None where the file does not say."""
        return pixel_size(self.cube.georeference)

    @property
    def place(self) -> MapPlace | None:
        """Where the map lies; None where the file does not say."""
        own = self.cube.georeference
        return None if own.transform is None else MapPlace(tuple(own.transform), crs_name(own.crs))

    def displays(self) -> dict[str, ColourViewDisplay | LabelMapDisplay | UncertaintyDisplay | SpectraDisplay]:
        """The pictures as data: labels, colours, uncertainty, spectra, continuum."""
        scale: dict[str, Any] = dict(zip(("pixel_size", "unit"), self.pixel_size, strict=True)) | {"place": self.place}
        pictures: dict[str, ColourViewDisplay | LabelMapDisplay | UncertaintyDisplay | SpectraDisplay] = {
            "labels": LabelMapDisplay.from_labels(
                self.labels, names=self.group_names, n_clusters=self.n_clusters, **scale
            ),
            "colours": self.colours,
            "uncertainty": UncertaintyDisplay.from_posteriors(self.posteriors, **scale),
            "spectra": SpectraDisplay.from_spectra(
                self.mean_spectra, self.support, self.wavelengths, self.cube.units, names=self.group_names
            ),
        }
        removed = self.continuum_removed
        if np.isfinite(removed).any():
            pictures["continuum"] = SpectraDisplay.from_spectra(
                removed, self.support, self.wavelengths, self.cube.units, names=self.group_names,
                values="mean value / continuum",
            )  # fmt: skip
        if self.normalisation is not None and self.normalisation.other is not None:
            pictures["other"] = LabelMapDisplay.from_labels(
                self.normalisation.other, names=self.group_names, n_clusters=self.n_clusters, **scale
            )
        return pictures

    def to_xarray(self):
        """The result as an xarray.Dataset, with the dimensions, coordinates and coordinate system of the DataArray that
        was segmented, or those of the file: labels (y, x), posteriors (group, y, x), uncertainty (y, x), mean_spectra
        (group, band), selected (band). It needs the extra `xarray`."""
        from .labelled import dataset_of

        return dataset_of(self)

    def report(self, path, *, title=None) -> Path:
        """Write one self-contained HTML page: the map, its uncertainty, the spectra with the selected bands."""
        return image_report(self, path, title=title)

    def save(self, folder) -> list[Path]:
        """Write everything to a folder, which is made if needed; returns the paths.

        report.html · labels.hdr/.img (ENVI classification) · labels.tif with its attribute table, posteriors.tif and
        uncertainty.tif (cloud-optimised GeoTIFF) · labels.png, colours.png, uncertainty.png, spectra.png,
        continuum.png · spectra.csv, bands.csv, features.csv, library.csv and truth.csv (if asked for) · cleaning.txt ·
        model.skops, for `fisherem.load` and other scenes · and the files of other entries of the register
        `fisherem.images.write.WRITERS`
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return [path for write in WRITERS.values() for path in write(self, folder)]


def _numbers(bands: tuple[int, ...]) -> str:
    """Bands (from 0) as ranges of numbers counted from 1."""
    return ranges(b + 1 for b in bands)
