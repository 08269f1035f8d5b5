"""Why the default call falls short on some tables: what was tried without labels, for docs/results.md.

`python benchmarks/default_model.py [halves|truth|ridge]`; FISHEREM_DATA must hold the real tables for `halves`. About
15 minutes for all of it on 2 cores.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM, datasets
from fisherem.dlm import MODELS
from fisherem.experiments.paper import DATA
from fisherem.scoring import accuracy

warnings.simplefilter("ignore")


def table(name: str):
    X, y = datasets.load(name)
    return ((X - X.mean(axis=0)) / X.std(axis=0) if DATA[name].standardised else X), y


def agreement(X, K: int, model: str, pairs: int = 6) -> float:
    """Mean adjusted Rand index of the partitions that fits to two random halves give to all rows."""
    found = []
    for seed in range(pairs):
        order = np.random.default_rng(seed).permutation(len(X))
        halves = order[: len(X) // 2], order[len(X) // 2 :]
        fits = [FisherEM(K, model=model, n_init=5, max_iter=60, random_state=seed).fit(X[rows]) for rows in halves]
        found.append(adjusted_rand_score(*(fit.predict(X) for fit in fits)))
    return float(np.mean(found))


def halves():
    for name in DATA:
        X, y = table(name)
        for model in MODELS if name in ("iris", "wine", "zoo", "glass", "usps358") else ("AB", "DkBk"):
            dense = FisherEM(DATA[name].n_clusters, model=model, n_init=5, max_iter=60, random_state=0).fit(X)
            value = agreement(X, DATA[name].n_clusters, model)
            print(f"{name} {model}: agreement {value:.3f}, accuracy {accuracy(y, dense.labels_):.3f}", flush=True)


def truth():
    """Iris: from the default starts, from the true classes (to see where the likelihood leads), from more starts."""
    X, y = table("iris")
    for model in ("DkBk", "DkB", "AkB", "AB"):
        for how, settings in (
            ("default", {}), ("true classes", {"init": y}), ("cold, 50 starts", {"start": "cold", "n_init": 50}),
        ):  # fmt: skip
            fit = SparseFisherEM(3, model=model, random_state=0, **settings).fit(X)
            print(f"iris {model}, {how}: {accuracy(y, fit.labels_):.3f}, log-likelihood {fit.log_likelihood_:.1f}")
    found = {}
    for ridge in (1e-6, 1e-3, 0.1):
        for axes in ("orthonormal", "svd", "regression"):
            for method in ("two-step", "regression", "svd"):
                fit = SparseFisherEM(3, discriminant=axes, ridge=ridge, method=method, random_state=0).fit(X)
                found[accuracy(y, fit.labels_)] = (ridge, axes, method)
    print(f"iris DkBk, three ridges and axes: at most {max(found):.3f} with {found[max(found)]}", flush=True)


def ridge():
    """The simulation with 30 rows: errors of AkB at sparsity 0.3 against the ridge, twelve seeds."""
    errors: dict[str, list[float]] = {}
    for seed in range(12):
        X, y = datasets.simulate(30, 1.7, random_state=seed)
        fits = {"k-means": KMeans(3, n_init=10, random_state=seed).fit(X)}
        for value in (1e-3, 0.1, 0.3, 1.0):
            one = SparseFisherEM(3, model="AkB", ridge=value, sparsity=0.3, random_state=seed)
            fits[f"ridge {value:g}"] = one.fit(X)
        for name, fit in fits.items():
            errors.setdefault(name, []).append(1 - accuracy(y, fit.labels_))
    for name, values in errors.items():
        print(f"n=30, mu=1.7, {name}: {np.mean(values):.3f}", flush=True)


PARTS = {"truth": truth, "ridge": ridge, "halves": halves}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
