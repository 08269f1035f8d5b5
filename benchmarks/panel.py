"""The default calls beside other methods on tables and simulations with known classes: `make bench-panel`.

The part "set aside" holds tables that no rule was chosen on. All others were looked at while the rules were made
("later", "panel", "other packages"), were checked against earlier rules ("checked once") or are what earlier versions
of the defaults were made with ("README"), so their figures are optimistic. `package_tables.py` says where the tables of
other packages come from; those that are not installed are left out. Tables are given in their own units and K is given;
k-means and the other methods get standardised columns unless the columns share a unit. Labels are read for scoring.

Prints, for each part, means of the adjusted Rand index, wins, ties and losses against k-means (margin 0.02), the
worst loss, variables, the share of the selected ones that are real, and seconds of CPU time; writes panel.csv and the
picture of the README. Every fit is a record in the folder, so an interrupted run goes on where it stopped.
FISHEREM_DATA must hold the real tables. About 30 minutes on one core.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import package_tables
import pandas as pd
from noise_data import wide, with_factors, with_noise
from package_tables import CHECKED, LATER, LOOKED_AT, SET_ASIDE, installed
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from fisherem import FactorMixture, FisherEM, SparseFisherEM, SparseKMeans, datasets
from fisherem.experiments.jobs import Records
from fisherem.policy.scaling import share_a_unit

OURS = ("SparseFisherEM(K)", "FisherEM(K)")
# Above this many columns a mixture of scikit-learn gets principal components.
_MANY, _COMPONENTS = 30, 10
MARGIN = 0.02


def _mixture(shape: str, K: int, seed: int, p: int) -> Any:
    mixture = GaussianMixture(K, covariance_type=shape, n_init=5, reg_covar=1e-3, random_state=seed)
    return mixture if p <= _MANY else make_pipeline(PCA(_COMPONENTS, random_state=seed), mixture)


METHODS: dict[str, Callable[[int, int, int], Any]] = {
    OURS[0]: lambda K, seed, p: SparseFisherEM(K, random_state=seed),
    OURS[1]: lambda K, seed, p: FisherEM(K, random_state=seed),
    "k-means": lambda K, seed, p: KMeans(K, n_init=20, random_state=seed),
    "Ward": lambda K, seed, p: AgglomerativeClustering(K),
    "sparse k-means": lambda K, seed, p: SparseKMeans(K, random_state=seed),
    "MFA": lambda K, seed, p: FactorMixture(K, 1, random_state=seed),
    **{f"Gaussian, {shape}": partial(_mixture, shape) for shape in ("spherical", "diag", "tied", "full")},
}


def panel_names() -> list[str]:
    """The tables of the panel, in alphabetical order."""
    return sorted(path.stem for path in (Path(os.environ["FISHEREM_DATA"]) / "panel").glob("*.npz"))


def panel_table(name: str) -> tuple[np.ndarray, np.ndarray, int | None]:
    """(X, y, None), without columns of one value."""
    with np.load(Path(os.environ["FISHEREM_DATA"]) / "panel" / f"{name}.npz", allow_pickle=False) as file:
        X, y = np.asarray(file["X"], float), file["y"]
    return X[:, X.std(axis=0) > 0], y, None


def readme_table(name: str) -> tuple[np.ndarray, np.ndarray, int | None]:
    """(X, y, None) of a table that the defaults were made with."""
    X, y = load_breast_cancer(return_X_y=True) if name == "breast cancer" else datasets.load(name)
    return np.asarray(X, float), y, None


def _factors(n: int, seed: int):
    return with_factors("in a plane", n, 0.36, 1, seed)


def parts() -> dict[str, dict[str, Callable[[], tuple[np.ndarray, np.ndarray, int | None]]]]:
    """Part -> name -> what makes (X, y, how many of the first columns are real or None)."""
    names = panel_names()
    readme = ("iris", "wine", "wine27", "zoo", "breast cancer", "glass", "usps358", "satimage")
    noisy = [("wine", 20), ("wine27", 20), ("iris", 40), ("wine", 5), ("iris", 5)]
    return {
        "set aside": {name: partial(package_tables.table, name) for name in installed(SET_ASIDE)},
        "later": {name: partial(package_tables.table, name) for name in installed(LATER)},
        "checked once": {name: partial(package_tables.table, name) for name in installed(CHECKED)},
        "other packages": {name: partial(package_tables.table, name) for name in installed(LOOKED_AT)},
        "panel": {name: partial(panel_table, name) for name in names},
        "README": {name: partial(readme_table, name) for name in readme},
        "noise columns": {f"{name} + {times}x": partial(with_noise, name, times, 70) for name, times in noisy},
        "factor noise": {f"one factor, draw {s}": partial(_factors, 300, s) for s in range(900, 910)},
        "simulation": {
            f"n = {n}, mu = 1.7, draw {s}": lambda n=n, s=s: (*datasets.simulate(n, 1.7, random_state=s), 5)
            for n in (30, 300) for s in range(900, 905)
        },
        "wide": {f"60 x {p}, draw {s}": partial(wide, p, s) for p in (2_000, 5_000, 20_000) for s in (900, 901)},
    }  # fmt: skip


def measured(make: Callable, method: str, seed: int, standardise: bool) -> dict:
    """ARI, variables, the share of them that is real, and seconds of one method on one table."""
    X, y, real = make()
    K = len(np.unique(y))
    if standardise or (method not in OURS and not share_a_unit(X.std(axis=0))):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    begin = time.process_time()
    try:
        model = METHODS[method](K, seed, X.shape[1])
        labels = model.fit(X).labels_ if hasattr(model, "n_clusters") else model.fit_predict(X)
    except (ValueError, ArithmeticError) as error:
        return {"ari": float("nan"), "failed": str(error)[:200]}
    record = {"ari": float(adjusted_rand_score(y, labels)), "seconds": time.process_time() - begin}
    support = np.flatnonzero(getattr(model, "support_", np.ones(X.shape[1])))
    record |= {"variables": len(support), "p": X.shape[1], "n": len(X)}
    return record if real is None else record | {"real": float(np.mean(support < real))}


def collected(folder: Path, seeds: tuple[int, ...], methods: tuple[str, ...], standardise: bool) -> pd.DataFrame:
    """A row per table, method and seed; what is there is not run again; other methods have what there is."""
    records, rows = Records(folder), []
    for part, tables in parts().items():
        for name, make in tables.items():
            for method in METHODS:
                for seed in seeds:
                    key = f"{part} {name} {method} {seed}"
                    found = records.get(key)
                    if found is None and method not in methods:
                        continue
                    if found is None:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            found = measured(make, method, seed, standardise)
                        records.put(key, found)
                        print(f"{key}: {found['ari']:.3f}", flush=True)
                    rows.append({"part": part, "table": name, "method": method, "seed": seed} | found)
    return pd.DataFrame(rows)


HEADER = [
    "part", "method", "mean ARI", "against k-means", "wins/ties/losses", "worst loss", "variables", "real", "seconds"
]  # fmt: skip


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """The means of each part and method, against k-means, as texts."""
    lines = []
    for part, inside in rows.groupby("part", sort=False):
        means = inside.pivot_table(index="table", columns="method", values="ari", aggfunc="mean")
        for method in METHODS:
            own = inside[inside["method"] == method]
            if own.empty:
                continue
            gap = (means[method] - means["k-means"]).dropna()
            score = f"{(gap > MARGIN).sum()}, {(gap.abs() <= MARGIN).sum()}, {(gap < -MARGIN).sum()}"
            share = f"{(own['variables'] / own['p']).mean():.0%}" if method in (OURS[0], "sparse k-means") else ""
            real = (
                f"{own['real'].mean():.2f}"
                if share and own.get("real") is not None and own["real"].notna().any()
                else ""
            )
            cells = [part, method, f"{means[method].mean():.3f}", f"{gap.mean():+.3f}", score, f"{gap.min():+.2f}"]
            seconds = own["seconds"].mean()
            lines.append([*cells, share, real, "" if np.isnan(seconds) else f"{seconds:.2f}"])
    return pd.DataFrame(lines, columns=HEADER)


def picture(rows: pd.DataFrame, path: Path) -> None:
    """A dot per table: ours against k-means, adjusted Rand index."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from fisherem.plots.style import PALETTE

    shown = {
        "set aside": "set aside",
        "later": "looked at, KEEL and R",
        "checked once": "looked at, other packages",
        "other packages": None,  # with the part before
        "panel": "looked at, panel",
        "README": "README's tables",
        "noise columns": "with noise columns",
    }
    figure, panes = plt.subplots(1, 2, figsize=(9, 5.2), sharey=True, layout="constrained")
    for pane, method in zip(panes, OURS, strict=True):
        colours = iter(PALETTE)
        colour = next(colours)
        for part, label in shown.items():
            colour = next(colours) if label is not None else colour
            inside = rows[rows["part"] == part]
            means = inside.pivot_table(index="table", columns="method", values="ari", aggfunc="mean")
            pane.scatter(means["k-means"], means[method], c=colour, s=34, alpha=0.85, label=label)
        pane.plot([-0.05, 1.02], [-0.05, 1.02], color="0.6", lw=1)
        pane.set(xlabel="k-means", title=method, xlim=(-0.05, 1.02), ylim=(-0.05, 1.02), aspect="equal")
    panes[0].set_ylabel("adjusted Rand index")
    panes[1].legend(frameon=False, loc="lower right", fontsize=8)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("results/panel"), help="where records are kept")
    parser.add_argument("--seeds", type=int, default=2, help="seeds of each method")
    parser.add_argument("--methods", choices=("all", "ours"), default="all", help="ours: and k-means")
    parser.add_argument("--standardise", action="store_true", help="give standardised columns to all methods")
    parser.add_argument("--publish", action="store_true", help="write the picture and the tables into docs/")
    options = parser.parse_args()
    methods = (*OURS, "k-means") if options.methods == "ours" else tuple(METHODS)
    rows = collected(options.folder, tuple(range(60, 60 + options.seeds)), methods, options.standardise)
    table = summary(rows)
    print(table.to_string(index=False))
    target = Path(__file__).parents[1] / "docs" if options.publish else options.folder
    tables = target / "results" if options.publish else target
    rows.to_csv(tables / "panel.csv", index=False)
    table.to_csv(tables / "panel-summary.csv", index=False)
    means = table.pivot(index="method", columns="part", values="mean ARI")
    there = [method for method in METHODS if method in means.index]
    means.loc[there, table["part"].unique()].to_csv(tables / "panel-means.csv")
    picture(rows, (target / "images" if options.publish else target) / "panel.png")


if __name__ == "__main__":
    main()
