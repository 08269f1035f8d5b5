"""segment(cube, K): clean the pixels, cluster them and return the map of the groups."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .._utils.passes import looking_on
from .._utils.progress import progress_bar
from .._utils.wording import count
from ..core.data.spatial_prior import NEIGHBOURHOODS, SpatialPrior
from ..estimators import FisherEM, SparseFisherEM
from ..estimators.fitting import adopt, check_parameters, fit_rows, warn_unless_converged
from ..policy.scaling import LARGE_COLUMNS, RAW
from ..policy.thresholds import THRESHOLDS
from ..rows.base import one_thread_each
from ..search.model_search import ModelSearch, search_rows
from ..search.search_parameters import VERDICT
from ..tables.checking import check_number
from .checkpoint import Checkpoint, Watching, check_checkpoint, digest
from .clean import CLIP, Cleaned, clean
from .clean_pixels import SOFT
from .colours import check_rgb
from .cube import Cube
from .faults import as_keep
from .grouping import Grouped, least_pixels, with_separate_bands, without_small_groups
from .library import as_library
from .normalising import NormRule, chosen, other_labels
from .read import read
from .room import check_room
from .sample_stability import PixelStability, map_agreement, pixel_stability
from .scene_model import SceneModel, check_names
from .segmentation import Segmentation
from .sources import as_cube
from .spatial_strength import chosen_strength
from .truth import Truth, as_truth
from .units import wavelength_units

__all__ = ["segment"]

# The value that leaves a choice to the search, and the numbers of groups that normalise="auto" is decided with where
# their number is open: few, some, and more than most scenes have materials.
_OPEN = "auto"
_LOOKED_AT = (2, 4, 7)
# The models of a call that leaves it open, and where a share or a criterion is given.
_OWN, _SEARCHED = "DB", "AkjB"
# The share of a sparse step that a search by a criterion starts from.
_FIRST_SHARE = 0.1


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
    # The blocks of rows are processed in threads already. More threads, of BLAS or of k-means on a sample of pixels,
    # make products of this size slower, above all on a busy machine.
    with one_thread_each(), warnings.catch_warnings():
        # bands share a unit, so a band that varies more than the others has more weight on purpose
        warnings.filterwarnings("ignore", LARGE_COLUMNS)
        found = _segment(
            cube, n_clusters, model=model, method=method, sparsity=sparsity, spatial=spatial, neighbours=neighbours,
            cleaning={"bands": bands, "mask": mask, "clip": clip, "normalise": normalise, "standardise": standardise,
                      "missing": missing, "keep": as_keep(keep), "memory": memory},
            criterion=criterion, progress=progress,
            shaping=_Shaping(min_size, separate_bands, known, rgb, stability, checkpoint),
            settings={"n_init": n_init, "random_state": random_state, **options},
        )  # fmt: skip
    return found if spectra is None else found.identify(spectra)


@dataclass(frozen=True)
class _Shaping:
    """What is done after the groups are found."""

    min_size: float
    separate_bands: bool
    truth: Truth | None
    rgb: tuple[int, int, int] | None
    stability: int | None
    checkpoint: Any = None


def _segment(
    cube, n_clusters, *, model, method, sparsity, spatial, neighbours, cleaning, criterion, progress, shaping, settings
):
    strength = _strength(spatial)
    if isinstance(n_clusters, str) and n_clusters != _OPEN:
        raise ValueError(f"n_clusters must be a number, several numbers or 'auto'; got {n_clusters!r}")
    if neighbours not in NEIGHBOURHOODS:
        raise ValueError(f"neighbours must be 4 or 8; got {neighbours!r}")
    given = settings
    model, settings = _model(model, sparsity, criterion, settings)
    ridge_is_open = "ridge" in settings and "ridge" not in given
    rule = _rule(cleaning, n_clusters, settings["random_state"], partial(
        _estimator, method, model=model if isinstance(model, str) else _SEARCHED, sparsity=sparsity, **settings
    ))  # fmt: skip
    room, most = cleaning["memory"], _looked_at(n_clusters)[-1]
    check_room(cube.shape, 0, most, room)
    cleaned = clean(cube, **cleaning if rule is None else cleaning | {"normalise": rule})
    check_room(cube.shape, len(cleaned.rows), most, room, spatial=strength != 0)
    if ridge_is_open and cleaned.report.normalised is True:
        settings = settings | {"ridge": THRESHOLDS.divided_ridge}
    least = least_pixels(shaping.min_size, len(cleaned.rows))
    prior = SpatialPrior(cleaned.mask, strength, neighbours) if strength else None
    search = None
    if not isinstance(n_clusters, (int, np.integer)):
        search = _search(n_clusters, model, method, sparsity, criterion, progress, settings)
        # the search has a bar of its own
        with _looking_on(cleaned, search, (strength, neighbours), shaping.checkpoint, False) as kept:
            found, prior = _with_neighbours(_searched(search, cleaned, prior), cleaned, prior, strength, neighbours)
    else:
        wanted = _estimator(method, n_clusters=int(n_clusters), model=model, sparsity=sparsity, **settings)
        with _looking_on(cleaned, wanted, (strength, neighbours), shaping.checkpoint, progress) as kept:
            found, prior = _with_neighbours(_fitted(wanted, cleaned, prior), cleaned, prior, strength, neighbours)
    if kept is not None and kept.resumed:
        note = f"the fit went on from a checkpoint, after {count(kept.resumed, 'iteration')} of an earlier call"
        found = replace(found, notes=(*found.notes, note))
    found = without_small_groups(found, least, cleaned.rows, prior)
    found = with_separate_bands(found, wanted=shaping.separate_bands)
    found.fitted.scale_warning_ = ""
    warn_unless_converged(found.fitted, found.fit)
    labels, normalisation = found.labels, None
    if rule is not None:
        others = other_labels(found.fitted, rule, cleaned.source) if len(found.fitted.weights_) > 1 else None
        normalisation = chosen(rule, cleaned.report.normalised, labels, cleaned.mask, others)
    sure = None
    if shaping.stability is not None:
        sure = pixel_stability(
            found.fitted, cleaned, shaping.stability, settings["random_state"], progress, moved=found.moved
        )
    agreement = map_agreement(found.fitted, cleaned, labels, settings["random_state"], prior)
    if kept is not None:
        kept.remove()
    made = _on_the_map(cube, cleaned, found, search, normalisation, sure, shaping, neighbours)
    return made if agreement is None else replace(made, agreement=_placed(agreement, cleaned.mask))


@contextmanager
def _looking_on(cleaned: Cleaned, estimator, settings, path, progress) -> Iterator[Checkpoint | None]:
    """A progress bar and a checkpoint of the passes inside the block; gives the checkpoint, or None."""
    kept = None if path is None else Checkpoint(path, digest(cleaned, estimator, settings), len(cleaned.rows))
    with progress_bar("passes", progress) as bar, looking_on(Watching(bar, kept)):
        yield kept


def _with_neighbours(
    found: Grouped, cleaned: Cleaned, prior: SpatialPrior | None, strength: float | None, neighbours: int
) -> tuple[Grouped, SpatialPrior | None]:
    """(the groups, the prior), fitted again with a prior if its strength was left open and neighbours help."""
    if strength is not None:
        return found, prior
    chosen = chosen_strength(cleaned, found.labels, len(found.fitted.weights_), neighbours)
    if not chosen:
        note = "neighbouring pixels do not help to tell the groups apart: no spatial prior was used"
        return replace(found, notes=(*found.notes, note)), None
    prior = SpatialPrior(cleaned.mask, chosen, neighbours)
    return _fitted(clone(found.fitted), cleaned, prior), prior


def _searched(search: ModelSearch, cleaned: Cleaned, prior) -> Grouped:
    check_parameters(search)
    search.n_features_in_ = cleaned.rows.shape[1]
    problem, fit = search_rows(search, cleaned.rows, prior=prior)
    return Grouped(problem, fit, search.best_estimator_, cleaned.bands)


def _fitted(estimator: FisherEM, cleaned: Cleaned, prior) -> Grouped:
    check_parameters(estimator)
    estimator.n_features_in_ = cleaned.rows.shape[1]
    result = fit_rows(estimator, cleaned.rows, prior=prior)
    return Grouped(result.problem, result.chosen.fit, adopt(estimator, result), cleaned.bands)


def _model(model, sparsity, criterion: str, settings: dict) -> tuple[Any, dict]:
    """(the model, the settings) where the caller left the model open."""
    if model is not None:
        return model, settings
    if not isinstance(sparsity, str) or criterion not in (_OPEN, VERDICT):
        return _SEARCHED, settings  # the paper's; criteria compare likelihoods, which a ridge does not maximise
    return _OWN, {"ridge": THRESHOLDS.scene_ridge} | settings


def _rule(cleaning: dict, n_clusters, seed, estimator: Callable[..., Any]) -> NormRule | None:
    """The rule of normalise="auto"; None where the treatment is given."""
    given = cleaning["normalise"]
    if isinstance(given, (bool, np.bool_)) or (isinstance(given, str) and given == SOFT):
        return None
    if not isinstance(given, str) or given != "auto":
        raise ValueError(f"normalise must be True, False, 'soft' or 'auto'; got {given!r}")
    seed = int(seed) if isinstance(seed, (int, np.integer)) else 0
    return NormRule([estimator(n_clusters=K) for K in _looked_at(n_clusters)], seed)


def _looked_at(n_clusters) -> tuple[int, ...]:
    """The number of groups, or three of the possible ones: the smallest, the middle and the largest."""
    if isinstance(n_clusters, (int, np.integer)):
        return (max(2, int(n_clusters)),)
    given = _LOOKED_AT if isinstance(n_clusters, str) else sorted({int(K) for K in n_clusters if K > 1}) or (2,)
    return tuple(sorted({given[0], given[len(given) // 2], given[-1]}))


def _search(n_clusters, model, method, sparsity, criterion, progress, settings) -> ModelSearch:
    """The search for the number of groups: by a verdict, or over models and shares by a criterion."""
    numbers = n_clusters if isinstance(n_clusters, str) else [int(K) for K in n_clusters]
    common = {"n_clusters": numbers, "n_jobs": settings.get("n_jobs"), "progress": progress}
    several = not isinstance(model, str) or model == "all"
    if criterion == VERDICT or (criterion == _OPEN and not several):
        return ModelSearch(_estimator(method, model=model, sparsity=sparsity, **settings), criterion=VERDICT, **common)
    automatic = isinstance(sparsity, str)
    return ModelSearch(
        _estimator(method, sparsity=_FIRST_SHARE if automatic else sparsity, **settings),
        models=model,
        sparsities=sparsity if automatic else [sparsity],
        criterion=criterion,
        **common,
        **({} if automatic else {"axis_weights": None}),  # one share: the estimator's weights
    )


def _estimator(method, *, sparsity, **settings) -> FisherEM:
    settings = {"scale": RAW} | settings  # bands share a unit
    return FisherEM(**settings) if method is None else SparseFisherEM(method=method, sparsity=sparsity, **settings)


def _strength(spatial: float | str) -> float | None:
    """The strength of the prior; None if it is to be estimated."""
    if isinstance(spatial, str):
        if spatial != "auto":
            raise ValueError(f"spatial must be a number of at least 0, or 'auto'; got {spatial!r}")
        return None
    check_number("spatial", spatial, least=0)
    return float(spatial)


def _on_the_map(
    cube: Cube, cleaned: Cleaned, found: Grouped, search, normalisation, sure: PixelStability | None,
    shaping: _Shaping, neighbours: int,
) -> Segmentation:  # fmt: skip
    """The posteriors, bands and spectra in the shape of the image."""
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
        comparison=None if shaping.truth is None else shaping.truth.compare(labels, K),
        stability=sure, exchanges=exchanges, notes=(*cube.remarks, *found.notes), rgb=shaping.rgb,
        shrunk=found.shrunk, moved=found.moved, bands=cleaned.bands,
        scene_model=_scene_model(cube, cleaned, fitted, spectra[:, cleaned.bands], strength, neighbours),
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
