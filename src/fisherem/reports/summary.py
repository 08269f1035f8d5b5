"""What the command line writes: tables of the groups, the variables and the criteria, the model file, the report."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["criteria_table", "labels_table", "model_words", "output_folder", "summary", "variables_table"]


@contextmanager
def output_folder(folder: Path):
    """A temporary folder beside `folder`; its files are moved there together at the end, none if anything fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    except OSError as error:
        raise ValueError(f"{folder}: cannot be written to ({error.strerror}); choose another folder with -o") from None
    try:
        yield temporary
        for path in sorted(temporary.iterdir()):
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def labels_table(model, X, ids) -> pd.DataFrame:
    """A row per row of the data: id, cluster, and the posterior of that cluster."""
    posteriors = np.asarray(model.predict_proba(X))
    return pd.DataFrame({"id": ids, "cluster": posteriors.argmax(axis=1), "posterior": posteriors.max(axis=1)})


def variables_table(model, names) -> pd.DataFrame:
    """A row per variable: its loadings, whether it is selected, and the groups' means."""
    loadings = {f"loading{j + 1}": model.loadings_[:, j] for j in range(model.loadings_.shape[1])}
    means = {f"mean{k}": model.means_[k] for k in range(len(model.means_))}
    return pd.DataFrame({"name": list(names), **loadings, "selected": model.support_, **means})


def criteria_table(model) -> pd.DataFrame:
    """One row: the criteria of a fit and what they are made of."""
    return pd.DataFrame(
        [
            {
                "n_clusters": len(model.weights_),
                "model": model.model_,
                "method": getattr(model, "method", "dense"),
                "sparsity": getattr(model, "sparsity", 1.0),
                "log_likelihood": model.log_likelihood_,
                "n_parameters": model.n_parameters_,
                "n_selected": int(model.support_.sum()),
                "bic": model.bic_,
                "icl": model.icl_,
                "aic": model.aic_,
                "converged": model.converged_,
                "n_iter": model.n_iter_,
                "stop_reason": model.stop_reason_,
            }
        ]
    )


def model_words(model) -> str:
    """Why model="auto" kept the model it did, in words; "" where it was given."""
    kept = next((record for record in model.model_choice_ if record["kept"]), None)
    if kept is None:
        return ""
    rest = [record for record in model.model_choice_ if not record["kept"]]
    if kept["reason"] in ("fisher", "bic") and rest:
        other, key = rest[0], kept["reason"]
        name, digits = {"fisher": ("Fisher's criterion", ".3f"), "bic": ("BIC", ".1f")}[key]
        values = f"{kept[key]:{digits}} against {other[key]:{digits}}"
        if kept[key] < other[key]:  # the flexible model is better by less than it takes
            return f"chosen, since {other['model']} separates the groups hardly better: {name} {values}"
        return f"chosen over {other['model']} by {name}, {values}"
    return f"chosen: {kept['reason']}"


def summary(model, names, folder: Path, scores: dict | None) -> dict:
    """What a fit is, as plain values: for the printed table and for --json."""
    selected = np.flatnonzero(model.support_)
    size = np.linalg.norm(model.loadings_, axis=1) if model.loadings_.shape[1] else np.zeros(len(model.support_))
    order = selected[np.argsort(-size[selected], kind="stable")]
    return {
        "n_clusters": len(model.weights_),
        "sizes": np.bincount(model.labels_, minlength=len(model.weights_)).tolist(),
        "model": model.model_,
        "model_choice": model_words(model),
        "method": getattr(model, "method", "dense"),
        "sparsity": _plain(getattr(model, "sparsity", 1.0)),
        "variables": [str(names[j]) for j in order],
        "n_variables": len(model.support_),
        "bic": model.bic_,
        "icl": model.icl_,
        "aic": model.aic_,
        "converged": bool(model.converged_),
        "stop_reason": model.stop_reason_,
        "n_iter": int(model.n_iter_),
        "scores": scores,
        "folder": str(folder),
    }


def _plain(value):
    return np.asarray(value).tolist()
