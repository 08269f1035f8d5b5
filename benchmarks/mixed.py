"""Tables with categories beside other methods: `python benchmarks/mixed.py` (FISHEREM_DATA must hold the real tables).

heart (270 x 12, eight of them categories), zoo (101 x 16 traits), the Palmer penguins (333 complete rows x 7, with
`palmerpenguins` installed) and mixtures with known variables: some numbers and categories make three groups, the others
are noise. K is given; classes are read for scoring only. The others are StepMix (latent classes with Gaussian and
categorical variables), k-prototypes (`kmodes`; k-modes where there are no numbers) and k-means on standardised numbers
and indicators; those that are not installed are left out.

Prints the adjusted Rand index of every method and table, the accuracy on zoo, how many of the known variables are
selected, and seconds. About two minutes on one core.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from measure import report
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM
from fisherem.search.scoring import accuracy

Table = tuple[pd.DataFrame, np.ndarray, int, list[str]]
# Draws of every kind of mixture.
DRAWS = 3
OURS = ("SparseFisherEM(K)", "FisherEM(K)")


def heart() -> Table:
    """Age, pressure and so on, and codes of sex, kind of pain, ...; two classes."""
    table = pd.read_csv(Path(os.environ["FISHEREM_DATA"]) / "panel/heart.csv")
    classes = table.pop("Class").to_numpy()
    numbers = ("Age", "RestBloodPressure", "SerumCholestoral", "MaxHeartRate")
    return table, classes, 2, [name for name in table if name not in numbers]


def zoo() -> Table:
    """Traits of animals: yes or no, and the number of legs; seven classes."""
    table = pd.read_csv(Path(os.environ["FISHEREM_DATA"]) / "tables/zoo.csv")
    classes = table.pop("class").to_numpy()
    return table, classes, 7, list(table)


def penguins() -> Table:
    """Four measurements, island, sex and year; three species."""
    import palmerpenguins

    table = palmerpenguins.load_penguins().dropna().reset_index(drop=True)
    classes = table.pop("species").to_numpy()
    return table, classes, 3, ["island", "sex"]


def mixture(seed: int, numbers: int, categories: int, noise: tuple[int, int], apart: float, share: float) -> Table:
    """300 rows in three groups; in a category of a group, `share` of the rows have its own level."""
    rng = np.random.RandomState(seed)
    n, K, levels = 300, 3, np.array(list("abcd"))
    groups = rng.randint(K, size=n)
    columns = {}
    means = apart * rng.normal(size=(K, numbers))
    for j in range(numbers):
        columns[f"number{j}"] = means[groups, j] + rng.normal(size=n)
    for j in range(categories):
        own = rng.permutation(len(levels))[groups]
        columns[f"category{j}"] = levels[np.where(rng.uniform(size=n) < share, own, rng.randint(len(levels), size=n))]
    for j in range(noise[0]):
        columns[f"noise{j}"] = rng.normal(size=n)
    for j in range(noise[1]):
        columns[f"noise category{j}"] = rng.choice(levels, size=n, p=rng.dirichlet(np.full(len(levels), 3.0)))
    table = pd.DataFrame(columns)
    return table, groups, K, [name for name in table if "category" in name]


def tables() -> Iterator[tuple[str, str, Table]]:
    """(the kind of table, its name, the table)."""
    yield "heart", "heart", heart()
    yield "zoo", "zoo", zoo()
    if find_spec("palmerpenguins"):
        yield "penguins", "penguins", penguins()
    for seed in range(DRAWS):
        yield "numbers and categories", f"both {seed}", mixture(seed, 2, 3, (4, 4), 1.5, 0.7)
        yield "categories", f"categories {seed}", mixture(10 + seed, 0, 5, (3, 4), 0.0, 0.75)
        yield "mostly noise", f"noise {seed}", mixture(20 + seed, 3, 1, (6, 6), 2.0, 0.7)


# -- the methods -------------------------------------------------------------------------------------------------------


def _standardised(table: pd.DataFrame, categories: list[str]) -> pd.DataFrame:
    numbers = table.drop(columns=categories)
    return (numbers - numbers.mean()) / numbers.std(ddof=0)


def k_means(table: pd.DataFrame, categories: list[str], K: int) -> np.ndarray:
    """k-means on standardised numbers and indicators."""
    indicators = pd.get_dummies(table[categories].astype(str)).astype(float)
    rows = pd.concat([_standardised(table, categories), indicators], axis=1)
    return KMeans(K, n_init=20, random_state=0).fit_predict(rows.to_numpy())


def stepmix(table: pd.DataFrame, categories: list[str], K: int) -> np.ndarray:
    """Latent classes with ten starts."""
    from stepmix.stepmix import StepMix
    from stepmix.utils import get_mixed_descriptor

    numbers = _standardised(table, categories)
    codes = table[categories].apply(lambda column: pd.factorize(column, sort=True)[0])
    kinds = {"categorical": categories} | ({"continuous": list(numbers)} if numbers.shape[1] else {})
    rows, what = get_mixed_descriptor(pd.concat([numbers, codes], axis=1), **kinds)
    model = StepMix(K, measurement=what, n_init=10, random_state=0, progress_bar=0, verbose=0)
    return model.fit(rows).predict(rows)


def k_prototypes(table: pd.DataFrame, categories: list[str], K: int) -> np.ndarray:
    """k-prototypes on standardised numbers and categories; k-modes without numbers."""
    from kmodes.kmodes import KModes
    from kmodes.kprototypes import KPrototypes

    rows = pd.concat([_standardised(table, categories), table[categories].astype(str)], axis=1)
    if rows.shape[1] == len(categories):
        return KModes(K, n_init=10, random_state=0).fit_predict(rows.to_numpy(object))
    places = list(range(rows.shape[1] - len(categories), rows.shape[1]))
    return KPrototypes(K, n_init=10, random_state=0).fit_predict(rows.to_numpy(object), categorical=places)


OTHERS: dict[str, Callable[[pd.DataFrame, list[str], int], np.ndarray]] = {"k-means, one-hot": k_means}
if find_spec("stepmix"):
    OTHERS["StepMix"] = stepmix
if find_spec("kmodes"):
    OTHERS["k-prototypes"] = k_prototypes


def main() -> None:
    """All methods on all tables, means, and what is expected of them."""
    rows, known, selected_noise, zoo_accuracy = [], [], [], 0.0
    for kind, name, (table, classes, K, categories) in tables():
        row = {"kind": kind, "table": name}
        for method, estimator in zip(OURS, (SparseFisherEM, FisherEM), strict=True):
            begin = time.perf_counter()
            model = estimator(K, random_state=0, categories=categories).fit(table)
            row |= {method: adjusted_rand_score(classes, model.labels_), f"{method} s": time.perf_counter() - begin}
            if name == "zoo":
                zoo_accuracy = max(zoo_accuracy, accuracy(classes, model.labels_))
                report(f"{method} on zoo", f"accuracy {accuracy(classes, model.labels_):.3f}", ">= 0.855",
                       accuracy(classes, model.labels_) >= 0.855)  # fmt: skip
            if method == OURS[0]:
                row["variables"] = int(model.support_.sum())
                if "noise0" in table:
                    noise = np.array([column.startswith("noise") for column in table])
                    known.append(model.support_[~noise].mean())
                    selected_noise.append(int(model.support_[noise].sum()))
        for method, run in OTHERS.items():
            begin = time.perf_counter()
            row |= {method: adjusted_rand_score(classes, run(table, categories, K))}
            row[f"{method} s"] = time.perf_counter() - begin
        rows.append(row)
        print(name, " ".join(f"{one} {row[one]:.3f}" for one in (*OURS, *OTHERS)), flush=True)
    found = pd.DataFrame(rows)
    methods = [*OURS, *OTHERS]
    by_kind = found.groupby("kind", sort=False)[methods].mean()
    print(by_kind.round(3).to_string())
    means = by_kind.mean()
    best = means[list(OTHERS)].max()
    for method in OURS:
        report(f"{method}, mean of the kinds", f"{means[method]:.3f}", f">= {best:.3f}", means[method] >= best)
    print("seconds", found[[f"{method} s" for method in methods]].mean().round(2).to_dict())
    print(f"known variables selected {np.mean(known):.0%}, others {np.mean(selected_noise):.2f} per table")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
