"""The data of benchmarks/noise.py and factors.py: a few variables that carry groups among many that carry nothing.

Each maker gives (X, y, how many of the first columns are real, or None where nobody knows).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from sklearn.datasets import load_breast_cancer

from fisherem import datasets
from search import correlated

__all__ = ["MEANS", "QUICK", "SEEDS", "SEPARATION", "SERIES", "TABLES", "WIDE", "table", "with_factors"]

# Not used by anyone while the rules of the package were made.
SEEDS, DRAWS = (70, 71, 72), tuple(range(700, 720))
TIMES = (0, 1, 5, 20, 40)


@cache
def table(name: str):
    """A real table as it is clustered: standardised, except for pixels (one scale) and logs of ratios (lymphoma)."""
    X, y = load_breast_cancer(return_X_y=True) if name == "breast cancer" else datasets.load(name)
    if name == "colon":  # intensities from 6 to 20,000
        X = np.log(X)
    return (X if name in ("usps358", "lymphoma") else (X - X.mean(axis=0)) / X.std(axis=0)), y


def with_noise(name: str, times: int, seed: int):
    """The table and `times` permuted copies of its columns; the copies of fewer times are among those of more."""
    X, y = table(name)
    rng = np.random.default_rng(seed)
    copies = [np.column_stack([rng.permutation(column) for column in X.T]) for _ in range(times)]
    return np.hstack([X, *copies]), y, X.shape[1]


# How far apart the three groups are, by the number of variables: k-means on all of them is right for about 0.75 of the
# rows on a draw that is not reported (seed 5), so there is something to find and something to gain.
SEPARATION = {2_000: 1.2, 5_000: 1.5, 20_000: 2.0}


def wide(p: int, seed: int, factor: float = 0.0, shares=(1 / 3, 1 / 3, 1 / 3), n: int = 60, informative: int = 30):
    """n rows of p variables, of which 30 carry three groups; a common factor has this share of the noise's variance."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=shares)
    common = rng.normal(size=(n, 1)) * rng.choice([-1, 1], size=p)
    X = np.sqrt(1 - factor) * rng.normal(size=(n, p)) + np.sqrt(factor) * common
    means = rng.normal(size=(3, informative))
    X[:, :informative] += SEPARATION[p] * (means - means.mean(axis=0))[y]
    return X, y, informative


def simulation(n: int, seed: int):
    """The paper's simulation (section 4.1): the first 5 of 25 variables carry three groups on a line."""
    return *datasets.simulate(n, 1.7, random_state=seed), 5


# Three groups on the first 5 of 25 variables: means in a plane and groups of 50, 30 and 20%, or on a line and equal.
MEANS: dict[str, Callable] = {
    "in a plane": lambda n, seed: correlated(seed, neighbours=0, factor=0, n=n),
    "on a line": lambda n, seed: datasets.simulate(n, 1.7, random_state=seed),
}


def with_factors(means: str, n: int, share: float, m: int, seed: int):
    """Three groups; m common factors have this share of the variance of the 20 noise variables.

    The first factor has equal loadings on all of them, as size or brightness has; the signs of the others are random.
    """
    X, y = MEANS[means](n, seed)
    rng = np.random.default_rng([seed, m])
    noise = X[:, 5:]
    signs = rng.choice([-1, 1], size=(m, noise.shape[1]))
    signs[:1] = 1
    X[:, 5:] = np.sqrt(1 - share) * noise + np.sqrt(share / m) * rng.normal(size=(n, m)) @ signs
    return X, y, 5


def expression(name: str, step: int, seed: int):
    """A table of gene expression; which genes are real is not known."""
    return *table(name), None


@dataclass(frozen=True)
class Series:
    """Cases of rising size; `make(step, seed)` gives the data, `label` names a step."""

    make: Callable
    steps: tuple[int, ...]
    label: str
    seeds: tuple[int, ...] = SEEDS


TABLES = ("iris", "wine", "wine27", "breast cancer", "usps358", "zoo")
SERIES = {name: Series(partial(with_noise, name), TIMES, "+ {}x") for name in TABLES}
WIDE = {
    "independent noise": partial(wide),
    "a common factor": partial(wide, factor=0.36),
    "unequal groups": partial(wide, shares=(0.6, 0.25, 0.15)),
}
SERIES |= {name: Series(make, tuple(SEPARATION), "60 x {:,}") for name, make in WIDE.items()}
SERIES |= {name: Series(partial(expression, name), (0,), "as it is") for name in ("colon", "lymphoma")}
SERIES["the paper's simulation"] = Series(simulation, (30, 300), "n = {}", DRAWS)
QUICK = {"iris": (0, 5), "wine": (0, 5, 20), "independent noise": (2_000,)}
