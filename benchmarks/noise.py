"""Variables that carry nothing, beside every method of `compare`: `make bench-noise`.

Real tables with permuted copies of their own columns, wide simulations, two tables of gene expression and the paper's
simulation. Each fit is one record in a folder, so an interrupted run goes on where it stopped. `--quick` is a taste of
a minute or two; FISHEREM_DATA must hold the real tables. Without `--publish` everything is written into the folder.
"""

from __future__ import annotations

import argparse
import resource
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import measure
import numpy as np
from noise_data import QUICK, SEEDS, SEPARATION, SERIES, TABLES, WIDE, table
from threadpoolctl import threadpool_limits

from fisherem import SparseFisherEM
from fisherem.experiments.jobs import Job, OutOfTimeError, Records
from fisherem.plots.style import MARKERS, PALETTE
from fisherem.rivals import RIVALS
from fisherem.search.comparison import methods as compared
from fisherem.search.scoring import accuracy

OURS = "SparseFisherEM"
# The mixtures ask for K p x p numbers: 9.6 GB for 20,000 variables. A MemoryError is a result, a full machine is not.
MEMORY = 6 * 2**30


# -- the fits ---------------------------------------------------------------------------------------------------------


def methods() -> dict[str, Callable]:
    """Every method of `compare`, the default call of SparseFisherEM first."""
    return {OURS: lambda K, seed: SparseFisherEM(K, random_state=seed)} | compared()


def noise(series: str, step: int, method: str, seed: int) -> dict:
    """The record of one fit. One core each, so that seconds compare; the labels are read at the end, to score."""
    X, y, real = SERIES[series].make(step, seed)
    model = methods()[method](len(np.unique(y)), seed)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=1)
    begin, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        model.fit(X)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    labels = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    support = np.asarray(getattr(model, "support_", np.ones(X.shape[1], bool)))
    return {
        "accuracy": float(accuracy(y, labels)), "selected": int(support.sum()), "variables": X.shape[1],
        "real": None if real is None else int(support[:real].sum()), "fit_seconds": seconds, "cpu_seconds": cpu,
    }  # fmt: skip


@contextmanager
def processor_limit(seconds: float):
    """Raise OutOfTimeError after so much time of the processor: a busy machine does not shorten it."""

    def ring(*_):
        raise OutOfTimeError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def record_of(case: tuple, limit: float, records: Records, again: bool) -> dict:
    """The record of a fit: the kept one, unless it is wanted again or ran out of a shorter limit."""
    job = Job(noise, case, 10 * limit)  # by the clock, for a method that only waits
    kept = None if again else records.get(job.name)
    if kept is None or kept.get("limit", limit) < limit:
        with processor_limit(limit):
            kept = job()
        if "limit" in kept:
            kept |= {"failed": f"not finished within {limit:.0f} s", "limit": limit}
        elif kept.get("failed") == "":  # a bare MemoryError has no text
            kept["failed"] = "unable to allocate"
        records.put(job.name, kept)
    return kept


def run(chosen: dict[str, tuple], names: list[str], seeds, limit: float, records: Records, again=()) -> dict:
    """Records by (series, step, method), a record per seed.

    A method that fails on a case is not tried with more seeds of it nor with larger cases of the series: most would
    spend the whole limit on each. Those records say so and are not kept. Methods in `again` are fitted afresh.
    """
    found: dict[tuple, list[dict]] = {}
    for method in names:
        for series, steps in chosen.items():
            failed = ""
            for step in steps:
                for seed in seeds or SERIES[series].seeds:
                    case = (series, step, method, seed)
                    record = {"failed": failed} if failed else record_of(case, limit, records, method in again)
                    failed = record.get("failed", "")
                    found.setdefault((series, step, method), []).append(record)
            values = ", ".join(f"{step} {_value(found, series, step, method)}" for step in steps)
            print(f"{method}: {series}: {values}", flush=True)
    return found


# -- the tables -------------------------------------------------------------------------------------------------------


def mean(found: dict, series: str, step: int, method: str, what: str = "accuracy") -> float:
    """The mean over the seeds; NaN unless all of them were fitted."""
    fits = found.get((series, step, method), [{"failed": ""}])
    if any("failed" in fit or fit.get(what, 0) is None for fit in fits):
        return np.nan
    if what == "share":  # of the selected variables that are real, per fit; nothing selected is nothing real
        return float(np.mean([np.nan if f["real"] is None else f["real"] / max(f["selected"], 1) for f in fits]))
    return float(np.mean([fit[what] for fit in fits]))


def _value(found, series, step, method) -> str:
    value = mean(found, series, step, method)
    return _why(found, series, step, method) if np.isnan(value) else f"{value:.3f}"


def _why(found, series, step, method) -> str:
    reasons = [fit["failed"] for fit in found.get((series, step, method), []) if "failed" in fit]
    if not reasons:
        return ""
    words = {"not finished": "time", "allocate": "memory"}
    return next((word for text, word in words.items() if text in reasons[0]), "failed")


def _accuracy(found, series, step, method, names) -> str:
    text = _value(found, series, step, method)
    best = max((v for v in (round(mean(found, series, step, m), 3) for m in names) if v == v), default=np.nan)
    return f"**{text}**" if text == f"{best:.3f}" else text


def _selected(found, series, step, method, names) -> str:
    selected, share = (mean(found, series, step, method, what) for what in ("selected", "share"))
    if np.isnan(selected):
        return _why(found, series, step, method)
    return f"{selected:,.1f}".removesuffix(".0") + ("" if np.isnan(share) else f" ({share:.2f})")


def _seconds(found, series, step, method, names) -> str:
    value = mean(found, series, step, method, "cpu_seconds")
    return _why(found, series, step, method) if np.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"


CELLS = {
    "Accuracy": (_accuracy, lambda name: True),
    "Selected variables (share of them that is real)": (_selected, lambda name: selects(name)),
    "Seconds of one core": (_seconds, lambda name: True),
}


def selects(name: str) -> bool:
    """Whether a method selects variables at all."""
    return name != "FisherEM" and (name not in RIVALS or RIVALS[name].cls is not None)


def markdown(found: dict, chosen: dict[str, tuple], names: list[str]) -> str:
    """The tables, a row per case and a column per method."""
    parts = []
    for title, (cell, wanted) in CELLS.items():
        columns = [name for name in names if wanted(name)]
        lines = [f"### {title}", "", "| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for series, steps in chosen.items():
            for step in steps:
                case = f"{series}, {SERIES[series].label.format(step)}" if step else series
                cells = (cell(found, series, step, name, columns) for name in columns)
                lines.append(f"| {case} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


# -- what is expected -------------------------------------------------------------------------------------------------


def targets(found: dict, names: list[str]) -> list[tuple[str, str, str, bool]]:
    """(what, value, what is expected, whether it is so) of everything that was run."""
    rows = [_against(found, names, *case) for case in (("wine", 20, 0.94), ("wine27", 20, 0.95), ("iris", 40, 0.92))]
    for series in WIDE:
        for p in SEPARATION:
            value, share = (mean(found, series, p, OURS, what) for what in ("accuracy", "share"))
            good = value >= 0.9995 and share >= 0.9
            rows.append((f"60 x {p:,}, {series}", f"{value:.3f}, {share:.2f} real", "1.00, 0.90 real", good))
    spent = [fit["cpu_seconds"] for s in WIDE for fit in found.get((s, 20_000, OURS), []) if "failed" not in fit]
    slowest = max(spent, default=np.nan)
    rows.append(("60 x 20,000, the slowest fit, one core", f"{slowest:.1f} s", "10 s on 2 cores", slowest <= 10))
    rows += [_simulated(found, 30, 0.09), _simulated(found, 300, 0.038)]
    return [row for row in rows if "nan" not in row[1]]


def _against(found, names, series: str, times: int, least: float) -> tuple[str, str, str, bool]:
    value, share = (mean(found, series, times, OURS, what) for what in ("accuracy", "share"))
    others = {mean(found, series, times, name): name for name in names if name in RIVALS}
    best = max((v for v in others if v == v), default=np.nan)
    good = value >= least and share >= 0.9 and not value < best
    shown = f"{value:.3f}, {share:.2f} real" + (f"; best rival {best:.3f} ({others[best]})" if best == best else "")
    return f"{series} + {times}x", shown, f"{least:.2f}, 0.90 real, no rival above", good


def _simulated(found, n: int, most: float) -> tuple[str, str, str, bool]:
    fits = found.get(("the paper's simulation", n, OURS), [])
    exact = sum(fit.get("selected") == fit.get("real") == 5 for fit in fits)
    error = 1 - mean(found, "the paper's simulation", n, OURS)
    exactly = n == 300
    good = round(error, 3) <= most and (not exactly or exact == len(fits))
    shown = f"error {error:.3f}; exactly the five on {exact} of {len(fits)} draws"
    return f"the paper's simulation, n = {n}", shown, f"{most:.3f}" + (", exactly the five" if exactly else ""), good


def targets_table(rows) -> str:
    lines = ["### Expected", "", "| case | measured | expected | |", "|---|---|---|---|"]
    return "\n".join(lines + [f"| {w} | {v} | {t} | {'' if good else '**outside**'} |" for w, v, t, good in rows])


# -- the picture ------------------------------------------------------------------------------------------------------


def picture(found: dict, chosen: dict[str, tuple], names: list[str], path: Path) -> None:
    """Accuracy against the number of noise variables: a panel per table; a line ends where the method failed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [name for name in names if not name.startswith(f"{OURS} ")]
    panels = [name for name in TABLES if name in chosen]
    rows = -(-len(panels) // 3)
    figure, axes = plt.subplots(
        rows, min(3, len(panels)), figsize=(10, 0.7 + 2.9 * rows), layout="constrained", squeeze=False
    )
    for ax, name in zip(axes.flat, panels, strict=False):
        steps, p = chosen[name], table(name)[0].shape[1]
        for i, method in reversed(list(enumerate(shown))):
            values = [mean(found, name, step, method) for step in steps]
            main = method == OURS
            ax.plot(
                range(len(steps)), values, color=PALETTE[i % len(PALETTE)], marker=MARKERS[i % len(MARKERS)],
                lw=3 if main else 1.4, ms=7 if main else 5, label=method, zorder=3 if main else 2,
            )  # fmt: skip
        ax.set_xticks(range(len(steps)), [f"{step * p:,}" for step in steps])
        ax.set_title(f"{name}: {p} real variables", fontsize=12)
        ax.set_ylim(0.25, 1.02)
        ax.grid(axis="y", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    figure.supxlabel("noise variables added (permuted copies of the real ones)", fontsize=12)
    figure.supylabel("accuracy", fontsize=12)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=4, frameon=False, fontsize=11)
    figure.savefig(path, dpi=120)
    plt.close(figure)


# -- the command ------------------------------------------------------------------------------------------------------


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few cases, one seed, 10 s per fit")
    parser.add_argument("--only", nargs="+", choices=list(SERIES), help="these series")
    parser.add_argument("--methods", nargs="+", choices=list(methods()), help="these methods")
    parser.add_argument("--again", nargs="+", default=[], choices=list(methods()), help="fit these again")
    parser.add_argument("--seeds", nargs="+", type=int, help="instead of the seeds of the page")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each fit")
    parser.add_argument("--folder", type=Path, default=Path("out/noise"), help="where the records are")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    chosen = QUICK if asked.quick else {name: SERIES[name].steps for name in asked.only or SERIES}
    seeds = asked.seeds or (SEEDS[:1] if asked.quick else None)
    names = asked.methods or list(methods())
    records = Records(asked.folder)
    limit = min(asked.limit, 10.0) if asked.quick else asked.limit
    found = run(chosen, names, seeds, limit, records, asked.again)
    rows = targets(found, names)
    text = targets_table(rows) + "\n\n" + markdown(found, chosen, names)
    print(f"\n{text}\n")
    for row in rows:
        measure.report(*row)
    (asked.folder / "noise.md").write_text(text + "\n", encoding="utf-8")
    if any(name in chosen for name in TABLES):
        picture(found, chosen, names, asked.folder / "noise.png")


if __name__ == "__main__":
    main()
