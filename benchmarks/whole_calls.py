"""Whole default calls beside KMeans(n_init=10) and GaussianMixture, as ratios in one run: part of `make bench`.

`python benchmarks/whole_calls.py` times FisherEM, SparseFisherEM, the search and stability with their defaults on
wine, satimage, usps358, 38,400 x 256 (five groups behind five factors) and 10^6 x 50. Then come a line of time against
the number of random starts, twelve models on a file against one, and a path of sparsities against one sparse fit.
`--tables wine,satimage` for some, `--parts calls,starts,file,path` for some parts, `--quick` leaves out what takes
minutes. FISHEREM_DATA must hold satimage and usps358; what is not there is skipped.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from measure import report
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture

from core import mixture
from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets, stability
from fisherem.model.dlm import MODELS

# Default FisherEM over KMeans(n_init=10).
TARGETS = {"wine": 5.0, "satimage": 5.0, "usps358": 2.0, "38,400 x 256": 0.5}
STARTS = (1, 2, 5, 10, 20, 50)
# Calls shorter than this are repeated, and the fastest counts.
_SHORT, _REPEATS = 1.0, 7


def wine():
    X = load_wine().data
    return (X - X.mean(axis=0)) / X.std(axis=0), 3


def real(name, K, scaled):
    X, _ = datasets.load(name)
    return ((X - X.mean(axis=0)) / X.std(axis=0) if scaled else X), K


TABLES = {
    "wine": wine,
    "satimage": lambda: real("satimage", 6, True),
    "usps358": lambda: real("usps358", 3, False),
    "38,400 x 256": lambda: (mixture(38_400, 256, 5)[0], 5),
    "10^6 x 50": lambda: (mixture(1_000_000, 50, 5)[0], 5),
}


def seconds(call) -> float:
    """Wall time; the fastest of several where it is short."""
    times = []
    while not times or (len(times) < _REPEATS and times[0] < _SHORT):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def calls(name, X, K, quick):
    """A line of the table: seconds of each call, and the multiple of KMeans's."""
    ours = {
        "FisherEM": lambda: FisherEM(K, random_state=0).fit(X),
        "SparseFisherEM": lambda: SparseFisherEM(K, random_state=0).fit(X),
    }
    if not quick:
        ours["search"] = lambda: ModelSearch(SparseFisherEM(random_state=0)).fit(X)
        ours["stability"] = lambda: stability(SparseFisherEM(K, random_state=0), X, random_state=0)
    base = seconds(lambda: KMeans(K, n_init=10, random_state=0).fit(X))
    rival = seconds(lambda: GaussianMixture(K, random_state=0).fit(X))
    print(f"\n{name} {X.shape}: KMeans(n_init=10) {base:.3f} s, GaussianMixture {rival:.3f} s", flush=True)
    for what, call in ours.items():
        taken = seconds(call)
        target = TARGETS.get(name) if what == "FisherEM" else None
        value = f"{taken:.3f} s, {taken / base:.2f} times KMeans, {taken / rival:.2f} times GaussianMixture"
        report(f"  {what}", value, f"<= {target}" if target else "", target is None or taken <= target * base)


def starts(name, X, K):
    """Time of S random starts over that of one."""
    times = []
    for n in STARTS:
        model = FisherEM(K, model="AkB", init="random", n_init=n, noise_factors=0, random_state=0)
        times.append(seconds(lambda model=model: model.fit(X)))
    line = ", ".join(f"{n}: {t / times[0]:.1f}" for n, t in zip(STARTS, times, strict=True))
    twenty = times[STARTS.index(20)] / times[0]
    report(f"{name}: time of n random starts over that of one ({line}); twenty", f"{twenty:.1f}", "<= 4", twenty <= 4)


def models_on_a_file(n=200_000, p=50, K=5):
    """Twelve models on a file that is read in blocks, over one of them."""
    X, _ = mixture(n, p, K)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)

        def search(models):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimator = FisherEM(random_state=0, max_iter=20, memory="20 MB")
                ModelSearch(estimator, n_clusters=[K], models=models, n_init=1, criterion="bic").fit(str(path))

        one, twelve = seconds(lambda: search(["DkB"])), seconds(lambda: search(list(MODELS)))
    ratio = twelve / one
    report(f"twelve models on a file of {n:,} x {p} over one", f"{ratio:.1f} ({one:.1f} s)", "<= 4", ratio <= 4)


def paths(X, K):
    """A path of twenty sparsities over one sparse fit, for each method."""
    for method in ("two-step", "regression", "svd"):
        sparse = SparseFisherEM(K, model="AkB", method=method, sparsity=0.1, random_state=0)
        one = seconds(lambda sparse=sparse: sparse.fit(X))
        estimator = SparseFisherEM(method=method, random_state=0)
        grid = {"n_clusters": [K], "models": ["AkB"], "axis_weights": "equal", "n_jobs": 1, "criterion": "bic"}
        all_points = seconds(lambda estimator=estimator, grid=grid: ModelSearch(estimator, **grid).fit(X))
        ratio = all_points / one
        report(
            f"usps358, {method}: a path of 20 points over a sparse fit",
            f"{ratio:.1f} ({one:.2f} s)",
            "<= 3",
            ratio <= 3,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=";".join(TABLES), help="names, with ; between them")
    parser.add_argument("--parts", default="calls,starts,file,path")
    parser.add_argument("--quick", action="store_true", help="no search, no stability, no large tables")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = arguments.parts.split(",")
    for name in arguments.tables.split(";"):
        if arguments.quick and "x" in name:
            continue
        try:
            X, K = TABLES[name]()
        except FileNotFoundError as error:
            print(f"skipped {name}: {error}")
            continue
        if "calls" in parts:
            calls(name, X, K, arguments.quick)
        if "starts" in parts and "x" not in name:
            starts(name, X, K)
        if "path" in parts and name == "usps358":
            paths(X, K)
    if "file" in parts:
        models_on_a_file()


if __name__ == "__main__":
    main()
