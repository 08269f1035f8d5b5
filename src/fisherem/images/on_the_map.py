"""From groups of pixels to the map: posteriors, bands and spectra in the shape of the image."""

from __future__ import annotations

import numpy as np

from ..policy.decisions import Decision
from .clean import Cleaned
from .cube import Cube
from .grouping import Grouped
from .normalising import Normalisation
from .request import Request
from .sample_stability import PixelStability
from .scene_model import SceneModel, check_names
from .segmentation import Segmentation
from .units import wavelength_units

__all__ = ["on_the_map"]


def on_the_map(
    cube: Cube,
    cleaned: Cleaned,
    found: Grouped,
    asked: Request,
    *,
    search,
    normalisation: Normalisation | None,
    stability: PixelStability | None,
    agreement: np.ndarray | None,
    decided: tuple[Decision, ...],
) -> Segmentation:
    """The result of `segment`: what was found, with the shape of the image. `agreement` has a value per pixel."""
    fitted, exchanges, assigned, posteriors = found.fitted, found.exchanges(), found.labels, found.posteriors
    found.fit.states = []  # they take more than the map, and nothing asks for them any more
    K = len(posteriors)
    labels = np.full(cube.shape[:2], -1)
    labels[cleaned.mask] = assigned
    maps = np.full((*cube.shape[:2], K), np.nan)
    for k in range(K):  # one by one: a copy of all of them takes as much as the map
        maps[cleaned.mask, k] = posteriors[k]
    support = np.zeros(cube.shape[2], bool)
    support[cleaned.bands] = fitted.support_
    spectra = np.full((K, cube.shape[2]), np.nan)
    spectra[:, cleaned.bands] = _mean_spectra(cleaned, posteriors)
    del posteriors  # there may be millions of pixels
    strength = found.fit.history[-1].get("spatial", 0.0)
    return Segmentation(
        labels, maps, support, spectra, fitted, cleaned.report, cube, search, strength, normalisation,
        comparison=None if asked.truth is None else asked.truth.compare(labels, K),
        stability=stability, exchanges=exchanges, notes=(*cube.remarks, *found.notes), rgb=asked.rgb,
        shrunk=found.shrunk, moved=found.moved, bands=cleaned.bands,
        scene_model=_scene_model(cube, cleaned, fitted, spectra[:, cleaned.bands], strength, asked.neighbours),
        agreement=None if agreement is None else _placed(agreement, cleaned.mask), decided=decided,
    )  # fmt: skip


def _placed(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Values of the pixels in the mask as a map, NaN elsewhere."""
    made = np.full(mask.shape, np.nan, np.float32)
    made[mask] = values
    return made


def _scene_model(cube: Cube, cleaned: Cleaned, fitted, spectra: np.ndarray, strength: float, neighbours: int):
    """What another scene needs to be segmented in the same way."""
    standard = cleaned.source.standard
    return SceneModel(
        fitted, cleaned.bands, cube.shape[2], spectra, check_names(None, len(spectra)),
        wavelengths=None if cube.wavelengths is None else np.asarray(cube.wavelengths, float)[cleaned.bands],
        units="" if cube.wavelengths is None else wavelength_units(cube.units, cube.wavelengths),
        limits=cleaned.limits, normalised=cleaned.report.normalised, dark=cleaned.dark,
        standard=None if standard is None else np.array(standard), spatial=float(strength), neighbours=neighbours,
    )  # fmt: skip


def _mean_spectra(cleaned: Cleaned, posteriors: np.ndarray) -> np.ndarray:
    """out[k, b] = sum_i t[k, i] value[i, b] / sum_i t[k, i], before any normalisation."""
    sums = np.zeros((len(posteriors), len(cleaned.bands)))
    weights = np.zeros_like(sums) if cleaned.report.gap_pixels else posteriors.sum(axis=1, keepdims=True)
    for part in cleaned.source.chunks():
        values, own = cleaned.source.reflectance(part), posteriors[:, part]
        if cleaned.report.gap_pixels:  # of the values that are there
            observed = np.isfinite(values)
            weights += own @ observed
            values = np.where(observed, values, 0)
        sums += own.astype(values.dtype) @ values
    return sums / weights
