"""Table 2: clustering errors and numbers of variables on the simulation of section 4.1."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .jobs import Job
from .paper import BAYES_ERRORS, SPARSE, TABLE_2
from .plan import DEFAULT, ExperimentPlan, rivals
from .protocols import simulated, simulated_call, simulated_search
from .written import cell, signed

__all__ = ["jobs", "shown", "table"]


# The cell of a method that is not in the paper.
_NOT_PRINTED = ((np.nan, np.nan), (np.nan, np.nan))


def _methods() -> list[str]:
    return [*rivals(), *SPARSE, DEFAULT]


def _job(n: int, mu: float, method: str, seed: int, plan: ExperimentPlan) -> Job:
    if method in SPARSE:
        return Job(simulated_search, (n, mu, method, "latent", seed), plan.seconds)
    return Job(simulated_call if method == DEFAULT else simulated, (n, mu, method, seed), plan.seconds)


def jobs(plan: ExperimentPlan) -> list[Job]:
    """One job per setting, method and replication; large settings first, to keep all cores busy until the end."""
    settings = sorted(plan.settings, reverse=True)
    return [
        _job(*at, method, seed, plan) for at in settings for method in _methods() for seed in plan.replication_seeds()
    ]


def table(plan: ExperimentPlan, records: dict[Job, dict]) -> pd.DataFrame:
    """One row per setting and method: means and deviations over the replications, and the paper's."""
    rows = []
    for n, mu, method in ((*at, method) for at in plan.settings for method in _methods()):
        all_jobs = [_job(n, mu, method, seed, plan) for seed in plan.replication_seeds()]
        found = [records.get(job, {"failed": "not run"}) for job in all_jobs]
        done = [r for r in found if "failed" not in r]
        (error, error_sd), (variables, variables_sd) = TABLE_2[n, mu].get(method, _NOT_PRINTED)
        row = {
            "n": n, "mu": mu, "method": method,
            "paper_error": error, "paper_error_sd": error_sd,
            "paper_variables": variables, "paper_variables_sd": variables_sd,
            "replications": len(done), "reason": "; ".join(sorted({r["failed"] for r in found if "failed" in r})),
        }  # fmt: skip
        for name, key in (("error", "error"), ("variables", "n_variables")):
            values = [r[key] for r in done]
            row[name] = np.mean(values) if values else np.nan
            row[f"{name}_sd"] = np.std(values, ddof=1) if len(values) > 1 else np.nan
        row["seconds"] = np.mean([r["seconds"] for r in done]) if done else np.nan
        row["bayes_error"] = BAYES_ERRORS[mu]
        rows.append(row)
    numbers = pd.DataFrame(rows)
    numbers["difference"] = numbers["error"] - numbers["paper_error"]
    return numbers


def shown(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as texts, each setting preceded by its Bayes error."""
    rows: list[tuple[str, ...]] = []
    before = None
    for r in numbers.to_dict("records"):
        setting = f"n={r['n']}, mu={r['mu']:g}"
        if setting != before:
            rows.append((setting, "the best possible rule", "", cell(r["bayes_error"]), "", "", "5.0"))
        before = setting
        rows.append(
            (
                setting,
                r["method"],
                cell(r["paper_error"], r["paper_error_sd"], 2),
                cell(r["error"], r["error_sd"]) + (f" ({r['reason']})" if r["reason"] else ""),
                signed(r["difference"]),
                cell(r["paper_variables"], r["paper_variables_sd"], 1),
                cell(r["variables"], r["variables_sd"], 1),
            )
        )
    columns = ["setting", "method", "error: paper", "ours", "difference", "variables: paper", "ours "]
    return pd.DataFrame(rows, columns=columns)
