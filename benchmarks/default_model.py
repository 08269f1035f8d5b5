"""How the default chooses its model, and what else was tried without labels: for docs/decisions.md.

`python benchmarks/default_model.py [choice|indices|seeds|truth|ridge|halves]`; FISHEREM_DATA must hold the real
tables. About 30 minutes for all of it on 2 cores.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score

from fisherem import FisherEM, SparseFisherEM, SparseKMeans, datasets
from fisherem.experiments.paper import DATA, SPARSE
from fisherem.experiments.protocols import prepared as table
from fisherem.model.dlm import MODELS
from fisherem.search.scoring import accuracy

warnings.simplefilter("ignore")


def agreement(X, K: int, model: str, pairs: int = 6) -> tuple[float, float]:
    """Adjusted Rand index between the predictions for all rows of fits to two random halves: mean, standard error."""
    found = []
    for seed in range(pairs):
        order = np.random.default_rng(seed).permutation(len(X))
        halves = order[: len(X) // 2], order[len(X) // 2 :]
        fits = [FisherEM(K, model=model, n_init=5, max_iter=60, random_state=seed).fit(X[rows]) for rows in halves]
        found.append(adjusted_rand_score(*(fit.predict(X) for fit in fits)))
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(pairs))


def others():
    """(name, rows, classes) that were not used while the rule was developed, except to set its two constants."""
    cancer, digits = load_breast_cancer(), load_digits()
    yield "breast cancer", (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0), cancer.target
    for chosen in ((3, 5, 8), (0, 1, 2, 3), (1, 7), (4, 7, 9), (3, 5, 7), (6, 8, 9), tuple(range(10))):
        rows = np.isin(digits.target, chosen)
        X = digits.data[rows]
        yield f"digits {''.join(map(str, chosen))}", X[:, X.std(axis=0) > 0], digits.target[rows]
    for n, mu in ((300, 0.6), (300, 1.7), (100, 1.7)):
        for seed in range(3):
            yield f"simulation, n={n}, mu={mu}, seed {seed}", *datasets.simulate(n, mu, random_state=seed)
    for kind in ("own noise", "heavy tails", "ellipses", "sizes"):
        yield f"made up, {kind}", *made_up(kind)


def made_up(kind: str, n: int = 400, p: int = 20):
    """Three groups that differ on three variables, with something that AB or both models do not assume."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, n, p=[0.6, 0.3, 0.1] if kind == "sizes" else [1 / 3] * 3)
    noise = rng.standard_t(4, size=(n, p)) if kind == "heavy tails" else rng.normal(size=(n, p))
    if kind == "own noise":
        noise *= np.array([0.5, 1.0, 1.6])[labels][:, None]
    if kind == "ellipses":
        for k in range(3):
            noise[labels == k, :3] = noise[labels == k, :3] @ rng.normal(size=(3, 3))
    noise[:, :3] += 3 * np.eye(3)[labels]
    return noise, labels


def choice():
    """Accuracy of AB, DkBk and "auto" by each sparse version, and what "auto" looked at."""
    tables = [(name, *table(name)) for name in DATA]
    found: dict[str, list] = {"the tables": [], "others": []}
    for where, data in (("the tables", tables), ("others", others())):
        for name, X, y in data:
            lines = []
            for method in SPARSE.values():
                K = len(np.unique(y))
                fits = {m: SparseFisherEM(K, model=m, method=method, random_state=0).fit(X) for m in ("AB", "DkBk")}
                auto = SparseFisherEM(K, method=method, random_state=0).fit(X)
                scores = [accuracy(y, fit.labels_) for fit in (*fits.values(), auto)]
                found[where].append(scores)
                why = auto.decisions_.set_index("decision").loc["model"]
                lines.append(
                    f"{method}: AB {scores[0]:.3f}, DkBk {scores[1]:.3f}, auto {scores[2]:.3f} "
                    f"({auto.model_} by {why.reason} from {why.alternatives})"
                )
            print(f"{name}: " + "; ".join(lines), flush=True)
    for where, scores in found.items():
        means = np.mean(scores, axis=0)
        better = np.array(scores)
        print(
            f"{where}, mean accuracy: AB {means[0]:.4f}, DkBk {means[1]:.4f}, auto {means[2]:.4f}, the better of the "
            f"two each time {better[:, :2].max(axis=1).mean():.4f}"
        )


def fisher(X, labels, ridge: float = 1e-3) -> float:
    """trace(S^-1 S_B) of a partition."""
    centred = X - X.mean(axis=0)
    S = centred.T @ centred / len(X)
    S += ridge * np.trace(S) / len(S) * np.eye(len(S))
    H = np.array([np.sqrt(np.mean(labels == k)) * centred[labels == k].mean(axis=0) for k in np.unique(labels)])
    return float(np.trace(H @ np.linalg.solve(S, H.T)))


# Sums over pairs of rows need a sample of the large tables.
INDICES = {
    "Fisher's criterion": lambda X, fit: fisher(X, fit.labels_),
    "Calinski-Harabasz": lambda X, fit: calinski_harabasz_score(X, fit.labels_),
    "silhouette": lambda X, fit: silhouette_score(X, fit.labels_, sample_size=min(len(X), 1500), random_state=0),
    "silhouette, selected variables": lambda X, fit: silhouette_score(
        X[:, fit.support_], fit.labels_, sample_size=min(len(X), 1500), random_state=0
    ),
}


def indices():
    """What indices of separation would choose among all twelve models; and how separated other partitions are."""
    for name in DATA:
        X, y = table(name)
        K = DATA[name].n_clusters
        chosen = {index: [] for index in INDICES}
        for method in SPARSE.values():
            fits = {m: SparseFisherEM(K, model=m, method=method, random_state=0).fit(X) for m in MODELS}
            for index, value in INDICES.items():
                best = max(fits, key=lambda m: value(X, fits[m]))
                chosen[index].append(f"{best} {accuracy(y, fits[best].labels_):.3f}")
        rival = SparseKMeans(K, random_state=0).fit(X).labels_
        print(
            f"{name}, Fisher's criterion: classes {fisher(X, y):.3f}, sparse k-means {fisher(X, rival):.3f}; choices:"
        )
        for index, what in chosen.items():
            print(f"  {index}: {', '.join(what)}", flush=True)


def seeds():
    """The default call with six seeds, the best of the three versions."""
    for name in ("iris", "wine", "zoo", "glass", "usps358"):
        X, y = table(name)
        best = []
        for seed in range(6):
            fits = [SparseFisherEM(DATA[name].n_clusters, method=m, random_state=seed) for m in SPARSE.values()]
            best.append(max(accuracy(y, fit.fit(X).labels_) for fit in fits))
        print(f"{name}, six seeds: {', '.join(f'{value:.3f}' for value in best)}", flush=True)


def halves():
    for name in DATA:
        X, y = table(name)
        for model in ("AB", "DkBk") if name in ("wine27", "satimage") else MODELS:
            dense = FisherEM(DATA[name].n_clusters, model=model, n_init=5, max_iter=60, random_state=0).fit(X)
            value, error = agreement(X, DATA[name].n_clusters, model)
            print(
                f"{name} {model}: agreement {value:.3f} ± {error:.3f}, accuracy {accuracy(y, dense.labels_):.3f}",
                flush=True,
            )


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
                fit = SparseFisherEM(
                    3, model="DkBk", discriminant=axes, ridge=ridge, method=method, random_state=0
                ).fit(X)
                found[accuracy(y, fit.labels_)] = (ridge, axes, method)
    print(f"iris DkBk, three ridges and axes: at most {max(found):.3f} with {found[max(found)]}", flush=True)


def ridge():
    """The simulation with few rows: errors of AkB at sparsity 0.3 against the ridge, twelve seeds."""
    for n in (30, 45):
        errors: dict[str, list[float]] = {}
        for seed in range(12):
            X, y = datasets.simulate(n, 1.7, random_state=seed)
            fits = {"k-means": KMeans(3, n_init=10, random_state=seed).fit(X)}
            for value in ("auto", 1e-3, 0.1, 0.3, 1.0):
                one = SparseFisherEM(3, model="AkB", ridge=value, sparsity=0.3, random_state=seed)
                fits[f"ridge {value}"] = one.fit(X)
            for name, fit in fits.items():
                errors.setdefault(name, []).append(1 - accuracy(y, fit.labels_))
        for name, values in errors.items():
            print(f"n={n}, mu=1.7, {name}: {np.mean(values):.3f}", flush=True)
    real = [(name, *table(name)) for name in ("wine", "wine27", "usps358", "satimage")]
    real += [(name, X, y) for name, X, y in others() if name in ("breast cancer", "digits 358")]
    for rows_per_variable in (1.2, 2, 3):
        found: dict[str, list[float]] = {}
        for _, X, y in real:
            for seed in range(4):
                some = np.random.default_rng(seed).permutation(len(X))[: int(rows_per_variable * X.shape[1])]
                part = X[some][:, X[some].std(axis=0) > 0]
                for value in ("auto", 1e-3):
                    one = SparseFisherEM(len(np.unique(y)), method="svd", n_init=5, ridge=value, random_state=seed)
                    found.setdefault(f"ridge {value}", []).append(accuracy(y[some], one.fit(part).labels_))
        what = ", ".join(f"{name} {np.mean(values):.3f}" for name, values in found.items())
        print(f"subsamples of {rows_per_variable} p rows, mean accuracy over six tables: {what}", flush=True)


PARTS = {"choice": choice, "indices": indices, "seeds": seeds, "truth": truth, "ridge": ridge, "halves": halves}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
