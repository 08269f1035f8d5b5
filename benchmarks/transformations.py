"""Columns as they are, with transformation="power", and as sinh-arcsinh scores: which groups the estimators find.

`python benchmarks/transformations.py` fits both estimators with K given to simulated tables (three groups on five of
ten columns, normal, log-normal, gamma and t3; `--draws` of each) and to real ones, and prints the mean adjusted Rand
index of each way. "scores" are those of one group (`policy.scores`), made before the fit, as the judge of partitions
uses them; "within" are sinh-arcsinh scores with a mean per group and a common variance, estimated in turn with the
groups as the powers are, where BIC asks for them.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from how_many import PATTERN, table, three
from scipy.optimize import minimize
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM
from fisherem.policy.powers import on_one_scale
from fisherem.policy.scores import Scores

TABLES = ("iris", "wine", "wine27", "breast", "glass", "zoo")
WAYS = ("none", "power", "scores", "within")
# Of sinh-arcsinh within groups: the grid of (epsilon, log delta) from which the likelihood is climbed, and the bounds.
GRID = [(0.0, 0.0, skew, tail) for skew in np.linspace(-2, 2, 9) for tail in np.linspace(-1.2, 0.8, 6)]
BOUNDS = [(-3, 3), (-3, 3), (-4, 4), (-1.6, 1.6)]
ROUNDS, FREQUENT = 5, 0.2


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


def bent(theta, x):
    """(sinh-arcsinh of a column, log of its slopes) with location, log scale, skew and log tail."""
    u = (x - theta[0]) / np.exp(theta[1])
    a = np.clip(np.exp(theta[3]) * np.arcsinh(u) - theta[2], -300, 300)
    return np.sinh(a), theta[3] - theta[1] + np.log(np.cosh(a)) - 0.5 * np.log1p(u * u)


def loss(theta, x, labels):
    """Less the log-likelihood of groups with a common variance, with a weak prior on skew and tail."""
    z, slopes = bent(theta, x)
    means = np.bincount(labels, z) / np.maximum(np.bincount(labels), 1)
    variance = max(((z - means[labels]) ** 2).mean(), 1e-300)
    return len(x) / 2 * np.log(variance) - slopes.sum() + 0.5 * (theta[2] ** 2 + theta[3] ** 2)


def bent_columns(X, labels):
    """(columns bent where BIC asks for it, the log-Jacobian, parameters)."""
    Z, (scaled, _, spreads) = X.copy(), on_one_scale(X)
    jacobian, parameters = 0.0, 0
    for j, x in enumerate(scaled.T):
        if np.unique(x, return_counts=True)[1].max() > FREQUENT * len(x):
            continue
        start = min(GRID, key=lambda theta, x=x: loss(theta, x, labels))
        best = minimize(loss, start, args=(x, labels), method="L-BFGS-B", bounds=BOUNDS)
        if loss(np.zeros(4), x, labels) - best.fun > 2 * np.log(len(x)):
            z, slopes = bent(best.x, x)
            Z[:, j] = z * X[:, j].std() / z.std()
            jacobian += (slopes + np.log(X[:, j].std() / z.std() / spreads[j])).sum()
            parameters += 4
    return Z, jacobian, parameters


def in_turn(make, X, K):
    """Labels of the fit with the largest BIC of the rows as given, columns and groups estimated in turn."""
    labels, fits = np.zeros(len(X), int), []
    for _ in range(ROUNDS):
        Z, jacobian, parameters = bent_columns(X, labels)
        fit = make(K, random_state=0, n_jobs=1).fit(Z)
        fits.append((fit.bic_ + jacobian - parameters / 2 * np.log(len(X)), fit.labels_))
        if (fit.labels_ == labels).all():
            break
        labels = fit.labels_
    return max(fits, key=lambda one: one[0])[1]


def found(X, y):
    """The adjusted Rand index of both estimators (2) in the four ways."""
    K, scores = len(np.unique(y)), Scores.of(X).transform(X)
    rows = []
    for make in (FisherEM, SparseFisherEM):
        given = ((X, "none"), (X, "power"), (scores, "none"))
        fits = [make(K, transformation=how, random_state=0, n_jobs=1).fit(Z).labels_ for Z, how in given]
        rows.append([adjusted_rand_score(y, labels) for labels in (*fits, in_turn(make, X, K))])
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    by_name: dict[str, list] = {}
    for name, X, y in (*(one for seed in range(arguments.draws) for one in simulated(seed)), *real()):
        by_name.setdefault(name, []).append(found(X, y))
    print(f"| table | dense: {' | '.join(WAYS)} | sparse: {' | '.join(WAYS)} |\n|" + "---|" * 9)
    means = {name: np.mean(values, axis=0) for name, values in by_name.items()}
    means["mean of real tables"] = np.mean(
        [means[name] for name in TABLES if name in means] or [np.nan * np.ones((2, 4))], axis=0
    )
    means["mean of simulated tables"] = np.mean(
        [one for name, one in means.items() if name not in TABLES and "mean" not in name], axis=0
    )
    for name, values in means.items():
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in values.ravel())} |")


if __name__ == "__main__":
    main()
