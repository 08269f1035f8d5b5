"""Table 3: accuracies and numbers of variables on real data, by the paper's protocol and by the default call.

The paper's protocol: single random starts (the same for all models and methods), the model with the largest mean BIC
of the dense fits, then the level of sparsity with the largest mean BIC; mean and deviation over the starts. It is run
with the means inside the axes (eq. 4), the default axes and the default ridge. `published` has the paper's algorithms
unchanged, with both readings of the means.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .. import datasets
from .jobs import Job
from .paper import DATA, SPARSE, TABLE_3
from .plan import CALLS, ExperimentPlan, methods, rivals
from .protocols import default_call, fixed_share, random_dense, random_sparse, reach, rival, search_call
from .written import cell, signed

__all__ = [
    "available", "calls", "default_job", "first_jobs", "fixed_job", "rival_job", "rival_jobs", "search_job",
    "second_jobs", "shown", "table",
]  # fmt: skip

# The time limit of the paper's protocol (20 fits at every level), as a multiple of a rival's.
_PROTOCOL = 3
# The default means.
LATENT = "latent"


def available(plan: ExperimentPlan) -> dict[str, str]:
    """data set -> why it cannot be loaded ("" if it can), for the plan's data sets."""
    reasons = {}
    for name in plan.data:
        try:
            datasets.load(DATA[name].table or name)
            reasons[name] = ""
        except FileNotFoundError:
            reasons[name] = "not run: FISHEREM_DATA does not hold it"
    return reasons


def rival_job(plan: ExperimentPlan, data: str, method: str) -> Job:
    """A rival on one data set."""
    return Job(rival, (data, method, plan.seed), plan.seconds)


def default_job(plan: ExperimentPlan, data: str, method: str) -> Job:
    """A call of this package with the number of groups only, on one data set."""
    return Job(default_call, (data, method, plan.seed), plan.seconds)


def fixed_job(plan: ExperimentPlan, data: str, method: str) -> Job:
    """A sparse version with a fixed share on one data set."""
    return Job(fixed_share, (data, method, plan.seed), plan.seconds)


def search_job(plan: ExperimentPlan, data: str, method: str) -> Job:
    """The search with a sparse version on one data set, its number of groups given."""
    return Job(search_call, (data, method, LATENT, plan.seed), plan.seconds)


def _dense_job(plan: ExperimentPlan, data: str, model: str) -> Job:
    return Job(random_dense, (data, model, LATENT, plan.n_starts, plan.seed), plan.seconds)


def _sparse_job(plan: ExperimentPlan, data: str, model: str, method: str) -> Job:
    arguments = (data, model, method, LATENT, plan.levels, plan.n_starts, plan.seed)
    return Job(random_sparse, arguments, _PROTOCOL * plan.seconds)


def _reach_job(plan: ExperimentPlan, data: str, method: str) -> Job:
    return Job(reach, (data, method, LATENT, plan.levels, plan.seed), _PROTOCOL * plan.seconds)


def _names(plan: ExperimentPlan) -> list[str]:
    return [name for name, reason in available(plan).items() if not reason]


def first_jobs(plan: ExperimentPlan) -> list[Job]:
    """The jobs for the choice of a model, and all of our own jobs that do not depend on it."""
    return [
        job
        for name in _names(plan)
        for job in (
            *(default_job(plan, name, method) for method in CALLS),
            *(_dense_job(plan, name, model) for model in plan.models),
            *(make(plan, name, method) for method in SPARSE for make in (fixed_job, _reach_job, search_job)),
        )
    ]


def rival_jobs(plan: ExperimentPlan) -> list[Job]:
    """The rivals; the slowest come last."""
    return [rival_job(plan, name, method) for method in rivals() for name in _names(plan)]


def _mean_bic(record: dict) -> float:
    values = [fit[0] for fit in record.get("fits", []) if fit is not None]
    return float(np.mean(values)) if values else -np.inf


def chosen_model(plan: ExperimentPlan, data: str, records: dict[Job, dict]) -> str | None:
    """The model with the largest mean BIC over the random starts."""
    values = {model: _mean_bic(records.get(_dense_job(plan, data, model), {})) for model in plan.models}
    best = max(values, key=values.__getitem__)
    return best if np.isfinite(values[best]) else None


def second_jobs(plan: ExperimentPlan, records: dict[Job, dict]) -> list[Job]:
    """The sparse fits of the paper's protocol, with the models that the first jobs chose."""
    models = {name: chosen_model(plan, name, records) for name in _names(plan)}
    return [_sparse_job(plan, name, model, method) for name, model in models.items() if model for method in SPARSE]


def _protocol(plan: ExperimentPlan, data: str, method: str, records: dict[Job, dict]) -> dict:
    """The paper's protocol: the choice, and means and deviations of the accuracy and the number of variables."""
    model = chosen_model(plan, data, records)
    if model is None:
        return {}
    record = records.get(_sparse_job(plan, data, model, method), {"failed": "not run"})
    if "failed" in record:
        return {"model": model, "reason": record["failed"]}
    trials = [t for t in record["trials"] if all(point is not None for point in t)]
    if not trials:
        return {"model": model, "reason": "no start led to a fit at every level"}
    values = np.array(trials)  # starts x levels x (BIC, accuracy, variables)
    level = int(values[:, :, 0].mean(axis=0).argmax())
    _, accuracy, variables = values[:, level].T
    return {
        "model": model, "level": plan.levels[level], "trials": len(trials),
        "accuracy": accuracy.mean(), "accuracy_sd": accuracy.std(ddof=1) if len(trials) > 1 else np.nan,
        "variables": variables.mean(), "variables_sd": variables.std(ddof=1) if len(trials) > 1 else np.nan,
    }  # fmt: skip


def _explain(plan: ExperimentPlan, row: dict, found: dict) -> str:
    """Compare a cell of the paper's protocol with the paper, and with other starts and other choices."""
    if np.isnan(row["accuracy"]) or np.isnan(row["paper"]) or not found:
        return ""
    least = row["paper"] - row["paper_sd"] - 5e-4  # the paper prints three digits
    if row["accuracy"] >= least:
        return "within" if row["accuracy"] <= row["paper"] + row["paper_sd"] + 5e-4 else "above"
    same = found.get(row["model"], [])
    point = same[plan.levels.index(row["level"])] if same else None
    if point is not None and point[1] >= least:
        return f"starts: the same model and level from the default starts give {point[1]:.3f}"
    points = [(p[1], m, s, p[2]) for m, path in found.items() for s, p in zip(plan.levels, path, strict=True) if p]
    best, model, level, variables = max(points)
    what = f"{model} at {level:g} gives {best:.3f} with {variables}"
    return f"choice: {what}" if best >= least else f"out of reach: the best of all models and levels, {what}"


def table(plan: ExperimentPlan, records: dict[Job, dict]) -> pd.DataFrame:
    """One row per data set and method: the paper's numbers, its protocol, the default call and the search.

    `fixed` is a fit with a fixed share.
    """
    rows = []
    for data, missing in available(plan).items():
        for method in methods():
            (paper, sd), variables = TABLE_3.get(data, {}).get(method, ((np.nan, np.nan), np.nan))
            row = {
                "data": data, "method": method, "paper": paper, "paper_sd": np.nan if sd is None else sd,
                "paper_variables": variables, "model": "", "level": np.nan, "trials": 0,
                "accuracy": np.nan, "accuracy_sd": np.nan, "variables": np.nan, "variables_sd": np.nan,
                "default": np.nan, "default_variables": np.nan, "default_seconds": np.nan,
                "fixed": np.nan, "fixed_variables": np.nan,
                "search": np.nan, "search_variables": np.nan, "search_chosen": "", "reading": "", "reason": missing,
            }  # fmt: skip
            if not missing:
                make = _call_row if method in CALLS else _sparse_row if method in SPARSE else _rival_row
                row |= make(plan, row, records)
            rows.append(row)
    found = pd.DataFrame(rows)
    found["difference"] = found["accuracy"] - found["paper"]
    return found


def _sparse_row(plan: ExperimentPlan, row: dict, records: dict[Job, dict]) -> dict:
    data, method = row["data"], row["method"]
    found = _protocol(plan, data, method, records)
    fixed = records.get(fixed_job(plan, data, method), {})
    search = records.get(search_job(plan, data, method), {})
    found |= {
        "fixed": fixed.get("accuracy", np.nan), "fixed_variables": fixed.get("n_variables", np.nan),
        "search": search.get("accuracy", np.nan), "search_variables": search.get("n_variables", np.nan),
        "search_chosen": search.get("chosen", ""),
    }  # fmt: skip
    reached = records.get(_reach_job(plan, data, method), {}).get("found", {})
    return found | {"reading": _explain(plan, row | found, reached)}


def _called(record: dict) -> dict:
    """The cells of a single fit."""
    return {
        "default": record.get("accuracy", np.nan), "default_variables": record.get("n_variables", np.nan),
        "default_seconds": record["seconds"] if "accuracy" in record else np.nan, "reason": record.get("failed", ""),
    }  # fmt: skip


def _rival_row(plan: ExperimentPlan, row: dict, records: dict[Job, dict]) -> dict:
    """For rivals the paper's protocol and the default call are the same."""
    found = _called(records.get(rival_job(plan, row["data"], row["method"]), {"failed": "not run"}))
    return found | {"accuracy": found["default"], "variables": found["default_variables"]}


def _call_row(plan: ExperimentPlan, row: dict, records: dict[Job, dict]) -> dict:
    """A call of this package."""
    return _called(records.get(default_job(plan, row["data"], row["method"]), {"failed": "not run"}))


def _with(value: float, variables: float, deviation: float = np.nan, digits: int = 0) -> str:
    return "" if np.isnan(value) else f"{cell(value, deviation)} ({variables:.{digits}f})"


def calls(numbers: pd.DataFrame) -> pd.DataFrame:
    """One row per data set, as texts: the calls of this package and the rivals."""
    rows = []
    for data, part in numbers.groupby("data", sort=False):
        by = part.set_index("method").to_dict("index")
        found = {method: _with(by[method]["default"], by[method]["default_variables"]) for method in CALLS}
        for method in rivals():
            one = by[method]
            found[method] = one["reason"] or _with(one["default"], one["default_variables"])
        rows.append({"data": data} | found)
    return pd.DataFrame(rows)


def shown(numbers: pd.DataFrame) -> pd.DataFrame:
    """The paper's protocol as texts: accuracy ± deviation, with the number of variables in brackets."""
    rows: list[tuple[str, ...]] = []
    order = [method for method in methods() if method not in CALLS]
    for r in numbers[numbers["method"].isin(order)].to_dict("records"):
        paper = cell(r["paper"], r["paper_sd"]) + ("" if np.isnan(r["paper"]) else f" ({r['paper_variables']:g})")
        ours = _with(r["accuracy"], r["variables"], r["accuracy_sd"], 1)
        search = _with(r["search"], r["search_variables"]) + (f", {r['search_chosen']}" if r["search_chosen"] else "")
        rows.append(
            (
                r["data"], r["method"], paper, r["reason"] or ours,
                "" if np.isnan(r["level"]) else f"{r['model']} {r['level']:g}", signed(r["difference"]), r["reading"],
                _with(r["fixed"], r["fixed_variables"]), search,
            )
        )  # fmt: skip
        if r["method"] == order[-1] and r["data"] == "wine":
            rows.append(("chironomus", "all", "", "the data are not publicly available", *[""] * 5))
    columns = (
        "data", "method", "paper", "the paper's protocol", "model, level", "difference", "reading",
        "one fit at 0.1", "search, K given",
    )  # fmt: skip
    return pd.DataFrame(rows, columns=list(columns))
