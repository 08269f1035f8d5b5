"""Missing values: the model beside three imputers, followed by our fit and by k-means, for docs/missing.md.

    OMP_NUM_THREADS=1 python benchmarks/missing.py [--quick] [--only wine,iris] [--seeds 3] [--shares 0.2]
    OMP_NUM_THREADS=1 python benchmarks/missing.py --time

Three kinds of gaps: cells missing completely at random, cells that are missing where another column, which is complete,
is large, and whole blocks (a tenth of the rows loses neighbouring columns, as behind a dead detector). Prints a
Markdown table of accuracies, the mean over the seeds: the complete fit, the model on the table with gaps, and mean
imputation, KNNImputer and IterativeImputer with our fit and with k-means. On the simulation it also counts how often
the variables are right. `--quick` is 20% at random on four tables with two seeds, about two minutes; everything but
usps358 takes an hour. `--time` prints how long a fit to 2,000 x 100 with gaps takes, as a multiple of the complete one.
FISHEREM_DATA must hold the real tables.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from noise_data import table
from sklearn.cluster import KMeans
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (makes IterativeImputer known)
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.search.scoring import accuracy

TABLES: dict[str, Callable] = {
    "wine": lambda seed: table("wine"),
    "wine27": lambda seed: table("wine27"),
    "iris": lambda seed: table("iris"),
    "breast": lambda seed: table("breast cancer"),
    "usps358": lambda seed: datasets.load("usps358"),
    "simulation": lambda seed: datasets.simulate(600, 2.5, random_state=seed),
}
QUICK = ("wine", "wine27", "breast", "simulation")
SHARES = (0.05, 0.1, 0.2, 0.4)
IMPUTERS: dict[str, Callable] = {
    "mean": SimpleImputer,
    "KNN": KNNImputer,
    "iterative": lambda: IterativeImputer(random_state=0),
}
ESTIMATORS = {"FisherEM": FisherEM, "SparseFisherEM": SparseFisherEM}


def at_random(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Cells missing completely at random (bool n x p)."""
    return rng.random(X.shape) < share


def by_another(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Every other column has gaps, three times as often where the complete column before it lies above its median."""
    above = (np.median(X, axis=0) < X)[:, :-1:2]
    gaps = np.zeros(X.shape, bool)
    chance = share * X.shape[1] / above.shape[1] * np.where(above, 1.5, 0.5)
    gaps[:, 1::2] = rng.random(above.shape) < np.minimum(chance, 0.95)
    return gaps


def in_blocks(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Rows in ten lots; each lot loses neighbouring columns, this share of them."""
    n, p = X.shape
    gaps = np.zeros((n, p), bool)
    width = max(1, round(share * p))
    lots = rng.integers(10, size=n)
    for lot in range(10):
        first = int(rng.integers(p))
        gaps[np.ix_(lots == lot, np.arange(first, first + width) % p)] = True
    return gaps


KINDS: dict[str, Callable] = {"at random": at_random, "by another": by_another, "blocks": in_blocks}


def fitted(name: str, X: np.ndarray, K: int, seed: int):
    """An estimator by name, fitted; warnings of convergence say nothing here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ESTIMATORS[name](K, random_state=seed).fit(X)


def scores(name: str, kind: str, share: float, seed: int) -> dict[str, float]:
    """Accuracies of everything on one draw of gaps."""
    X, y = TABLES[name](seed)
    X = np.asarray(X, float)
    K = len(np.unique(y))
    gaps = KINDS[kind](X, share, np.random.default_rng(seed))
    gaps[:, gaps.all(axis=0)] = False
    holed = np.where(gaps, np.nan, X)
    found: dict[str, float] = {}
    for one in ESTIMATORS:
        complete, own = fitted(one, X, K, seed), fitted(one, holed, K, seed)
        found[f"{one} complete"], found[f"{one} model"] = (accuracy(y, m.labels_) for m in (complete, own))
        if one == "SparseFisherEM" and name == "simulation":
            found["right variables"] = float((own.support_ == complete.support_).all())
    for imputer, make in IMPUTERS.items():
        filled = make().fit_transform(holed)
        for one in ESTIMATORS:
            found[f"{one} {imputer}"] = accuracy(y, fitted(one, filled, K, seed).labels_)
        found[f"k-means {imputer}"] = accuracy(y, KMeans(K, n_init=10, random_state=seed).fit(filled).labels_)
    return found


def accuracies(names, kinds, shares, seeds) -> None:
    """Print a row per table, kind and share: means over the seeds."""
    head: list[str] = []
    for name in names:
        for kind in kinds:
            for share in shares:
                rows = [scores(name, kind, share, seed) for seed in range(seeds)]
                keys = [key for key in rows[0] if key != "right variables"]
                if not head:
                    head = ["table", "gaps", *keys]
                    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
                cells = [f"{np.mean([row[key] for row in rows]):.3f}" for key in keys]
                print(f"| {name} | {share:.0%} {kind} | " + " | ".join(cells) + " |", flush=True)
                if "right variables" in rows[0]:
                    right = sum(row["right variables"] for row in rows)
                    print(f"  ({name}: the variables of the complete fit in {right:.0f} of {seeds})", flush=True)


def times(repeats: int = 3) -> None:
    """Print seconds (the least of some runs) of the complete fit, with random gaps and with 40 patterns of them."""
    rng = np.random.default_rng(0)
    n, p = 2000, 100
    groups = rng.integers(3, size=n)
    X = rng.normal(size=(n, p))
    X[:, :5] += 2 * rng.normal(size=(3, 5))[groups]
    random = np.where(rng.random((n, p)) < 0.2, np.nan, X)
    patterns = rng.random((40, p)) < 0.2
    few = np.where(patterns[rng.integers(40, size=n)], np.nan, X)
    print("| | complete | random cells | 40 patterns |\n|---|---|---|---|")
    for name in ESTIMATORS:
        seconds = []
        for rows in (X, random, few):
            runs = []
            for _ in range(repeats):
                begin = time.process_time()
                fitted(name, rows, 3, 0)
                runs.append(time.process_time() - begin)
            seconds.append(min(runs))
        shown = [f"{s:.2f} s ({s / seconds[0]:.1f})" for s in seconds]
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


def main() -> None:
    """Read the command line and print what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--kinds")
    parser.add_argument("--shares", type=float, nargs="*")
    parser.add_argument("--seeds", type=int)
    given = parser.parse_args()
    if given.time:
        times()
        return
    names = given.only.split(",") if given.only else list(QUICK if given.quick else TABLES)
    kinds = given.kinds.split(",") if given.kinds else list(KINDS)[: 1 if given.quick else None]
    shares = given.shares or ((0.2,) if given.quick else SHARES)
    accuracies(names, kinds, shares, given.seeds or (2 if given.quick else 5))


if __name__ == "__main__":
    main()
