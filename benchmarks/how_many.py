"""How many groups: what the verdict says against what is true, by confidence.

`python benchmarks/how_many.py` draws tables from a grid: one to six groups on 1, 2, 5 or 30 columns, neighbours 3, 4, 6
or 10 standard deviations apart, equal and unequal sizes, Gaussian, factor, skewed and heavy-tailed noise, 60 to 2,000
rows, 2 to 200 columns; a quarter of them, and a sixth of the rest, have one group. `--draws 200` says how many,
`--first` from which seed: the rules were chosen on seeds from 0 on, revised after those from 100000, 300000, 500000,
1100000 and 2100000 on (`--cases`: 2000000), and checked on those from 2300000 on (`--cases`: 2200000). `--cases` are
named cases instead (pure noise by kind, groups that single columns show, the paper's simulation, moons, ...),
`--tables` real tables. `--minutes` ends it early. A line per search as it ends, with its time in fits of a sparse
estimator for `--tables` (CPU time of one process); the tables of said against true at the end. `--keep` writes the
searches to a file, and `--read` prints the tables of such files.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, make_circles, make_moons

from fisherem import ModelSearch, SparseFisherEM, datasets
from fisherem.search.scoring import accuracy

TABLES = ("iris", "wine", "wine27", "breast", "usps358", "satimage", "zoo", "glass", "colon", "lymphoma")
PATTERN = np.array([[1.0, 1, 1, 1, 1], [-1, -1, -1, -1, -1], [1, -1, 1, -1, 1]])
KINDS, SHARES = ("normal", "factor", "skew", "gamma", "t5", "t3"), (0.4, 0.15, 0.15, 0.1, 0.1, 0.1)


def centres(K, q, distance, rng):
    """K x q: on a line, or anywhere, with the closest two at that distance."""
    if q == 1 or K == 1:
        return distance * np.arange(K)[:, None] * np.ones(q)
    while True:
        found = rng.normal(size=(K, q))
        apart = np.sqrt(((found[:, None] - found) ** 2).sum(axis=2))[np.triu_indices(K, 1)]
        if apart.min() > 0.4 * np.median(apart):
            return found * distance / apart.min()


def noise(kind, rng, n, p):
    """n x p with variances of about 1."""
    if kind in ("t3", "t5"):
        degrees = int(kind[1])
        return rng.standard_t(degrees, size=(n, p)) / np.sqrt(degrees / (degrees - 2))
    if kind == "gamma":
        return (rng.gamma(2.0, size=(n, p)) - 2) / np.sqrt(2)
    X = rng.normal(size=(n, p))
    return 0.8 * X + 0.6 * rng.normal(size=(n, 1)) * np.sign(rng.normal(size=p)) if kind == "factor" else X


def drawn(seed):
    """(description, X, y) of a point of the grid."""
    rng = np.random.default_rng([29, seed])
    kind = str(rng.choice(KINDS, p=SHARES))
    K = int(rng.integers(1, 7)) if rng.random() < 0.75 else 1
    n, p = int(rng.choice([60, 100, 200, 400, 1000, 2000])), int(rng.choice([2, 5, 10, 20, 50, 200]))
    q, distance = int(rng.choice([q for q in (1, 2, 5, 30) if q <= p])), float(rng.choice([3, 4, 6, 10]))
    shares = rng.dirichlet(np.full(K, 4.0)) if rng.random() < 0.4 else np.full(K, 1 / K)
    shares = np.maximum(shares, 0.08) / np.maximum(shares, 0.08).sum()
    y = rng.choice(K, size=n, p=shares)
    X = noise(kind, rng, n, p)
    if K > 1:
        X[:, :q] += centres(K, q, distance, rng)[y]
    if kind == "skew":
        X = np.exp(0.6 * (X - X.mean(axis=0)) / np.maximum(1, X.std(axis=0) / 2))
    where = f", {q} columns at {distance:g} sd" if K > 1 else ""
    return f"{kind}, {n} x {p}{where}", X, y


def one_group(seed, kind):
    """Pure noise of 60 to 1,000 rows and 2 to 100 columns."""
    rng = np.random.default_rng([31, seed])
    n, p = int(rng.choice([60, 150, 400, 1000])), int(rng.choice([2, 6, 20, 100]))
    X = rng.normal(size=(n, p))
    factor = rng.normal(size=(n, 1))
    made = {
        "spherical": lambda: X,
        "correlated": lambda: 0.6 * factor + 0.8 * X + 0.8 * (np.arange(p) < 5) * rng.normal(size=(n, 1)),
        "three factors": lambda: X + rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)),
        "log-normal": lambda: np.exp(X),
        "correlated log-normal": lambda: np.exp(0.5 * (0.8 * X + 0.6 * factor)),
        "gamma": lambda: rng.gamma(1.0, size=(n, p)),
        "t3": lambda: rng.standard_t(3, size=(n, p)),
        "uniform": lambda: rng.uniform(size=(n, p)),
    }
    return made[kind](), np.zeros(n, int)


def three(seed, draw=noise, kind="normal", mu=2.0, n=300, p=10, shares=(1 / 3, 1 / 3, 1 / 3), bend=None):
    """Three groups on five columns."""
    rng = np.random.default_rng([37, seed])
    y = rng.choice(3, size=n, p=shares)
    X = draw(kind, rng, n, p)
    X[:, :5] += mu * PATTERN[y]
    return (X if bend is None else bend(X)), y


def behind_factor(kind, rng, n, p):
    X = rng.normal(size=(n, p))
    X[:, 5:] = 0.8 * X[:, 5:] + 0.6 * rng.normal(size=(n, 1))
    return X


def on_columns(seed, K):
    """Two groups 10 sd apart in one of six columns, or a 2 x 2 grid at 8 in two of them."""
    rng = np.random.default_rng([41, seed])
    y, X = rng.integers(K, size=300), rng.normal(size=(300, 6))
    X[:, 0] += (10 if K == 2 else 8) * (y % 2)
    X[:, 1] += 8 * (y // 2)
    return X, y


def spread(seed):
    """Two groups that differ in their variances alone."""
    rng = np.random.default_rng([43, seed])
    y = rng.integers(2, size=300)
    return rng.normal(size=(300, 5)) * np.where(y == 0, 1, 4)[:, None], y


CASES = {
    "one column of six at 10 sd": partial(on_columns, K=2),
    "a 2 x 2 grid at 8 sd": partial(on_columns, K=4),
    "the paper's simulation": lambda seed: datasets.simulate(300, 1.7, random_state=seed),
    "three groups behind factor noise": partial(three, draw=behind_factor, mu=1.7, p=25),
    "log-normal groups": partial(three, mu=1.7, bend=lambda X: np.exp(0.5 * X)),
    "t3 groups": partial(three, draw=lambda kind, rng, n, p: rng.standard_t(3, size=(n, p))),
    "a group of 5%": partial(three, n=400, shares=(0.6, 0.35, 0.05)),
    "groups that differ in spread alone": spread,
    "moons": lambda seed: make_moons(300, noise=0.08, random_state=seed),
    "rings": lambda seed: make_circles(300, noise=0.06, factor=0.4, random_state=seed),
} | {
    f"noise: {kind}": partial(one_group, kind=kind)
    for kind in ("spherical", "correlated", "three factors", "log-normal", "correlated log-normal", "gamma", "t3",
                 "uniform")
}  # fmt: skip


def table(name):
    """A table with its classes."""
    X, y = load_breast_cancer(return_X_y=True) if name == "breast" else datasets.load(name)
    return np.asarray(X, float), y


def cpu_seconds(call):
    """CPU seconds of a call: other work on the machine does not count."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def one(name, X, y, fit_too):
    """A row: what the verdict says, and the fit that comes with it; `fit_too`: seconds as a ratio to a sparse fit."""
    truth = len(np.unique(y))
    search = ModelSearch(SparseFisherEM(random_state=0), n_jobs=1)
    seconds, ratio = cpu_seconds(lambda: search.fit(X)), float("nan")
    if fit_too:
        fits = [cpu_seconds(lambda: SparseFisherEM(truth, random_state=0, n_jobs=1).fit(X)) for _ in range(3)]
        ratio = min(seconds, cpu_seconds(lambda: search.fit(X))) / min(fits)
    said = search.verdict_
    row = {
        "data": name,
        "truth": truth,
        "said": said.n_clusters,
        "confidence": said.confidence,
        "others": said.runners_up,
    }
    row |= {"variables": int(search.support_.sum()), "of": X.shape[1], "accuracy": accuracy(y, search.labels_)}
    shown = search.results_[["n_clusters", "score_gain", "valley", "agreement", "strength"]].to_dict("list")
    tests = {"column": search.evidence_.column, "tails": search.evidence_.joint_tails, "p": search.evidence_.one_group}
    return row | {"seconds": seconds, "ratio": ratio, "evidence": shown | tests}


def cases(arguments):
    """(name, X, y) of everything that was asked for; tables that are not to be had are left out."""
    if arguments.tables:
        for name in TABLES:
            try:
                yield name, *table(name)
            except FileNotFoundError as error:
                print(f"left out: {error}", flush=True)
        return
    for seed in range(arguments.first, arguments.first + arguments.draws):
        if arguments.cases:
            for name, make in CASES.items():
                yield name, *make(seed)
        else:
            yield drawn(seed)


def summary(rows, by_data):
    """Said against true, by confidence, and by data for named cases."""
    frame = pd.DataFrame(rows)
    frame["right"] = frame["said"] == frame["truth"]
    frame["group"] = np.where(frame["said"] == 1, "one group", "two or more")
    for keys in (["confidence"], ["confidence", "group"], *([["data", "confidence"]] if by_data else [])):
        counts = frame.groupby(keys, sort=False)["right"].agg(["sum", "size"])
        print(f"\n| {' | '.join(keys)} | right | searches |\n|{'---|' * (len(keys) + 2)}")
        for index, (right, size) in counts.iterrows():
            names = index if isinstance(index, tuple) else (index,)
            print(f"| {' | '.join(names)} | {right} | {size} |")
    print("\nsaid (columns) against true (rows)\n")
    for confidence, part in frame.groupby("confidence", sort=False):
        print(confidence, pd.crosstab(part["truth"], part["said"]).to_string(), sep="\n", end="\n\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--keep", help="a file for the rows of all searches (JSON)")
    parser.add_argument("--read", nargs="+", help="files of --keep whose tables are printed, and nothing is searched")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--tables", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.read:
        kept = pd.concat([pd.read_json(path) for path in arguments.read])
        summary(kept.to_dict("records"), arguments.cases)
        return
    rows, begin = [], time.perf_counter()
    for name, X, y in cases(arguments):
        if time.perf_counter() - begin > 60 * arguments.minutes:
            break
        rows.append(one(name, X, y, arguments.tables))
        r = rows[-1]
        chosen = f"{r['said']} ({r['confidence']}; {list(r['others'])}), truth {r['truth']}"
        kept = f"{r['variables']} of {r['of']} variables, accuracy {r['accuracy']:.3f}"
        print(f"{name}: {chosen}; {kept}, {r['seconds']:.1f} s, {r['ratio']:.1f} fits", flush=True)
        if arguments.keep:
            pd.DataFrame(rows).to_json(arguments.keep, orient="records")
    summary(rows, arguments.cases)


if __name__ == "__main__":
    main()
