"""segment(cube, K): clean the pixels, cluster them and return the map of the groups."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .._utils.passes import looking_on
from .._utils.progress import progress_bar
from .._utils.wording import count
from ..core.data.spatial_prior import SpatialPrior
from ..estimators import FisherEM
from ..estimators.fitting import adopt, check_parameters, fit_rows, warn_unless_converged
from ..policy.decisions import Decision
from ..policy.scaling import LARGE_COLUMNS
from ..rows.base import one_thread_each
from ..search.model_search import ModelSearch, search_rows
from ..search.search_tables import number_decision
from .checkpoint import Checkpoint, Watching, check_checkpoint, digest
from .clean import CLIP, Cleaned, clean
from .colours import check_rgb
from .cube import Cube
from .faults import as_keep
from .grouping import Grouped, least_pixels, with_separate_bands, without_small_groups
from .library import as_library
from .normalising import Normalisation, NormRule, chosen, other_labels, pixels_decision
from .on_the_map import on_the_map
from .read import read
from .request import Request, looked_at
from .room import check_room
from .sample_stability import PixelStability, map_agreement, pixel_stability
from .segmentation import Segmentation
from .sources import as_cube
from .spatial_strength import chosen_strength, given_strength
from .truth import as_truth

__all__ = ["segment"]


def segment(
    source,
    n_clusters,
    *,
    model=None,
    method: str | None = "svd",
    sparsity: Any = "auto",
    spatial: float | str = 0,
    neighbours: int = 4,
    bands=None,
    mask=None,
    clip: float | None = CLIP,
    normalise: bool | str = "auto",
    standardise: bool = False,
    missing: str = "auto",
    keep: Any = (),
    criterion: str = "auto",
    n_init: int = 1,
    random_state=0,
    min_size: float = 0,
    separate_bands: bool = False,
    truth=None,
    rgb: Sequence[int] | None = None,
    stability: int | None = None,
    library=None,
    memory=None,
    checkpoint=None,
    progress: bool | str = "auto",
    **options,
) -> Segmentation:
    """Cluster the pixels of a cube and select the bands that separate the groups.

    Parameters
    ----------
    source : Cube, array (rows x columns x bands; NumPy, Dask, Zarr), xarray.DataArray, SpyFile or path of a file that
        `read` knows
    n_clusters : int, several (a range or list) or "auto": several numbers and "auto" are decided by `criterion` (see
        `ModelSearch`), by default a verdict on a sample of 1,000 pixels, which may be one group (`search.verdict_`)
    model, method, sparsity : as for `SparseFisherEM`; method None is Fisher-EM, all bands kept. By default the bands
        are selected by the fit. A number is the share of a sparse step, by default "svd" (Algorithm 3):
        neighbouring bands carry nearly the same information, and "two-step" then keeps 8 bands of one scene and 237 of
        the next. Model None is "AkjB" with a given share, and otherwise "DB", one covariance for all groups inside the
        axes, with `ridge` 0.1, or 0.3 where pixels are divided by their norms: pixels that mix materials lie between
        the groups, and covariances of their own follow them there
    criterion : "auto" is the verdict, or "bic" where several models are given. "bic", "icl", "aic" or "gain"
        fits every number of groups and every model to all pixels; with sparsity "auto" it then follows the path
    spatial : strength of the prior that neighbouring pixels are in the same group: 0 is the paper's method. It is added
        to the log odds of a group if all neighbours are in it. "auto" takes the strength with which every other band
        tells best what the bands between them say of each pixel, and none if neighbours do not help
    neighbours : 4 or 8
    bands, mask, clip, standardise : cleaning, see `fisherem.images.clean`
    missing : how pixels without a value in some of the bands (a dead detector) are handled: "model" uses their observed
        values, "drop-rows" leaves out the pixels, "drop-columns" the bands, "refuse" is an error. "auto" is "model"
        where more than 5% of the pixels have missing values and all pixels fit in memory, else "drop-rows"
    keep : faults that were found, not declared, are left out unless they are named here: "fill", "bands", "columns", or
        True for all (see `clean`)
    normalise : divide each pixel by its norm; "soft" divides by the root of the squares of its norm and of the median
        norm, so that dark pixels stay dark; "auto" takes what gives the more distinct groups of these and False, and
        keeps the best other map that differs much (`normalisation`)
    n_init : starts; with many pixels, k-means on a sample rarely finds another optimum
    min_size : the fewest pixels of a group, or a share of the pixels below 1. A smaller group is dissolved: its pixels
        go to the most probable other group and the model is fitted again from there, with one group less (`notes`)
    separate_bands : exchange adjacent selected bands for as many bands that are further apart, if C(K, S) does not
        decrease, and fit the groups again. With False `notes` says whether such bands exist: a share of the l1 norm
        selects blocks of bands, "auto" rarely does
    truth : known classes (rows x columns), or a file with them (see `read_truth`): 0 and no-data are pixels without a
        class. They are compared with the map (`comparison`), but not used in the fit
    rgb : three bands (from 0) for red, green and blue of the colour view; by default natural colours where the
        wavelengths allow it, else bands spread over the spectrum
    stability : the number of refits to halves of a sample of 2,000 pixels, which count how often groups and bands are
        reproduced (`stability`)
    library : a spectral library (see `read_library`): the nearest spectra of each group by spectral angle and by the
        fit of absorption features (`identified`)
    memory : a budget such as "2GB" (default 1 GiB): cleaned pixels that take more than a quarter of it are made from
        the file in every pass, and an image whose labels, posteriors and maps take more than all of it is refused
    checkpoint : a file that the last pass over all pixels is kept in while the fit is under way; a call with the same
        pixels and settings goes on from there, and deletes it when it is done
    progress : a bar on standard error; "auto" only in a terminal
    options : further parameters of the estimator (max_iter, tol, discriminant, ...)
    """
    if isinstance(n_clusters, (bool, float, np.floating)) or n_clusters is None:
        raise ValueError(f"n_clusters must be a whole number, several of them or 'auto'; got {n_clusters!r}")
    check_checkpoint(checkpoint)
    cube = read(source) if isinstance(source, (str, Path)) else as_cube(source)
    if isinstance(min_size, (bool, str)) or not min_size >= 0:
        least_pixels(min_size, 1)  # raises before anything is fitted
    known = None if truth is None else as_truth(truth, cube.shape[:2])
    rgb = check_rgb(rgb, cube.shape[2])
    spectra = as_library(library, cube)
    asked = Request(
        n_clusters, model, method, sparsity, criterion, spatial, neighbours,
        cleaning={"bands": bands, "mask": mask, "clip": clip, "normalise": normalise, "standardise": standardise,
                  "missing": missing, "keep": as_keep(keep), "memory": memory},
        settings={"n_init": n_init, "random_state": random_state, **options},
        min_size=min_size, separate_bands=separate_bands, truth=known, rgb=rgb, stability=stability,
        checkpoint=checkpoint, progress=progress,
    )  # fmt: skip
    # The blocks of rows are processed in threads already. More threads, of BLAS or of k-means on a sample of pixels,
    # make products of this size slower, above all on a busy machine.
    with one_thread_each(), warnings.catch_warnings():
        # bands share a unit, so a band that varies more than the others has more weight on purpose
        warnings.filterwarnings("ignore", LARGE_COLUMNS)
        found = _segment(cube, asked)
    return found if spectra is None else found.identify(spectra)


def _segment(cube: Cube, asked: Request) -> Segmentation:
    """The steps from a cube to its map. What a step decides by itself is a row of `Segmentation.decisions_`."""
    rule = asked.rule()
    cleaned = _cleaned(cube, asked, rule)
    wanted, ridge = asked.with_ridge(cleaned.report.normalised)
    estimator = wanted.estimator()
    least = least_pixels(asked.min_size, len(cleaned.rows))
    with _looking_on(cleaned, estimator, asked) as kept:
        found, number = _grouped(estimator, cleaned, asked)
        found, prior, strength = _with_neighbours(found, cleaned, asked)
    found = _noting_a_checkpoint(found, kept)
    found = without_small_groups(found, least, cleaned.rows, prior)
    found = with_separate_bands(found, wanted=asked.separate_bands)
    found.fitted.scale_warning_ = ""
    warn_unless_converged(found.fitted, found.fit)
    normalisation = _other_map(found, cleaned, rule)
    stability = _stability(found, cleaned, asked)
    agreement = map_agreement(found.fitted, cleaned, found.labels, asked.seed, prior)
    if kept is not None:
        kept.remove()
    pixels = pixels_decision(cleaned.report.normalised, normalisation)
    return on_the_map(
        cube, cleaned, found, asked, search=estimator if asked.searches else None, normalisation=normalisation,
        stability=stability, agreement=agreement,
        decided=tuple(one for one in (pixels, ridge, number, strength) if one is not None),
    )  # fmt: skip


# -- the steps ---------------------------------------------------------------------------------------------------------


def _cleaned(cube: Cube, asked: Request, rule: NormRule | None) -> Cleaned:
    """The pixels and bands that are used, divided as it was asked for or by the rule; an error if memory is short."""
    cleaning, room, most = dict(asked.cleaning), asked.cleaning["memory"], looked_at(asked.n_clusters)[-1]
    check_room(cube.shape, 0, most, room)
    cleaned = clean(cube, **cleaning if rule is None else cleaning | {"normalise": rule})
    check_room(cube.shape, len(cleaned.rows), most, room, spatial=asked.strength != 0)
    return cleaned


@contextmanager
def _looking_on(cleaned: Cleaned, estimator, asked: Request) -> Iterator[Checkpoint | None]:
    """A progress bar and a checkpoint of the passes inside the block; gives the checkpoint, or None."""
    path, settings = asked.checkpoint, (asked.strength, asked.neighbours)
    kept = None if path is None else Checkpoint(path, digest(cleaned, estimator, settings), len(cleaned.rows))
    shown = False if asked.searches else asked.progress  # a search has a bar of its own
    with progress_bar("passes", shown) as bar, looking_on(Watching(bar, kept)):
        yield kept


def _grouped(estimator, cleaned: Cleaned, asked: Request) -> tuple[Grouped, Decision | None]:
    """(the groups of all pixels, why so many if their number was open), with a spatial prior of a given strength."""
    prior = _prior(cleaned, asked.strength, asked)
    if not isinstance(estimator, ModelSearch):
        return _fitted(estimator, cleaned, prior), None
    check_parameters(estimator)
    estimator.n_features_in_ = cleaned.rows.shape[1]
    problem, fit = search_rows(estimator, cleaned.rows, prior=prior)
    return Grouped(problem, fit, estimator.best_estimator_, cleaned.bands), number_decision(estimator)


def _fitted(estimator: FisherEM, cleaned: Cleaned, prior: SpatialPrior | None) -> Grouped:
    check_parameters(estimator)
    estimator.n_features_in_ = cleaned.rows.shape[1]
    result = fit_rows(estimator, cleaned.rows, prior=prior)
    return Grouped(result.problem, result.chosen.fit, adopt(estimator, result), cleaned.bands)


def _prior(cleaned: Cleaned, strength: float | None, asked: Request) -> SpatialPrior | None:
    return SpatialPrior(cleaned.mask, strength, asked.neighbours) if strength else None


def _with_neighbours(
    found: Grouped, cleaned: Cleaned, asked: Request
) -> tuple[Grouped, SpatialPrior | None, Decision | None]:
    """(the groups, the prior, the decision), fitted again with a prior if its strength was open and neighbours help."""
    if (given := asked.strength) is not None:
        return found, _prior(cleaned, given, asked), given_strength(given)
    strength, decision = chosen_strength(cleaned, found.labels, len(found.fitted.weights_), asked.neighbours)
    prior = _prior(cleaned, strength, asked)
    if prior is None:
        note = "neighbouring pixels do not help to tell the groups apart: no spatial prior was used"
        return replace(found, notes=(*found.notes, note)), None, decision
    return _fitted(clone(found.fitted), cleaned, prior), prior, decision


def _noting_a_checkpoint(found: Grouped, kept: Checkpoint | None) -> Grouped:
    """The groups with a note if the fit went on from a checkpoint."""
    if kept is None or not kept.resumed:
        return found
    note = f"the fit went on from a checkpoint, after {count(kept.resumed, 'iteration')} of an earlier call"
    return replace(found, notes=(*found.notes, note))


def _other_map(found: Grouped, cleaned: Cleaned, rule: NormRule | None) -> Normalisation | None:
    """The record of normalise="auto", with the map of another way to divide the pixels where it differs much."""
    if rule is None:
        return None
    others = other_labels(found.fitted, rule, cleaned.source) if len(found.fitted.weights_) > 1 else None
    return chosen(rule, cleaned.report.normalised, found.labels, cleaned.mask, others)


def _stability(found: Grouped, cleaned: Cleaned, asked: Request) -> PixelStability | None:
    """How often refits to other pixels find groups and bands again, if that was asked for."""
    if asked.stability is None:
        return None
    return pixel_stability(found.fitted, cleaned, asked.stability, asked.seed, asked.progress, moved=found.moved)
