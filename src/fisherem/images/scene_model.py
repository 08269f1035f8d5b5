"""The model of a scene, for other scenes: cleaning, normalisation, wavelengths, class names and the fitted mixture.

`predict(cube)` does to the pixels of a cube what was done to those of the scene that the model was fitted to, with the
limits, means and deviations of that scene, and assigns them to its groups.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.wording import count, group_name
from ..core.data.spatial_prior import NEIGHBOURHOODS, SpatialPrior
from ..estimators.prediction import FittedMixture
from ..persistence import KINDS
from ..policy.thresholds import THRESHOLDS
from ..rows.base import one_thread_each
from ..tables.checking import check_number
from .clean_pixels import SOFT, divide_by_norms
from .cleaning_report import CleaningReport
from .colours import check_rgb
from .cube import Cube
from .examining import examine
from .faults import as_keep, find_faults, undeclared_fill
from .library import as_library
from .matching import Matched, MatchedPixels, match_bands
from .read import read, read_mask
from .room import check_room
from .segmentation import Segmentation
from .sources import as_cube
from .truth import as_truth

__all__ = ["SceneModel"]


@dataclass(frozen=True)
class SceneModel:
    """What `segment` learnt of a scene, with p bands used and K groups.

    model, the estimator fitted to n x p rows · bands (p), their numbers (from 0) of the `n_bands` of that scene ·
    mean_spectra (K x p) · class_names (K) · wavelengths (p) in `units`, or None · limits (2 x p) that values are
    clipped to, or None · normalised, whether pixels are divided by their norms (True, "soft" or False), softened by
    `dark` · standard (2 x p), mean and deviation
    of the bands, or None · spatial, the strength of the spatial prior, with this many `neighbours`.
    """

    model: Any
    bands: np.ndarray = field(repr=False)
    n_bands: int
    mean_spectra: np.ndarray = field(repr=False)
    class_names: tuple[str, ...]
    wavelengths: np.ndarray | None = field(default=None, repr=False)
    units: str = ""
    limits: np.ndarray | None = field(default=None, repr=False)
    normalised: bool | str = False
    dark: float = 0.0
    standard: np.ndarray | None = field(default=None, repr=False)
    spatial: float = 0.0
    neighbours: int = 4

    # what `fisherem.save` calls the file
    kind = "scene"

    @property
    def n_clusters(self) -> int:
        """The number of groups K."""
        return len(self.class_names)

    def renamed(self, names) -> SceneModel:
        """The same with K other names of the groups."""
        return replace(self, class_names=check_names(names, self.n_clusters))

    def predict(
        self, source, *, mask=None, truth=None, tolerance: float | None = None, resample: bool = False, rgb=None,
        keep=(), library=None, memory=None,
    ) -> Segmentation:  # fmt: skip
        """The groups of the pixels of another scene.

        Parameters
        ----------
        source : Cube, array (rows x columns x bands) or path of a file that `read` knows
        mask, truth, rgb, keep, library : as for `segment`
        memory : a budget such as "2GB" (default 1 GiB) for labels, posteriors and maps
        tolerance : how far the nearest band may lie from that of the model, in the model's units; by default a quarter
            of the distance to the model's next band
        resample : interpolate between the bands around a wavelength instead of taking the nearest
        """
        if tolerance is not None:
            check_number("tolerance", tolerance, least=0)
        cube = read(source) if isinstance(source, (str, Path)) else as_cube(source)
        check_room(cube.shape, 0, self.n_clusters, memory)
        known = None if truth is None else as_truth(truth, cube.shape[:2])
        rgb = check_rgb(rgb, cube.shape[2])
        spectra = as_library(library, cube)
        report = CleaningReport(n_pixels=cube.shape[0] * cube.shape[1], n_bands=cube.shape[2])
        use = self._usable(cube, mask, report)
        kept = as_keep(keep)
        faults = find_faults(cube, use, _good_bands(cube), kept)
        report.bands_erratic, report.columns_stuck, report.remarks = faults.bands, faults.stuck, faults.remarks
        report.columns_striped = tuple(c for c in faults.columns if c not in faults.stuck)
        bad = ~_good_bands(cube)
        bad[list(faults.bands)] = True
        matched = match_bands(
            self.wavelengths, self.units, self.bands, self.n_bands, replace(cube, bad_bands=bad),
            selected=np.asarray(self.model.support_), tolerance=tolerance, resample=resample,
        )  # fmt: skip
        before = int(use.sum())
        use[:, list(faults.columns)] = False
        report.faulty_pixels = before - int(use.sum())
        with one_thread_each():
            rows, use = self._rows(cube, matched, use, report, "fill" not in kept)
            check_room(cube.shape, len(rows), self.n_clusters, memory, spatial=self.spatial > 0)
            posteriors = self._posteriors(rows, use)
            means = _mean_spectra(rows, posteriors)
        found = self._on_the_map(cube, matched, use, posteriors, means, report, known, rgb)
        return found if spectra is None else found.identify(spectra)

    def _usable(self, cube: Cube, mask, report: CleaningReport) -> np.ndarray:
        """The pixels that are not masked (bool, rows x columns)."""
        use = np.ones(cube.shape[:2], bool) if cube.mask is None else cube.mask.copy()
        if mask is not None:
            use &= read_mask(mask, cube.shape[:2])
        report.masked_by_request = int((~use).sum())
        return use

    def _rows(
        self, cube: Cube, matched: Matched, use: np.ndarray, report: CleaningReport, fill: bool
    ) -> tuple[MatchedPixels, np.ndarray]:
        """(the rows as they were made for the fit, the pixels that have values as bool rows x columns); with `fill`,
        pixels with one value in every band have none."""
        needed = np.zeros(cube.shape[2], bool)
        needed[matched.needed] = True
        report.bands_not_asked = int((~needed).sum())
        found = examine(cube, use.ravel(), needed, None, keep=True)
        if fill and (fills := undeclared_fill(cube, found.flat, self._stored_limits(cube, matched))):
            report.fill_found = {value: found.flat[value] for value in sorted(fills)}
            found = examine(cube, use.ravel(), needed, None, keep=True, fills=fills)
        report.fill_pixels, report.not_finite_pixels = found.n_fill, found.n_not_finite
        report.dark_pixels, report.gap_pixels = found.n_dark, found.n_gappy
        report.gap_cells = int(found.gaps.sum())
        use = use & ~found.pixels.reshape(use.shape)
        if not use.any():
            raise ValueError(f"{cube.path or 'the cube'}: all pixels are invalid ({report.brief()})")
        rows = MatchedPixels(cube, np.flatnonzero(use), matched)
        if found.gaps.any() or matched.absent.any():
            rows.fill = (cube.fill_value,)
        _check_unit(self, rows, cube)
        if self.limits is not None:
            low, high = self.limits
            report.clipped = sum(
                int(np.count_nonzero((values < low) | (values > high)))
                for values in (rows.reflectance(part) for part in rows.chunks())
            )
            rows.limits = low.astype(rows.dtype), high.astype(rows.dtype)
        if self.normalised:
            spectra = self.mean_spectra / np.abs(self.mean_spectra).max()  # squares of its unit may overflow
            divide_by_norms(rows, self.model.weights_ @ spectra**2, self.dark)
        if self.standard is not None:
            rows.standard = self.standard[0].astype(rows.dtype), self.standard[1].astype(rows.dtype)
        report.normalised, report.standardised = self.normalised, self.standard is not None
        report.used_pixels, report.used_bands = len(rows), int(needed.sum())
        return rows, use

    def _stored_limits(self, cube: Cube, matched: Matched) -> np.ndarray | None:
        """The limits of the model's bands in the stored units of the cube."""
        return None if self.limits is None else (self.limits * cube.scale_factor)[:, ~matched.absent]

    def _posteriors(self, rows: MatchedPixels, use: np.ndarray) -> np.ndarray:
        """K x n, with the spatial prior if the model was fitted with one (see `SpatialPrior`)."""
        alone = np.empty((self.n_clusters, len(rows)))
        for part in rows.chunks():
            alone[:, part] = self.model.predict_proba(np.array(rows[part], float)).T
        return SpatialPrior(use, self.spatial, self.neighbours).settled(alone) if self.spatial else alone

    def _on_the_map(self, cube, matched: Matched, use, posteriors, spectra, report, known, rgb) -> Segmentation:
        K = self.n_clusters
        labels, maps = np.full(cube.shape[:2], -1), np.full((*cube.shape[:2], K), np.nan)
        labels[use], maps[use] = posteriors.argmax(axis=0), posteriors.T
        support, means = np.zeros(cube.shape[2], bool), np.full((K, cube.shape[2]), np.nan)
        support[matched.nearest[np.asarray(self.model.support_)]] = True
        there = ~matched.absent
        means[:, matched.nearest[there]] = spectra[:, there]
        notes = ["the groups are those of a model that was fitted to another scene"]
        if matched.absent.any():
            unselected = count(int(matched.absent.sum()), "unselected band")
            notes.append(f"{unselected} of the model without a counterpart in this scene: treated as missing")
        return Segmentation(
            labels, maps, support, means, self.model, report, cube, spatial=self.spatial, bands=matched.nearest,
            comparison=None if known is None else known.compare(labels, K), rgb=rgb, scene_model=self,
            notes=(*cube.remarks, *notes),
        )  # fmt: skip

    # -- model files -----------------------------------------------------------------------------------------------

    def to_file(self) -> tuple[Any, dict[str, Any]]:
        """(the estimator, with its labels in one or two bytes a pixel; everything else as arrays and plain values)."""
        about = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "model"}
        model = copy.copy(self.model)
        model.labels_ = model.labels_.astype(np.min_scalar_type(self.n_clusters))
        return model, about | {"class_names": list(self.class_names)}

    @classmethod
    def from_file(cls, model, about: dict[str, Any]) -> SceneModel:
        """The model from what `to_file` gave; a ValueError if it contradicts itself."""
        expected = set(cls.__dataclass_fields__) - {"model"}
        if set(about) != expected:
            raise ValueError(f"a scene's model must say {', '.join(sorted(expected))}")
        if not isinstance(model, FittedMixture) or not hasattr(model, "weights_"):
            raise ValueError(f"a scene's model must be a fitted mixture; it is a {type(model).__name__}")
        made = cls(model, **(about | {"class_names": tuple(about["class_names"])}))
        _check(made)
        return made


def _good_bands(cube: Cube) -> np.ndarray:
    """The bands that are not listed as bad (bool)."""
    return np.ones(cube.shape[2], bool) if cube.bad_bands is None else ~cube.bad_bands


def _check_unit(scene: SceneModel, rows: MatchedPixels, cube: Cube) -> None:
    """Raise an error if the values are in another unit than those that the model was fitted to."""
    even = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 2000)).astype(int))
    own = float(np.nanmedian(np.abs(rows.reflectance(even))))
    fitted = float(np.median(np.abs(scene.mean_spectra)))
    if fitted > 0 and not 1 / THRESHOLDS.other_unit <= own / fitted <= THRESHOLDS.other_unit:
        raise ValueError(
            f"{cube.path or 'the cube'}: its values are about {own:.3g}, those of the scene that the model was fitted "
            f"to {fitted:.3g}, so the units differ: set the reflectance scale factor of the file (Cube.scale_factor)"
        )


def _mean_spectra(rows: MatchedPixels, posteriors: np.ndarray) -> np.ndarray:
    """out[k, b] = sum_i t[k, i] value[i, b] / sum_i t[k, i] over observed values; NaN for a group without pixels."""
    sums = np.zeros((len(posteriors), rows.shape[1]))
    weights = np.zeros_like(sums)
    for part in rows.chunks():
        values = rows.reflectance(part).astype(float)
        observed = np.isfinite(values)
        weights += posteriors[:, part] @ observed
        sums += posteriors[:, part] @ np.where(observed, values, 0)
    # a group has pixels if their posteriors make up at least half of one
    return np.divide(sums, weights, out=np.full(sums.shape, np.nan), where=weights >= 0.5)


def _check(scene: SceneModel) -> None:
    """Raise a ValueError for a model from a file whose parts do not fit together."""
    K, p = scene.model.means_.shape
    shapes = {"bands": (p,), "mean_spectra": (K, p), "wavelengths": (p,), "limits": (2, p), "standard": (2, p)}
    for name, shape in shapes.items():
        value = getattr(scene, name)
        if value is None and name in ("wavelengths", "limits", "standard"):
            continue
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu" or value.shape != shape:
            raise ValueError(f"{name} must be numbers of shape {shape}")
        if np.isnan(value).any() or (name != "limits" and not np.isfinite(value).all()):
            raise ValueError(f"{name} has values that are not finite")
    whole = isinstance(scene.n_bands, int) and not isinstance(scene.n_bands, bool)
    if scene.bands.dtype.kind not in "iu" or not whole or not (scene.bands >= 0).all():
        raise ValueError("bands must be whole numbers from 0")
    if len(np.unique(scene.bands)) < p or not (scene.bands < scene.n_bands).all():
        raise ValueError(f"bands must be different and below n_bands, {scene.n_bands}")
    if scene.units not in ("um", "nm", ""):
        raise ValueError(f"units must be um or nm; they are {scene.units!r:.50}")
    if scene.limits is not None and not (scene.limits[0] < scene.limits[1]).all():
        raise ValueError("limits must be ascending")
    if scene.standard is not None and not (scene.standard[1] > 0).all():
        raise ValueError("deviations must be above 0")
    divided = isinstance(scene.normalised, bool) or scene.normalised == SOFT
    if not divided or scene.neighbours not in NEIGHBOURHOODS:
        raise ValueError(f"normalised is {scene.normalised!r:.50} and neighbours {scene.neighbours!r:.50}")
    check_number("spatial", scene.spatial, least=0)
    check_number("dark", scene.dark, least=0)
    check_names(scene.class_names, K)


def check_names(names, n_clusters: int) -> tuple[str, ...]:
    """K different names of the groups as a tuple; None gives "group 1", "group 2", ..."""
    if names is None:
        return tuple(group_name(k) for k in range(n_clusters))
    given = (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(name, str) and name.strip() and name.isprintable() for name in given):
        raise ValueError(f"the names of the groups must be text; got {given!r:.80}")
    if len(given) != n_clusters or len(set(given)) < len(given):
        raise ValueError(f"give {n_clusters} different names, one per group; got {len(set(given))}: {given!r:.80}")
    return given


KINDS.provide(SceneModel.kind, SceneModel)
