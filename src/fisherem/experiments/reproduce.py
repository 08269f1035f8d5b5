"""The paper's experiments in one call: tables with the paper's numbers, figures and a page."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from .._utils.progress import progress_bar
from ..rows.base import n_threads
from . import figures, models, published, reading, table1, table2, table3, table4
from .jobs import Job, Records, complete
from .paper import DATA
from .plan import FULL, QUICK, ExperimentPlan
from .written import markdown, write_csv, write_text

__all__ = ["PARTS", "reproduce", "run_plan"]

PARTS = ("table1", "models", "table2", "table3", "table4", "figures")
# Table 3 with only the paper's algorithms, a separate part that the others do not need.
PUBLISHED = "published"
TITLES = {
    "table1": "Table 1: numbers of free parameters (K = 4, p = 100)",
    "models": "Table 1 in use: every model on the real tables",
    "table2": "Table 2: simulated data",
    "table3": "Table 3: real data",
    "table4": "Table 4: computing times on usps358",
    PUBLISHED: "Table 3 as published: both readings of the means",
    "figures": "Figures",
}


def reproduce(
    parts: Iterable[str] = PARTS, folder: str | Path = "results", *, quick: bool = False, seed: int = 0,
    n_jobs: int | None = None, progress: bool | str = "auto", as_published: bool = False,
) -> dict[str, pd.DataFrame]:  # fmt: skip
    """Run the paper's experiments, write tables (.md and .csv) and pictures; returns part -> table.

    results.md joins all parts that are in the folder, including those of earlier calls.

    Parameters
    ----------
    parts : names among "table1", "models", "table2", "table3", "table4", "figures"
    folder : path, default="results"
        Finished jobs are kept in its subfolder `records`, so that an interrupted call can be resumed.
    quick : bool, default=False
        Run fewer replications, starts, models and data sets, which takes about two minutes.
    seed : int, default=0
        Replication r of a simulation has the seed `seed + r`; everything else uses `seed`.
    n_jobs : int or None
        Number of processes; None means all cores. Only computing times depend on it.
    progress : bool or "auto", default="auto"
        A progress bar on standard error; "auto" shows it in a terminal only.
    as_published : bool, default=False
        Run only Table 3, with the paper's own algorithms and search and both readings of the means, instead of the
        parts; it is written to published.md and published.csv.
    """
    chosen = [PUBLISHED] if as_published else [part for part in PARTS if part in set(parts)]
    unknown = set(parts) - set(PARTS)
    if unknown or not chosen:
        raise ValueError(f"parts must be names among {', '.join(PARTS)}; got {', '.join(sorted(unknown)) or 'none'}")
    return run_plan(replace(QUICK if quick else FULL, seed=seed), chosen, Path(folder), n_jobs, progress)


def run_plan(
    plan: ExperimentPlan, chosen: list[str], folder: Path, n_jobs: int | None = None, progress: bool | str = "auto"
) -> dict[str, pd.DataFrame]:
    """`reproduce` for any plan: part -> table, and their files in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    records = Records(folder / "records" / plan.name)
    with progress_bar("reproducing", progress) as bar:
        found = _run(plan, chosen, records, n_threads(n_jobs), bar)
        captions = figures.draw(plan, found, folder, bar) if "figures" in chosen else {}
    tables = _tables(plan, chosen, found)
    for name, numbers in tables.items():
        write_csv(folder / f"{name}.csv", numbers)
        write_text(folder / f"{name}.md", _section(plan, name, numbers))
    if captions:
        write_text(folder / "figures.md", _figures(plan, captions))
    write_text(folder / "results.md", _page(folder))
    return tables


def _run(plan: ExperimentPlan, parts: list[str], records: Records, n_jobs: int, bar) -> dict[Job, dict]:
    """All records that the parts need. Timings come first, one at a time, while nothing else runs."""
    found: dict[Job, dict] = {}
    if "table4" in parts and not table3.available(replace(plan, data=("usps358",)))["usps358"]:
        found |= complete(table4.jobs(plan), records, 1, bar)
    if "models" in parts:  # timed, therefore one at a time
        there = tuple(name for name, reason in table3.available(plan).items() if not reason)
        found |= complete(models.jobs(replace(plan, data=there)), records, 1, bar)
    jobs = published.jobs(plan) if PUBLISHED in parts else []
    jobs += table2.jobs(plan) if "table2" in parts else []
    jobs += table3.first_jobs(plan) if "table3" in parts else []
    found |= complete(jobs, records, n_jobs, bar)
    if "figures" in parts:
        found |= complete(figures.jobs(plan), records, n_jobs, bar)
    if "table3" in parts:
        found |= complete(table3.second_jobs(plan, found), records, n_jobs, bar)
        found |= complete(table3.rival_jobs(plan), records, n_jobs, bar)
    return found


_SHOWN = {
    "table1": table1.shown, "models": models.shown, "table2": table2.shown, "table3": table3.shown,
    "table4": table4.shown, PUBLISHED: published.shown,
}  # fmt: skip
_READ = {
    "table1": reading.of_table_1, "models": reading.of_models, "table2": reading.of_table_2,
    "table3": reading.of_table_3, "table4": reading.of_table_4,
    PUBLISHED: published.reading,
}  # fmt: skip


def _tables(plan: ExperimentPlan, parts: list[str], found: dict[Job, dict]) -> dict[str, pd.DataFrame]:
    make = {
        "table1": table1.table,
        "models": lambda: models.table(plan, found),
        "table2": lambda: table2.table(plan, found),
        "table3": lambda: table3.table(plan, found),
        "table4": lambda: table4.table(plan, found),
        PUBLISHED: lambda: published.table(plan, found),
    }
    return {part: make[part]() for part in parts if part in make}  # type: ignore[operator]


def _origin(plan: ExperimentPlan, part: str) -> str:
    """How to reproduce a part."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("fisherem", "numpy", "scipy", "scikit-learn"))
    quick = " --quick" if plan.name == "quick" else ""
    what = "table3 --as-published" if part == PUBLISHED else part
    text = f"`fisherem reproduce {what}{quick} --seed {plan.seed}`, Python {platform.python_version()}, {packages}, "
    text += f"{platform.machine()}, {n_threads(None)} cores."
    if part == "table2":
        last = plan.seed + plan.replications - 1
        text += f" {plan.replications} replications with the seeds {plan.seed} to {last}."
    if part in ("table3", PUBLISHED):
        levels = ", ".join(f"{s:g}" for s in plan.levels)
        text += f" {plan.n_starts} random starts, {len(plan.models)} models, levels {levels}."
    if part in ("table2", "table3", "table4"):
        text += f" A rival may take {plan.seconds:.0f} s."
    return text + "\n"


def _section(plan: ExperimentPlan, part: str, numbers: pd.DataFrame) -> str:
    """A part as Markdown: its origin, a summary, and the table."""
    text = [_origin(plan, part), *(f"- {line}" for line in _READ[part](numbers)), ""]
    if part == "table3":
        text += [markdown(_scaling(plan)), markdown(table3.calls(numbers))]
    return "\n".join([*text, markdown(_SHOWN[part](numbers))])


def _figures(plan: ExperimentPlan, captions: dict[str, str]) -> str:
    pictures = [f"![{caption}]({file})\n\n*{caption}*\n" for file, caption in captions.items()]
    return "\n".join([_origin(plan, "figures"), *pictures])


def _page(folder: Path) -> str:
    """All parts that are in the folder, from this call or earlier ones."""
    text = ["# Results\n"]
    for part in TITLES:
        if (section := folder / f"{part}.md").exists():
            text += [f"## {TITLES[part]}\n", section.read_text(encoding="utf-8")]
    return "\n".join(text)


def _scaling(plan: ExperimentPlan) -> pd.DataFrame:
    rows = [
        (n, DATA[n].n_clusters, "standardised" if DATA[n].standardised else "raw", DATA[n].reason) for n in plan.data
    ]
    return pd.DataFrame(rows, columns=["data", "groups", "columns", "why"])
