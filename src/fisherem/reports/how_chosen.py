"""What was fitted and how it was chosen: facts, criteria, the search's table and paths, stability."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from inspect import signature

import numpy as np
import pandas as pd
import scipy
import sklearn

from ..estimators import FisherEM, SparseFisherEM
from ..model.dlm import resolve
from ..model_selection.search import ModelSearch
from ..model_selection.stability import Stability
from .summary import model_words
from .text import clean, integer, number

__all__ = ["Path", "Search", "StabilityTable", "criteria", "facts", "path_of", "search_of", "stability_of", "usage"]

_MAX_STABLE = 40
_MAX_PATH_VARIABLES = 6
_STOPS = {
    "aitken": "the likelihood settled",
    "fisher": "Fisher's criterion settled",
    "cycle": "the iterations ended in a cycle; the most likely iterate is shown",
    "max_iter": "the limit of iterations was reached",
}


@dataclass
class Path:
    """A sparsity path: `lines` axis weighting -> (share, criterion, number of variables), each dense to sparse;
    `sizes` (name, loadings along the chosen weighting's shares) of the largest variables."""

    lines: dict[str, list[tuple[float, float, float]]]
    shares: list[float]
    sizes: list[tuple[str, list[float]]]
    chosen: float
    weighting: str
    criterion: str


@dataclass
class Search:
    """`values` models x numbers of groups of the criterion for dense fits (NaN: failed or not fitted)."""

    criterion: str
    values: pd.DataFrame
    best_dense: tuple[int, str]
    best: tuple[int, str]
    n_fits: int
    failures: dict[str, int]
    interrupted: bool
    path: Path | None
    sentence: str


@dataclass
class StabilityTable:
    """`rows` of (variable, frequency, selected in the page's fit, stable), most frequent first."""

    rows: list[tuple[str, float, bool, bool]]
    n_variables: int
    threshold: float
    bound: float
    agreement: float
    pairwise: float
    n_refits: int
    n_stable: int
    other_selection: bool
    failures: dict[str, int] = field(default_factory=dict)


def facts(model: FisherEM, n: int, p: int, words=("rows", "variables")) -> list[tuple[str, str]]:
    """What was fitted, as pairs of a word and a value; `words` for what the rows and the columns are."""
    import fisherem

    dlm = resolve(model.model_)
    sparse = isinstance(model, SparseFisherEM)
    found = [
        ("Method", f"sparse Fisher-EM, {model.method}" if isinstance(model, SparseFisherEM) else "Fisher-EM"),
        ("Model", f"{dlm.name} — {dlm.paper_name}" + (f"; {why}" if (why := model_words(model)) else "")),
        ("Discriminant", str(model.discriminant)),
        ("Groups K", str(len(model.weights_))),
        ("Axes d", str(model.loadings_.shape[1])),
    ]
    if sparse:
        shares = np.atleast_1d(np.asarray(model.sparsity, float))  # type: ignore[attr-defined]
        found.append(("Sparsity", ", ".join(f"{s:.3g}" for s in shares)))
        found.append(("Axis weights", str(model.axis_weights)))  # type: ignore[attr-defined]
    reason = clean(model.stop_reason_, 120)
    found += [
        ("Converged", f"{'yes' if model.converged_ else 'no'}: {_STOPS.get(reason, reason)}"),
        ("Iterations", integer(model.n_iter_)),
        ("Fitted to", f"{integer(len(model.labels_))} {words[0]} × {integer(p)} {words[1]}"),
    ]
    if len(model.labels_) != n:
        found.append(("Shown here", f"{integer(n)} {words[0]}, not those of the fit"))
    found.append(
        (
            "Versions",
            f"fisherem {fisherem.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
            f"scikit-learn {sklearn.__version__}, Python {platform.python_version()}",
        )
    )
    return found


def _counted(reasons) -> dict[str, int]:
    """Reason -> how often, the commonest first."""
    found = pd.Series([clean(r, 160) for r in reasons], dtype=object).value_counts()
    return {str(reason): int(count) for reason, count in found.items()}


def search_of(search: ModelSearch) -> Search:
    results, criterion = search.results_, search.criterion
    dense = results[results["method"] == "dense"]
    values = dense.pivot_table(index="model", columns="n_clusters", values=criterion, sort=False, dropna=False)
    values = values[sorted(values.columns)]
    found = values.stack().dropna()
    model, K = found.idxmax()  # type: ignore[misc]
    failed = results[~np.isfinite(results[criterion].astype(float))]
    best = search.best_params_
    return Search(
        criterion=criterion,
        values=values,
        best_dense=(int(K), str(model)),
        best=(int(best["n_clusters"]), str(best["model"])),
        n_fits=len(results),
        failures=_counted(failed["stop_reason"]),
        interrupted=bool(search.interrupted_),
        path=path_of(search),
        sentence=_sentence(search, values),
    )


def _sentence(search: ModelSearch, values: pd.DataFrame) -> str:
    """How the model was chosen, in one or two sentences."""
    Ks = [int(K) for K in values.columns]
    groups = f"K = {Ks[0]}" if len(Ks) == 1 else f"K from {Ks[0]} to {Ks[-1]}"
    n = values.notna().to_numpy().sum()
    models = "1 model" if len(values) == 1 else f"{len(values)} models"
    fits = "One fit was judged" if n == 1 else f"{integer(n)} fits were compared"
    text = f"{fits} by {search.criterion.upper()} (larger is better): {groups}, {models}."
    if not search.paths_:
        return text
    followed = sorted({(int(K), str(model)) for K, model, _ in search.paths_})
    paths = "; ".join(f"K = {K}, {model}" for K, model in followed[:4]) + ("; …" if len(followed) > 4 else "")
    best = search.best_params_
    chosen_by = "that of the selection" if search.path_criterion == "selection" else "penalised"
    return (
        f"{text} The sparsity was then chosen along the path of {paths} "
        f"by {search.criterion.upper()} ({chosen_by}); the best: "
        f"K = {best['n_clusters']}, {best['model']}, sparsity {best['sparsity']:.3g}."
    )


def path_of(search: ModelSearch) -> Path | None:
    """The sparsity path of the best K and model, for every weighting of the axes that was tried."""
    if not search.paths_:
        return None
    results = search.results_
    best = results.iloc[search.best_index_].to_dict()
    column = search.criterion if search.path_criterion == "penalised" else f"selection_{search.criterion}"
    mine = results[(results["method"] != "dense") & (results["n_clusters"] == best["n_clusters"])]
    mine = mine[mine["model"] == best["model"]].sort_values("sparsity", ascending=False)
    mine = mine[np.isfinite(mine[column].astype(float))]
    lines = {
        str(weighting): [
            (float(s), float(c), float(v))
            for s, c, v in t[["sparsity", column, "n_selected"]].itertuples(index=False, name=None)
        ]
        for weighting, t in mine.groupby("axis_weights")
    }
    weighting = str(best["axis_weights"])
    sizes = search.paths_[int(best["n_clusters"]), str(best["model"]), weighting].sort_index(ascending=False)
    order = np.argsort(-sizes.max().to_numpy(), kind="stable")[:_MAX_PATH_VARIABLES]
    names = [str(c) if isinstance(c, str) else f"x{c}" for c in sizes.columns]
    return Path(
        lines=lines,
        shares=[float(s) for s in sizes.index],
        sizes=[(clean(names[j], 40), [float(v) for v in sizes.iloc[:, j]]) for j in order],
        chosen=float(best["sparsity"]),
        weighting=weighting,
        criterion=column,
    )


def stability_of(stability: Stability, support: np.ndarray, threshold: float = 0.75) -> StabilityTable:
    if not isinstance(stability, Stability):
        raise TypeError(f"stability must be the result of fisherem.stability(...); got a {type(stability).__name__}")
    p = len(support)
    if len(stability.frequencies) != p:
        raise ValueError(
            f"stability is of {len(stability.frequencies)} variables, but X has {p}: give that of this table"
        )
    frequency, stable = stability.frequencies, stability.stable(threshold)
    order = np.argsort(-frequency, kind="stable")[:_MAX_STABLE]
    return StabilityTable(
        rows=[(clean(stability.names[j]), float(frequency[j]), bool(support[j]), bool(stable[j])) for j in order],
        n_variables=p,
        threshold=threshold,
        bound=stability.error_bound(threshold),
        agreement=float(np.mean(stability.agreement)),
        pairwise=float(np.mean(stability.pairwise)) if len(stability.pairwise) else float("nan"),
        n_refits=len(stability.n_selected),
        n_stable=int(stable.sum()),
        other_selection=bool((stability.selected != support).any()),
        failures=_counted(stability.failures),
    )


def _plain(value) -> bool:
    """Whether repr(value) is Python that gives the value."""
    if isinstance(value, (list, tuple)):
        return all(_plain(v) for v in value)
    return value is None or isinstance(value, (bool, int, float, str, range))


# How a fit was run, not what was fitted.
_INCIDENTAL = ("n_jobs", "checkpoint", "progress")


def _call(estimator) -> str:
    """A call that makes the estimator again; defaults but K are left out, what is not a plain value is `...`."""
    parts = []
    for name, parameter in signature(type(estimator)).parameters.items():
        value = getattr(estimator, name)
        value = value.item() if isinstance(value, np.generic) else value
        usual = type(value) is type(parameter.default) and value == parameter.default
        if name in _INCIDENTAL or (usual and name != "n_clusters"):
            continue
        if isinstance(value, FisherEM):
            parts.append(_call(value))
        else:
            parts.append(f"{name}={value!r}" if _plain(value) else f"{name}=...")
    return f"{type(estimator).__name__}({', '.join(parts)})"


def usage(model: FisherEM | ModelSearch) -> str:
    """Python that fits this model again and uses it."""
    import fisherem

    names = [type(model).__name__]
    fit = [f"model = {_call(model)}", "model.fit(X)  # the table of this page, prepared in the same way"]
    if isinstance(model, ModelSearch):
        names.append(type(model.estimator).__name__)
        fit = [
            f"search = {_call(model)}",
            "search.fit(X)  # the table of this page, prepared in the same way",
            "model = search.best_estimator_",
        ]
    lines = [f"from fisherem import {', '.join(sorted(names))}", "", *fit, ""]
    lines += [
        "groups = model.predict(X_new)  # the most probable group of each row",
        "posteriors = model.predict_proba(X_new)  # one column per group",
        "axes = model.transform(X_new)  # coordinates in the discriminative subspace",
        "chosen = model.support_  # True for the selected variables",
    ]
    if {"load", "save"} <= set(fisherem.__all__):
        lines = [
            "import fisherem",
            *lines,
            "",
            'fisherem.save(model, "model.skops")',
            'model = fisherem.load("model.skops")',
        ]
    return "\n".join(lines)


def criteria(model: FisherEM) -> list[tuple[str, str, str]]:
    """(name, value, what it is) of the fit."""
    return [
        ("Log-likelihood", number(model.log_likelihood_, 1), "of the rows under the model"),
        ("Parameters", integer(model.n_parameters_), "zeros of sparse loadings not counted"),
        ("BIC", number(model.bic_, 1), "log-likelihood − parameters/2 · log n"),
        ("ICL", number(model.icl_, 1), "BIC less the entropy of the posteriors"),
        ("AIC", number(model.aic_, 1), "log-likelihood − parameters"),
    ]
