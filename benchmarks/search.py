"""The search: what it finds on simulations and on the paper's tables, and its speed as ratios in one run.

`make bench-search` (about 15 minutes on 2 cores); `--quick` for five seeds and no tables.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets
from fisherem.model.dlm import MODELS
from fisherem.search.scoring import accuracy

warnings.simplefilter("ignore", ConvergenceWarning)


def correlated(seed, neighbours=0.2, factor=0.1, n=300, p=25, q=5):
    """Unequal groups (50, 30, 20%) that differ on q variables, not on a line; the noise variables are correlated.

    `neighbours` is the correlation of adjacent noise variables, `factor` the share of a factor common to all of them.
    """
    rng = np.random.default_rng(1000 + seed)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    means = np.zeros((3, p))
    means[:, :q] = 1.7 * np.array([[1, 1, 1, 1, 1], [-1, -1, -1, -1, -1], [1, -1, 1, -1, 1]])
    noise = rng.normal(size=(n, p))
    for j in range(q + 1, p):
        noise[:, j] = neighbours * noise[:, j - 1] + np.sqrt(1 - neighbours**2) * noise[:, j]
    noise[:, q:] = np.sqrt(1 - factor) * noise[:, q:] + np.sqrt(factor) * rng.normal(size=(n, 1))
    return means[y] + noise, y


# What else could have been chosen from the same fits: (rows to choose from, column that decides)
VARIANTS = {
    "default (BIC of the selection)": (lambda r: r, "selection_bic"),
    "axis_weights=equal": (lambda r: r[r["axis_weights"] == "equal"], "selection_bic"),
    "axis_weights=relevance": (lambda r: r[r["axis_weights"] == "relevance"], "selection_bic"),
    "criterion=icl": (lambda r: r, "selection_icl"),
    "path_criterion=penalised (the paper's BIC)": (lambda r: r, "bic"),
    "penalised ICL": (lambda r: r, "icl"),
}


def one_seed(make, seed, method):
    """(K, true variables, false variables) chosen by each variant, and the default's accuracy."""
    X, y = make(seed)
    estimator = SparseFisherEM(method=method, random_state=0)
    search = ModelSearch(estimator, n_clusters=range(2, 7), n_init=3, n_jobs=1, criterion="bic").fit(X)
    paths = search.results_[search.results_["method"] != "dense"]
    found = {}
    for name, (rows, column) in VARIANTS.items():
        best = paths.loc[rows(paths)[column].idxmax()]
        sizes = search.paths_[best["n_clusters"], best["model"], best["axis_weights"]].loc[best["sparsity"]]
        support = sizes.to_numpy() > 0
        found[name] = (best["n_clusters"], support[:5].sum(), support[5:].sum())
    return found, accuracy(y, search.labels_)


def recovery(name, make, seeds, method="two-step"):
    results = Parallel(2)(delayed(one_seed)(make, s, method) for s in range(seeds))
    print(f"\n{name}, {method}: accuracy of the default {np.mean([r[1] for r in results]):.3f}\n")
    print("| choice | K=3 | exactly the five | the five and <= 2 more | variables |\n|---|---|---|---|---|")
    for variant in VARIANTS:
        found = [r[0][variant] for r in results]
        counts = (
            sum(f[0] == 3 for f in found),
            sum(f[1] == 5 and f[2] == 0 for f in found),
            sum(f[1] == 5 and f[2] <= 2 for f in found),
        )
        cells = " | ".join(f"{c}/{seeds}" for c in counts)
        print(f"| {variant} | {cells} | {np.mean([f[1] + f[2] for f in found]):.1f} |", flush=True)


def simulated(seed):
    return datasets.simulate(300, 1.7, random_state=seed)


def model_choice():
    chosen = []
    for name in MODELS:
        sample = datasets.simulate_dlm(name, random_state=1)
        best = (
            ModelSearch(FisherEM(random_state=0), n_clusters=[4], n_init=1, criterion="bic")
            .fit(sample.X)
            .best_params_["model"]
        )
        chosen.append(f"{name} -> {best}")
    print("\nmodel chosen by BIC for data of each model (n=2000, p=20):", ", ".join(chosen))


def tables():
    print(
        "\n| data | K fixed | chosen K, model, sparsity | variables | accuracy | seconds |\n|---|---|---|---|---|---|"
    )
    for name, scaled in (("iris", True), ("wine", True), ("usps358", False)):
        X, y = datasets.load(name)
        X = (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X
        for clusters in (range(2, 9), [3]):
            begin = time.perf_counter()
            search = ModelSearch(SparseFisherEM(random_state=0), n_clusters=clusters, n_init=5, criterion="bic").fit(X)
            seconds = time.perf_counter() - begin
            b = search.best_params_
            chosen = f"{b['n_clusters']}, {b['model']}, {b['sparsity']:.2g} ({b['axis_weights']})"
            right = accuracy(y, search.labels_)
            fixed = "no" if len(clusters) > 1 else "3"
            print(
                f"| {name} | {fixed} | {chosen} | {search.support_.sum()} | {right:.3f} | {seconds:.0f} |", flush=True
            )


def speed():
    X, _ = datasets.load("usps358")
    cores = len(os.sched_getaffinity(0))
    begin = time.perf_counter()
    search = ModelSearch(FisherEM(random_state=0), n_init=5, criterion="bic").fit(X)
    whole = time.perf_counter() - begin
    # the same fits one after the other, each with its own start and covariance, on the whole machine
    alone = 0.0
    for K in (2, 5, 8):
        for name in MODELS:
            begin = time.perf_counter()
            FisherEM(K, model=name, random_state=0, n_init=5, noise_factors=0).fit(X)
            alone += time.perf_counter() - begin
    alone *= 7 / 3  # three of the seven numbers of groups, evenly spaced
    print(f"\nusps358, K=2..8 x 12 models x 5 starts: search {whole:.0f} s, single fits {alone:.0f} s on {cores} cores")
    print(f"search / single fits: {whole / alone:.2f}")
    print(f"search / (their sum / cores): {whole / alone * cores:.2f} (expected <= 1.3)")
    inside = search.results_["seconds"].sum()
    print(f"search / (its own fits' seconds / cores): {whole / inside * cores:.2f}")
    for method in ("two-step", "regression", "svd"):
        begin = time.perf_counter()
        SparseFisherEM(3, model="AkB", method=method, sparsity=0.1, random_state=0).fit(X)
        cold = time.perf_counter() - begin
        grid = {"n_clusters": [3], "models": ["AkB"], "axis_weights": "equal", "n_jobs": 1, "criterion": "bic"}
        begin = time.perf_counter()
        found = ModelSearch(SparseFisherEM(method=method, random_state=0), **grid).fit(X)
        path = time.perf_counter() - begin
        points = int((found.results_["method"] != "dense").sum())
        ratio = f"{path:.1f} s / cold sparse fit {cold:.1f} s = {path / cold:.1f} (expected <= 5)"
        print(f"{method}: path of {points} points {ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["recovery", "tables", "speed"])
    arguments = parser.parse_args()
    seeds = 5 if arguments.quick else 25
    if arguments.only in (None, "recovery"):
        for method in ("two-step", "regression", "svd"):
            recovery("simulation n=300, mu=1.7", simulated, seeds, method)
        recovery("unequal groups, neighbours 0.2 and factor 0.1", correlated, seeds)
        recovery("unequal groups, factor 0.36", partial(correlated, neighbours=0.0, factor=0.36), seeds)
        model_choice()
    if not arguments.quick and arguments.only in (None, "speed"):
        speed()
    if not arguments.quick and arguments.only in (None, "tables"):
        tables()


if __name__ == "__main__":
    main()
