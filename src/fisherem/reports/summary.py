"""A fit as plain tables and values: what the command line writes to CSV files, prints and gives as JSON.

A fitted estimator goes in; frames and dictionaries come out. Groups are counted from 1 here, as everywhere that people
read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..selection.roles import ROLES
from .criteria import criterion_values

__all__ = ["criteria_table", "labels_table", "model_words", "role_counts", "summary", "variables_table"]

# What a model chosen by model="auto" can be compared by: its name in a sentence, and how its values are printed.
_COMPARED_BY = {
    "fisher": ("Fisher's criterion", ".3f"),
    "bic": ("BIC", ".1f"),
    "value": ("penalised likelihood inside the axes", ".1f"),
}


def labels_table(model, X, ids) -> pd.DataFrame:
    """A row per row of X: its id, its cluster (from 1), and the posterior of that cluster."""
    posteriors = np.asarray(model.predict_proba(X))
    return pd.DataFrame({"id": ids, "cluster": posteriors.argmax(axis=1) + 1, "posterior": posteriors.max(axis=1)})


def variables_table(model, names) -> pd.DataFrame:
    """A row per variable: its name, its loading on each axis, whether it is selected, and its mean in each group.

    The columns are name, loading1 ... loading<d>, selected, mean1 ... mean<K>.
    """
    loadings = {f"loading{j + 1}": model.loadings_[:, j] for j in range(model.loadings_.shape[1])}
    means = {f"mean{k + 1}": model.group_means_[k] for k in range(len(model.group_means_))}
    return pd.DataFrame({"name": list(names), **loadings, "selected": model.support_, **means})


def criteria_table(model) -> pd.DataFrame:
    """One row: the registered criteria of a fit and what they are made of."""
    row = {
        "n_clusters": len(model.weights_),
        "model": model.model_,
        "method": getattr(model, "method", "dense"),
        "sparsity": getattr(model, "sparsity", 1.0),
        "log_likelihood": model.log_likelihood_,
        "n_parameters": model.n_parameters_,
        "n_selected": int(model.support_.sum()),
        **criterion_values(model),
        "converged": model.converged_,
        "n_iter": model.n_iter_,
        "stop_reason": str(model.stop_reason_),
    }
    return pd.DataFrame([row])


def model_words(model) -> str:
    """Why model="auto" kept the model that it did, in words; "" if the model was given."""
    kept = next((record for record in model.model_choice_ if record["kept"]), None)
    if kept is None:
        return ""
    rest = [record for record in model.model_choice_ if not record["kept"]]
    if kept["reason"] not in _COMPARED_BY or not rest:
        return f"chosen: {kept['reason']}"
    other, key = rest[0], kept["reason"]
    name, digits = _COMPARED_BY[key]
    values = f"{name} {kept[key]:{digits}} against {other[key]:{digits}}"
    if kept[key] < other[key]:  # the flexible model is better, but by less than it takes
        return f"chosen because {other['model']} separates the groups only slightly better: {values}"
    return f"chosen over {other['model']}: {values}"


def role_counts(model) -> dict[str, int]:
    """How many variables have each role; empty for a fit that selects none."""
    roles = getattr(model, "roles_", None)
    return {} if roles is None else {role: int((roles["role"] == role).sum()) for role in ROLES}


def summary(model, names, folder: Path, scores: dict | None) -> dict[str, Any]:
    """What a fit is, as plain values: for the printed table and for --json.

    `names` has a name per variable; the selected ones come out under "variables", largest loadings first.
    """
    selected = np.flatnonzero(model.support_)
    size = np.linalg.norm(model.loadings_, axis=1) if model.loadings_.shape[1] else np.zeros(len(model.support_))
    order = selected[np.argsort(-size[selected], kind="stable")]
    return {
        "n_clusters": len(model.weights_),
        "sizes": np.bincount(model.labels_, minlength=len(model.weights_)).tolist(),
        "model": model.model_,
        "model_choice": model_words(model),
        "method": getattr(model, "method", "dense"),
        "sparsity": np.asarray(getattr(model, "sparsity", 1.0)).tolist(),
        "variables": [str(names[j]) for j in order],
        "n_variables": len(model.support_),
        "roles": role_counts(model),
        **criterion_values(model),
        "converged": bool(model.converged_),
        "stop_reason": str(model.stop_reason_),
        "n_iter": int(model.n_iter_),
        "scores": scores,
        "folder": str(folder),
    }
