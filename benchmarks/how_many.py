"""How many groups: what the verdict and every rule choose on tables, simulations and pure noise.

`python benchmarks/how_many.py` (ten seeds each, hours on 2 cores); `--seeds 3` for fewer, `--first 100` for others,
`--only sim,noise` for the kinds whose name begins so. A line per search as it ends, one table at the end: how often
each was right.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import silhouette_score

from fisherem import ModelSearch, SparseFisherEM, datasets
from fisherem.policy.number_of_groups.rules import RULES
from fisherem.search.scoring import accuracy
from search import correlated

# Raw columns for these: their variables have one unit.
RAW = ("usps358", "satimage", "digits")
TABLES = ("iris", "wine", "wine27", "breast", "usps358", "satimage", "zoo", "glass", "colon", "lymphoma")
PATTERN = np.array([[1.0, 1, 1, 1, 1], [-1, -1, -1, -1, -1], [1, -1, 1, -1, 1]])


def table(name):
    """A table with its classes, standardised unless its columns have one unit."""
    X, y = load_breast_cancer(return_X_y=True) if name == "breast" else datasets.load(name)
    X = np.asarray(X, float)
    return (X if name in RAW else (X - X.mean(axis=0)) / X.std(axis=0)), y


def line_with_factor(seed, n=300, p=25, q=5, factor=0.36):
    """Three means on a line on q variables, and a factor common to the others."""
    rng = np.random.default_rng(2000 + seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, p))
    X[:, q:] = np.sqrt(1 - factor) * X[:, q:] + np.sqrt(factor) * rng.normal(size=(n, 1))
    X[:, :q] += 1.7 * np.array([1.0, -1, 0])[y][:, None]
    return X, y


def groups(seed, draw, mu=2.0, n=300, p=10, shares=(1 / 3, 1 / 3, 1 / 3), bend=None):
    """Three groups on five of ten variables with noise from `draw`, bent by a function if there is one."""
    rng = np.random.default_rng(3000 + seed)
    y = rng.choice(3, size=n, p=shares)
    X = draw(rng, (n, p))
    X[:, :5] += mu * PATTERN[y]
    return (X if bend is None else bend(X)), y


def normal(rng, shape):
    return rng.normal(size=shape)


def noise(seed, kind, n=200, p=20):
    """One group: spherical, with common factors, or log-normal."""
    rng = np.random.default_rng(7000 + seed)
    X = rng.normal(size=(n, p))
    if kind == "correlated":
        X = 0.6 * rng.normal(size=(n, 1)) + 0.8 * X
        X[:, :5] += 0.8 * rng.normal(size=(n, 1))
    return (np.exp(0.7 * X) if kind == "skewed" else X), np.zeros(n, int)


SIMULATIONS = {
    "sim, mu = 1.7": lambda seed: datasets.simulate(300, 1.7, random_state=seed),
    "factor noise": partial(correlated, neighbours=0.0, factor=0.36),
    "factor noise, means on a line": line_with_factor,
    "skewed: log-normal": partial(groups, draw=normal, mu=1.7, bend=lambda X: np.exp(0.5 * X)),
    "skewed: gamma": partial(groups, draw=lambda rng, shape: rng.gamma(2.0, size=shape)),
    "tails: t, 5 degrees": partial(groups, draw=lambda rng, shape: rng.standard_t(5, size=shape)),
    "tails: t, 3 degrees": partial(groups, draw=lambda rng, shape: rng.standard_t(3, size=shape)),
    "unequal: 5%": partial(groups, draw=normal, n=400, shares=(0.6, 0.35, 0.05)),
    "noise: spherical": partial(noise, kind="spherical"),
    "noise: correlated": partial(noise, kind="correlated"),
    "noise: skewed": partial(noise, kind="skewed"),
}


def partitions(X, most=8):
    return {K: KMeans(K, n_init=10, random_state=0).fit(X) for K in range(1, most + 1)}


def silhouette(X, fits):
    """The K of the best mean silhouette: it knows no single group."""
    return max((K for K in fits if K > 1), key=lambda K: silhouette_score(X, fits[K].labels_, random_state=0))


def gap(X, fits, references=10):
    """Tibshirani, Walther and Hastie (2001): the first K whose gap is within one error of the next one's."""
    rng = np.random.default_rng(0)
    logs = []
    for _ in range(references):
        Z = rng.uniform(X.min(axis=0), X.max(axis=0), size=X.shape)
        logs.append([np.log(KMeans(K, n_init=3, random_state=0).fit(Z).inertia_) for K in fits])
    gaps = np.mean(logs, axis=0) - [np.log(fit.inertia_) for fit in fits.values()]
    errors = np.std(logs, axis=0) * np.sqrt(1 + 1 / references)
    found = [K for i, K in enumerate(list(fits)[:-1]) if gaps[i] >= gaps[i + 1] - errors[i + 1]]
    return found[0] if found else max(fits)


def one(name, X, y):
    """A row: what the verdict, every rule, silhouette and gap choose, and the verdict's fit."""
    begin = time.perf_counter()
    search = ModelSearch(SparseFisherEM(random_state=0)).fit(X)
    seconds = time.perf_counter() - begin
    verdict = search.verdict_
    sample = X[np.random.default_rng(0).permutation(len(X))[:1000]]
    fits = partitions(sample)
    row = {"data": name, "truth": len(np.unique(y)), "verdict": verdict.n_clusters, "degree": verdict.degree}
    row |= {"runners-up": list(verdict.runners_up), "variables": int(search.support_.sum()), "of": X.shape[1]}
    row |= {"accuracy": accuracy(y, search.labels_), "seconds": seconds}
    row |= {"exactly the five": bool(search.support_[:5].all() and search.support_.sum() == 5)}
    picks = verdict.rules.set_index("rule")["picks"]
    row |= {rule: (None if pd.isna(picks[rule]) else int(picks[rule])) for rule in RULES}
    return row | {"silhouette": silhouette(sample, fits), "gap": gap(sample, fits)}


def cases(seeds, first, only):
    """(name, X, y) of everything that was asked for; tables that are not to be had are left out."""
    for name in TABLES:
        if not only or name.startswith(only):
            try:
                yield name, *table(name)
            except FileNotFoundError as error:
                print(f"left out: {error}", flush=True)
    for name, make in SIMULATIONS.items():
        if not only or name.startswith(only):
            for seed in range(first, first + seeds):
                X, y = make(seed)
                yield name, (X - X.mean(axis=0)) / X.std(axis=0), y


def summary(rows):
    """One table: the share of right numbers of groups, by data and rule."""
    frame = pd.DataFrame(rows)
    columns = ["verdict", *RULES, "silhouette", "gap"]
    right = frame[columns].eq(frame["truth"], axis=0).groupby(frame["data"], sort=False).sum()
    right.insert(0, "searches", frame.groupby("data", sort=False).size())
    print("\nright number of groups, of so many searches\n")
    print("| data | " + " | ".join(right.columns) + " |\n|" + "---|" * (len(right.columns) + 1))
    for name, counts in right.iterrows():
        print(f"| {name} | " + " | ".join(str(int(v)) for v in counts) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="kinds whose name begins with one of these, separated by commas")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, only = [], tuple(filter(None, arguments.only.split(",")))
    for name, X, y in cases(arguments.seeds, arguments.first, only):
        rows.append(one(name, X, y))
        r = rows[-1]
        chosen = f"{r['verdict']} ({r['degree']}; {r['runners-up']}), truth {r['truth']}"
        kept = f"{r['variables']} of {r['of']} variables, accuracy {r['accuracy']:.3f}, {r['seconds']:.0f} s"
        rules = ", ".join(f"{rule} {r[rule]}" for rule in (*RULES, "silhouette", "gap"))
        print(f"{name}: {chosen}; {kept}; {rules}", flush=True)
    summary(rows)


if __name__ == "__main__":
    main()
