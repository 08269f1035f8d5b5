"""The rivals beside the figures of the R originals, and their speed.

`make bench-rivals` (about 10 minutes on 2 cores); `--only glass|tables|simulation|speed|search` for a part.
FISHEREM_DATA must hold the real tables. R's figures are those of sparcl, clustvarsel 2.3.5 and SelvarMix.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np

from fisherem import Clustvarsel, Selvarclust, SparseKMeans, datasets
from fisherem.experiments.jobs import OutOfTimeError, time_limit
from fisherem.experiments.table4 import matrix_product
from fisherem.rivals.regressions import Regressions
from fisherem.rivals.roles import assign_roles
from fisherem.rivals.stepwise import DIRECTIONS
from fisherem.rivals.subsets import CovarianceKind, Subsets
from fisherem.search.scoring import accuracy

warnings.simplefilter("ignore")

# data, standardised?, groups, method, R's accuracy and number of variables
TABLES = [
    ("wine", True, 3, "SparseKMeans", 0.949, 13),
    ("wine27", True, 3, "SparseKMeans", 0.972, 27),
    ("zoo", False, 7, "SparseKMeans", 0.792, 16),
    ("glass", False, 6, "SparseKMeans", 0.523, 9),
    ("wine", False, 3, "Clustvarsel", 0.938, 6),
    ("wine27", False, 3, "Clustvarsel", 0.910, 6),
    ("glass", False, 6, "Clustvarsel", 0.453, 5),
    ("iris", False, 3, "Clustvarsel", 0.967, 4),
    ("wine", False, 3, "Selvarclust", 0.972, 8),
    ("glass", False, 6, "Selvarclust", 0.533, 8),
    ("iris", False, 3, "Selvarclust", 0.967, 4),
]
# rows, method, R's error and number of variables on the paper's simulation with mu = 1.7
SIMULATION = [
    (300, "SparseKMeans", "0.036 / 25"),
    (300, "Clustvarsel", "0.033 / 5.6"),
    (300, "Selvarclust", "0.048 / 4.8"),
    (30, "SparseKMeans", "0.083 / 24.7"),
    (30, "Selvarclust", "0.399 / 3.5"),
]
METHODS = {
    "SparseKMeans": lambda K: SparseKMeans(K, random_state=0),
    "Clustvarsel": lambda K: Clustvarsel(K),
    "Selvarclust": lambda K: Selvarclust(K, ranking="lasso"),
}


def timed(model, X):
    """Seconds of a fit."""
    begin = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - begin


def tables():
    print("| data | method | accuracy / variables | R's | seconds |\n|---|---|---|---|---|")
    for name, scaled, K, method, theirs, variables in TABLES:
        X, y = datasets.load(name)
        model = METHODS[method](K)
        seconds = timed(model, (X - X.mean(axis=0)) / X.std(axis=0) if scaled else X)
        ours = f"{accuracy(y, model.labels_):.3f} / {model.support_.sum()}"
        kind = "standardised" if scaled else "raw"
        print(f"| {name} {kind} | {method} | {ours} | {theirs:.3f} / {variables} | {seconds:.1f} |", flush=True)


def simulation(seeds=10):
    print("\n| n | method | error / variables | R's | seconds per fit |\n|---|---|---|---|---|")
    for n, method, theirs in SIMULATION:
        found, seconds = [], 0.0
        for seed in range(seeds):
            X, y = datasets.simulate(n, 1.7, random_state=seed)
            model = METHODS[method](3)
            seconds += timed(model, X) / seeds
            found.append((1 - accuracy(y, model.labels_), model.support_.sum()))
        error, variables = np.mean(found, axis=0)
        print(f"| {n} | {method} | {error:.3f} / {variables:.1f} | {theirs} | {seconds:.1f} |", flush=True)


def speed():
    wine, _ = datasets.load("wine")
    wine = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    usps, _ = datasets.load("usps358")
    print("\n| sparse k-means | seconds | R's | product of 2000 x 2000 just before |\n|---|---|---|---|")
    for label, X, bound, theirs in (
        ("wine, 25 permutations", wine, "permutation", 1.5),
        ("usps358, one fit", usps, 8.0, 2.7),
        ("usps358, 25 permutations", usps, "permutation", 277.0),
    ):
        product = matrix_product(2000)["fit_seconds"]
        seconds = timed(SparseKMeans(3, bound=bound, random_state=0), X)
        print(f"| {label} | {seconds:.2f} | {theirs} (0.1 s for the product) | {product:.2f} |", flush=True)


def search(limit=900.0):
    """How far the searches get on the large tables, with all shapes, within a limit."""
    print(f"\nsearches with all shapes, at most {limit:.0f} s each")
    for name, K in (("usps358", 3), ("satimage", 6)):
        X, y = datasets.load(name)
        model = Selvarclust(K, ranking="lasso")
        seconds = timed(model, X)
        what = f"{model.support_.sum()} variables, {accuracy(y, model.labels_):.3f}"
        print(f"{name}: Selvarclust lasso: {seconds:.0f} s, {what}", flush=True)
        begin, end = time.perf_counter(), ""
        steps = Clustvarsel(K)._search(X)  # its state says how far it got
        try:
            with time_limit(limit):
                DIRECTIONS["forward"](steps)
        except OutOfTimeError:
            end = " (not finished)"
        labels = steps.mixture.posteriors.argmax(axis=0)
        what = f"{len(steps.chosen)} variables after {len(steps.path)} steps, {accuracy(y, labels):.3f}{end}"
        print(f"{name}: Clustvarsel forward: {time.perf_counter() - begin:.0f} s, {what}", flush=True)


def glass():
    """Every set of 4, 5, 8 or 9 variables of glass judged by the criterion of SRUW, with the shapes of SelvarMix."""
    X, y = datasets.load("glass")
    subsets = Subsets(X, CovarianceKind((6,), ("EEE", "VEE", "EVV", "VVV"), 200, 1e-5))
    regressions = Regressions(subsets.X)
    print("\n| variables | best sets of glass: criterion, variables, shape, accuracy |\n|---|---|")
    for size in (4, 5, 8, 9):
        found = []
        for S in itertools.combinations(range(9), size):
            mixture = subsets.one(S)
            if not mixture.reason:
                roles = assign_roles(regressions, S, [j for j in range(9) if j not in S])
                value = mixture.bic + roles.bic_regression + roles.bic_independent
                found.append((round(value), S, mixture.shape, round(accuracy(y, mixture.posteriors.argmax(0)), 3)))
        print(f"| {size} | {'; '.join(map(str, sorted(found, reverse=True)[:2]))} |", flush=True)


PARTS = {"glass": glass, "tables": tables, "simulation": simulation, "speed": speed, "search": search}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(PARTS))
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for each search")
    arguments = parser.parse_args()
    only, PARTS["search"] = arguments.only, lambda: search(arguments.limit)
    for name, part in PARTS.items():
        if only in (None, name):
            part()


if __name__ == "__main__":
    main()
