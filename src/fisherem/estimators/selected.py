"""A fitted sparse model on its selected variables alone.

With the means inside the axes and a common noise, posteriors and coordinates depend on the selected variables alone,
so a table that has them, by name, is enough to predict. What depends on all variables (densities, criteria) still
needs them.
"""

from __future__ import annotations

import copy

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..core.dlm.family import Means
from .pipelines import last_step

__all__ = ["needed_names", "on_selected"]


def _estimator(model):
    return last_step(model)[1]


def needed_names(model, given) -> list | None:
    """Names of the selected variables, where these alone decide and the names of a table, `given`, call for it.

    None where the table has just the columns of the fit, where it lacks a selected one, or where all variables vote;
    the usual checks then say what is wrong, if anything is.
    """
    known, fitted = getattr(model, "feature_names_in_", None), _estimator(model)
    if known is None or given is None or not _selected_decide(model) or set(known) == set(given):
        return None
    names = [name for name, selected in zip(known, fitted.support_, strict=True) if selected]
    return names if names and set(names) <= set(given) else None


def _selected_decide(model) -> bool:
    """Whether the groups depend on the selected variables alone, which are fewer than all."""
    fitted = _estimator(model)
    noises = getattr(fitted, "noise_variances_", None)
    if noises is None or getattr(fitted, "means", "") != Means.LATENT.value or fitted.support_.all():
        return False
    scalers = isinstance(model, Pipeline) and not all(isinstance(step, StandardScaler) for step in model[:-1])
    return bool((noises == noises[0]).all()) and not scalers


def on_selected(model):
    """A copy of an estimator, or of a pipeline of scalers and an estimator, that takes the selected columns only."""
    support = _estimator(model).support_
    if isinstance(model, Pipeline):
        return Pipeline([(name, _restricted(step, support)) for name, step in model.steps])
    return _restricted(model, support)


def _restricted(step, support: np.ndarray):
    """A fitted step with everything that has a value per variable cut to the selected ones."""
    small = copy.copy(step)
    for name in ("centre_", "row_centre_", "scales_", "exponents_", "mean_", "var_", "support_", "feature_names_in_"):
        if getattr(step, name, None) is not None:
            setattr(small, name, getattr(step, name)[support])
    if isinstance(step, StandardScaler) and step.scale_ is not None:
        small.scale_ = step.scale_[support]
    for name in ("loadings_", "sparse_loadings_"):
        if hasattr(step, name):
            setattr(small, name, getattr(step, name)[support])
    for name in ("means_", "row_means_", "group_means_", "bending_"):
        if hasattr(step, name):
            setattr(small, name, getattr(step, name)[:, support])
    if getattr(step, "roles_", None) is not None:  # a table with a row per variable
        small.roles_ = step.roles_[support].reset_index(drop=True)
    if hasattr(step, "noise_loadings_"):  # I + F F' of the selected variables, with orthogonal columns again
        left, lengths, _ = np.linalg.svd(step.noise_loadings_[support], full_matrices=False)
        small.noise_loadings_ = left * lengths
    small.n_features_in_ = int(support.sum())
    return small
