"""P-values after clustering: how often they reject without groups, and how often they find what is there.

`python benchmarks/significance.py` draws tables of one group of four kinds (`--kinds`), fits and calls `significance`
with `--draws` tables, and prints the share of variables with p <= 0.05; the target is 0.03 to 0.07. With 7 variables
and 17 draws, 0.05 is a p-value that can occur: (1 + 5) / (1 + 7 * 17). `--cheap` fits from k-means alone (n_init=1).
`--power` is the paper's simulation instead (n = 300, mu = 1.7; give `--draws 99`): how often q < 0.05 for the five
variables and for the others. `--wine` times 99 draws on the wines. `--tables`, `--first` and `--minutes` divide the
work.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from fisherem import SparseFisherEM, datasets, significance

KINDS = ("spherical", "correlated", "skewed", "heavy-tailed")


def table(kind, seed, n, p):
    """n x p of one group: independent or with a common factor, log-normal, or Student's t with 4 degrees of freedom."""
    rng = np.random.default_rng([47, KINDS.index(kind), seed])
    X = rng.normal(size=(n, p))
    if kind == "correlated":
        return 0.8 * X + 0.6 * rng.normal(size=(n, 1)) * np.sign(rng.normal(size=p))
    if kind == "skewed":
        return np.exp(0.6 * X)
    return rng.standard_t(4, size=(n, p)) if kind == "heavy-tailed" else X


def calibration(a):
    for kind in a.kinds:
        begin, p = time.perf_counter(), []
        for seed in range(a.first, a.first + a.tables):
            X = table(kind, seed, a.n, a.p)
            model = SparseFisherEM(a.k, random_state=seed, n_jobs=1, **({"n_init": 1} if a.cheap else {})).fit(X)
            p.append(significance(model, X, a.draws, random_state=seed, n_jobs=1)["p"].to_numpy())
            if time.perf_counter() - begin > 60 * a.minutes:
                break
        rejected = np.array(p) <= 0.05
        error = rejected.mean(axis=1).std() / np.sqrt(len(p))
        call = f"SparseFisherEM({a.k}{', n_init=1' if a.cheap else ''})"
        print(
            f"{kind}, {a.n} x {a.p}, {call}, {len(p)} tables x {a.draws} draws: rejected at 0.05 "
            f"{rejected.mean():.3f} (standard error {error:.3f}), {time.perf_counter() - begin:.0f} s",
            flush=True,
        )


def power(a):
    begin, q = time.perf_counter(), []
    for seed in range(a.first, a.first + a.tables):
        X, _ = datasets.simulate(300, 1.7, random_state=seed)
        model = SparseFisherEM(3, random_state=seed, n_jobs=1).fit(X)
        q.append(significance(model, X, a.draws, random_state=seed, n_jobs=1)["q"].to_numpy())
        if time.perf_counter() - begin > 60 * a.minutes:
            break
    found = np.array(q) < 0.05
    print(
        f"the paper's simulation, {len(q)} tables x {a.draws} draws: q < 0.05 for {found[:, :5].mean():.3f} of the "
        f"five, all five in {found[:, :5].all(axis=1).mean():.3f} of the tables; {found[:, 5:].mean():.3f} of the "
        f"others, any of them in {found[:, 5:].any(axis=1).mean():.3f}; "
        f"{time.perf_counter() - begin:.0f} s",
        flush=True,
    )


def wine():
    X, _ = datasets.load("wine", as_frame=True)
    model = SparseFisherEM(3, random_state=0).fit(X)
    begin = time.perf_counter()
    found = significance(model, X, 99)
    print(found.round(3).to_string(), f"\nwine, 99 draws: {time.perf_counter() - begin:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    for name, default in (("tables", 1000), ("first", 0), ("n", 100), ("p", 7), ("k", 2), ("draws", 17)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="for each kind of table")
    for name in ("cheap", "power", "wine"):
        parser.add_argument(f"--{name}", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wine() if arguments.wine else power(arguments) if arguments.power else calibration(arguments)


if __name__ == "__main__":
    main()
