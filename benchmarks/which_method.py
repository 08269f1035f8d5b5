"""Which method when: Fisher-EM beside k-means, mixtures, HDBSCAN and sparse k-means.

    OMP_NUM_THREADS=1 python benchmarks/which_method.py [--seeds 1] [--only wine,digits]

Prints a Markdown table per measure: accuracy after the best matching, adjusted Rand index, number of variables, and
seconds of CPU time, which a busy machine does not change much. Every method is told the number of groups and sees no
labels; these are for scoring only. FISHEREM_DATA must hold the real tables. Finished fits are kept in
out/which_method.json, and the same command goes on from there. About five minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from noise_data import table, wide, with_noise
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from fisherem import FisherEM, SparseFisherEM, SparseKMeans, datasets
from fisherem.search.scoring import accuracy

RECORDS = Path(__file__).parents[1] / "out" / "which_method.json"
# Fresh draws of noise and simulations; on the real tables only the starts differ from seed to seed.
SEEDS = (1180, 1181, 1182)
# Sizes of the smallest group that HDBSCAN may choose from; 5 is scikit-learn's default.
SMALLEST = (5, 10, 20, 40, 80, 160)

TABLES: dict[str, Callable] = {
    "iris": lambda seed: table("iris"),
    "wine": lambda seed: table("wine"),
    "wine27": lambda seed: table("wine27"),
    "breast cancer": lambda seed: table("breast cancer"),
    "digits": lambda seed: load_digits(return_X_y=True),  # pixels share one unit: raw
    "usps358": lambda seed: datasets.load("usps358"),
    "satimage": lambda seed: datasets.load("satimage"),
    "the paper's simulation": lambda seed: datasets.simulate(300, 1.7, random_state=seed),
    # 30 genes of 2,000 carry three groups, and a common factor has a third of the noise's variance.
    "simulated expression": lambda seed: wide(2_000, seed, factor=0.36)[:2],
    "wine + 260 noise columns": lambda seed: with_noise("wine", 20, seed)[:2],
    # Where we expect to lose: yes/no traits, groups that hardly differ, groups that are curved.
    "zoo": lambda seed: table("zoo"),
    "glass": lambda seed: datasets.load("glass"),  # oxides share one unit: raw
    "two moons": lambda seed: make_moons(400, noise=0.06, random_state=seed),
}


def hdbscan(X: np.ndarray, K: int) -> np.ndarray:
    """Labels of HDBSCAN, -1 for noise.

    It takes no number of groups. To be told as much as the others are, it gets the smallest size of a group that gives
    K groups with the fewest rows left out; if none does, it is the default call.
    """
    runs = [HDBSCAN(min_cluster_size=size, copy=True).fit_predict(X) for size in SMALLEST if size * K <= len(X)]
    right = [labels for labels in runs if labels.max() == K - 1]
    return min(right, key=lambda labels: int((labels < 0).sum())) if right else runs[0]


def _all(labels: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, int]:
    return labels, X.shape[1]


def _selecting(model, X: np.ndarray) -> tuple[np.ndarray, int]:
    fit = model.fit(X)
    return fit.labels_, int(fit.support_.sum())


def _mixture(shape: str) -> Callable:
    return lambda X, K, seed: _all(
        GaussianMixture(K, covariance_type=shape, n_init=3, random_state=seed).fit_predict(X), X
    )


# name -> (X, K, seed) -> labels and number of variables
METHODS: dict[str, Callable[[np.ndarray, int, int], tuple[np.ndarray, int]]] = {
    "`SparseFisherEM(K)`": lambda X, K, seed: _selecting(SparseFisherEM(K, random_state=seed), X),
    "`FisherEM(K)`": lambda X, K, seed: _all(FisherEM(K, random_state=seed).fit(X).labels_, X),
    "k-means": lambda X, K, seed: _all(KMeans(K, n_init=10, random_state=seed).fit_predict(X), X),
    "GaussianMixture, full": _mixture("full"),
    "GaussianMixture, diagonal": _mixture("diag"),
    "HDBSCAN": lambda X, K, seed: _all(hdbscan(X, K), X),
    "sparse k-means": lambda X, K, seed: _selecting(SparseKMeans(K, random_state=seed), X),
}


def measure(method: Callable, X: np.ndarray, y: np.ndarray, seed: int) -> dict:
    """The scores of one fit. Rows that HDBSCAN leaves out are errors, and a group of their own to the Rand index."""
    K = len(np.unique(y))
    begin = time.process_time()
    try:
        labels, size = method(X, K, seed)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return {"failed": str(error).splitlines()[0]}
    seconds = time.process_time() - begin
    kept = labels >= 0
    right = accuracy(y[kept], labels[kept]) * kept.mean() if kept.any() else 0.0
    return {
        "accuracy": right, "ari": adjusted_rand_score(y, labels), "variables": size, "seconds": seconds,
        "groups": len(np.unique(labels[kept])), "left_out": float(1 - kept.mean()),
    }  # fmt: skip


def run(names: list[str], seeds: tuple[int, ...]) -> dict[str, dict]:
    """Fit what is not yet in the records; the records of all fits by "table / method / seed"."""
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    for seed in seeds:
        for name in names:
            X, y = TABLES[name](seed)
            for method, fit in METHODS.items():
                key = f"{name} / {method} / {seed}"
                if key not in records:
                    records[key] = {"n": len(X), "p": X.shape[1], "K": len(np.unique(y)), **measure(fit, X, y, seed)}
                    RECORDS.parent.mkdir(exist_ok=True)
                    RECORDS.write_text(json.dumps(records, indent=1))
                    print(key, records[key], file=sys.stderr, flush=True)
    return records


def _range(values: list[float]) -> str:
    least, most = int(min(values)), int(max(values))
    return f"{least}" if least == most else f"{least} to {most}"


MEASURES: dict[str, Callable[[list[float]], str]] = {
    "accuracy": lambda values: f"{np.mean(values):.3f}",
    "ari": lambda values: f"{np.mean(values):.3f}",
    "variables": _range,
    "seconds": lambda values: f"{np.mean(values):.2g}" if np.mean(values) < 10 else f"{np.mean(values):.0f}",
    "groups": _range,
    "left_out": lambda values: f"{np.mean(values):.2f}",
}


def markdown(records: dict, names: list[str], seeds: tuple[int, ...], measure: str) -> str:
    """A table of one measure: a row per data set, a column per method; "failed" where a method gave an error."""
    lines = [["", *METHODS], ["---"] * (len(METHODS) + 1)]
    for name in names:
        rows = [[records[f"{name} / {method} / {seed}"] for seed in seeds] for method in METHODS]
        size = f"{name} ({rows[0][0]['n']} x {rows[0][0]['p']}, K = {rows[0][0]['K']})"
        cells = []
        for fits in rows:
            values = [fit[measure] for fit in fits if measure in fit]
            cells.append(MEASURES[measure](values) if values else "failed")
        lines.append([size, *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help=f"how many of the seeds {SEEDS}")
    parser.add_argument("--only", help="names of tables, with commas between them")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "constant columns")  # three pixels of digits
    for method in METHODS.values():  # imports and caches are nobody's seconds
        method(datasets.simulate(60, 3.0, random_state=0)[0], 3, 0)
    names = options.only.split(",") if options.only else list(TABLES)
    seeds = SEEDS[: options.seeds]
    records = run(names, seeds)
    for measure in MEASURES:
        print(f"\n{measure}\n\n{markdown(records, names, seeds, measure)}")


if __name__ == "__main__":
    main()
