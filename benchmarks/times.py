"""Time of the default calls as a ratio to KMeans(n_init=10), in one run: `make bench-times`.

    python benchmarks/times.py                  all parts
    python benchmarks/times.py --parts tables,small,groups,wide,passes
    python benchmarks/times.py --publish        and docs/results/times.csv

`tables`: every table of the panel and of the README with 1,000 rows or more, and 38,400 x 256. `small`: the longest
call on any of their tables of fewer than 100,000 cells, and 60 x 20,000. `groups`: 5,000 x 50 with 5 to 40 groups.
`wide`: 500 rows with 1,000 to 50,000 columns, and the memory beyond the data. `passes`: how often a fit of 10^6 x 50
reads all rows.

Times are CPU time of one process on one thread (OMP_NUM_THREADS=1, which `make bench-times` sets), the fastest of up to
five calls that take turns with k-means, so that other work on the machine moves a ratio little; wall time stands beside
them. FISHEREM_DATA must hold the real tables. About ten minutes on one core.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from measure import report, resident, watched
from noise_data import wide
from panel import panel_names, panel_table, readme_table
from sklearn.cluster import KMeans

from core import mixture
from fisherem import FisherEM, SparseFisherEM
from fisherem.policy.scaling import share_a_unit
from fisherem.rows.base import ArrayRows

# The targets: ratios to KMeans(n_init=10) for tables of 1,000 rows or more, seconds for small ones.
DENSE, SPARSE, SMALL, SIXTY = 5.0, 10.0, 2.0, 3.0
GROUPS, WIDE, MEMORY, PASSES = 10.0, 5.0, 4.0, 10
# Calls that take turns: as many rounds as take this long, at most so many.
_SECONDS, _ROUNDS = 6.0, 5
README = ("iris", "wine", "wine27", "zoo", "breast cancer", "glass", "usps358", "satimage")
RECORDS: list[dict] = []


def cpu_and_wall(call) -> tuple[float, float]:
    """Seconds of this process, and on the clock."""
    begin = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - begin[0], time.perf_counter() - begin[1]


def in_turn(calls: dict) -> dict[str, tuple[float, float]]:
    """The fastest (CPU, wall) seconds of each call; the calls take turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    begin = time.perf_counter()
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            found[name].append(cpu_and_wall(call))
        if time.perf_counter() - begin > _SECONDS:
            break
    return {name: (min(cpu for cpu, _ in times), min(wall for _, wall in times)) for name, times in found.items()}


def ours(X, K) -> dict:
    """The two default calls."""
    return {
        "dense": lambda: FisherEM(K, random_state=0).fit(X),
        "sparse": lambda: SparseFisherEM(K, random_state=0).fit(X),
    }


def k_means(X, K):
    """KMeans(n_init=10) on columns that are scaled by the rule of the default calls."""
    X = X if share_a_unit(X.std(axis=0)) else (X - X.mean(axis=0)) / X.std(axis=0)
    return lambda: KMeans(K, n_init=10, random_state=0).fit(X)


def said(data: str, times: dict, target: str, good: bool, **more) -> None:
    """A line of the report and a record of the table."""
    base = times["k-means"][0] if "k-means" in times else None
    record: dict = {"data": data, "k-means, CPU s": "" if base is None else f"{base:.3f}"}
    for kind in ("dense", "sparse"):
        if kind in times:
            cpu, wall = times[kind]
            record |= {f"{kind} / k-means": "" if base is None else f"{cpu / base:.1f}"}
            record |= {f"{kind}, CPU s": f"{cpu:.2f}", f"{kind}, wall s": f"{wall:.2f}"}
    record |= {name: str(value) for name, value in more.items()}
    report(data, ", ".join(f"{k} {v}" for k, v in record.items() if k != "data" and v), target, good)
    RECORDS.append(record | {"target": target, "met": "yes" if good else "no"})


def real() -> dict:
    """Name -> what makes (X, y, None), of the panel and the README."""
    found = {name: partial(readme_table, name) for name in README}
    return found | {name: partial(panel_table, name) for name in panel_names()}


def against_k_means(name: str, X, K, dense: float, sparse: float, target: str) -> None:
    times = in_turn({"k-means": k_means(X, K)} | ours(X, K))
    base = times["k-means"][0]
    good = times["dense"][0] <= dense * base and times["sparse"][0] <= sparse * base
    said(f"{name} ({X.shape[0]:,} x {X.shape[1]:,}, {K} groups)", times, target, good)


def tables() -> None:
    for name, make in real().items():
        X, y, _ = make()
        if len(X) >= 1_000:
            against_k_means(name, X, len(np.unique(y)), DENSE, SPARSE, f"{DENSE:.0f} dense, {SPARSE:.0f} sparse")
    against_k_means("simulation", mixture(38_400, 256, 5)[0], 5, np.inf, 1.0, "1 sparse")


def small() -> None:
    found = {}
    for name, make in real().items():
        X, y, _ = make()
        if X.size < 100_000:
            found[name] = in_turn(ours(X, len(np.unique(y))))
            if name in README and len(X) < 1_000:
                against_k_means(name, X, len(np.unique(y)), np.inf, np.inf, "none")
    slowest = max(found, key=lambda name: max(cpu for cpu, _ in found[name].values()))
    good = max(cpu for cpu, _ in found[slowest].values()) <= SMALL
    name = f"slowest of {len(found)} tables below 100,000 cells: {slowest}"
    said(name, found[slowest], f"{SMALL:.0f} s", good)
    times = in_turn(ours(wide(20_000, 0)[0], 3))
    said("60 x 20,000, 3 groups", times, f"{SIXTY:.0f} s", max(cpu for cpu, _ in times.values()) <= SIXTY)


def groups() -> None:
    """5,000 x 50 with K separated groups on ten columns."""
    for K in (5, 10, 20, 40):
        rng = np.random.default_rng(K)
        X = rng.normal(size=(5_000, 50))
        X[:, :10] += 2 * rng.normal(size=(K, 10))[rng.integers(K, size=5_000)]
        against_k_means("simulation", X, K, np.inf, GROUPS, f"{GROUPS:.0f} sparse")


def wide_tables() -> None:
    for p in (1_000, 10_000, 50_000):
        rng = np.random.default_rng(p)
        X = rng.normal(size=(500, p))
        X[:, :20] += 1.5 * rng.normal(size=(4, 20))[rng.integers(4, size=500)]
        times = in_turn({"k-means": k_means(X, 4)} | ours(X, 4))
        before = resident()
        peak, _ = watched(lambda X=X: SparseFisherEM(4, random_state=0).fit(X))
        memory, base = (peak - before) / X.nbytes, times["k-means"][0]
        good = max(times["dense"][0], times["sparse"][0]) <= WIDE * base and memory <= MEMORY
        target = f"{WIDE:.0f} and {MEMORY:.0f} times the data"
        said(f"simulation (500 x {p:,}, 4 groups)", times, target, good, memory=f"{memory:.1f} times the data")


def passes() -> None:
    """How often a fit of 10^6 x 50 with the default start visits all rows."""
    X = mixture(1_000_000, 50, 5)[0]
    visits, fold = [0], ArrayRows._fold

    def counted(self, visit, read):
        visits[0] += read and self.n == len(X)
        return fold(self, visit, read)

    ArrayRows._fold = counted
    try:
        model = FisherEM(5, random_state=0).fit(X)
    finally:
        ArrayRows._fold = fold
    value = f"{visits[0]} ({model.n_iter_} iterations)"
    said("10^6 x 50, 5 groups", {}, f"{PASSES} passes", visits[0] <= PASSES, **{"passes over the rows": value})


PARTS = {"tables": tables, "small": small, "groups": groups, "wide": wide_tables, "passes": passes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--publish", action="store_true", help="write docs/results/times.csv")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.parts.split(","):
        PARTS[name]()
    if options.publish:
        found = pd.DataFrame(RECORDS).drop(columns=["target", "met"]).fillna("")
        found.to_csv(Path(__file__).parents[1] / "docs/results/times.csv", index=False)


if __name__ == "__main__":
    main()
