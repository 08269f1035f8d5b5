"""P-values after clustering: how often they reject without groups, and how often they find what is there.

`python benchmarks/significance.py` draws tables of one group of four kinds (`--kind` for one of them), fits and calls
`significance` with `--draws` tables, and prints the share of variables with p <= 0.05; the target is 0.03 to 0.07. With
19 draws, 0.05 is a p-value that can occur. `--first` is the seed of the first table. `--method one-start` fits with
n_init=1 in place of the default, in less than half the time; `--method k-means` clusters by KMeans instead, in a tenth
of the time, and shows the tables of one group and the pooling alone. `--kind power` is the paper's simulation (n = 300,
mu = 1.7; give `--draws 99`): how often q < 0.05 for the five variables and for the others. `--kind wine` times 99 draws
on the wines.

Each table is a line of p- and q-values in a file below `--records`, so that an interrupted run goes on where it
stopped; `--minutes` ends one early. Remove the folder after a change of the code.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from fisherem import SparseFisherEM, datasets, significance

ONE_GROUP = ("spherical", "correlated", "skewed", "heavy-tailed")


METHODS = {
    "sparse": lambda K, seed: SparseFisherEM(K, random_state=seed, n_jobs=1),
    "one-start": lambda K, seed: SparseFisherEM(K, n_init=1, random_state=seed, n_jobs=1),
    "k-means": lambda K, seed: KMeans(K, n_init=1, random_state=seed),
}


def table(kind, seed, n, p):
    """n x p of one group: independent or with a common factor, log-normal, or Student's t with 4 degrees of freedom."""
    rng = np.random.default_rng([47, ONE_GROUP.index(kind), seed])
    X = rng.normal(size=(n, p))
    if kind == "correlated":
        return 0.8 * X + 0.6 * rng.normal(size=(n, 1)) * np.sign(rng.normal(size=p))
    if kind == "skewed":
        return np.exp(0.6 * X)
    return rng.standard_t(4, size=(n, p)) if kind == "heavy-tailed" else X


def tested(a, seed):
    """p and q of each variable (2 x p) for one table."""
    if a.kind == "power":
        X, K = datasets.simulate(300, 1.7, random_state=seed)[0], 3
    else:
        X, K = table(a.kind, seed, a.n, a.p), a.k
    model = METHODS[a.method](K, seed).fit(X)
    if len(np.unique(model.labels_)) == 1:  # a fit that lost a group claims no difference
        return np.ones((2, X.shape[1]))
    return significance(model, X, a.draws, random_state=seed, n_jobs=1)[["p", "q"]].to_numpy().T


def measured(a):
    """The p- and q-values (tables x 2 x p) of the tables 0 to `--tables`; those on file are not computed again."""
    size = "" if a.kind == "power" else f"-{a.n}x{a.p}-{a.k}"
    path = Path(a.records) / f"{a.kind}-{a.method}{size}-{a.draws}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    found = {int(line[0]): np.array(line[1:], float) for line in map(str.split, path.read_text().splitlines())}
    begin = time.perf_counter()
    for seed in range(a.first, a.first + a.tables):
        if time.perf_counter() - begin > 60 * a.minutes:
            break
        if seed not in found:
            found[seed] = tested(a, seed).ravel()
            with path.open("a") as file:
                print(seed, *(f"{value:.6g}" for value in found[seed]), file=file)
    seeds = [seed for seed in sorted(found) if a.first <= seed < a.first + a.tables]
    return np.array([found[seed] for seed in seeds]).reshape(len(seeds), 2, -1)


def calibration(a):
    p = measured(a)[:, 0]
    rejected = p <= 0.05
    error = rejected.mean(axis=1).std() / np.sqrt(len(p))
    print(
        f"{a.kind}, {a.n} x {a.p}, {a.k} groups ({a.method}), {len(p)} tables x {a.draws} draws: rejected at 0.05 "
        f"{rejected.mean():.3f} (standard error {error:.3f}), at 0.1 {(p <= 0.1).mean():.3f}; "
        f"in {rejected.any(axis=1).mean():.3f} of the tables at least one variable",
        flush=True,
    )


def power(a):
    found = measured(a)[:, 1] < 0.05
    five, others = found[:, :5], found[:, 5:]
    print(
        f"the paper's simulation, {len(found)} tables x {a.draws} draws: q < 0.05 for {five.mean():.3f} of the five, "
        f"all five in {five.all(axis=1).mean():.3f} of the tables; {others.mean():.3f} of the others, any of them in "
        f"{others.any(axis=1).mean():.3f}; false ones among those found "
        f"{np.mean(others.sum(axis=1) / np.maximum(found.sum(axis=1), 1)):.3f}",
        flush=True,
    )


def wine():
    X, _ = datasets.load("wine", as_frame=True)
    model = SparseFisherEM(3, random_state=0).fit(X)
    begin, cpu = time.perf_counter(), time.process_time()
    found = significance(model, X, 99, n_jobs=1)
    used, passed = time.process_time() - cpu, time.perf_counter() - begin
    print(
        found.round(3).to_string(), f"\nwine, 99 draws, one job: {used:.1f} s of CPU time, {passed:.1f} s", flush=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=(*ONE_GROUP, "power", "wine"), help="all four of one group by default")
    for name, default in (("tables", 1000), ("n", 100), ("p", 7), ("k", 2), ("draws", 19), ("first", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--method", default="sparse", choices=METHODS)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="for each kind of table")
    parser.add_argument("--records", default="out/significance")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for kind in (arguments.kind,) if arguments.kind else ONE_GROUP:
        arguments.kind = kind
        wine() if kind == "wine" else power(arguments) if kind == "power" else calibration(arguments)


if __name__ == "__main__":
    main()
