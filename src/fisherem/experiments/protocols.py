"""The functions that the jobs of an experiment call, with plain arguments and plain records as results.

The true labels are only used for scoring.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from .. import datasets
from ..core.data.problem import Problem, prepare
from ..core.dlm.selection_likelihood import support_of
from ..core.engine.multistart import FitError, best_of, starting_points
from ..core.starts.partitions import random_starts
from ..estimators import FisherEM, SparseFisherEM
from ..estimators.fitting import specification
from ..model.criteria import bic
from ..plots.selection import importance
from ..search.model_search import ModelSearch
from ..search.scoring import accuracy
from .paper import DATA, SPARSE, TABLE_1
from .plan import CALLS, rivals

__all__ = [
    "FIXED_SHARE", "default_call", "fixed_share", "prepared", "random_dense", "random_sparse", "reach",
    "rival", "search_call", "simulated", "simulated_call", "simulated_search", "timing",
]  # fmt: skip

# The model of section 4.1.
SIMULATION_MODEL = "AkB"
# The share of single sparse fits, in Table 4 and beside the protocol of Table 3.
FIXED_SHARE = 0.1
# Mixtures of all shapes hardly depend on the scale, and the R programs were measured on unscaled columns.
_RAW = ("Clustvarsel", "Selvarclust")
# Arguments in Table 4 besides the number of groups: the model or the sparsity.
_GIVEN: dict[str, dict[str, Any]] = {
    "sparse k-means": {"bound": 8.0}, "Clustvarsel": {"models": ("EEI",)}, "Selvarclust": {"models": ("EEI",)}
}  # fmt: skip


def prepared(name: str, raw: bool = False, as_frame: bool = False):
    """(X, y) of a row of Table 3, scaled as in the table unless `raw`."""
    X, y = datasets.load(DATA[name].table or name, as_frame=as_frame)
    if DATA[name].standardised and not raw:
        X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=0)
    return X, y


def _rival(method: str, n_clusters: int, seed: int):
    """A rival on one core, as jobs run in parallel."""
    one = rivals()[method].make(n_clusters, seed)
    return one.set_params(n_jobs=1) if "n_jobs" in one.get_params() else one


def _score(model, X, y) -> dict:
    labels = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    p = X.shape[1]
    support = np.asarray(getattr(model, "support_", np.ones(p, bool)))
    return {
        "accuracy": accuracy(y, labels),
        "ari": float(adjusted_rand_score(y, labels)),
        "n_variables": int(support.sum()),
        "importance": [float(f"{v:.4g}") for v in importance(model, p)],
        "labels": [int(label) for label in labels],
    }


# -- section 4.1 ---------------------------------------------------------------------------------------------------


def simulated(n: int, mu: float, method: str, seed: int) -> dict:
    """One replication of Table 2 for a rival: the error and the number of variables."""
    X, y = datasets.simulate(n, mu, random_state=seed)
    return _error(_rival(method, 3, seed).fit(X), X, y)


def simulated_call(n: int, mu: float, method: str, seed: int) -> dict:
    """One replication of Table 2 for a call of this package with the number of groups only."""
    X, y = datasets.simulate(n, mu, random_state=seed)
    return _error(CALLS[method](3, random_state=seed, n_jobs=1).fit(X), X, y)


def simulated_search(n: int, mu: float, method: str, means: str, seed: int) -> dict:
    """One replication of Table 2 for a sparse version: the level of its path with the largest BIC."""
    X, y = datasets.simulate(n, mu, random_state=seed)
    search = ModelSearch(
        SparseFisherEM(method=SPARSE[method], means=means, sparsity=1.0, random_state=seed, n_jobs=1),
        n_clusters=[3], models=[SIMULATION_MODEL], n_jobs=1, progress=False,
    )  # fmt: skip
    return _error(search.fit(X).best_estimator_, X, y)


def _error(model, X, y) -> dict:
    score = _score(model, X, y)
    return {"error": 1 - score["accuracy"], "n_variables": score["n_variables"]}


# -- section 4.2 ---------------------------------------------------------------------------------------------------


def rival(data: str, method: str, seed: int) -> dict:
    """A rival with its own starts and selection."""
    X, y = prepared(data, raw=method in _RAW)
    return _score(_rival(method, DATA[data].n_clusters, seed).fit(X), X, y)


def default_call(data: str, method: str, seed: int) -> dict:
    """A call of this package with the number of groups only."""
    X, y = prepared(data)
    return _score(CALLS[method](DATA[data].n_clusters, random_state=seed, n_jobs=1).fit(X), X, y)


def fixed_share(data: str, method: str, seed: int) -> dict:
    """A sparse version with a fixed share of the l1 norm."""
    X, y = prepared(data)
    K = DATA[data].n_clusters
    model = SparseFisherEM(K, method=SPARSE[method], sparsity=FIXED_SHARE, random_state=seed, n_jobs=1)
    return _score(model.fit(X), X, y)


def search_call(data: str, method: str, means: str, seed: int) -> dict:
    """ModelSearch with a known number of groups."""
    X, y = prepared(data)
    estimator = SparseFisherEM(method=SPARSE[method], means=means, sparsity=1.0, random_state=seed)
    known = [DATA[data].n_clusters]
    search = ModelSearch(estimator, n_clusters=known, criterion="bic", n_jobs=1, progress=False).fit(X)
    chosen = search.best_params_
    return _score(search.best_estimator_, X, y) | {"chosen": f"{chosen['model']} {chosen['sparsity']:.2g}"}


def _problem(data: str) -> tuple[Problem, np.ndarray]:
    X, y = prepared(data)
    return prepare(X, ridge=FisherEM().ridge, n_jobs=1), y


def _specification(problem: Problem, data: str, model: str, means: str, seed: int):
    """(sparse, dense) specification with all K - 1 axes, because a random partition cannot show which are useful."""
    K = DATA[data].n_clusters
    axes = min(K, problem.p) - 1
    one = SparseFisherEM(K, model=model, means=means, n_axes=axes, sparsity=1.0, random_state=seed)
    spec = specification(one, problem.rows.n, problem.p)
    return spec, replace(spec, family=spec.family.dense())


def _record(problem: Problem, spec, fit, y) -> tuple[float, float, int]:
    """(penalised BIC, accuracy, number of variables) of a fit."""
    parameters = spec.family.n_parameters(fit.solution, problem.p)
    labels = problem.rows.gather(fit.states, "posteriors").argmax(axis=0)
    return (
        float(bic(fit.log_likelihood, parameters, problem.weight, fit.entropy)),
        accuracy(y, labels),
        int((support_of(fit, problem.p) & ~problem.constant).sum()),
    )


def _starts(problem: Problem, data: str, n_starts: int, seed: int):
    """The random partitions, which are the same for all methods and models."""
    return random_starts(problem, DATA[data].n_clusters, n_starts, check_random_state(seed))


def random_dense(data: str, model: str, means: str, n_starts: int, seed: int) -> dict:
    """Fisher-EM of one model from single random starts: BIC and accuracy of each (None where it failed)."""
    problem, y = _problem(data)
    _, spec = _specification(problem, data, model, means, seed)
    fits: list[tuple | None] = []
    with problem.rows.threads():
        for start in _starts(problem, data, n_starts, seed):
            try:
                fits.append(_record(problem, spec, best_of(problem, [start], spec, spec.family.phases()[0])[0], y)[:2])
            except FitError:
                fits.append(None)
    return {"fits": fits}


def random_sparse(data: str, model: str, method: str, means: str, levels: tuple, n_starts: int, seed: int) -> dict:
    """Fisher-EM from single random starts, then the sparse version at each level: (BIC, accuracy, variables)."""
    problem, y = _problem(data)
    with problem.rows.threads():
        with_penalty, spec = _specification(problem, data, model, means, seed)
        trials = []
        for start in _starts(problem, data, n_starts, seed):
            try:
                dense, _ = best_of(problem, [start], spec, spec.family.phases()[0])
            except FitError:
                trials.append([None] * len(levels))
                continue
            trials.append([_sparse(problem, dense, with_penalty, method, s, y) for s in levels])
    return {"trials": trials}


def _sparse(problem, dense, spec, method, level, y):
    family = spec.family
    assert family.sparse is not None
    sparse = replace(family.sparse, method=SPARSE[method], sparsity=np.full(family.d, level))
    phase = replace(family, sparse=sparse).phases()[-1]
    try:
        return _record(problem, spec, best_of(problem, [dense], spec, phase)[0], y)
    except FitError:
        return None


def reach(data: str, method: str, means: str, levels: tuple, seed: int) -> dict:
    """Every model and level from the default starts: (BIC, accuracy, variables).

    It distinguishes results that the algorithm cannot reach from those that the criterion did not choose.
    """
    problem, y = _problem(data)
    found, starts = {}, None
    with problem.rows.threads():
        for model in TABLE_1:  # the paper's twelve
            with_penalty, spec = _specification(problem, data, model, means, seed)
            starts = starts or starting_points(problem, spec)
            try:
                dense, _ = best_of(problem, starts, spec, spec.family.phases()[0])
            except FitError:
                continue
            found[model] = [_sparse(problem, dense, with_penalty, method, s, y) for s in levels]
    return {"found": found}


# -- section 4.3 ---------------------------------------------------------------------------------------------------


def timing(method: str, seed: int) -> dict:
    """Seconds on usps358 with the model, the number of groups and the sparsity given; all cores.

    The package's own calls get only the number of groups.
    """
    X, y = prepared("usps358")
    K = DATA["usps358"].n_clusters
    if method in CALLS:
        one = CALLS[method](K, random_state=seed)
    elif method in SPARSE:
        given = {"model": SIMULATION_MODEL, "sparsity": FIXED_SHARE}
        one = SparseFisherEM(K, method=SPARSE[method], random_state=seed, **given)
    else:
        one = rivals()[method].make(K, seed).set_params(**_GIVEN.get(method, {}))
    begin = time.perf_counter()
    one.fit(X)
    return {"fit_seconds": time.perf_counter() - begin} | _score(one, X, y)
