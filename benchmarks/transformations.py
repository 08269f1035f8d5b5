"""Columns as they are, with transformation="power", and as sinh-arcsinh scores: which groups the estimators find.

`python benchmarks/transformations.py` fits both estimators with K given to simulated tables (three groups on five of
ten columns, normal, log-normal, gamma and t3; `--draws` of each) and to real ones, and prints the mean adjusted Rand
index of each way. The scores (`policy.scores`) are those that the judge of partitions uses, of one group, so they are
made before the fit; the powers are estimated within the groups.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from how_many import PATTERN, table, three
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM
from fisherem.policy.scores import Scores

TABLES = ("iris", "wine", "wine27", "breast", "glass", "zoo")


def simulated(seed):
    """(name, X, y) of tables with three groups."""
    yield "normal", *three(seed, mu=1.7)
    yield "log-normal, 0.5", *three(seed, mu=1.7, bend=lambda X: np.exp(0.5 * X))
    yield "log-normal, 1", *three(seed, mu=1.7, bend=np.exp)
    yield "t3", *three(seed, draw=lambda kind, rng, n, p: rng.standard_t(3, size=(n, p)))
    rng = np.random.default_rng([47, seed])
    y, X = rng.integers(3, size=300), rng.gamma(2.0, size=(300, 10))
    X[:, :5] += 1.5 * PATTERN[y]
    yield "gamma", X, y


def real():
    """(name, X, y) of the tables that are to be had."""
    for name in TABLES:
        try:
            yield name, *table(name)
        except FileNotFoundError as error:
            print(f"left out: {error}", flush=True)


def found(X, y):
    """The adjusted Rand index of both estimators (2) in the three ways (3)."""
    ways = ((X, "none"), (X, "power"), (Scores.of(X).transform(X), "none"))
    fits = [
        [make(len(np.unique(y)), transformation=how, random_state=0, n_jobs=1).fit(Z).labels_ for Z, how in ways]
        for make in (FisherEM, SparseFisherEM)
    ]
    return np.array([[adjusted_rand_score(y, labels) for labels in row] for row in fits])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    by_name: dict[str, list] = {}
    for name, X, y in (*(one for seed in range(arguments.draws) for one in simulated(seed)), *real()):
        by_name.setdefault(name, []).append(found(X, y))
    print("| table | dense: none | power | scores | sparse: none | power | scores |\n|" + "---|" * 7)
    means = {name: np.mean(values, axis=0) for name, values in by_name.items()}
    means["mean of real tables"] = np.mean(
        [means[name] for name in TABLES if name in means] or [np.nan * np.ones((2, 3))], axis=0
    )
    means["mean of simulated tables"] = np.mean(
        [one for name, one in means.items() if name not in TABLES and "mean" not in name], axis=0
    )
    for name, values in means.items():
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in values.ravel())} |")


if __name__ == "__main__":
    main()
