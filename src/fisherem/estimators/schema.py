"""What the attributes of a fitted estimator must be: checked when a model is loaded from a file.

Shapes are written in letters: p columns, K groups, d axes, m noise factors, n rows. The same letter is the same number
in all attributes of a model.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from ..model.dlm import MODELS
from ..tables.covariates import CODING
from ..tables.encoding import Encoding
from .mixed import in_numbers
from .naming import names_of_groups
from .prediction import FittedMixture

__all__ = ["check_model"]

# Attributes that are arrays of finite numbers, with their shapes; a model need not have all of them.
_ARRAYS = {
    "weights_": "K", "means_": "Kp", "group_means_": "Kp", "row_means_": "Kp", "centre_": "p", "row_centre_": "p",
    "scales_": "p", "exponents_": "p", "bending_": "3p", "loadings_": "pd", "sparse_loadings_": "pd",
    "latent_means_": "Kd", "covariances_": "Kdd", "noise_loadings_": "pm", "latent_spreads_": "Kdd", "prior_mean_": "d",
    "distance_moments_": "2K", "labels_": "n", "support_": "p", "minimal_support_": "p",
    "covariate_effects_": "zp",
}  # fmt: skip
_POSITIVE = ("scales_", "noise_variances_", "distance_moments_")
_NUMBERS = ("log_likelihood_", "bic_", "icl_", "aic_", "elbo_", "n_parameters_", "n_iter_", "divergence_")
# A fitted mixture has all of these; one of version 0.1.0, too.
_ALWAYS = ("weights_", "means_", "n_features_in_")
# Rounding of files: orthonormal axes and shares that sum to 1 are exact to about 1e-12.
_TOLERANCE = 1e-6


def check_model(model: Any) -> None:
    """Raise a ValueError if an estimator from a file contradicts itself: shapes, values that are not finite, and so on.

    Estimators that are not fitted are accepted. At the end a fitted one must place its own means.
    """
    for one in [step for _, step in getattr(model, "steps", [])] or [model]:
        inner = getattr(one, "estimator_", one)
        fitted = any(hasattr(inner, name) for name in ("weights_", "loadings_", "factor_loadings_"))
        if isinstance(inner, FittedMixture) and fitted:
            if hasattr(inner, "encoding_"):
                _check_encoding(inner)
                inner = in_numbers(inner)[0]
            if hasattr(inner, "count_total_"):
                total = inner.count_total_
                if isinstance(total, bool) or not isinstance(total, (int, float)) or not 0 < total < np.inf:
                    raise ValueError(f"count_total_ is {total!r:.50}, not a positive number")
                inner = in_numbers(inner)[0]
            _check_attributes(inner)
            _check_answers(inner)
        elif hasattr(inner, "predict") and hasattr(inner, "n_features_in_"):  # a rival
            _check_prediction(inner)
    if hasattr(model, "steps") and hasattr(model, "n_features_in_"):
        _check_transformers(model)


def _check_attributes(model: Any) -> None:
    for name in _ALWAYS:
        if not hasattr(model, name):
            raise ValueError(f"{name} is missing")
    if not _whole(model.n_features_in_) or model.n_features_in_ < 1:
        raise ValueError(f"n_features_in_ is {model.n_features_in_!r}")
    sizes: dict[str, int] = {"2": 2, "3": 3, "p": int(model.n_features_in_)}
    mixed = hasattr(model, "factor_loadings_")  # factor mixtures have other axes
    for name, shape in _ARRAYS.items():
        if hasattr(model, name) and not (mixed and "d" in shape):
            _check_shape(name, _numbers(name, getattr(model, name)), shape, sizes)
    for name in ("noise_variances_", "factor_loadings_", "covariances_", "latent_means_"):
        if hasattr(model, name):
            _numbers(name, getattr(model, name))
    _check_names(model)
    _check_values(model, sizes["K"])
    if hasattr(model, "group_names_"):
        names_of_groups(model)


def _check_encoding(model: Any) -> None:
    """The encoding of a table with categories: a name and levels per column of the table."""
    encoding = model.encoding_
    if not isinstance(encoding, Encoding):
        raise ValueError(f"encoding_ is of type {type(encoding).__name__}")
    p = model.n_features_in_
    for name in ("names", "levels", "ordered"):
        if not isinstance(vars(encoding).get(name), list) or len(vars(encoding)[name]) != p:
            raise ValueError(f"encoding_.{name} must be a list with an entry for each of {p!r} columns")
    texts = [encoding.names, *(known for known in encoding.levels if known is not None)]
    if not all(isinstance(one, list) and one and all(isinstance(text, str) for text in one) for one in texts):
        raise ValueError("encoding_ must have lists of texts")
    if not all(type(flag) is bool for flag in (*encoding.ordered, getattr(encoding, "named", None))):
        raise ValueError("encoding_ must say true or false for ordered columns")
    if len(set(encoding.column_names)) < len(encoding.column_names):
        raise ValueError("encoding_ must have different names of columns")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and list(names) != encoding.names:
        raise ValueError("encoding_ must have the names of feature_names_in_")
    for name in ("support_", "minimal_support_"):
        if hasattr(model, name) and np.shape(getattr(model, name)) != (p,):
            raise ValueError(f"{name} must have an entry for each of {p} columns")


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _numbers(name: str, value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
        raise ValueError(f"{name} is not an array of numbers")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} has values that are not finite")
    return value


def _check_shape(name: str, value: np.ndarray, shape: str, sizes: dict[str, int]) -> None:
    if value.ndim != len(shape) or any(sizes.setdefault(s, n) != n for s, n in zip(shape, value.shape, strict=True)):
        expected = " x ".join(str(sizes.get(letter, letter)) for letter in shape)
        raise ValueError(f"{name} has the shape {value.shape} where {expected} is expected")


def _check_names(model: Any) -> None:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return
    if not isinstance(names, np.ndarray) or names.shape != (model.n_features_in_,):
        raise ValueError(f"feature_names_in_ must be the names of {model.n_features_in_} columns")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("feature_names_in_ must be different texts")


def _check_values(model: Any, n_clusters: int) -> None:
    weights = model.weights_
    if (weights < 0).any() or abs(weights.sum() - 1) > _TOLERANCE:
        raise ValueError("weights_ must be shares that sum to 1")
    for name in _POSITIVE:
        if hasattr(model, name) and not (getattr(model, name) > 0).all():
            raise ValueError(f"{name} must be above 0")
    for name in _NUMBERS:
        value = getattr(model, name, 0.0)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
            raise ValueError(f"{name} is {value!r:.50}, not a finite number")
    labels = getattr(model, "labels_", np.zeros(0, int))
    if labels.dtype.kind not in "iu" or (len(labels) and not 0 <= labels.min() <= labels.max() < n_clusters):
        raise ValueError(f"labels_ must be whole numbers from 0 to {n_clusters - 1}")
    for name in ("support_", "minimal_support_"):
        if hasattr(model, name) and getattr(model, name).dtype != bool:
            raise ValueError(f"{name} must be true or false for every column")
    if hasattr(model, "model_") and model.model_ not in MODELS:
        raise ValueError(f"model_ is {model.model_!r:.50}, which is not one of the models")
    if hasattr(model, "loadings_"):
        axes = model.loadings_
        if np.abs(axes.T @ axes - np.eye(axes.shape[1])).max(initial=0) > _TOLERANCE:
            raise ValueError("loadings_ must be orthonormal")
    if hasattr(model, "covariances_"):
        _check_covariances(model)


def _check_covariances(model: Any) -> None:
    """Positive definite, or positive semidefinite where they are those of common factors.

    A factor model places rows by L C L' + Psi, which is positive definite if C is semidefinite: in a group of one row C
    is 0 up to rounding. How far below 0 it lies is measured along the loadings and relative to the noise, as
    Psi^-1/2 L C L' Psi^-1/2, so that the unit of the factors does not matter.
    """
    found = model.covariances_
    if found.ndim != 3 or not np.allclose(found, found.transpose(0, 2, 1), rtol=_TOLERANCE):
        raise ValueError("covariances_ must be symmetric")
    if not found.shape[1]:
        return
    if not hasattr(model, "factor_loadings_"):
        if (np.linalg.eigvalsh(found) <= 0).any():
            raise ValueError("covariances_ must be positive definite")
        return
    # Psi^-1/2 L = Q R, and the eigenvalues of Q R C R' Q' other than 0 are those of R C R'
    _, root = np.linalg.qr(model.factor_loadings_ / np.sqrt(model.noise_variances_[0])[:, None])
    values = np.linalg.eigvalsh(root @ found @ root.T)
    if (values < -_TOLERANCE * max(1.0, np.abs(values).max())).any():
        raise ValueError("covariances_ must be positive semidefinite")


def _check_covariates(model: Any) -> None:
    """The coding of covariates must be a table with a row for each of the effects."""
    coding = getattr(model, "covariates_", None)
    if coding is None:
        return
    if not isinstance(coding, pd.DataFrame) or list(coding.columns) != CODING:
        raise ValueError("covariates_ is not a table of coded covariates")
    numbers = coding[CODING[2:]].to_numpy(float)
    if not np.isfinite(numbers).all() or (numbers[:, 1] < 0).any():
        raise ValueError("covariates_ has values that are not finite or negative spreads")
    effects = getattr(model, "covariate_effects_", np.zeros((0, 0)))
    if int((numbers[:, 1] > 0).sum()) != len(effects):
        raise ValueError("covariates_ and covariate_effects_ do not fit each other")


def _rows(model: Any, values: np.ndarray) -> Any:
    names = getattr(model, "feature_names_in_", None)
    return values if names is None else pd.DataFrame(values, columns=names)


def _check_answers(model: Any) -> None:
    """The model must be able to place its own means."""
    if not hasattr(model, "predict_proba"):
        return
    _check_covariates(model)
    with _quietly():
        found = np.asarray(model._without_covariates().predict_proba(_rows(model, model.means_)))
    if found.shape != (len(model.means_), len(model.weights_)) or not np.allclose(found.sum(axis=1), 1):
        raise ValueError("its posteriors are not probabilities")


@contextmanager
def _quietly():
    """Silence the warnings of a trial prediction: they are not about the file."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _two_rows(model: Any) -> Any:
    """Two rows of zeros, with as many columns as the model says it has."""
    if not _whole(model.n_features_in_) or model.n_features_in_ < 1:
        raise ValueError(f"n_features_in_ is {model.n_features_in_!r}")
    return _rows(model, np.zeros((2, model.n_features_in_)))


def _check_prediction(model: Any) -> None:
    """A rival must be able to predict rows of as many columns as it says."""
    rows = _two_rows(model)
    with _quietly():
        found = np.asarray(model.predict(rows))
    if found.shape != (2,):
        raise ValueError("it does not predict a group for every row")


def _check_transformers(pipeline: Any) -> None:
    """The steps before the last must turn finite rows into finite rows."""
    rows = _two_rows(pipeline)
    with _quietly():
        found = pipeline[:-1].transform(rows)
    if not np.isfinite(np.asarray(found, float)).all():
        raise ValueError("a step before the model gives values that are not finite")
