"""A fit as plain tables and values: what the command line writes to CSV files, prints and gives as JSON.

A fitted estimator goes in; frames and dictionaries come out. Groups are counted from 1 here, as everywhere that people
read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._utils.wording import count, group_names_of
from ...estimators.describing import covariate_words as said_of_covariates
from ...estimators.mixed import in_numbers, variable_sizes
from ...estimators.naming import names_of_groups
from ...estimators.outlying import tells_outliers
from ...policy.thresholds import THRESHOLDS
from ...policy.variables import ROLES
from ..content.criteria import criterion_values

__all__ = [
    "contributions_table", "covariate_words", "criteria_table", "labels_table", "model_words", "noise_words",
    "outside_words", "role_counts", "scale_words", "summary", "variables_table",
]  # fmt: skip


def labels_table(model, X, ids) -> pd.DataFrame:
    """A row per row of X: its id, its cluster (from 1), the posterior of that cluster, and how far outside it is.

    Groups with names have these in a column group. `tail_probability` is the result of `outlyingness`; a
    model that cannot tell has no such column.
    """
    posteriors = np.asarray(model.predict_proba(X))
    cluster = posteriors.argmax(axis=1)
    found = {"id": ids, "cluster": cluster + 1, "posterior": posteriors.max(axis=1)}
    if hasattr(model, "group_names_"):
        found["group"] = np.asarray(model.group_names_, object)[cluster]
    if tells_outliers(model):
        found["tail_probability"] = np.asarray(model.outlyingness(X))
    return pd.DataFrame(found)


def contributions_table(found, ids) -> pd.DataFrame:
    """A row per row of X: its id, its cluster and the next one (from 1), the log-odds, and what they are the sum of.

    `found` are the `Contributions` of a model. The smallest change that would move the row is that of the variable
    `change` from `value` to `becomes`, which moves it into cluster `to`. Of groups with names, `against` and `to` are
    names, and `group` is that of the cluster.
    """
    changes, names, K = found.changes, found.group_names, len(found.group_names)
    named = names != group_names_of(None, K)
    called = np.array(names if named else range(1, K + 1), object)
    place = {name: k for k, name in enumerate(names)}
    about = {
        "id": ids, "cluster": found.groups + 1, **({"group": called[found.groups]} if named else {}),
        "against": called[found.against], "log_odds": found.log_odds, "change": changes["variable"],
        "value": changes["value"], "becomes": changes["becomes"],
        "to": [called[place[name]] if name else "" for name in changes["to"]], "baseline": found.baseline,
    }  # fmt: skip
    return pd.concat([pd.DataFrame(about), pd.DataFrame(found.values, columns=found.names)], axis=1)


def outside_words(n_outside: int, n: int) -> str:
    """Rows outside all groups in a sentence; "" if there are none."""
    if not n_outside:
        return ""
    lie = f"{n_outside:,} of {count(n, 'row')} {'lies' if n_outside == 1 else 'lie'} outside all groups"
    return f"{lie} (tail_probability below {THRESHOLDS.outside:g}; by chance {THRESHOLDS.outside * n:.2g})"


def variables_table(model, names) -> pd.DataFrame:
    """A row per variable: its name, its loading on each axis, whether it is selected, and its mean in each group.

    The columns are name, loading1 ... loading<d>, selected, mean1 ... mean<K>; of groups with names, mean <name>. Of a
    table with categories, a row is a column of its encoding.
    """
    if hasattr(model, "encoding_"):
        model, _ = in_numbers(model)
        names = model.feature_names_in_
    loadings = {f"loading{j + 1}": model.loadings_[:, j] for j in range(model.loadings_.shape[1])}
    known = getattr(model, "group_names_", None)
    called = range(1, len(model.group_means_) + 1) if known is None else [f" {name}" for name in known]
    means = {f"mean{name}": mean for name, mean in zip(called, model.group_means_, strict=True)}
    found = {"name": list(names), **loadings, "selected": model.support_, **means}
    shares = getattr(model, "covariate_shares_", None)
    if shares is not None:  # of the variance of each variable
        found |= {f"explained by {name}": shares[name] for name in shares.columns[1:]}
    return pd.DataFrame(found)


def criteria_table(model, standardised: bool = False) -> pd.DataFrame:
    """One row: the registered criteria of a fit and what they are made of.

    `standardised`: whether the columns were, before the fit.
    """
    row = {
        "n_clusters": len(model.weights_),
        "model": model.model_,
        "noise_factors": getattr(model, "noise_factors_", 0),
        "scale": "standardise" if standardised else getattr(model, "scale_", "none"),
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
    return _chosen_words(model, "model")


def _chosen_words(model, name: str) -> str:
    """How a decision was made, as in "chosen by BIC from 0, 1, 2"; "" if it was not."""
    made = model.decisions_[model.decisions_["decision"] == name]
    if made.empty:
        return ""
    tried, reason = made["alternatives"].iloc[0], made["reason"].iloc[0]
    return f"chosen by {reason} from {tried}" if tried else f"chosen: {reason}"


def noise_words(model) -> str:
    """What the noise outside the axes is like, as in "1 common factor, chosen by BIC from 0, 1, 2"."""
    m, p = getattr(model, "noise_factors_", 0), len(model.loadings_)  # files of earlier versions have no factors
    shape = count(m, "common factor") if m else "no common factors"
    if m >= p - 1 > 0:
        shape = f"any covariance ({count(m, 'factor')})"
    return ", ".join(filter(None, (shape, _chosen_words(model, "noise") or ("as given" if m else ""))))


def scale_words(model) -> str:
    """How the estimator bent and scaled the columns, and what was tried; "" if it left them as they were given."""
    bent = int((getattr(model, "exponents_", np.ones(1)) != 1).sum())
    bending = f"{count(bent, 'skewed column')} transformed by a power" if bent else ""
    return ", ".join(filter(None, (_scaling_words(model), bending)))


def _scaling_words(model) -> str:
    done = {"none": "columns unchanged", "standardise": "columns standardised"}[getattr(model, "scale_", "none")]
    why = list(model.decisions_["reason"][model.decisions_["decision"] == "scaling"])
    if getattr(model, "scale", "none") != "auto" or not why:
        return "" if done == "columns unchanged" else done
    return f"{done}: {why[0]}"


# Covariates that are spoken of.
_MOST_COVARIATES = 8


def covariate_words(model) -> str:
    """How much of the variance the covariates explain, and of which variables most; "" without covariates."""
    return said_of_covariates(model, _MOST_COVARIATES) if hasattr(model, "covariate_share_") else ""


def role_counts(model) -> dict[str, int]:
    """How many variables have each role; empty for a fit that selects none."""
    roles = getattr(model, "roles_", None)
    return {} if roles is None else {role: int((roles["role"] == role).sum()) for role in ROLES}


def summary(model, names, folder: Path, scores: dict | None, standardised: bool = False) -> dict[str, Any]:
    """What a fit is, as plain values: for the printed table and for --json.

    `names` has a name per variable; the selected ones come out under "variables", largest loadings first.
    """
    selected = np.flatnonzero(model.support_)
    size = variable_sizes(model)
    order = selected[np.argsort(-size[selected], kind="stable")]
    return {
        "n_clusters": len(model.weights_),
        "sizes": np.bincount(model.labels_, minlength=len(model.weights_)).tolist(),
        "group_names": names_of_groups(model),
        "model": model.model_,
        "model_choice": model_words(model),
        "noise_factors": int(getattr(model, "noise_factors_", 0)),
        "noise_choice": noise_words(model),
        "scale": "standardise" if standardised else getattr(model, "scale_", "none"),
        "scale_choice": scale_words(model),
        "covariates": covariate_words(model),
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
