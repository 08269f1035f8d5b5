"""Table 4: computing times on usps358 with model, number of groups and sparsity given."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from .jobs import Job
from .paper import TABLE_4
from .plan import CALLS, ExperimentPlan, rivals
from .protocols import timing
from .written import cell

__all__ = ["jobs", "product_job", "shown", "table"]


def matrix_product(size: int) -> dict:
    """The shortest of three timings of a square product in double precision, as a measure of the machine's speed."""
    a = np.random.default_rng(0).normal(size=(size, size))
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        a @ a
        times.append(time.perf_counter() - begin)
    return {"fit_seconds": min(times)}


def product_job() -> Job:
    """The product of two 2000 x 2000 matrices."""
    return Job(matrix_product, (2000,))


def _timed() -> list[str]:
    """The paper's methods, then other rivals, then the automatic calls."""
    return [*TABLE_4, *(name for name, rival in rivals().items() if rival.paper_name is None), *CALLS]


def jobs(plan: ExperimentPlan) -> list[Job]:
    """The matrix product, and one timing per method."""
    return [product_job(), *(Job(timing, (method, plan.seed), plan.seconds) for method in _timed())]


def table(plan: ExperimentPlan, records: dict[Job, dict]) -> pd.DataFrame:
    """One row per method: the paper's seconds, ours, how many times faster; last, the matrix product."""
    rows = []
    for method in _timed():
        paper = TABLE_4.get(method, np.nan)
        record = records.get(Job(timing, (method, plan.seed)), {"failed": "not run"})
        seconds = record.get("fit_seconds", np.nan)
        rows.append(
            {
                "method": method, "paper_seconds": paper, "seconds": seconds, "times_faster": paper / seconds,
                "accuracy": record.get("accuracy", np.nan), "n_variables": record.get("n_variables", np.nan),
                "reason": record.get("failed", ""),
            }
        )  # fmt: skip
    product = records.get(product_job(), {}).get("fit_seconds", np.nan)
    rows.append({"method": "product of two 2000 x 2000 matrices", "seconds": product, "reason": ""})
    return pd.DataFrame(rows)


def shown(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as texts."""
    rows = [
        (
            r["method"], cell(r["paper_seconds"], digits=0), r["reason"] or cell(r["seconds"], digits=2),
            cell(r["times_faster"], digits=0), cell(r["accuracy"]), cell(r["n_variables"], digits=0),
        )
        for r in numbers.to_dict("records")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["method", "paper (s)", "ours (s)", "times faster", "accuracy", "variables"])
