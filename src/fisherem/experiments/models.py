"""The models of Table 1 on the real tables.

Every model is fitted with the table's number of groups and d = K - 1 axes or factors, as Table 1 counts them.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.mixture import GaussianMixture

from ..estimators import BayesianFisherEM, FactorMixture, FisherEM
from ..model.dlm import MODELS
from ..search.scoring import accuracy
from .jobs import Job
from .paper import DATA
from .plan import FULL, ExperimentPlan
from .protocols import prepared
from .written import cell

__all__ = ["FACTOR_MODELS", "GAUSSIAN_MIXTURES", "estimator", "jobs", "model_fit", "shown", "table"]

# Table 1's names -> the structures of `FactorMixture`, and the covariances of scikit-learn's mixture.
FACTOR_MODELS = {"MFA": "MFA", "Mixt-PPCA": "PPCA", "PGMM-CUU": "CUU", "MCFA": "MCFA", "MCUFSA": "MCUFSA"}
GAUSSIAN_MIXTURES = {"Full-GMM": "full", "Com-GMM": "tied", "Diag-GMM": "diag", "Sphe-GMM": "spherical"}
_BAYESIAN = "Bayesian "
# The model of the Bayesian Fisher-EM, one of the candidates of `model="auto"`.
_BAYESIAN_MODEL = "DkB"
# Starts of a full run and of a quick one, and the time limit of a model on a table in seconds.
_STARTS, _FEW_STARTS, _SECONDS = 10, 1, 120.0


def names(plan: ExperimentPlan) -> list[str]:
    """The rows: the plan's DLM, the Bayesian one, and the nine others of Table 1."""
    own = [name for name in MODELS if name in plan.models]
    return [*own, _BAYESIAN + _BAYESIAN_MODEL, *GAUSSIAN_MIXTURES, *FACTOR_MODELS]


def estimator(model: str, n_clusters: int, n_init: int, seed: int) -> Any:
    """The estimator of a row, not fitted."""
    common = {"n_init": n_init, "random_state": seed}
    if model in GAUSSIAN_MIXTURES:
        return GaussianMixture(n_clusters, covariance_type=GAUSSIAN_MIXTURES[model], **common)
    common["n_jobs"] = 1
    if model in FACTOR_MODELS:
        return FactorMixture(n_clusters, n_clusters - 1, structure=FACTOR_MODELS[model], **common)
    if model.startswith(_BAYESIAN):
        return BayesianFisherEM(n_clusters, model=model.removeprefix(_BAYESIAN), **common)
    return FisherEM(n_clusters, model=model, noise_factors=0, **common)


def model_fit(data: str, model: str, n_init: int, seed: int) -> dict:
    """Accuracy, BIC (larger is better) and seconds of one model on one table."""
    X, y = prepared(data)
    X = np.asarray(X, float)
    one = estimator(model, DATA[data].n_clusters, n_init, seed)
    begin = time.perf_counter()
    one.fit(X)
    seconds = time.perf_counter() - begin
    labels = one.predict(X)
    value = -0.5 * one.bic(X) if isinstance(one, GaussianMixture) else one.bic_
    return {"accuracy": accuracy(y, labels), "bic": float(value), "fit_seconds": seconds}


def _tables(plan: ExperimentPlan) -> list[str]:
    """The plan's tables, without those that repeat another one with a different scaling."""
    return [name for name in plan.data if not DATA[name].table]


def _job(plan: ExperimentPlan, data: str, model: str) -> Job:
    starts = _STARTS if plan.name == FULL.name else _FEW_STARTS
    return Job(model_fit, (data, model, starts, plan.seed), min(plan.seconds, _SECONDS))


def jobs(plan: ExperimentPlan) -> list[Job]:
    """A job per model and table."""
    return [_job(plan, data, model) for data in _tables(plan) for model in names(plan)]


def table(plan: ExperimentPlan, records: dict[Job, dict]) -> pd.DataFrame:
    """A row per model and table: accuracy, BIC, seconds, and the reason if there is no fit."""
    rows = []
    for data in _tables(plan):
        for model in names(plan):
            record = records.get(_job(plan, data, model), {"failed": "not run"})
            found = [record.get(key, np.nan) for key in ("accuracy", "bic", "fit_seconds")]
            rows.append((data, model, *found, record.get("failed", "")))
    return pd.DataFrame(rows, columns=["data", "model", "accuracy", "bic", "seconds", "reason"])


def shown(numbers: pd.DataFrame) -> pd.DataFrame:
    """A row per model and a column per table, "accuracy · BIC · seconds"; the best of a column is bold."""
    best = numbers.groupby("data")[["accuracy", "bic"]].max()
    columns: dict[str, dict[str, str]] = {}
    for r in numbers.to_dict("records"):
        if pd.isna(r["accuracy"]):
            text = str(r["reason"]) if r["reason"] == "not run" else "no fit"
        else:
            parts = [
                _bold(cell(r["accuracy"]), r["accuracy"] == best["accuracy"][r["data"]]),
                _bold(cell(r["bic"], digits=0), r["bic"] == best["bic"][r["data"]]),
                _seconds(r["seconds"]),
            ]
            text = " · ".join(parts)
        columns.setdefault(str(r["data"]), {})[str(r["model"])] = text
    frame = pd.DataFrame(columns)
    return frame.reset_index(names="model")


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def _bold(text: str, yes: bool) -> str:
    return f"**{text}**" if yes else text
