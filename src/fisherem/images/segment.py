"""segment(cube, K): clean, cluster, and put the groups back on the map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..em.spatial_prior import NEIGHBOURHOODS, SpatialPrior
from ..estimators import FisherEM, SparseFisherEM
from ..estimators.fitting import adopt, check_parameters, fit_rows, warn_unless_converged
from ..model_selection.search import ModelSearch, search_rows
from ..rows.threads import one_thread_each
from ..tables.checking import check_number
from .clean import CLIP, Cleaned, clean
from .cube import Cube, as_cube
from .normalising import Rule, chosen, other_labels
from .read import read
from .segmentation import Segmentation

__all__ = ["segment"]


def segment(
    source,
    n_clusters,
    *,
    model="AkjB",
    method: str | None = "svd",
    sparsity: Any = "auto",
    spatial: float | str = 0,
    neighbours: int = 4,
    bands=None,
    mask=None,
    clip: float | None = CLIP,
    normalise: bool | str = "auto",
    standardise: bool = False,
    criterion: str = "bic",
    n_init: int = 1,
    random_state=0,
    **options,
) -> Segmentation:
    """Cluster the pixels of a cube and select the bands that make the groups.

    Parameters
    ----------
    source : Cube, array (rows x columns x bands) or path of a file that `read` knows
    n_clusters : int, or several (a range or list) to choose from by `criterion` (see `ModelSearch`)
    model, method, sparsity : as for `SparseFisherEM`; method None is Fisher-EM, all bands kept. By default the bands
        are found together with the groups. A number is the share of a sparse step, by default "svd" (Algorithm 3):
        neighbouring bands carry nearly the same information, and "two-step" then keeps 8 bands of one scene and 237 of
        the next. With several n_clusters "auto" chooses along the sparsity path, and model may be a list
    spatial : strength of the prior by which neighbouring pixels tend to the same group: 0 is the paper's method, "auto"
        estimates it. It is what agreement of all neighbours adds to the log odds of a group
    neighbours : 4 or 8
    bands, mask, clip, standardise : cleaning, see `fisherem.images.clean`
    normalise : divide each pixel by its norm; "auto" does so where that brings out groups, and keeps the map that the
        other way gives where it differs much (`normalisation`)
    n_init : starts; there are many pixels, so k-means on a sample seldom ends elsewhere
    options : further parameters of the estimator (max_iter, tol, discriminant, ...)
    """
    cube = read(source) if isinstance(source, (str, Path)) else as_cube(source)
    # The rows' blocks have threads of their own. Those of BLAS and of k-means on a sample of pixels would only wait for
    # each other on products of this size, the longer the busier the machine.
    with one_thread_each():
        return _segment(
            cube, n_clusters, model=model, method=method, sparsity=sparsity, spatial=spatial, neighbours=neighbours,
            cleaning={"bands": bands, "mask": mask, "clip": clip, "normalise": normalise, "standardise": standardise},
            criterion=criterion, settings={"n_init": n_init, "random_state": random_state, **options},
        )  # fmt: skip


def _segment(cube, n_clusters, *, model, method, sparsity, spatial, neighbours, cleaning, criterion, settings):
    strength = _strength(spatial)
    if neighbours not in NEIGHBOURHOODS:
        raise ValueError(f"neighbours must be 4 or 8; got {neighbours!r}")
    rule = _rule(cleaning, n_clusters, settings["random_state"])
    cleaned = clean(cube, **cleaning if rule is None else cleaning | {"normalise": rule})
    prior = None if strength == 0 else SpatialPrior(cleaned.mask, strength, neighbours)
    search = None
    if isinstance(n_clusters, (int, np.integer)):
        estimator = _estimator(method, n_clusters=int(n_clusters), model=model, sparsity=sparsity, **settings)
        fitter = estimator
    else:
        estimator = _estimator(method, sparsity=0.1 if sparsity == "auto" else sparsity, **settings)
        search = fitter = ModelSearch(
            estimator,
            n_clusters=list(n_clusters),
            models=model,
            sparsities=sparsity if isinstance(sparsity, str) else [sparsity],
            criterion=criterion,
            n_jobs=settings.get("n_jobs"),
            **({} if sparsity == "auto" else {"axis_weights": None}),  # one share: the estimator's weights
        )
    check_parameters(fitter)
    fitter.n_features_in_ = cleaned.rows.shape[1]
    if search is not None:
        problem, fit = search_rows(search, cleaned.rows, prior=prior)
        fitted = search.best_estimator_
    else:
        result = fit_rows(estimator, cleaned.rows, prior=prior)
        problem, fit = result.problem, result.chosen.fit
        fitted = adopt(estimator, result)
        warn_unless_converged(estimator, fit)
    posteriors = problem.rows.gather(fit.states, "posteriors")
    normalisation = None
    if rule is not None:
        labels, normalised = posteriors.argmax(axis=0), cleaned.report.normalised
        others = other_labels(fitted, rule, cleaned.source, normalised) if len(posteriors) > 1 else None
        normalisation = chosen(rule, normalised, labels, cleaned.mask, others)
    return _on_the_map(cube, cleaned, posteriors, fitted, search, fit, normalisation)


def _rule(cleaning: dict, n_clusters, seed) -> Rule | None:
    """What decides for normalise="auto"; None where it was decided already."""
    given = cleaning["normalise"]
    if isinstance(given, (bool, np.bool_)):
        return None
    if not isinstance(given, str) or given != "auto":
        raise ValueError(f"normalise must be True, False or 'auto'; got {given!r}")
    numbers = [n_clusters] if isinstance(n_clusters, (int, np.integer)) else list(n_clusters)
    K = int(np.median([number for number in numbers if number > 1] or [2]))
    return Rule(K, int(seed) if isinstance(seed, (int, np.integer)) else 0)


def _estimator(method, *, sparsity, **settings) -> FisherEM:
    return FisherEM(**settings) if method is None else SparseFisherEM(method=method, sparsity=sparsity, **settings)


def _strength(spatial: float | str) -> float | None:
    """The strength of the prior; None: to be estimated."""
    if isinstance(spatial, str):
        if spatial != "auto":
            raise ValueError(f"spatial must be a number of at least 0, or 'auto'; got {spatial!r}")
        return None
    check_number("spatial", spatial, least=0)
    return float(spatial)


def _on_the_map(cube: Cube, cleaned: Cleaned, posteriors, fitted, search, fit, normalisation) -> Segmentation:
    """posteriors (K x n) and the model's bands, back in the image."""
    K = len(posteriors)
    labels = np.full(cube.shape[:2], -1)
    labels[cleaned.mask] = posteriors.argmax(axis=0)
    maps = np.full((*cube.shape[:2], K), np.nan)
    maps[cleaned.mask] = posteriors.T
    support = np.zeros(cube.shape[2], bool)
    support[cleaned.bands] = fitted.support_
    spectra = np.full((K, cube.shape[2]), np.nan)
    spectra[:, cleaned.bands] = _mean_spectra(cleaned, posteriors)
    strength = fit.history[-1].get("spatial", 0.0)
    return Segmentation(labels, maps, support, spectra, fitted, cleaned.report, cube, search, strength, normalisation)


def _mean_spectra(cleaned: Cleaned, posteriors: np.ndarray) -> np.ndarray:
    """out[k, b] = sum_i t[k, i] value[i, b] / sum_i t[k, i], before any normalisation."""
    sums = np.zeros((len(posteriors), len(cleaned.bands)))
    for part in cleaned.source.chunks():
        values = cleaned.source.reflectance(part)
        sums += posteriors[:, part].astype(values.dtype) @ values
    return sums / posteriors.sum(axis=1, keepdims=True)
